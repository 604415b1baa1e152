#include "sim/module_actor.h"

#include "worlds/frame.h"

namespace pawl::sim {

Status ModuleActor::open_world(WorldSession& session) {
  if (!session.exists()) return Error{ErrorCode::NotFound, "there is no such world"};
  return worlds::writable(session.world().head());
}

std::string ModuleActor::draw_script(int depth) {
  std::string script;
  for (uint64_t left = random_.below(depth == 0 ? 4 : 3) + (depth == 0 ? 1 : 0); left > 0; --left) {
    const std::string_view letters = random_.percent(10) ? kBadLetters : kActLetters;
    const char act = letters[random_.below(letters.size())];
    if (act != 'd') {
      script += act;
      continue;
    }
    if (depth > 2) continue;
    script += 'd';
    script += static_cast<char>('a' + random_.below(3));
    script += "(" + draw_script(depth + 1) + ")";
  }
  if (depth == 0 && random_.below(300) == 0) script += random_.percent(50) ? 'd' : 'q';
  if (depth == 0 && random_.below(600) == 0) script = "da(!)";
  return script;
}

}  // namespace pawl::sim
