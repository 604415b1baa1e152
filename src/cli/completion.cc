#include "cli/completion.h"

#include <algorithm>
#include <map>

#include "base/quote.h"

namespace pawl::cli {
namespace {

std::string first_word(const std::string& path) { return path.substr(0, path.find(' ')); }
std::string second_word(const std::string& path) {
  size_t blank = path.find(' ');
  return blank == std::string::npos ? "" : path.substr(blank + 1);
}

std::vector<std::string> top_words(const std::vector<Command>& commands) {
  std::vector<std::string> words;
  for (const Command& command : commands)
    if (std::find(words.begin(), words.end(), first_word(command.path)) == words.end())
      words.push_back(first_word(command.path));
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : " ") + word;
  return all;
}

std::string sub_words(const std::vector<Command>& commands, const std::string& top) {
  std::vector<std::string> words;
  for (const Command& command : commands)
    if (first_word(command.path) == top && !second_word(command.path).empty())
      words.push_back(second_word(command.path));
  return joined(words);
}

std::string option_words(const Command& command) {
  std::vector<std::string> words;
  for (const Option& option : command.options) words.push_back(option.name);
  words.push_back("--help");
  return joined(words);
}

bool takes_file(const Option& option) { return option.value == "FILE" || option.value == "DIR"; }

// Where a value is expected: the choices, file names, or nothing.
void bash_values(std::string& out, const std::vector<Command>& commands) {
  std::string files;
  std::string others;
  std::map<std::string, std::string> choices;
  for (const Command& command : commands)
    for (const Option& option : command.options) {
      if (option.value.empty()) continue;
      if (!option.choices.empty()) {
        choices[option.name] = option.choices;
        continue;
      }
      std::string& list = takes_file(option) ? files : others;
      if (("|" + list + "|").find("|" + option.name + "|") == std::string::npos)
        list += (list.empty() ? "" : "|") + option.name;
    }
  out += "  case $previous in\n";
  for (const auto& [name, words] : choices)
    out +=
        "    " + name + ") COMPREPLY=($(compgen -W '" + words + "' -- \"$current\")); return ;;\n";
  if (!files.empty())
    out += "    " + files + ") COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n";
  if (!others.empty()) out += "    " + others + ") return ;;\n";
  out += "  esac\n";
}

std::string bash(const std::vector<Command>& commands) {
  std::string out =
      "# bash completion of pawl\n"
      "_pawl() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words=\n"
      "  COMPREPLY=()\n";
  bash_values(out, commands);
  out += "  if [[ $COMP_CWORD -eq 1 ]]; then\n    words='" + joined(top_words(commands)) +
         "'\n  else\n    case ${COMP_WORDS[1]} in\n";
  for (const std::string& top : top_words(commands)) {
    std::string subs = sub_words(commands, top);
    out += "      " + top + ")\n";
    if (!subs.empty()) {
      out += "        if [[ $COMP_CWORD -eq 2 ]]; then words='" + subs +
             "'; else\n        case ${COMP_WORDS[2]} in\n";
      for (const Command& command : commands)
        if (first_word(command.path) == top)
          out += "          " + second_word(command.path) + ") words='" + option_words(command) +
                 "' ;;\n";
      out += "        esac; fi ;;\n";
      continue;
    }
    for (const Command& command : commands)
      if (command.path == top) {
        std::string words = option_words(command);
        for (const Parameter& parameter : command.parameters)
          if (parameter.name == "SHELL") words = "bash zsh fish " + words;
        out += "        words='" + words + "' ;;\n";
      }
  }
  out +=
      "    esac\n  fi\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "}\n"
      "complete -o default -F _pawl pawl\n";
  return out;
}

// Quoted for a single-quoted word of zsh or fish, and for zsh's brackets and colons.
std::string plain(std::string text) {
  for (char& c : text)
    if (c == '\'' || c == '[' || c == ']' || c == ':' || c == '\\' || c == '`' || c == '$' ||
        c == '"')
      c = ' ';
  return text;
}

std::string zsh_arguments(const Command& command) {
  std::string out = "_arguments -s";
  for (const Option& option : command.options) {
    out += " '*" + option.name + "[" + plain(option.help) + "]";
    if (!option.value.empty())
      out += ":" + option.value + ":" +
             (takes_file(option)       ? "_files"
              : option.choices.empty() ? " "
                                       : "(" + option.choices + ")");
    out += "'";
  }
  return out + " '--help[explain]' '*: :_files'";
}

std::string zsh(const std::vector<Command>& commands) {
  std::string out = "#compdef pawl\n_pawl() {\n  if (( CURRENT == 2 )); then\n    compadd " +
                    joined(top_words(commands)) + "\n    return\n  fi\n  case $words[2] in\n";
  for (const std::string& top : top_words(commands)) {
    std::string subs = sub_words(commands, top);
    out += "    " + top + ")\n";
    if (!subs.empty()) {
      out += "      if (( CURRENT == 3 )); then compadd " + subs +
             "; return; fi\n      case $words[3] in\n";
      for (const Command& command : commands)
        if (first_word(command.path) == top)
          out += "        " + second_word(command.path) + ") " + zsh_arguments(command) + " ;;\n";
      out += "      esac ;;\n";
    } else {
      for (const Command& command : commands)
        if (command.path == top) out += "      " + zsh_arguments(command) + " ;;\n";
    }
  }
  return out +
         "  esac\n}\nif [[ $funcstack[1] == _pawl ]]; then _pawl \"$@\"; else compdef _pawl pawl; "
         "fi\n";
}

std::string fish(const std::vector<Command>& commands) {
  std::string out = "# fish completion of pawl\ncomplete -c pawl -f\n";
  for (const std::string& top : top_words(commands)) {
    out += "complete -c pawl -n __fish_use_subcommand -a " + top + "\n";
    std::string subs = sub_words(commands, top);
    if (!subs.empty())
      out += "complete -c pawl -n '__fish_seen_subcommand_from " + top +
             "; and not __fish_seen_subcommand_from " + subs + "' -a '" + subs + "'\n";
  }
  for (const Command& command : commands) {
    std::string when = "__fish_seen_subcommand_from " + first_word(command.path);
    if (!second_word(command.path).empty())
      when += "; and __fish_seen_subcommand_from " + second_word(command.path);
    for (const Parameter& parameter : command.parameters)
      if (parameter.name.rfind("FILE", 0) == 0 || parameter.name == "DIR")
        out += "complete -c pawl -n '" + when + "' -F\n";
    for (const Option& option : command.options) {
      out += "complete -c pawl -n '" + when + "' -l " + option.name.substr(2) + " -d '" +
             plain(option.help) + "'";
      if (!option.value.empty())
        out += takes_file(option)       ? " -r -F"
               : option.choices.empty() ? " -x"
                                        : " -x -a '" + option.choices + "'";
      out += "\n";
    }
  }
  return out;
}

}  // namespace

Result<std::string> completion(const std::string& shell, const std::vector<Command>& commands) {
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  return Error{ErrorCode::InvalidRequest,
               "there are completions for bash, zsh and fish, not for " + in_quotes(shell)};
}

}  // namespace pawl::cli
