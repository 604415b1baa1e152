#include "api/sweep.h"

namespace pawl::api {
namespace {

class SweepTask : public Task, public std::enable_shared_from_this<SweepTask> {
 public:
  SweepTask(App& app, Call&& call, Slice slice, std::function<http::Response()> finish)
      : app_(app), call_(std::move(call)), slice_(std::move(slice)), finish_(std::move(finish)) {}

  std::optional<Parking> decide(Frame& frame, bool) override {
    auto more = slice_(frame);
    more_ = more.ok() && *more;
    if (!more.ok()) failure_ = more.error();
    return std::nullopt;
  }
  void durable(Wakes& wakes) override {
    if (failure_) return call_.fail(*failure_);
    if (!more_) return call_.answer(finish_(), &wakes);
    if (Status taken = app_.engine().submit(shared_from_this()); !taken.ok())
      call_.fail(taken.error());
  }
  void refuse(const Error& error) override { call_.fail(error); }

 private:
  App& app_;
  Call call_;
  Slice slice_;
  std::function<http::Response()> finish_;
  bool more_ = false;
  std::optional<Error> failure_;
};

}  // namespace

void sweep(App& app, Call&& call, Slice slice, std::function<http::Response()> finish) {
  Round* round = call.leave_round();
  app.submit(round, std::make_shared<SweepTask>(app, std::move(call), std::move(slice),
                                                std::move(finish)));
}

}  // namespace pawl::api
