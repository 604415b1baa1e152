// One line of a scenario: words, then key=value options. "…" quotes a word with any characters, #
// begins a comment.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pawl {

struct ScriptLine {
  std::vector<std::string> words;
  std::map<std::string, std::string> options;
  bool malformed = false;  // a quote is not closed

  static ScriptLine parse(const std::string& text);
  std::string word(size_t at) const { return at < words.size() ? words[at] : ""; }
  std::string option(const std::string& name, const std::string& otherwise = "") const;
  bool has(const std::string& name) const { return options.count(name) == 1; }

 private:
  void take(const std::string& word, bool was_quoted);
};

}  // namespace pawl
