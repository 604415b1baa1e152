"""Refusals name the place: definitions with wrong action parameters, inputs, schedules, unknown fields. And the events
of a run when its suspension ends or it times out."""
import json
import os
import subprocess
import tempfile
import unittest

from definition_case import DefinitionCase, ask, await_signal, log, pause
from harness import PAWL, until
from stand_in import Gate

TYPO = {"id": "a", "action": "http.get", "params": {"ulr": "http://example.com"}}


class Refused(DefinitionCase):
    def faults(self, method, path, body, status=422):
        error = self.call(method, path, body, status)["error"]
        found = error["details"]["validation_errors"]
        self.assertTrue(found)
        for each in found:
            self.assertEqual(sorted(each), ["code", "message", "path"], each)
            self.assertTrue(each["code"] and each["message"], each)
        return [(each["path"], each["code"]) for each in found]

    def test_inputs_that_do_not_fit_the_schema(self):
        schema = {"type": "object", "required": ["n", "who"], "additionalProperties": False,
                  "properties": {"n": {"type": "integer"}, "who": {"type": "object", "required": ["name"]}}}
        self.define("fits", log("a"), input_schema=schema)
        self.assertEqual(sorted(self.faults("POST", "/v1/runs", {"definition": "fits", "inputs": {
            "n": "x", "who": {}, "more": 1}})),
            [("inputs.more", "unknown_field"), ("inputs.n", "type"), ("inputs.who.name", "required")])
        self.assertEqual(self.faults("POST", "/v1/runs", {"definition": "fits"}),
                         [("inputs.n", "required"), ("inputs.who", "required")])
        self.assertEqual(self.faults("POST", "/v1/runs", {"definition": "fits", "inputs": 7}), [("inputs", "type")])

    def test_unknown_fields_of_every_call(self):
        self.define("plain", log("a"))
        self.call("POST", "/v1/schedules", {"name": "s", "definition": "plain", "every": "1h"}, 201)
        run = self.start(ask("q"))
        key = {"name": "k", "scopes": ["read"]}
        calls = [("/v1/definitions", {"name": "d", "definition": {"steps": [log("a")]}}),
                 ("/v1/runs", {"definition": "plain"}),
                 (f"/v1/runs/{run['id']}/signals", {"type": "go"}),
                 (f"/v1/runs/{run['id']}/pause", {}),
                 (f"/v1/runs/{run['id']}/resume", {}),
                 (f"/v1/runs/{run['id']}/cancel", {}),
                 (f"/v1/runs/{run['id']}/retry", {}),
                 (f"/v1/runs/{run['id']}/extend", {"steps": [log("b")]}),
                 (f"/v1/decisions/{run['pending_decisions'][0]['id']}", {"choice": "yes"}),
                 ("/v1/schedules", {"name": "t", "definition": "plain", "every": "1h"}),
                 ("/v1/keys", key)]
        calls.append(("/v1/definitions/validate", {"definition": {"steps": [log("a")]}}))
        for path, body in calls:
            with self.subTest(path):
                self.assertEqual(self.faults("POST", path, {**body, "no_such": 1}), [("no_such", "unknown_field")])
        self.assertEqual(self.faults("POST", "/v1/definitions", {"name": "d", "definition": {"steps": [log("a")]},
                                                                 "triggers": [{"every": "1h", "no_such": 1}]}),
                         [("triggers[0].no_such", "unknown_field")])

    def test_the_nearest_field_is_said(self):
        reply = self.call("POST", "/v1/runs", {"definition": "plain", "input": {}}, 422)
        self.assertIn("did you mean 'inputs'?", reply["error"]["details"]["validation_errors"][0]["message"])

    def test_schedules(self):
        self.define("plain", log("a"))
        for time, path in (({"cron": "61 * * * *"}, "cron"), ({"cron": "* *"}, "cron"), ({"cron": "0 0 30 2 *"}, "cron"),
                           ({"every": "soon"}, "every"), ({"at": "2001-01-01T00:00:00Z"}, "at"), ({}, "cron"),
                           ({"every": "1h", "timezone": "Mars/Base"}, "timezone")):
            with self.subTest(time):
                found = self.faults("POST", "/v1/schedules", {"name": "s", "definition": "plain", **time})
                self.assertEqual(found[0][0], path)
        self.assertEqual(self.faults("POST", "/v1/schedules", {"name": "s", "job": {"type": "NO", "args": []}, "every": "1h"}),
                         [("job.type", "value")])
        self.assertEqual(self.faults("POST", "/v1/schedules", {"name": "s", "definition": "none", "every": "1h"}),
                         [("definition", "not_found")])
        self.assertEqual(self.faults("POST", "/v1/definitions", {"name": "d", "definition": {"steps": [log("a")]},
                                                                 "triggers": [{"cron": "nonsense"}]})[0][0],
                         "triggers[0].cron")

    def test_answers_and_signals(self):
        run = self.start(ask("q"), ask("p"))
        decision = run["pending_decisions"][0]["id"]
        self.assertEqual(self.faults("POST", f"/v1/decisions/{decision}", {"choice": "maybe"}), [("choice", "value")])
        signals = f"/v1/runs/{run['id']}/signals"
        for body, path in (({"type": "decision", "step_id": "q"}, "payload.choice"), ({"type": "data", "payload": 7}, "payload"),
                           ({"type": "decision"}, "step_id"), ({"type": "skip", "step_id": "none"}, "step_id"),
                           ({}, "type")):
            with self.subTest(body):
                self.assertEqual(self.faults("POST", signals, body)[0][0], path)


