// pawl worlds …: adapters, which do the effects of a world, and what an adapter does by hand.
#include <algorithm>
#include <charconv>

#include "base/base64.h"
#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/given_inputs.h"
#include "cli/world_receipt.h"
#include "cli/worlds.h"

namespace pawl::cli {
namespace {

constexpr size_t kEd25519KeyBytes = 32;
constexpr size_t kIntentPrefixMin = 4;  // hex digits
constexpr size_t kHashHex = 64;
constexpr std::string_view kOwnAdapter = "pawl";  // the server's own

// --- adapters

std::optional<std::string> bytes_of_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    unsigned byte = 0;
    const auto read = std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    if (read.ec != std::errc() || read.ptr != hex.data() + i + 2) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

// 32 bytes as base64 or hex.
Result<std::string> public_key(const std::string& text) {
  std::string bytes;
  if (from_base64(text, bytes) && bytes.size() == kEd25519KeyBytes) return text;
  if (auto hex = bytes_of_hex(text); hex && hex->size() == kEd25519KeyBytes) return base64(*hex);
  return Error{
      ErrorCode::InvalidRequest,
      "--ed25519 takes the 32 bytes of a public key, as base64 or hex, not " + in_quotes(text)};
}

void put_kinds(json::Writer& w, const Invocation& given) {
  if (!given.has("--kinds")) return;
  w.key("kinds").begin_array();
  for (const std::string& kinds : given.texts("--kinds")) {
    std::string_view rest = kinds;
    while (!rest.empty()) {
      const size_t comma = std::min(rest.find(','), rest.size());
      w.string(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  }
  w.end_array();
}

Result<std::string> adapter_body(const Invocation& given) {
  if (given.has("--ed25519") == given.has("--hmac-secret-file"))
    return Error{ErrorCode::InvalidRequest,
                 "say how it signs: --ed25519 KEY or --hmac-secret-file FILE"};
  std::string body;
  json::Writer w(body);
  w.begin_object();
  if (given.has("--ed25519")) {
    PAWL_TRY(std::string key, public_key(given.text("--ed25519")));
    w.field("algorithm", "ed25519").field("public_key", key);
  } else {
    PAWL_TRY(std::string secret, read_hmac_secret(given.text("--hmac-secret-file")));
    w.field("algorithm", "hmac-sha256").field("secret", base64(secret));
  }
  put_kinds(w, given);
  w.end_object();
  return body;
}

int list_adapters(Session& session, const Invocation& given) {
  return show_world(session, given, {"GET", world_path(given, "/adapters")}, [](json::View root) {
    Table table({"ADAPTER", "SIGNS WITH", "KINDS", "PUBLIC KEY"});
    each_of(root, "adapters", [&](json::View one) {
      std::string kinds;
      each_of(one, "kinds",
              [&](json::View kind) { kinds += (kinds.empty() ? "" : ",") + kind.string(); });
      table.add({member(one, "id"), member(one, "algorithm"),
                 !kinds.empty()                     ? kinds
                 : member(one, "id") == kOwnAdapter ? "built-in ones"
                                                    : "all but built-in ones",
                 member(one, "public_key")});
    });
    print_text(table.text(colours_on(stdout)));
    print_more(root);
  });
}

int world_adapters(const Invocation& given) {
  Session session(given);
  const std::string verb = given.argument(1), id = given.argument(2);
  if (verb.empty()) return list_adapters(session, given);
  if ((verb != "put" && verb != "delete") || id.empty())
    return session.fail(
        {ErrorCode::InvalidRequest, "say what to do: adapters NAME put ID, or delete ID"});
  const std::string path = path_of(world_path(given, "/adapters/"), id);
  if (verb == "delete")
    return show_world(session, given, {"DELETE", path}, [&](json::View) {
      print_text("receipts of " + printable(id) + " are no longer taken\n");
    });
  auto body = adapter_body(given);
  if (!body.ok()) return session.fail(body.error());
  return show_world(session, given, {"PUT", path, *body}, [&](json::View) {
    print_text("receipts of " + printable(id) + " are taken\n");
  });
}

// --- leases

Result<std::string> lease_body(const Invocation& given) {
  std::string body;
  json::Writer w(body);
  w.begin_object().field("adapter_id", given.argument(1));
  put_kinds(w, given);
  for (const auto& [option, name] :
       {std::pair{"--limit", "limit"}, {"--lease-ms", "lease_ms"}, {"--wait-ms", "wait_ms"}}) {
    PAWL_TRY(std::string number, given_json(given, option));
    if (!number.empty()) w.field_raw(name, number);
  }
  w.end_object();
  return body;
}

int lease_effects(const Invocation& given) {
  Session session(given);
  if (!given.has("--kinds"))
    return session.fail({ErrorCode::InvalidRequest, "say which effects: --kinds payment.charge"});
  auto body = lease_body(given);
  if (!body.ok()) return session.fail(body.error());
  return show_world(
      session, given, {"POST", world_path(given, "/effects/lease"), *body}, [&](json::View root) {
        Table table({"EFFECT", "INTENT", "UNTIL", "IDEMPOTENCY KEY", "PARAMS"});
        each_of(root, "effects", [&](json::View one) {
          table.add({member(one, "kind"), short_hash(member(one, "intent_hash")),
                     member(one, "lease_until"), member(one, "idempotency_key").substr(0, 16),
                     member(one, "params")});
        });
        print_text(table.empty() ? "nothing to do\n" : table.text(colours_on(stdout)));
        if (!table.empty())
          print_text("Settle one with 'pawl worlds settle " + printable(given.argument(0)) +
                     " INTENT ok JSON --adapter " + printable(given.argument(1)) + " …'.\n");
      });
}

// --- receipts

// The whole hash of an open intent whose hash begins so.
Result<std::string> whole_intent(Session& session, const Invocation& given,
                                 const std::string& text) {
  std::string hex = text.substr(0, 7) == "sha256:" ? text.substr(7) : text;
  if (hex.size() == kHashHex) return "sha256:" + hex;
  if (hex.size() < kIntentPrefixMin ||
      hex.find_first_not_of("0123456789abcdef") != std::string::npos)
    return Error{ErrorCode::InvalidRequest,
                 "an intent is the hash that 'pawl worlds effects' lists, or the beginning of it"};
  std::string found, cursor;
  do {
    PAWL_TRY(const HttpReply reply,
             session.call("GET", world_path(given, "/effects") +
                                     query_of({{"limit", "1000"}, {"cursor", cursor}})));
    auto doc = json::parse(reply.body);
    if (reply.status != 200 || !doc.ok())
      return Error{ErrorCode::NotFound, "the open effects of the world cannot be read"};
    bool twice = false;
    each_of(doc->root(), "effects", [&](json::View one) {
      const std::string hash = member(one, "intent_hash");
      if (hash.compare(0, 7 + hex.size(), "sha256:" + hex) != 0) return;
      twice = twice || (!found.empty() && found != hash);
      found = hash;
    });
    if (twice)
      return Error{ErrorCode::InvalidRequest, "several open intents begin with " + in_quotes(hex)};
    cursor = member(doc->root(), "next_cursor");
  } while (!cursor.empty());
  if (found.empty())
    return Error{ErrorCode::NotFound, "no open intent begins with " + in_quotes(hex)};
  return found;
}

Result<std::string> signature_of(const Invocation& given, const Receipt& receipt) {
  if (given.has("--ed25519-key-file") == given.has("--hmac-secret-file"))
    return Error{ErrorCode::InvalidRequest,
                 "say what signs: --ed25519-key-file FILE or --hmac-secret-file FILE"};
  const std::string bytes = signed_bytes(receipt);
  if (given.has("--ed25519-key-file"))
    return ed25519_signature(given.text("--ed25519-key-file"), bytes);
  PAWL_TRY(const std::string secret, read_hmac_secret(given.text("--hmac-secret-file")));
  return hmac_signature(secret, bytes);
}

Result<std::string> world_id(Session& session, const Invocation& given) {
  PAWL_TRY(const HttpReply reply, session.call("GET", world_path(given)));
  auto doc = json::parse(reply.body);
  if (reply.status != 200 || !doc.ok())
    return Error{ErrorCode::NotFound, "there is no world " + in_quotes(given.argument(0))};
  return member(doc->root().find("world").value_or(doc->root()), "id");
}

Result<std::string> receipt_body(Session& session, const Invocation& given) {
  Receipt receipt;
  receipt.adapter_id = given.text("--adapter");
  if (receipt.adapter_id.empty())
    return Error{ErrorCode::InvalidRequest, "say who settles it: --adapter ID"};
  receipt.status = given.argument(2);
  const std::string payload = given.argument(3);
  auto doc = json::parse(payload);
  if (!doc.ok())
    return Error{ErrorCode::InvalidRequest, "the payload is no JSON: " + doc.error().message};
  PAWL_TRY(receipt.payload, cbor_of_json(doc->root()));
  if (given.has("--cost-cents")) {
    PAWL_TRY(const std::string cost, given_json(given, "--cost-cents"));
    auto cents = json::parse(cost);
    auto number = cents.ok() ? cents->root().as_int() : std::nullopt;
    if (!number || *number < 0)
      return Error{ErrorCode::InvalidRequest, "--cost-cents takes a natural number"};
    receipt.cost_cents = static_cast<uint64_t>(*number);
  }
  PAWL_TRY(receipt.world_id, world_id(session, given));
  PAWL_TRY(receipt.intent_hash, whole_intent(session, given, given.argument(1)));
  PAWL_TRY(const std::string signature, signature_of(given, receipt));
  std::string body;
  json::Writer w(body);
  w.begin_object()
      .field("intent_hash", receipt.intent_hash)
      .field("adapter_id", receipt.adapter_id)
      .field("status", receipt.status)
      .field_raw("payload", payload);
  if (receipt.cost_cents) w.field_int("cost_cents", static_cast<int64_t>(*receipt.cost_cents));
  w.field("sig", base64(signature)).end_object();
  return body;
}

int settle(const Invocation& given) {
  Session session(given);
  auto body = receipt_body(session, given);
  if (!body.ok()) return session.fail(body.error());
  auto answer = ask_world(session, given, {"POST", world_path(given, "/receipts"), *body});
  if (!answer) return session.exit_code();
  const std::string outcome = member(answer->root(), "outcome");
  const std::string seq = printable(member(answer->root(), "seq"));
  const int code = outcome == "settled" || outcome == "duplicate" ? kDone : kRefused;
  if (session.json()) {
    print_text(*answer->text + "\n");
    return code;
  }
  if (outcome == "settled") print_text("settled as seq " + seq + "\n");
  if (outcome == "duplicate") print_text("it was settled before; nothing was changed\n");
  if (outcome == "rejected")
    print_text("settled as seq " + seq +
               ", but the module was told that the payload is not valid\n");
  if (outcome == "instance_failed")
    print_text("settled as seq " + seq + ", but the instance failed of it: 'pawl worlds journal " +
               printable(given.argument(0)) + " --from " + seq + "'\n");
  return code;
}

int system_effect(const Invocation& given) {
  Session session(given);
  auto params = json::parse(given.argument(2));
  if (!params.ok())
    return session.fail(
        {ErrorCode::InvalidRequest, "the params are no JSON: " + params.error().message});
  std::string body;
  json::Writer(body)
      .begin_object()
      .field("kind", given.argument(1))
      .field_raw("params", given.argument(2))
      .field("cap", given.argument(3))
      .end_object();
  return show_world(session, given, {"POST", world_path(given, "/system/effects"), body},
                    [](json::View root) {
                      print_pair("intent", member(root, "intent_hash"));
                      print_pair("seq", member(root, "seq"));
                    });
}

const Option kHmacSecretFile{"--hmac-secret-file", "FILE",
                             "the secret that it shares, 16 bytes or more; - reads standard input"};

std::vector<Command> by_hand_commands() {
  return {
      remote("worlds lease", "take open effects as an adapter does", lease_effects,
             {kWorldName, {"ADAPTER", "who takes them"}},
             {{"--kinds", "KINDS", "which, as payment.charge,mail.send"},
              {"--limit", "N", "at most this many (10)"},
              {"--lease-ms", "MS", "how long they are its own (30000)"},
              {"--wait-ms", "MS", "wait this long until there is one"}}),
      remote(
          "worlds settle",
          "settle an effect with a signed receipt; exit 1 if its payload is not valid", settle,
          {kWorldName,
           {"INTENT", "its hash, or the beginning of it"},
           {"STATUS", "ok, error or timeout"},
           {"JSON", "the payload"}},
          {{"--adapter", "ID", "who settles it"},
           kHmacSecretFile,
           {"--ed25519-key-file", "FILE", "or its private key, as PEM"},
           {"--cost-cents", "N", "what it cost"}},
          "Example:\n  pawl worlds settle orders e8dd8652 ok '{\"charge_id\": \"ch_1\"}' --adapter "
          "stripe --hmac-secret-file stripe.key"),
      remote("worlds system-effect", "ask for an effect as an operator, not as a module",
             system_effect,
             {kWorldName,
              {"KIND", "as mail.send"},
              {"JSON", "its params"},
              {"GRANT", "the capability that allows it"}})};
}

}  // namespace

std::vector<Command> world_adapter_commands() {
  std::vector<Command> commands = {remote(
      "worlds adapters", "list adapters, whose signed receipts a world takes; add or remove one",
      world_adapters,
      {kWorldName, {"ACTION", "put or delete", false}, {"ID", "of the adapter", false}},
      {{"--ed25519", "KEY", "its public key, 32 bytes as base64 or hex"},
       {"--hmac-secret-file", "FILE",
        "the secret that it shares, 16 bytes or more; - reads standard input"},
       {"--kinds", "KINDS",
        "the effects it settles, as payment.charge,mail.send; by default all but "
        "built-in ones"}},
      "Examples:\n  pawl worlds adapters orders put stripe --hmac-secret-file stripe.key --kinds "
      "payment.charge\n  pawl worlds adapters orders delete stripe")};
  std::vector<Command> more = by_hand_commands();
  std::move(more.begin(), more.end(), std::back_inserter(commands));
  return commands;
}

}  // namespace pawl::cli
