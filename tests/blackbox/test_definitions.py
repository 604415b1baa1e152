"""Definitions and their runs over HTTP: versions, validation, inputs, starting, decisions, signals.

What happens when steps fail is in test_definitions_failure.py; jobs, services, secrets and files are in
test_definitions_outside.py.
"""
import threading

from definition_case import DefinitionCase, ask, await_signal, log, pause
from harness import Client, until
from ojs_case import Events


class Versions(DefinitionCase):
    def test_the_same_content_is_the_same_version(self):
        first = self.define("same", log("a"))
        again = self.define("same", log("a"))
        other = self.define("same", log("b"))
        back = self.define("same", log("a"))
        self.assertEqual([each["version"] for each in (first, again, other, back)], ["v1", "v1", "v2", "v3"])
        known = self.call("GET", "/v1/definitions/same")
        self.assertEqual((known["version"], known["versions"]), ("v3", ["v1", "v2", "v3"]))

    def test_a_version_never_changes(self):
        self.define("fixed", log("a"), version="2.0")
        self.assertEqual(self.define("fixed", log("a"), version="2.0")["version"], "2.0")
        body = {"name": "fixed", "version": "2.0", "definition": {"steps": [log("b")]}}
        self.call("POST", "/v1/definitions", body, 409)

    def test_a_run_stays_with_the_version_it_began_with(self):
        self.define("pinned", ask("gate"), log("old", depends_on=["gate"]))
        run = self.run_named("pinned")
        self.define("pinned", ask("gate"), log("new", depends_on=["gate"]))
        self.decide(run, "yes")
        finished = self.watch(run)
        self.assertEqual((finished["version"], sorted(finished["steps"])), ("v1", ["gate", "old"]))
        self.assertEqual(self.run_named("pinned", version="v1")["version"], "v1")
        self.assertEqual(self.run_named("pinned")["version"], "v2")

    def test_a_definition_with_live_runs_is_not_removed(self):
        self.define("busy", ask("gate"))
        run = self.run_named("busy")
        self.call("DELETE", "/v1/definitions/busy", status=409)
        self.call("DELETE", "/v1/definitions/busy?force=true")
        self.call("GET", "/v1/definitions/busy", status=404)
        self.run_named("busy", status=404)
        self.decide(run, "no")
        self.assertEqual(self.watch(run)["status"], "completed")

    def test_a_finished_definition_is_removed_and_its_runs_stay(self):
        self.define("gone", log("a"))
        run = self.run_named("gone")
        self.call("DELETE", "/v1/definitions/gone")
        self.assertEqual(self.get(run["id"])["steps"]["a"]["status"], "completed")

    def test_definitions_are_listed_with_their_newest_version(self):
        self.define("listed-a", log("a"), description="first")
        self.define("listed-b", log("a"))
        self.define("listed-b", log("b"))
        known = {each["name"]: each for each in self.call("GET", "/v1/definitions?limit=100")["definitions"]}
        self.assertEqual(known["listed-a"]["description"], "first")
        self.assertEqual(known["listed-b"]["version"], "v2")

    def test_yaml_is_a_definition_too(self):
        text = "steps:\n  - {id: a, action: workflow.log, params: {message: '${{ inputs.n + 1 }}'}}\n"
        self.call("POST", "/v1/definitions", {"name": "yaml", "definition": text}, 201)
        self.assertEqual(self.run_named("yaml", {"n": 1})["status"], "completed")

    def test_computations_take_no_commit_of_their_own(self):
        pure = [("jq", {"expression": ".n + 1", "data": {"n": "${{ inputs.n }}"}}), ("crypto.hash", {"data": "${{ steps.s0.result }}"}),
                ("expr.eval", {"expression": "steps.s0.result * 2"}), ("assert.equals", {"actual": 2, "expected": 2})]
        steps = [{"id": f"s{i}", "action": pure[i % 4][0], "params": pure[i % 4][1], "depends_on": [f"s{i - 1}"] if i else []}
                 for i in range(12)]
        self.define("computed", *steps)

        def commits():
            line = next(each for each in self.client.get("/metrics").raw.decode().splitlines()
                        if each.startswith("pawl_engine_batches_total"))
            return int(line.split()[-1])
        before = commits()
        run = self.run_named("computed", {"n": 1})
        self.assertEqual(run["status"], "completed", run)
        self.assertEqual(self.client.get(f"/v1/runs/{run['id']}").body["run"]["steps"]["s10"]["output"], {"result": 4})
        # One, and at most what an idle server writes by itself.
        self.assertLess(commits() - before, 4)

    def test_a_diagram_of_a_definition_and_of_a_run(self):
        self.define("drawn", ask("gate"), log("after", depends_on=["gate"]))
        run = self.run_named("drawn")
        for path in ("/v1/definitions/drawn", f"/v1/runs/{run['id']}"):
            for format, sign in (("mermaid", b"flowchart"), ("ascii", b"gate"), ("svg", b"<svg")):
                reply = self.client.get(f"{path}/diagram?format={format}")
                self.assertEqual(reply.status, 200, reply.raw)
                self.assertIn(sign, reply.raw)
                self.assertIn(b"after", reply.raw)
        self.assertEqual(self.client.get("/v1/definitions/drawn/diagram?format=png").status // 100, 4)


class Validation(DefinitionCase):
    def errors(self, definition):
        reply = self.call("POST", "/v1/definitions/validate", {"definition": definition})
        self.assertEqual(reply["valid"], not reply["errors"])
        return {each["path"]: each["code"] for each in reply["errors"]}

    def test_every_error_names_its_place(self):
        found = self.errors({"steps": [
            {"id": "a", "action": "no.such", "surprise": 1},
            {"id": "b", "type": "loop", "config": {"mode": "while", "body": []}, "depends_on": ["nobody"]},
            {"id": "b", "type": "condition", "config": {"expression": "inputs.x ==", "branches": {}}},
            {"id": "d", "type": "wait", "config": {}},
            {"id": "e", "type": "mystery"}]})
        for path in ("steps[0].action", "steps[0].surprise", "steps[1].depends_on[0]", "steps[2]",
                     "steps[2].config.expression", "steps[3]", "steps[4].type"):
            self.assertIn(path, found)

    def test_a_cycle_is_an_error(self):
        found = self.errors({"steps": [log("a", depends_on=["b"]), log("b", depends_on=["a"])]})
        self.assertIn("cycle", " ".join(found.values()).lower())

    def test_an_invalid_definition_is_stored_nowhere_and_started_nowhere(self):
        bad = {"steps": [{"id": "a", "action": "no.such"}]}
        reply = self.call("POST", "/v1/definitions", {"name": "bad", "definition": bad}, 422)
        self.assertEqual(self.error_paths(reply), ["definition.steps[0].action"])
        self.call("GET", "/v1/definitions/bad", status=404)
        reply = self.call("POST", "/v1/runs", {"definition": bad}, 422)
        self.assertEqual(self.error_paths(reply), ["definition.steps[0].action"])

    def test_lenient_warns_where_strict_refuses(self):
        odd = {"steps": [log("a", surprise=True)]}
        self.call("POST", "/v1/definitions", {"name": "odd", "definition": odd}, 422)
        reply = self.call("POST", "/v1/definitions?lenient=true", {"name": "odd", "definition": odd}, 201)
        self.assertEqual([each["path"] for each in reply["warnings"]], ["steps[0].surprise"])
        self.call("POST", "/v1/runs", {"definition": odd}, 422)
        self.assertEqual(self.start(log("a", surprise=True), query="?lenient=true")["status"], "completed")

    def test_unknown_fields_of_a_request_are_refused_with_their_name(self):
        reply = self.call("POST", "/v1/runs", {"definition": {"steps": [log("a")]}, "wiat": "1s"}, 422)
        self.assertIn("wiat", str(reply["error"]))

    def test_hostile_bodies_are_refused(self):
        for raw in (b"", b"[]", b"{", b'{"definition": 7}', b'{"definition": {"steps": []}}',
                    b'{"definition": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
                    b'{"definition": {"steps": [{"id": "\\u0000"}]}}', b"\xff\xfe"):
            reply = self.client.post("/v1/runs", raw=raw)
            self.assertIn(reply.status, (400, 422), raw[:60])
        self.assertEqual(self.start(log("a"))["status"], "completed")


class Starting(DefinitionCase):
    SCHEMA = {"type": "object", "required": ["n"], "properties": {
        "n": {"type": "integer", "minimum": 1}, "who": {"type": "string", "default": "nobody"}}}

    def test_inputs_are_held_against_the_schema(self):
        self.define("checked", log("a", "${{ inputs.who }}"), input_schema=self.SCHEMA)
        self.assertIn("n", str(self.run_named("checked", status=422)["error"]))
        self.run_named("checked", {"n": 0}, status=422)
        self.run_named("checked", {"n": "1"}, status=422)
        self.assertEqual(self.run_named("checked", {"n": 1})["inputs"], {"n": 1, "who": "nobody"})

    def test_inputs_of_the_definition_are_defaults(self):
        definition = {"steps": [log("a")], "inputs": {"a": 1, "b": 7}, "outputs": {"sum": "inputs.a + inputs.b"}}
        run = self.call("POST", "/v1/runs", {"wait": "20s", "inputs": {"b": 2}, "definition": definition}, 201)["run"]
        self.assertEqual(run["output"], {"sum": 3})

    def test_wait_answers_at_the_end_and_at_once_without_it(self):
        quick = self.start(pause("nap", "50ms"), wait=None)
        self.assertEqual(quick["status"], "active")
        self.assertEqual(self.start(pause("nap", "50ms"))["status"], "completed")
        self.assertEqual(self.start(pause("nap", "1h"), wait="20ms")["status"], "active")
        self.assertEqual(self.start(ask("gate"))["status"], "suspended")

    def test_the_same_key_starts_one_run(self):
        body = {"definition": {"steps": [log("a")]}, "inputs": {"n": 1}}
        key = {"Idempotency-Key": "start-once"}
        first = self.call("POST", "/v1/runs", body, 201, headers=key)["run"]
        again = self.call("POST", "/v1/runs", body, 201, headers=key)["run"]
        self.assertEqual(first["id"], again["id"])
        self.call("POST", "/v1/runs", {**body, "inputs": {"n": 2}}, 422, headers=key)

    def test_an_id_of_ones_own_is_taken_once(self):
        run = self.start(log("a"), id="order-7")
        self.assertEqual(run["id"], "order-7")
        self.start(log("a"), id="order-7", status=409)
        self.assertEqual(self.get("order-7")["status"], "completed")

    def test_an_id_of_ones_own_stands_wherever_the_run_is_named(self):
        mine, path = "my run/1", "/v1/runs/my%20run%2F1"
        stream = Events(self.server.port, "/v1/events?stream=true")
        self.addCleanup(stream.close)
        job = {"type": "a.b", "queue": "named", "args": ["${{ workflow.run_id }}", "${{ workflow.id }}"]}
        self.start(log("a"), {"id": "j", "type": "job", "config": job}, id=mine, wait="")
        taken = until(lambda: self.client.fetch(["named"]).body["jobs"], "the step's job is there")[0]
        self.assertEqual((taken["workflow_id"], taken["args"]), (mine, [mine, mine]))
        self.assertEqual((taken["meta"]["run_id"], taken["meta"]["step_id"]), (mine, "j"))
        # What a receiver may have stored stays as it was.
        uuid = taken["meta"]["idempotency_key"].split("/")[0]
        self.assertEqual(taken["meta"]["task_id"], f"{uuid}-j")
        self.assertNotIn("my run", uuid)
        self.client.ack(taken["id"])
        until(lambda: self.call("GET", path)["run"]["status"] == "completed", "the run is over")
        until(lambda: any(name == "workflow_completed" for name, _, _ in stream.events), "the stream tells of its end")
        self.restart()
        told = self.call("GET", path + "/events?limit=1000")["events"]
        self.assertEqual({event["run_id"] for event in told}, {mine})
        self.assertEqual({"workflow_started", "step_completed", "workflow_completed"} - {event["type"] for event in told}, set())
        listed = self.call("GET", "/v1/events?limit=1000&latest=true", headers={"Accept": "application/json"})["events"]
        self.assertEqual([event["seq"] for event in listed if event.get("run_id") == mine], [event["seq"] for event in told])
        of_run = [data for name, data, _ in stream.events if name.startswith(("step_", "workflow_"))]
        subjects = {data["subject"] for data in of_run}
        self.assertIn(mine, subjects)
        self.assertNotIn(uuid, subjects)

    def test_an_unknown_definition_is_not_found(self):
        self.run_named("never-defined", status=404)
        self.define("only-v1", log("a"))
        self.run_named("only-v1", version="v9", status=404)

    def test_many_starts_at_once_are_as_many_runs(self):
        self.define("crowd", log("a", "${{ inputs.n }}"))
        ids, lock = set(), threading.Lock()

        def start(number):
            client = Client(self.server.port)
            reply = client.post("/v1/runs", {"definition": "crowd", "inputs": {"n": number}, "wait": "20s"})
            with lock:
                ids.add((reply.body["run"]["id"], reply.body["run"]["status"]))
            client.close()
        threads = [threading.Thread(target=start, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual({status for _, status in ids}, {"completed"})
        self.assertEqual(len(ids), 20)


class Decisions(DefinitionCase):
    def test_an_answer_is_the_output_and_steers(self):
        run = self.start(ask("gate"), log("go", depends_on=["gate"], condition="steps.gate.choice == 'yes'"),
                         log("stay", depends_on=["gate"], condition="steps.gate.choice == 'no'"))
        self.assertEqual(run["status"], "suspended")
        self.decide(run, "no", reasoning="too early", data={"n": 3}, agent_id="anna")
        run = self.watch(run)
        output = run["steps"]["gate"]["output"]
        self.assertEqual({key: output[key] for key in ("choice", "reasoning", "data", "resolved_by")},
                         {"choice": "no", "reasoning": "too early", "data": {"n": 3}, "resolved_by": "anna"})
        self.assertEqual(self.outline(run), {"gate": "completed", "go": "skipped(condition)", "stay": "completed"})

    def test_only_an_option_is_an_answer_and_only_once(self):
        run = self.start(ask("gate"))
        self.assertIn("yes, no", str(self.decide(run, "maybe", status=422)))
        decision = self.get(run["id"])["pending_decisions"][0]["id"]
        self.call("POST", f"/v1/decisions/{decision}", {"choice": "yes"})
        self.call("POST", f"/v1/decisions/{decision}", {"choice": "no"}, 409)
        self.assertEqual(self.call("GET", f"/v1/decisions/{decision}")["decision"]["status"], "resolved")
        self.assertEqual(self.watch(run)["steps"]["gate"]["output"]["choice"], "yes")

    def test_without_options_every_text_is_an_answer(self):
        run = self.start(ask("gate", options=()))
        self.decide(run, "", status=422)
        self.decide(run, "whatever you think; é ✓")
        self.assertEqual(self.watch(run)["steps"]["gate"]["output"]["choice"], "whatever you think; é ✓")

    def test_the_context_holds_what_was_injected(self):
        run = self.start(log("a"), ask("gate", depends_on=["a"], config={
            "prompt_context": "for ${{ inputs.who }}",
            "data_inject": {"dotted": "steps.a.output.logged", "cel": "steps['a'].logged", "bare": "steps.a.logged",
                            "input": "inputs.who", "missing": "steps.a.output.nothing.there"}}), inputs={"who": "ben"})
        context = run["pending_decisions"][0]["context"]
        self.assertEqual(context["prompt_context"], "for ben")
        self.assertEqual(context["data"], {"dotted": True, "cel": True, "bare": True, "input": "ben", "missing": None})

    def test_pending_decisions_are_listed(self):
        run = self.start(ask("listed-gate"), id="run-with-a-question")
        listed = self.call("GET", "/v1/decisions?status=pending&limit=100")["decisions"]
        self.assertIn("listed-gate", [each["step_id"] for each in listed])
        self.decide(run, "yes")
        listed = self.call("GET", "/v1/decisions?status=pending&limit=100")["decisions"]
        self.assertNotIn("listed-gate", [each["step_id"] for each in listed])

    def test_time_decides_with_the_fallback(self):
        run = self.watch(self.start(ask("gate", config={"timeout": "50ms", "fallback": "no"}), wait=None))
        output = run["steps"]["gate"]["output"]
        self.assertEqual((output["choice"], output["reasoning"], output["resolved_by"]),
                         ("no", "timeout_auto_resolved", "system"))

    def test_without_a_fallback_the_end_of_the_time_is_a_failure(self):
        run = self.watch(self.start(ask("gate", config={"timeout": "50ms"}), wait=None))
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "TIMEOUT_ERROR"))

    def test_a_decision_for_one_agent_is_refused_to_another(self):
        run = self.start(ask("gate", config={"target_agent": "boss"}))
        self.decide(run, "yes", agent_id="intern", status=403)
        self.decide(run, "yes", agent_id="boss")
        self.assertEqual(self.watch(run)["steps"]["gate"]["output"]["resolved_by"], "boss")

    def test_a_cancelled_decision_is_a_skipped_step(self):
        run = self.start(ask("gate"), log("after", depends_on=["gate"]))
        self.signal(run, "cancel", step_id="gate")
        run = self.watch(run)
        self.assertEqual(run["status"], "completed")
        self.assertEqual(self.outline(run), {"gate": "skipped(decision_cancelled)", "after": "completed"})

    def test_a_nested_decision_holds_its_branch_only(self):
        run = self.start({"id": "both", "type": "parallel", "config": {"branches": [
            [ask("gate"), log("then")], [log("meanwhile")]]}}, log("last", depends_on=["both"]))
        self.assertEqual(self.outline(run), {"both": "running", "both.branch_0.gate": "suspended",
                                             "both.branch_0.then": "pending", "both.branch_1.meanwhile": "completed",
                                             "last": "pending"})
        self.signal(run, "decision", step_id="gate", payload={"choice": "yes"})
        self.assertEqual(set(self.outline(self.watch(run)).values()), {"completed"})


class Signals(DefinitionCase):
    def test_a_signal_ends_the_wait_it_names(self):
        run = self.start(await_signal("hear", "paid"), log("after", "${{ steps.hear.payload.sum }}", depends_on=["hear"]))
        self.assertEqual(run["status"], "suspended")
        self.signal(run, "paid", payload={"sum": 12})
        run = self.watch(run)
        self.assertEqual(run["steps"]["hear"]["output"], {"signal": "paid", "payload": {"sum": 12}})

    def test_a_signal_that_comes_early_is_kept(self):
        run = self.start(ask("gate"), await_signal("hear", "paid", depends_on=["gate"]))
        self.signal(run, "paid", payload={"n": 1})
        self.decide(run, "yes")
        self.assertEqual(self.watch(run)["steps"]["hear"]["output"]["payload"], {"n": 1})

    def test_one_signal_ends_one_wait(self):
        run = self.start(await_signal("one", "go"), await_signal("two", "go"))
        self.signal(run, "go", payload=1)
        now = self.get(run["id"])
        self.assertEqual((now["status"], sorted(r["status"] for r in now["steps"].values())),
                         ("suspended", ["completed", "suspended"]))
        self.signal(run, "go", payload=2)
        payloads = sorted(record["output"]["payload"] for record in self.watch(run)["steps"].values())
        self.assertEqual(payloads, [1, 2])

    def test_a_finished_run_takes_no_signal(self):
        run = self.start(log("a"))
        self.signal(run, "go", status=409)
        self.signal(run, "data", payload={"k": 1}, status=409)

    def test_data_is_read_as_context(self):
        run = self.start(ask("gate"), log("after", depends_on=["gate"]), outputs={"k": "context.k", "n": "context.n"})
        self.signal(run, "data", payload={"k": {"deep": [1]}, "n": 1})
        self.signal(run, "data", payload={"n": 2})
        self.assertEqual(self.get(run["id"])["context"], {"k": {"deep": [1]}, "n": 2})
        self.decide(run, "yes")
        self.assertEqual(self.watch(run)["output"], {"k": {"deep": [1]}, "n": 2})
        told = [(event["data"]["key"], event["data"]["value"]) for event in self.events(run, "variable_set")]
        self.assertEqual(told, [("k", {"deep": [1]}), ("n", 1), ("n", 2)])
        self.signal(self.start(ask("gate")), "data", payload=[1], status=422)

    def test_skip_lets_the_rest_go_on(self):
        run = self.start(await_signal("hear", "never"), log("after", depends_on=["hear"]))
        self.signal(run, "skip", step_id="nobody", status=422)
        self.signal(run, "skip", step_id="after", status=409)
        self.signal(run, "skip", step_id="hear")
        self.assertEqual(self.outline(self.watch(run)), {"hear": "skipped(skipped_by_signal)", "after": "completed"})

    def test_cancel_without_a_step_cancels_the_run(self):
        run = self.start(await_signal("hear", "never"), log("after", depends_on=["hear"]))
        self.signal(run, "cancel")
        run = self.watch(run)
        self.assertEqual((run["status"], self.outline(run)),
                         ("cancelled", {"hear": "skipped(cancelled)", "after": "skipped(cancelled)"}))

    def test_every_signal_is_in_the_history(self):
        run = self.start(await_signal("hear", "go"))
        self.signal(run, "other", payload={"x": 1}, agent_id="anna", reasoning="why not")
        self.signal(run, "go")
        self.watch(run)
        told = [(event["data"]["type"], event["data"].get("agent_id")) for event in self.events(run, "signal_received")]
        self.assertEqual([type for type, _ in told], ["other", "go"])
        self.assertEqual(told[0][1], "anna")

    def test_a_wait_that_nobody_ends_does_what_it_says(self):
        def outcome(on_timeout):
            config = {"timeout": "40ms", **({"on_timeout": on_timeout} if on_timeout else {})}
            return self.watch(self.start(await_signal("hear", "go", config=config), log("after", depends_on=["hear"]),
                                         wait=None), "completed", "failed", "cancelled")
        self.assertEqual(outcome(None)["error"]["code"], "TIMEOUT_ERROR")
        self.assertEqual(outcome("fail")["status"], "failed")
        self.assertEqual(outcome("cancel")["status"], "cancelled")
        going_on = outcome("continue")
        self.assertEqual((going_on["status"], going_on["steps"]["hear"]["output"]["timed_out"]), ("completed", True))