class Params(DefinitionCase):
    def test_every_way_in_finds_them(self):
        wanted = [("steps[0].params.ulr", "unknown_field"), ("steps[0].params.url", "required")]
        body = {"definition": {"steps": [TYPO]}}
        reply = self.call("POST", "/v1/definitions/validate", body)
        self.assertEqual([(e["path"], e["code"]) for e in reply["errors"]], wanted)
        self.assertFalse(reply["valid"])
        self.assertEqual(reply["errors"][0]["hint"], "did you mean 'url'?")
        for path, more in (("/v1/definitions", {"name": "typo"}), ("/v1/runs", {})):
            error = self.call("POST", path, {**body, **more}, 422)["error"]
            self.assertEqual([(e["path"], e["code"]) for e in error["details"]["validation_errors"]],
                             [("definition." + path, code) for path, code in wanted])
            self.assertIn("did you mean 'url'?", error["details"]["validation_errors"][0]["message"])

    def test_a_lenient_caller_is_warned(self):
        body = {"definition": {"steps": [TYPO]}}
        reply = self.call("POST", "/v1/definitions/validate?lenient=true", body)
        self.assertTrue(reply["valid"])
        self.assertEqual([(w["path"], w["code"]) for w in reply["warnings"]],
                         [("steps[0].params.ulr", "unknown_field"), ("steps[0].params.url", "required")])
        put = self.call("POST", "/v1/definitions?lenient=true", {"name": "lenient", **body}, 201)
        self.assertEqual(len(put["warnings"]), 2)
        begun = self.call("POST", "/v1/runs?lenient=true", {**body, "wait": "20s"}, 201)
        self.assertEqual([w["path"] for w in begun["warnings"]], ["steps[0].params.ulr", "steps[0].params.url"])
        self.assertNotIn("warnings", self.call("POST", "/v1/runs", {"definition": "lenient", "wait": "20s"}, 201))
        run = self.run_named("lenient")
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "VALIDATION_ERROR"))

    def test_templates_are_there_and_literals_have_their_kind(self):
        def errors(params, action="http.get"):
            step = {"id": "a", "action": action, "params": params}
            reply = self.call("POST", "/v1/definitions/validate", {"definition": {"steps": [step]}})
            return [(e["path"], e["code"]) for e in reply["errors"]]

        self.assertEqual(errors({"url": "${{ inputs.u }}", "max_redirects": "${{ inputs.n }}"}), [])
        self.assertEqual(errors("${{ inputs.params }}"), [])
        self.assertEqual(errors({"url": ["x"]}), [("steps[0].params.url", "type")])
        self.assertEqual(errors({"url": "u", "follow_redirects": "perhaps"}),
                         [("steps[0].params.follow_redirects", "type")])
        self.assertEqual(errors({"command": "ls", "args": "-l"}, "shell.exec"), [("steps[0].params.args", "type")])
        self.assertEqual(errors({"data": 1, "algorithm": "sha3"}, "crypto.hash"), [("steps[0].params.algorithm", "value")])

    def test_nested_steps_hooks_and_compensation(self):
        inner = {"id": "l", "type": "loop", "config": {"over": "[1]", "body": [TYPO]}, "compensate": {"action": "fs.read"}}
        reply = self.call("POST", "/v1/definitions/validate", {"definition": {
            "steps": [inner], "on_error": {"action": "workflow.emit"}}})
        self.assertEqual([e["path"] for e in reply["errors"]], [
            "steps[0].config.body[0].params.ulr", "steps[0].config.body[0].params.url",
            "steps[0].compensate.params.path", "on_error.params.event_type"])

    def test_a_run_that_began_leniently_can_be_extended(self):
        body = {"definition": {"steps": [{**TYPO, "condition": "false"}, ask("q")]}}
        run = self.call("POST", "/v1/runs?lenient=true", {**body, "wait": "20s"}, 201)["run"]
        self.steer(run, "extend", {"steps": [log("more")]})
        found = self.call("POST", f"/v1/runs/{run['id']}/extend", {"steps": [{**TYPO, "id": "b"}]}, 422)
        self.assertEqual(self.error_paths(found), ["steps[3].params.ulr", "steps[3].params.url"])

    def test_the_command_line(self):
        with tempfile.TemporaryDirectory() as directory:
            bad, test = os.path.join(directory, "bad.json"), os.path.join(directory, "test.json")
            with open(bad, "w", encoding="utf-8") as file:
                json.dump({"name": "bad", "steps": [TYPO]}, file)
            with open(test, "w", encoding="utf-8") as file:
                json.dump({"definition": "bad.json", "cases": [{"name": "c"}]}, file)
            for words in (["validate", bad], ["run", bad], ["test", test]):
                done = subprocess.run([PAWL, *words], capture_output=True, text=True, check=False, cwd=directory)
                self.assertIn(done.returncode, (1, 2), words)
                self.assertIn('http.get has no parameter "ulr"', done.stdout + done.stderr, words)
                self.assertIn('http.get needs the parameter "url"', done.stdout + done.stderr, words)
            done = subprocess.run([PAWL, "validate", "--lenient", bad], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)


