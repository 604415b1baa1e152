// Secrets in templates. A template gets one only by the plain reference ${{ secrets.NAME }}, alone
// or among other text: no expression can read `secrets`, since code that compares or computes can
// reveal them bit by bit. The SecretDesk decides for each place whether a secret may be used there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pawl::expr {

// A secret that was filled in.
struct Secret {
  std::string path;  // of the string that holds it: $.headers.Authorization, $.list[2]
  std::string text;
  std::string name = {};
  std::string param = {};               // see SecretPlace
  std::string member = {};              // see SecretPlace
  std::vector<std::string> hosts = {};  // the only hosts that may get it; none = any
};

// The place of a reference.
struct SecretPlace {
  std::string_view name;    // of the secret
  std::string_view param;   // the member of the root that contains it; "" = the root is the string
  std::string_view member;  // the member of `param`; "" if the string is not inside an object there
  std::string_view before;  // the text of the string before it, filled in
  bool in_key = false;      // it is part of a member's name
};

struct OpenedSecret {
  std::string text;
  std::vector<std::string> hosts = {};
};

class SecretDesk {
 public:
  virtual ~SecretDesk() = default;
  // Forbidden: not in this place. NotFound: there is no such secret.
  virtual Result<OpenedSecret> reveal(const SecretPlace& place) = 0;
};

// NAME, if the expression is secrets.NAME and nothing else.
std::optional<std::string_view> plain_secret(std::string_view expression);
// Whether an expression names `secrets` in any way.
bool touches_secrets(std::string_view expression);

// Whether an error of interpolate() means that a secret may not be used at its place.
bool is_secret_denied(const Error& error);

}  // namespace pawl::expr
