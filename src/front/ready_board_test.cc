#include "front/ready_board.h"

#include <gtest/gtest.h>

namespace pawl::front {
namespace {

const std::vector<uint16_t> kAll{0, 1, 2};

std::string order(ReadyBoard& board, std::string_view queue = "q") {
  std::string text;
  for (const ReadyBoard::Choice& choice : board.choose(queue, kAll))
    text += std::to_string(choice.partition);
  return text;
}

ReadyBoard::Choice chosen(ReadyBoard& board, uint16_t partition) {
  for (const ReadyBoard::Choice& choice : board.choose("q", kAll))
    if (choice.partition == partition) return choice;
  ADD_FAILURE() << partition << " is not on the board";
  return {};
}

TEST(ReadyBoard, WhoCameShortIsPassedOverUntilSomethingIsReady) {
  ReadyBoard board(3);
  EXPECT_EQ(order(board), "012") << "nothing is known: all are asked";
  board.came_short("q", chosen(board, 1));
  EXPECT_EQ(order(board), "02");
  EXPECT_EQ(order(board, "other"), "012");
  board.became_ready(1, "q");
  EXPECT_EQ(order(board), "021") << "who was asked longest ago comes first";
}

// A job that arrives while the partition is being asked may have come too late for the answer.
TEST(ReadyBoard, AShortAnswerSaysNothingOfWhatCameSince) {
  ReadyBoard board(3);
  const ReadyBoard::Choice asked = chosen(board, 1);
  board.became_ready(1, "q");
  board.came_short("q", asked);
  EXPECT_EQ(order(board), "012");
}

TEST(ReadyBoard, WhoGaveComesLastNextTime) {
  ReadyBoard board(3);
  board.gave_all("q", chosen(board, 0));
  EXPECT_EQ(order(board), "120");
  board.gave_all("q", chosen(board, 1));
  EXPECT_EQ(order(board), "201");
}

TEST(ReadyBoard, APartitionThatIsServedAnewMayHaveAnything) {
  ReadyBoard board(3);
  const ReadyBoard::Choice asked = chosen(board, 2);
  board.came_short("q", chosen(board, 1));
  board.forget(1);
  board.forget(2);
  board.came_short("q", asked);
  EXPECT_EQ(order(board), "012") << "what its former owner said does not count";
}

}  // namespace
}  // namespace pawl::front