MOVES = ("workflow_started", "workflow_suspended", "workflow_resumed", "workflow_completed", "workflow_failed")


class Resumed(DefinitionCase):
    def moves(self, run):
        return [(e["type"].removeprefix("workflow_"), e["data"].get("reason")) for e in self.events(run, *MOVES)]

    def test_a_decision_and_a_signal_say_that_the_run_goes_on(self):
        run = self.start(ask("q"), await_signal("w", "go", depends_on=["q"]))
        self.decide(run, "yes")
        self.signal(run, "go")
        self.assertEqual(self.watch(run)["status"], "completed")
        self.assertEqual(self.moves(run), [
            ("started", None), ("suspended", "waiting"), ("resumed", "decision"), ("suspended", "waiting"),
            ("resumed", "signal"), ("completed", None)])
        types = [e["type"] for e in self.events(run)]
        self.assertLess(types.index("decision_resolved"), types.index("workflow_resumed"))
        self.assertLess(types.index("workflow_resumed"), types.index("step_completed"))

    def test_with_work_behind_it(self):
        run = self.start(ask("q"), pause("p", "10ms", depends_on=["q"]))
        self.signal(run, "decision", step_id="q", payload={"choice": "yes"})
        self.assertEqual(self.watch(run)["status"], "completed")
        self.assertEqual([e for e, _ in self.moves(run)], ["started", "suspended", "resumed", "completed"])

    def test_a_deadline_does_too(self):
        run = self.start(await_signal("w", "go", config={"timeout": "50ms", "on_timeout": "continue"}))
        self.assertEqual(self.watch(run)["status"], "completed")
        self.assertEqual(self.moves(run)[2], ("resumed", "timer"))

    def test_nested_runs(self):
        self.define("asks", ask("q"))
        run = self.start({"id": "s", "type": "subworkflow", "config": {"definition": "asks"}})
        self.assertEqual(run["status"], "suspended")
        inner = self.call("GET", f"/v1/runs?parent={run['id']}")["runs"][0]
        self.decide(inner, "yes")
        self.assertEqual(self.watch(run)["status"], "completed")
        for one in (inner, run):
            self.assertEqual([e for e, _ in self.moves(one)], ["started", "suspended", "resumed", "completed"])
        self.assertEqual([e["type"] for e in self.events(run, "step_suspended", "step_resumed")],
                         ["step_suspended", "step_resumed"])

    def test_a_run_is_named_by_the_id_that_the_client_gave(self):
        self.define("asks", ask("q"))
        run = self.start({"id": "s", "type": "subworkflow", "config": {"definition": "asks"}}, ask("p"), id="order 17/ü")
        decisions = self.call("GET", "/v1/decisions?run_id=order%2017%2F%C3%BC")["decisions"]
        self.assertEqual([(d["run_id"], d["step_id"]) for d in decisions], [("order 17/ü", "p")])
        inner = self.call("GET", f"/v1/runs/{run['steps']['s']['run_id']}")["run"]
        self.assertEqual(inner["parent"]["run_id"], "order 17/ü")

    def test_after_a_kill(self):
        run = self.start(ask("q"))
        self.restart()
        self.decide(run, "yes")
        self.assertEqual([e for e, _ in self.moves(run)], ["started", "suspended", "resumed", "completed"])


