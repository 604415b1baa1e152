#include "engine/testing/script_line.h"

namespace pawl {

ScriptLine ScriptLine::parse(const std::string& text) {
  ScriptLine line;
  std::string word;
  bool in_quotes = false;
  bool was_quoted = false;
  for (char c : text + " ") {
    if (c == '"') {
      in_quotes = !in_quotes;
      was_quoted = true;
    } else if (in_quotes) {
      word += c;
    } else if (c == ' ' || c == '\t') {
      if (!word.empty() || was_quoted) line.take(word, was_quoted);
      word.clear();
      was_quoted = false;
    } else if (c == '#') {
      break;
    } else {
      word += c;
    }
  }
  line.malformed = in_quotes;
  return line;
}

std::string ScriptLine::option(const std::string& name, const std::string& otherwise) const {
  auto at = options.find(name);
  return at == options.end() ? otherwise : at->second;
}

void ScriptLine::take(const std::string& word, bool was_quoted) {
  size_t equals = was_quoted ? std::string::npos : word.find('=');
  if (equals == std::string::npos) {
    words.push_back(word);
  } else {
    options[word.substr(0, equals)] = word.substr(equals + 1);
  }
}

}  // namespace pawl
