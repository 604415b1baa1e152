#include "rehearse/rehearsal.h"

#include <gtest/gtest.h>

#include "engine/core.h"
#include "engine/testing/core_world.h"
#include "kernel/run_commands.h"
#include "kernel/scripts/commands.h"
#include "kernel/scripts/run.h"
#include "rehearse/final_state.h"
#include "rehearse/stand_in.h"
#include "rehearse/testing/cases.h"
#include "store/memory_store.h"

namespace pawl::rehearse {
namespace {

constexpr const char* kMonth = R"y(
workflow:
  name: month
  steps:
    - {id: charge, action: http.post, params: {url: "https://pay/${{ inputs.order }}"}, retry: {max: 2, delay: 1m}}
    - {id: month, type: wait, depends_on: [charge], config: {duration: 30d}}
    - {id: remind, action: http.get, depends_on: [month], params: {url: "https://mail"}}
  outputs: {paid: steps.charge.body.id}
cases:
  - inputs: {order: 17}
    mocks:
      charge: [{error: EXECUTION_ERROR, takes: 2s}, {result: {status_code: 200, body: {id: c1}}, takes: 3s}]
      http.get: {result: {status_code: 200, body: null}}
    expect:
      status: completed
      outputs: {paid: c1}
      elapsed: 30d1m5s
      calls: {charge: {count: 2, params: [{url: "https://pay/17"}, {url: {$matches: "/17$"}}]}, http.get: 1}
      order: [charge, month, remind]
      steps: {charge: {status: completed, attempts: 2}, month: completed}
      cel: ["elapsed_ms > 1000", "calls['charge'][0].params.url.endsWith('/17')", "steps.charge.attempts == 2"]
)y";

TEST(Rehearsal, AMonthPassesWithinATest) {
  CaseResult result = first_case(kMonth);
  EXPECT_EQ(verdict(result), "passed");
  EXPECT_EQ(timeline_lines(result.run).at(0),
            "+0s       charge  failed EXECUTION_ERROR: a mock said so, again at +1m2s  (2s)");
}

TEST(Rehearsal, WhatIsWrongIsToldWithPathWantedAndGot) {
  std::string text = kMonth;
  text.replace(text.find("{paid: c1}"), 10, "{paid: c2}");
  text.replace(text.find("elapsed: 30d1m5s"), 16, "elapsed: {at_most: 30d}");
  EXPECT_EQ(verdict(text),
            R"(outputs.paid: wanted "c2", got "c1"; elapsed: wanted at most 30d, got 30d1m5s)");
}

// No external call is made unless a mock or `real` allows it.
TEST(Rehearsal, AnActionWithoutAMockIsNamedWithAMockToPaste) {
  EXPECT_EQ(verdict(R"(
workflow: {steps: [{id: fetch, action: http.get, params: {url: "http://127.0.0.1:1/"}}]}
cases: [{expect: {status: completed}}]
)"),
            "step 'fetch' asks for http.get, which touches the world, and no mock answers it; "
            "paste this:\n    mocks:\n      fetch: {result: {status_code: 200, body: null}}");
}

TEST(Rehearsal, PureActionsAreDone) {
  EXPECT_EQ(verdict(R"(
workflow:
  steps:
    - {id: sum, action: expr.eval, params: {expression: inputs.a + 1}}
    - {id: id, action: crypto.uuid}
  outputs: {sum: steps.sum.result, id: steps.id.uuid}
cases: [{inputs: {a: 2}, expect: {outputs: {sum: 3, id: {$matches: "^[0-9a-f]{8}-[0-9a-f]{4}-4"}}}}]
)"),
            "passed");
}

TEST(Rehearsal, AStepOfTheEngineCanBeMockedByItsId) {
  EXPECT_EQ(verdict(R"(
workflow:
  on_failure: rollback
  steps:
    - id: reserve
      action: workflow.log
      params: {message: reserved}
      compensate: {id: release, action: workflow.log, params: {message: released}}
    - {id: charge, action: workflow.log, params: {message: charged}, depends_on: [reserve]}
cases:
  - mocks: {charge: {error: {code: NON_RETRYABLE, message: no money}}}
    expect: {error: {code: ROLLED_BACK}, steps: {release: completed}, calls: {charge: 1}}
)"),
            "passed");
}

TEST(Rehearsal, AStepThatTakesTooLongTimesOut) {
  EXPECT_EQ(verdict(R"(
workflow: {steps: [{id: slow, action: http.get, params: {url: "http://x"}, timeout: 5s, retry: {max: 1}}]}
cases:
  - mocks: {slow: [{hangs: true}, {result: {status_code: 200}, takes: 6s}]}
    expect: {error: TIMEOUT_ERROR, calls: {slow: 2}, elapsed: 10s}
)"),
            "passed");
}

// As on a server: five failures in a row open the breaker of that target.
TEST(Rehearsal, CircuitBreakersOpen) {
  EXPECT_EQ(verdict(R"(
workflow: {steps: [{id: ask, action: http.get, params: {url: "http://x/"}, retry: {max: 9, delay: 1s}}]}
cases: [{mocks: {ask: {error: EXECUTION_ERROR}}, expect: {error: CIRCUIT_OPEN, calls: {ask: 5}}}]
)"),
            "passed");
}

TEST(Rehearsal, MocksAnswerInSequenceAndByCondition) {
  EXPECT_EQ(verdict(R"y(
workflow:
  steps:
    - id: poll
      type: loop
      config:
        mode: until
        condition: steps.ask.body.ready
        max_iter: 20
        body:
          - {id: ask, action: http.get, params: {url: "http://x/${{ iter.index }}"}}
          - {id: rest, type: wait, config: {duration: 1h}}
  outputs: {rounds: steps.poll.iterations}
cases:
  - mocks:
      poll.iter_0.ask: {result: {body: {ready: false, first: true}}}
      ask:
        - {result: {body: {ready: false}}}
        - {when: "params.url.endsWith('/3')", result: {
  body : {
  ready:
    true, url : "${{ params.url }}"
  }}
}
    expect:
      outputs: {rounds: 4}
      elapsed: 4h
      steps: {poll.iter_3.ask: {output: {body: {url: "http://x/3"}}}, poll.iter_0.ask: {output: {body: {first: true}}}}
)y"),
            "passed");
}

TEST(Rehearsal, PeopleDecideSignalPauseAndCancel) {
  std::string workflow = R"(
workflow:
  steps:
    - {id: approve, type: reasoning, config: {prompt_context: ok, options: ["yes", "no"], timeout: 7d}}
    - {id: paid, type: wait, depends_on: [approve], config: {signal: paid}}
  outputs: {by: steps.approve.resolved_by, sum: steps.paid.payload.sum}
cases:
)";
  EXPECT_EQ(verdict(workflow + R"(
  - events:
      - {at: 2d, decide: {step: approve, choice: "yes", by: ann}}
      - {after: paid, in: 3h, signal: {name: paid, payload: {sum: 5}}}
    expect: {outputs: {by: ann, sum: 5}, elapsed: 2d3h}
)"),
            "passed");
  EXPECT_EQ(verdict(workflow + R"(
  - events: [{decide: {step: approve, choice: "no"}}, {at: 1h, cancel: {reason: enough}}]
    expect: {status: cancelled, elapsed: 1h}
)"),
            "passed");
  EXPECT_EQ(verdict(workflow + R"(
  - events: [{at: 1d, pause: {}}, {at: 20d, resume: {}}]
    expect: {error: TIMEOUT_ERROR, elapsed: 20d}
)"),
            "passed");
  EXPECT_EQ(verdict(workflow + R"(
  - until: 1d
    expect: {status: suspended, steps: {approve: suspended, paid: pending}, elapsed: 1d}
)"),
            "passed");
  EXPECT_EQ(verdict(workflow + R"(
  - events: [{at: 1d, decide: {step: approve, choice: maybe}}]
    expect: {error: TIMEOUT_ERROR}
)"),
            "cases[0].events[0]: decide approve=maybe at +1d was refused: 'maybe' is none of the "
            "options: yes, no");
}

