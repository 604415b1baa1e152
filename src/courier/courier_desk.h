// CourierDesk: the thread on which all couriers of a process work. It sleeps unless there is work
// or a time has come. It outlives its couriers.
#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "courier/desk_inbox.h"

namespace pawl {

class CourierDesk {
 public:
  CourierDesk();
  ~CourierDesk();
  CourierDesk(const CourierDesk&) = delete;
  CourierDesk& operator=(const CourierDesk&) = delete;

  const std::shared_ptr<DeskInbox>& inbox() const { return inbox_; }
  // Blocks until the work is done. Any thread but the desk's own.
  void run(const std::function<void()>& work);

 private:
  std::shared_ptr<DeskInbox> inbox_;
  std::thread thread_;
};

}  // namespace pawl
