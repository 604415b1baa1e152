// pawl run FILE: runs a definition locally to its end.
#include <unistd.h>

#include "base/json_writer.h"
#include "base/quote.h"
#include "cli/json_layout.h"
#include "cli/session.h"
#include "cli/terminal.h"
#include "kernel/frame.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/stored_definition.h"
#include "kernel/settings/settings.h"
#include "kernel/state.h"
#include "main/definition_file.h"
#include "main/local.h"
#include "main/run_watch.h"
#include "wire/render_script.h"

namespace pawl {
namespace {

using cli::Invocation;

constexpr int kUnanswered = 3;
constexpr size_t kStepsShownMax = 100'000;

int run_usage(const std::string& message) {
  cli::complain(message);
  return cli::kUsage;
}

struct NamedSignal {
  std::string type;
  std::string payload;
};

// The checked command line.
struct RunOrder {
  std::string file;
  plan::ReadResult read;
  std::vector<std::pair<std::string, plan::ReadResult>> others;  // name → definition
  Value inputs;
  std::vector<NamedSignal> signals;
  WatchSettings watch;
  LocalOptions local;
};

Result<std::vector<NamedSignal>> parse_signals(const std::vector<std::string>& texts) {
  std::vector<NamedSignal> signals;
  for (const std::string& text : texts) {
    size_t equals = text.find('=');
    NamedSignal signal{text.substr(0, equals), ""};
    if (equals != std::string::npos) signal.payload = text.substr(equals + 1);
    if (signal.type.empty())
      return Error{ErrorCode::InvalidRequest,
                   "--signal takes NAME or NAME=JSON, not " + in_quotes(text)};
    if (!signal.payload.empty()) {
      auto payload = Value::parse(signal.payload);
      if (!payload.ok())
        return Error{ErrorCode::InvalidRequest,
                     "--signal " + signal.type + " is no JSON: " + payload.error().message};
      signal.payload = payload->json();
    }
    signals.push_back(std::move(signal));
  }
  return signals;
}

// Reads the definition in a file; prints all its faults.
Result<plan::ReadResult> read_one(const std::string& file, bool lenient) {
  PAWL_TRY(std::string text, read_definition_file(file));
  plan::ReadResult read = read_definition_text(text, lenient);
  std::fputs(fault_lines(file, read, cli::colours_on(stderr)).c_str(), stderr);
  if (!read.valid()) return Error{ErrorCode::InvalidContent, file + " is no valid definition"};
  return read;
}

Status read_settings(const Invocation& given, RunOrder& order) {
  PAWL_TRY(order.watch.answers, Answers::parse(given.texts("--decide")));
  PAWL_TRY(order.signals, parse_signals(given.texts("--signal")));
  PAWL_TRY(order.inputs, gather_inputs(given.text("--inputs"), given.texts("--input")));
  if (given.has("--timeout")) {
    auto span = cli::parse_span(given.text("--timeout"));
    if (!span.ok() || *span <= 0)
      return Error{ErrorCode::InvalidRequest, "--timeout takes a duration such as 90s, not " +
                                                  in_quotes(given.text("--timeout"))};
    order.watch.timeout_ms = *span;
  }
  bool quiet = given.has("--quiet") || given.has("--json");
  bool terminal = ::isatty(STDERR_FILENO) == 1;
  order.watch.show = quiet ? Show::Nothing : terminal ? Show::Picture : Show::Lines;
  bool takes_stdin = given.argument(0) == "-" || given.text("--inputs") == "-";
  order.watch.may_ask = terminal && ::isatty(STDIN_FILENO) == 1 && !takes_stdin;
  order.local.confined = given.has("--confined");
  order.local.secrets = secrets_of(environ);
  return ok_status();
}

Result<RunOrder> read_run_order(const Invocation& given) {
  RunOrder order;
  order.file = given.argument(0);
  PAWL_TRY_DO(read_settings(given, order));
  bool lenient = given.has("--lenient");
  PAWL_TRY(order.read, read_one(order.file, lenient));
  std::vector<const plan::Script*> scripts = {order.read.script.get()};
  for (const std::string& file : given.texts("--with")) {
    PAWL_TRY(plan::ReadResult other, read_one(file, lenient));
    if (other.script->name.empty())
      return Error{ErrorCode::InvalidContent, file + " has no name to be called by"};
    scripts.push_back(other.script.get());
    order.others.emplace_back(other.script->name, std::move(other));
  }
  if (std::string step = order.watch.answers.stranger(scripts); !step.empty())
    return Error{ErrorCode::InvalidRequest, "--decide: there is no step " + in_quotes(step)};
  return order;
}

// --- running

Status register_others(LocalEngine& engine, const RunOrder& order) {
  return engine.decide([&](Frame& frame) {
    for (const auto& [name, read] : order.others) {
      StoredDefinition stored;
      stored.name = name;
      stored.version = "v1";
      stored.number = 1;
      stored.canonical = read.canonical;
      stored.created_ms = frame.now_ms();
      put_doc(frame, DocKind::Definition, definition_key(name, stored.version),
              codec::encoded(stored));
      put_doc(frame, DocKind::Definition, name, stored.version);
    }
    return ok_status();
  });
}

Status start_run(LocalEngine& engine, const RunOrder& order, const RunId& run) {
  PAWL_TRY_DO(register_others(engine, order));
  Status started = engine.decide([&](Frame& frame) -> Status {
    StartScript command;
    command.id = run;
    command.definition = order.read.script->name;
    command.source = order.read.canonical;
    command.inputs = order.inputs.json();
    PAWL_TRY_DO(start_script(frame, command));
    return ok_status();
  });
  if (!started.ok()) return started;
  for (const NamedSignal& signal : order.signals) {
    Status sent = engine.decide([&](Frame& frame) {
      return signal_script(frame, run, {signal.type, "", signal.payload, "", ""});
    });
    if (!sent.ok() && sent.error().code != ErrorCode::Conflict)
      return sent;  // the run has already
                    // ended
  }
  return ok_status();
}

std::string body_of(LocalEngine& engine, const RunId& id) {
  std::string body;
  Status done = engine.decide([&](Frame& frame) {
    const Run* run = frame.state().find_run(id);
    if (run != nullptr)
      body = script_run_body(frame.state(), *run, {0, kStepsShownMax, "", SIZE_MAX});
    return ok_status();
  });
  if (!done.ok()) cli::complain(done.error().message);
  return body;
}

int tell_end(const std::optional<json::View>& run) {
  if (!run) return cli::kRefused;
  std::string status = cli::member(*run, "status");
  if (status == "completed") return cli::kDone;
  std::string text = status;
  if (auto error = run->find("error"); error && error->is_object()) {
    std::string step = cli::member(*error, "step_id");
    text += (step.empty() ? "" : " in step '" + step + "'") + ": " + cli::member(*error, "code") +
            ": " + cli::member(*error, "message");
  } else if (std::string reason = cli::member(*run, "reason"); !reason.empty()) {
    text += ": " + reason;
  }
  cli::complain("the run " + cli::printable(text));
  return cli::kRefused;
}

int exit_code(const Watched& watched, const std::optional<json::View>& run, const RunOrder& order) {
  switch (watched.kind) {
    case Watched::Ended:
      return tell_end(run);
    case Watched::Unanswered:
      return kUnanswered;
    case Watched::WrongAnswer:
      return cli::kUsage;
    case Watched::Interrupted:
      return 128 + watched.signal;
    case Watched::TimedOut:
      cli::complain("the run did not end within " + cli::span_text(order.watch.timeout_ms));
      return cli::kRefused;
    case Watched::Broken:
      cli::complain("the engine failed");
      return cli::kRefused;
  }
  return cli::kRefused;
}

int run_file(const Invocation& given) {
  auto order = read_run_order(given);
  if (!order.ok()) return run_usage(order.error().message);
  auto engine = LocalEngine::start(order->local);
  if (!engine.ok()) {
    cli::complain(engine.error().message);
    return cli::kRefused;
  }
  SystemRandom random;
  RunId run(Uuid::v7(SystemClock().now_ms(), random.next(), random.next(), 0));
  RunWatch watch(**engine, run, *order->read.script, order->watch);
  if (Status started = start_run(**engine, *order, run); !started.ok())
    return run_usage(started.error().message);
  Watched watched = watch.follow();
  std::string body = body_of(**engine, run);
  auto doc = json::parse(body);
  auto shown = doc.ok() ? doc->root().find("run") : std::nullopt;
  int code = exit_code(watched, shown, *order);
  auto output = shown ? shown->find("output") : std::nullopt;
  if (given.has("--json")) {
    cli::print_text(body + "\n");
  } else if (code == cli::kDone && output) {
    cli::print_text(cli::laid_out_json(output->raw()) + "\n");
  }
  return code;
}

}  // namespace

std::vector<cli::Command> run_file_commands() {
  return {
      {"run",
       "run a definition here, without a server",
       {{"FILE", "the definition, YAML or JSON; - reads standard input"}},
       {{"--input", "NAME=VALUE", "an input; the value is JSON if it can be, else text"},
        {"--inputs", "FILE", "inputs from a JSON or YAML file"},
        {"--decide", "STEP=CHOICE", "the answer to a decision; may be repeated"},
        {"--signal", "NAME=JSON", "a signal for a wait step; may be repeated"},
        {"--with", "FILE", "another definition that this one calls by name; may be repeated"},
        {"--timeout", "DURATION", "cancel the run after this time"},
        {"--confined", "", "with a server's default rights: no shell, no private addresses"},
        {"--lenient", "", "unknown fields are warnings"},
        {"--quiet", "", "no progress on stderr"},
        {"--json", "", "print the whole run instead of its output"}},
       "Actions run with your rights, in this directory. Secrets come from PAWL_SECRET_NAME. The "
       "output goes to stdout,\n"
       "progress to stderr. Decisions that --decide does not answer are asked for in a terminal.\n"
       "Exit codes: 0 completed, 1 failed, 2 invalid definition or command line, 3 a decision or "
       "signal is missing,\n"
       "130 interrupted (the run is cancelled).\n"
       "\nExamples:\n  pawl run examples/hello.yaml --input name=Ada\n"
       "  pawl run deploy.yaml --inputs inputs.json --decide approve=yes --timeout 10m",
       run_file}};
}

}  // namespace pawl
