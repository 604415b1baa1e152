// Lowers the priority of a thread whose work can wait: it runs when the engine and the sockets
// leave a core idle. Child processes inherit the priority, so do not use it in threads that start
// any.
#pragma once

namespace pawl {

void give_way();

}  // namespace pawl
