// pawl secrets …: values that definitions may use and that cannot be read back.
#include <termios.h>
#include <unistd.h>

#include "base/json_writer.h"
#include "cli/command.h"
#include "cli/given_inputs.h"
#include "cli/session.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

constexpr size_t kSecretBytesMax = 64 * 1024;

// Turns terminal echo off, and restores it afterwards.
class NoEcho {
 public:
  NoEcho() : on_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!on_) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
  }
  ~NoEcho() {
    if (!on_) return;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    std::fputs("\n", stderr);
  }
  NoEcho& operator=(NoEcho&&) = delete;

 private:
  termios before_{};
  bool on_;
};

// A final line end, from echo or a text file, is not part of the secret.
Result<std::string> read_value(const Invocation& given) {
  if (given.has("--value")) return given.text("--value");
  std::string value;
  if (::isatty(STDIN_FILENO) == 1) {
    std::fprintf(stderr, "value of %s (not shown): ", printable(given.argument(0)).c_str());
    NoEcho silent;
    for (int c = 0; (c = std::getchar()) != EOF && c != '\n' && value.size() <= kSecretBytesMax;)
      value.push_back(static_cast<char>(c));
  } else {
    PAWL_TRY(value, read_whole_file("-", kSecretBytesMax + 2));
    if (!value.empty() && value.back() == '\n') value.pop_back();
    if (!value.empty() && value.back() == '\r') value.pop_back();
  }
  if (value.empty()) return Error{ErrorCode::InvalidRequest, "a secret has a value"};
  return value;
}

void write_list(json::Writer& w, std::string_view name,
                const std::vector<std::string>& list_secrets) {
  if (list_secrets.empty()) return;
  w.key(name).begin_array();
  for (const std::string& one : list_secrets) w.string(one);
  w.end_array();
}

std::string joined(json::View one, std::string_view name, std::string_view none) {
  std::string out;
  if (auto list_secrets = one.find(name); list_secrets && list_secrets->is_array())
    list_secrets->each_element(
        [&](json::View entry) { out += (out.empty() ? "" : ",") + entry.string(); });
  return out.empty() ? std::string(none) : out;
}

int set(const Invocation& given) {
  Session session(given);
  auto value = read_value(given);
  if (!value.ok()) return session.fail(value.error());
  json::ObjectWriter w;
  w.field("value", *value);
  write_list(w, "hosts", given.texts("--host"));
  write_list(w, "actions", given.texts("--action"));
  return session.show("PUT", path_of("/v1/secrets/", given.argument(0)), w.close(),
                      [&](json::View) { print_text(printable(given.argument(0)) + " is kept\n"); });
}

int list_secrets(const Invocation& given) {
  std::string query = query_of(given, {"limit", "cursor"}, "100");
  return Session(given).show("GET", "/v1/secrets" + query, "", [](json::View root) {
    Table table({"NAME", "HOSTS", "ACTIONS", "UPDATED"});
    if (auto all = root.find("secrets"))
      all->each_element([&](json::View one) {
        table.add({member(one, "name"), joined(one, "hosts", "any"), joined(one, "actions", "-"),
                   member(one, "updated_at")});
      });
    print_text(table.empty() ? "no secrets\n" : table.text(colours_on(stdout)));
    print_more(root);
  });
}

int remove_secret(const Invocation& given) {
  return Session(given).show(
      "DELETE", path_of("/v1/secrets/", given.argument(0)), "",
      [&](json::View) { print_text(printable(given.argument(0)) + " is forgotten\n"); });
}

const Parameter kSecretName{"NAME", "letters, digits, '_' and '-'"};

}  // namespace

std::vector<Command> secret_commands() {
  return {
      remote(
          "secrets set", "keep a secret, or change it", set, {kSecretName},
          {{"--value", "TEXT",
            "instead of standard input; others may see it in "
            "the list of processes"},
           {"--host", "HOST",
            "the only host that may get it: a name, *.example.com, host:port; may "
            "be repeated"},
           {"--action", "ACTION",
            "the only action that may use it: http.*, http.post, shell.exec, "
            "crypto.hmac; may be repeated"}},
          "Definitions use it as ${{ secrets.NAME }}, in headers, query and body of http.* and in "
          "env of shell.exec.\nWithout --host any host may get it: bind what you can.\n\nExample:\n"
          "  pawl secrets set API_TOKEN --host api.example.com < token.txt"),
      remote("secrets list", "names of what is kept, and what each is for", list_secrets, {},
             {{"--limit", "N", "at most this many"},
              {"--cursor", "CURSOR", "continue where the last page ended"}}),
      remote("secrets delete", "delete a secret", remove_secret, {kSecretName})};
}

}  // namespace pawl::cli
