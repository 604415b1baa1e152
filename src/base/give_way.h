// For threads whose work can wait: they run when the engine and the sockets leave a core idle. What
// they start (a child process) gives way too, so not for threads that start any.
#pragma once

namespace pawl {

void give_way();

}  // namespace pawl
