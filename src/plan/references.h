// References: the steps that expressions and templates name, noted while a definition is read and
// checked once all steps are known. A wrong name would fail only when a run gets there, so it gets
// a warning.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/cursor.h"
#include "plan/definition.h"
#include "plan/script.h"

namespace pawl::plan {

class References {
 public:
  static constexpr size_t kNotedMax = 5000;

  // `path`: the text is a dotted path, in which '-' is part of a name.
  void note(const Cursor& at, std::string_view text, bool path);
  std::vector<Fault> judge(const Script& script) const;

 private:
  struct Reference {
    std::string path;
    uint32_t line;
    std::string name;
    std::string with_dashes;  // the name including parts after '-'; "" if none follows
  };

  std::vector<Reference> noted_;
};

}  // namespace pawl::plan