TEST(Rehearsal, ARunThatHangsSaysWhatItWaitsFor) {
  CaseResult result = first_case(R"(
workflow:
  steps:
    - {id: approve, type: reasoning, config: {prompt_context: ok, options: ["yes", "no"]}}
    - {id: ask, action: http.get, params: {url: "http://x"}}
cases: [{mocks: {ask: {hangs: true}}, expect: {status: completed}}]
)");
  EXPECT_EQ(
      verdict(result),
      "status: wanted completed, got active; "
      "step 'approve' waits for a decision (yes, no), since +0s; an event answers it: decide: "
      "{step: approve, choice: yes}; "
      "step 'ask' waits for http.get, attempt 1, since +0s");
}

TEST(Rehearsal, RunsWithinRunsAreRehearsedOrMocked) {
  std::string workflow = R"(
workflow:
  name: outer
  steps: [{id: ship, type: subworkflow, config: {definition: ship-it, inputs: {n: 2}}}]
  outputs: {label: steps.ship.label}
)";
  EXPECT_EQ(verdict(workflow + R"(
definitions:
  - name: ship-it
    steps: [{id: pack, action: http.post, params: {url: "http://x/${{ inputs.n }}"}}]
    outputs: {label: steps.pack.body}
cases:
  - mocks: {ship.pack: {result: {body: L2}, takes: 1d}}
    expect: {outputs: {label: L2}, calls: {ship.pack: 1}, steps: {ship.pack: completed}, elapsed: 1d}
)"),
            "passed");
  EXPECT_EQ(verdict(workflow + R"(
cases:
  - mocks: {ship: {result: {label: "L${{ params.inputs.n }}"}}}
    expect: {outputs: {label: L2}, calls: {subworkflow: {params: [{definition: ship-it}]}}}
)"),
            "passed");
}

