#include <gtest/gtest.h>
TEST(Core, Todo) {}