class SuspendedByTimeout(DefinitionCase):
    def test_jobs_are_withdrawn_and_actions_stopped_until_it_is_resumed(self):
        gate = Gate()
        self.addCleanup(gate.open)
        slow = self.stand_in(lambda request: gate)
        job = {"id": "j", "type": "job", "config": {"type": "t", "args": [], "queue": "timed"}}
        run = self.start(job, self.http("h", slow), log("after", depends_on=["j"]),
                         timeout="300ms", on_timeout="suspend", wait=None)
        run = self.watch(run, "suspended")
        self.assertEqual((run["reason"], run["steps"]["j"]["status"], run["steps"]["h"]["status"]),
                         ("timeout", "pending", "pending"))
        self.assertEqual(self.client.fetch(["timed"]).body["jobs"], [])
        self.assertEqual([e["data"].get("reason") for e in self.events(run, "workflow_suspended")], ["timeout"])
        self.assertEqual(len(self.events(run, "workflow_timed_out")), 1)
        explained = self.call("GET", f"/v1/runs/{run['id']}/explain")
        self.assertEqual(explained["status"], "suspended")
        self.assertEqual(explained["waiting_for"][0]["reason"], "timeout")
        self.assertIn("300 ms", explained["waiting_for"][0]["detail"])
        self.restart()
        self.assertEqual(self.get(run["id"])["status"], "suspended")
        self.steer(run, "resume")
        taken = until(lambda: self.client.fetch(["timed"]).body["jobs"], "the job to be pushed again")
        self.client.ack(taken[0]["id"])
        until(lambda: self.get(run["id"])["steps"]["after"]["status"] == "completed", "the step after it")
        self.assertEqual(self.get(run["id"])["status"], "active")  # long past its timeout, which it has no more
        self.steer(run, "cancel")

    def test_a_run_that_waits_for_a_person_is_stopped_too(self):
        run = self.start(ask("q"), log("after", depends_on=["q"]), timeout="200ms", on_timeout="suspend")
        until(lambda: self.events(run, "workflow_timed_out"), "its timeout")
        self.decide(run, "yes")
        self.assertEqual((self.get(run["id"])["status"], self.get(run["id"])["steps"]["after"]["status"]),
                         ("suspended", "pending"))
        self.assertEqual(self.call("GET", f"/v1/runs/{run['id']}/explain")["waiting_for"][0]["reason"], "timeout")
        self.steer(run, "resume")
        self.assertEqual(self.watch(run)["status"], "completed")


if __name__ == "__main__":
    unittest.main()