TEST(Rehearsal, JobsAreAnsweredAsTheirWorkersWould) {
  EXPECT_EQ(verdict(R"(
workflow: {steps: [{id: mail, type: job, config: {type: mail.send, args: [{to: ada}]}}]}
cases:
  - mocks: {mail.send: {result: {sent: 1}, takes: 1m}}
    expect: {outputs: {mail: {sent: 1}}, calls: {mail: {params: [[{to: ada}]]}}, elapsed: 1m}
)"),
            "passed");
}

TEST(Rehearsal, SecretsAreFilledInAndBlottedOut) {
  EXPECT_EQ(verdict(R"(
workflow:
  steps: [{id: ask, action: http.get, params: {url: "http://x", headers: {Authorization: "Bearer ${{ secrets.KEY }}"}}}]
  outputs: {echo: steps.ask.body}
cases:
  - secrets: {KEY: hunter2}
    mocks: {ask: {result: {body: "${{ params.headers.Authorization }}"}}}
    expect: {outputs: {echo: Bearer ***}, calls: {ask: {params: [{headers: {Authorization: Bearer hunter2}}]}}}
)"),
            "passed");
}

// All forms of a case's report.
std::string reported(const CaseResult& result) {
  const std::vector<FileResult> files = {{"f", {}, {result}}};
  std::string all = json_report(files) + junit_report(files);
  for (const std::string& line : complaints(result)) all += "\n" + line;
  for (const std::string& line : timeline_lines(result.run)) all += "\n" + line;
  return all + result.run.outputs.json() + result.run.error.json();
}

// Reports are kept by CI and read by people who may not have the secrets.
TEST(Rehearsal, NoReportShowsASecret) {
  const std::string ask = R"(
workflow:
  steps: [{id: ask, action: http.get, params: {url: "http://x", headers: {A: "${{ secrets.KEY }}"}}}]
  outputs: {echo: steps.ask.body}
cases:
  - secrets: {KEY: hunter2}
    mocks: {ask: )";
  const std::string host = R"(
workflow:
  steps: [{id: ask, action: http.get, params: {url: "http://${{ secrets.HOST }}/"}, retry: {max: 9, delay: 1s}}]
cases:
  - secrets: {HOST: {value: hunter2.example, hosts: [hunter2.example]}}
    mocks: {ask: {error: EXECUTION_ERROR}}
    expect: {status: completed}
)";
  const std::pair<std::string, std::string> stories[] = {
      {ask + R"({when: "params.url == ''", result: 1}}
    expect: {status: completed})",
       "no 'when' of it fits"},
      {ask + R"({result: 1}}
    expect: {calls: {ask: {params: [{headers: {A: other}}]}}})",
       "calls.ask.params[0].headers.A: wanted \"other\""},
      {ask + R"({result: {body: "${{ params.headers.A }}"}}}
    expect: {outputs: {echo: other}})",
       "got \"***\""},
      {ask + R"({error: {code: NON_RETRYABLE, message: "no ${{ params.headers.A }}"}}}
    expect: {status: completed})",
       "NON_RETRYABLE"},
      {host, "the circuit breaker of 'http.get ***"}};
  for (const auto& [text, told] : stories) {
    std::string report = reported(first_case(text));
    EXPECT_NE(report.find(told), std::string::npos) << report;
    EXPECT_EQ(report.find("hunter2"), std::string::npos) << report;
  }
}

// A mock that remembers keys answers as the real service would.
TEST(Rehearsal, MocksSeeTheIdempotencyKeyOfAServer) {
  EXPECT_EQ(verdict(R"(
workflow:
  steps: [{id: pay, action: http.post, params: {url: "http://x"}, retry: {max: 1, delay: 1s}}]
  outputs: {key: steps.pay.body}
cases:
  - mocks: {pay: [{error: EXECUTION_ERROR}, {result: {body: "${{ idempotency_key }}"}}]}
    expect: {outputs: {key: {$matches: "^[0-9a-f-]{36}/pay/2$"}}}
)"),
            "passed");
}

// A rehearsal ends with its run; Stage also supports a retried run.
TEST(Rehearsal, TheKeyOfARetriedRunCarriesItsRound) {
  TestFile file = valid(R"(
workflow: {steps: [{id: pay, action: http.post, params: {url: "http://x"}}]}
cases:
  - mocks: {pay: [{error: NON_RETRYABLE}, {result: {body: "${{ idempotency_key }}"}}]}
    expect: {status: completed}
)");
  const Case& given = file.cases[0];
  Story story(given.starts_at_ms);
  VirtualClock clock(given.starts_at_ms);
  Dice dice(1);
  Stage stage(given, story, clock, 1, nullptr, {});
  CoreConfig config;
  config.effects = &stage;
  auto store = std::move(open_memory(std::make_shared<MemoryDisk>())).value();
  auto core = std::move(Core::open(*store, config, clock, dice)).value();
  auto decide = [&](std::function<Status(Frame&)> deed) {
    core->decide(std::make_shared<TestTask>(
        [&](Frame& frame, bool, std::string& found) -> std::optional<Parking> {
          Status done = deed(frame);
          found = done.ok() ? "" : done.error().message;
          return std::nullopt;
        }));
    while (core->wants_commit()) {
      ClosedBatch closed = core->close_batch(false);
      PAWL_CHECK(store->commit(closed.batch).ok());
      core->committed(closed);
      Core::release(closed);
    }
  };
  RunId run;
  auto answer = [&] {
    for (const Stage::Reply& reply : stage.take_due())
      decide([&](Frame& frame) {
        effect_done(frame, reply.run, reply.effect, reply.outcome);
        return ok_status();
      });
  };
  decide([&](Frame& frame) -> Status {
    StartScript command;
    command.source = staged_definition(*file.script, file, given);
    PAWL_TRY(run, start_script(frame, command));
    return ok_status();
  });
  answer();
  decide([&](Frame& frame) -> Status {
    PAWL_TRY_DO(retry_script(frame, run, {}));
    return ok_status();
  });
  answer();
  Rehearsed result;
  describe_end(core->state(), *core->state().find_run(run), result);
  EXPECT_EQ(result.outputs.json(), R"({"pay":{"body":")" + run.text() + R"(/pay/1-1"}})");
}

TEST(Rehearsal, BadInputsAreAProblemOfTheCase) {
  EXPECT_EQ(verdict(R"(
workflow:
  input_schema: {type: object, required: [n], properties: {n: {type: integer}}}
  steps: [{id: a, action: crypto.uuid}]
cases: [{inputs: {n: many}, expect: {status: completed}}]
)")
                .substr(0, 23),
            "the run does not start:");
}

TEST(Rehearsal, ALoopWithoutAnEndIsGivenUp) {
  std::string said = verdict(R"(
workflow:
  steps:
    - id: on
      type: loop
      config: {mode: while, condition: "true", body: [{id: rest, type: wait, config: {duration: 400d}}]}
cases: [{expect: {status: completed}}]
)");
  EXPECT_NE(said.find("status: wanted completed, got active; step 'on.iter_91.rest' waits until"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace pawl::rehearse
