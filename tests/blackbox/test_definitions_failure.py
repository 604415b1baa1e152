"""Steps of a definition that fail, are stopped, or run again."""
import itertools

from definition_case import DefinitionCase, ask, await_signal, boom, log, pause
from harness import until
from stand_in import Answer, Gate


def failing_first(times):
    """Answers 503 that often, then 200."""
    count = itertools.count()
    return lambda request: Answer(503 if next(count) < times else 200, {"n": 1})


class Errors(DefinitionCase):
    def test_a_failure_fails_the_run_and_cuts_off_what_needs_it(self):
        run = self.start(boom("a"), log("b", depends_on=["a"]), log("c", depends_on=["b"]), log("aside"))
        self.assertEqual((run["status"], run["error"]["step_id"], run["error"]["message"]), ("failed", "a", "boom"))
        self.assertEqual(self.outline(run), {"a": "failed", "b": "skipped(upstream_failed)",
                                             "c": "skipped(upstream_failed)", "aside": "completed"})

    def test_ignore_completes_without_an_output(self):
        run = self.start(boom("a", on_error={"strategy": "ignore"}), log("b", depends_on=["a"]),
                         outputs={"a": "steps.a == null"})
        self.assertEqual((run["status"], run["output"]), ("completed", {"a": True}))
        self.assertEqual(run["steps"]["a"]["ignored_error"]["message"], "boom")
        self.assertEqual(len(self.events(run, "step_ignored")), 1)

    def test_a_fallback_sleeps_until_it_is_called(self):
        steps = (log("spare"), log("after", "${{ steps.main }}", depends_on=["main"]))
        fine = self.start(log("main", on_error={"strategy": "fallback_step", "fallback_step": "spare"}), *steps)
        self.assertEqual((fine["status"], fine["steps"]["spare"]["status"]), ("completed", "skipped"))
        self.assertNotIn("step_started", [e["type"] for e in self.events(fine) if e.get("step_id") == "spare"])
        bad = self.start(boom("main", on_error={"strategy": "fallback_step", "fallback_step": "spare"}), *steps)
        self.assertEqual((bad["status"], self.outline(bad)),
                         ("completed", {"main": "failed", "spare": "completed", "after": "completed"}))
        self.assertEqual(bad["steps"]["main"]["output"], {"logged": True})
        self.assertEqual(len(self.events(bad, "step_fallback")), 1)

    def test_fail_workflow_stops_everything(self):
        run = self.start({"id": "box", "type": "parallel", "on_error": {"strategy": "ignore"}, "config": {"branches": [
            [boom("a", on_error={"strategy": "fail_workflow"})], [await_signal("b", "never")]]}}, pause("c", "1h"))
        self.assertEqual((run["status"], self.outline(run, "box")["c"]), ("failed", "skipped(run_failed)"))
        self.assertEqual(run["steps"]["box.branch_1.b"]["status"], "skipped")

    def test_skip_lets_dependents_run(self):
        run = self.start(boom("a", on_failure="skip"), log("b", depends_on=["a"]))
        self.assertEqual((run["status"], self.outline(run)), ("completed", {"a": "skipped(on_failure)", "b": "completed"}))

    def test_retries_count_and_keep_their_cause(self):
        service = self.stand_in(failing_first(2))
        run = self.start(self.http("call", service, retry={"max": 3, "delay": "5ms"}))
        self.assertEqual((run["status"], run["steps"]["call"]["attempts"]), ("completed", 3))
        keys = [request.key for request in service.seen()]
        self.assertEqual(keys, [f"{run['id']}/call/{n}" for n in (1, 2, 3)])
        self.assertEqual(len(self.events(run, "step_retrying")), 2)
        worse = self.stand_in(lambda request: Answer(503, {}))
        run = self.start(self.http("call", worse, retry={"max": 2, "delay": "5ms"}))
        self.assertEqual((run["status"], len(worse.seen()), run["steps"]["call"]["attempts"]), ("failed", 3, 3))
        self.assertIn("503", run["error"]["message"])

    def test_what_cannot_get_better_is_not_retried(self):
        run = self.start(boom("a", retry={"max": 5, "delay": "5ms"}))
        self.assertEqual(run["steps"]["a"]["attempts"], 1)
        service = self.stand_in(lambda request: Answer(404, {}))
        run = self.start(self.http("call", service, retry={"max": 5, "delay": "5ms"}))
        self.assertEqual(len(service.seen()), 1)

    def test_a_step_that_holds_steps_is_retried_whole(self):
        service = self.stand_in(failing_first(1))
        run = self.start({"id": "box", "type": "sequence", "retry": {"max": 1, "delay": "5ms"},
                          "config": {"steps": [log("first"), self.http("second", service)]}})
        self.assertEqual((run["status"], run["steps"]["box"]["attempts"]), ("completed", 2))
        keys = [request.key for request in service.seen()]
        self.assertEqual(len(set(keys)), 2, f"two attempts, one key: {keys}")

    def test_a_guard_that_cannot_be_evaluated_fails_its_step(self):
        run = self.start(log("a", condition="inputs.missing > 1"))
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "EXPRESSION_ERROR"))

    def test_a_timeout_stops_one_attempt_and_the_next_may_succeed(self):
        gate, count = Gate(), itertools.count()
        service = self.stand_in(lambda request: gate if next(count) == 0 else Answer(200, {}))
        self.addCleanup(gate.open)
        run = self.start(self.http("call", service, timeout="100ms", retry={"max": 1, "delay": "5ms"}))
        self.assertEqual((run["status"], run["steps"]["call"]["attempts"]), ("completed", 2))
        run = self.start({"id": "box", "type": "sequence", "timeout": "40ms", "config": {"steps": [pause("nap", "1h")]}})
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "TIMEOUT_ERROR"))
        self.assertEqual(run["steps"]["box.seq.nap"]["status"], "skipped")

    def test_the_workflows_own_timeout(self):
        for on_timeout, status in (("fail", "failed"), ("cancel", "cancelled")):
            run = self.watch(self.start(pause("nap", "1h"), timeout="60ms", on_timeout=on_timeout, wait=None))
            self.assertEqual((run["status"], run["error"]["code"], run["steps"]["nap"]["status"]),
                             (status, "TIMEOUT_ERROR", "skipped"))
            self.assertEqual(len(self.events(run, "workflow_timed_out")), 1)
        run = self.start(await_signal("hear", "go"), log("after", depends_on=["hear"]), timeout="60ms",
                         on_timeout="suspend", wait=None)
        until(lambda: self.events(run, "workflow_timed_out"), "the timeout")
        self.assertEqual(self.watch(run, "suspended")["status"], "suspended")
        self.steer(run, "resume")
        self.signal(run, "go")
        self.assertEqual(self.watch(run)["status"], "completed")

    def test_hooks_run_after_the_end(self):
        service = self.stand_in()
        hooks = {"on_complete": self.http("done", service), "on_error": {
            "id": "tell", "action": "http.post", "params": {"url": service.url("/tell"), "body": {
                "code": "${{ error.code }}", "step": "${{ error.step_id }}"}}}}
        run = self.start(log("a"), **hooks)
        self.assertEqual((run["status"], [r.path for r in service.seen()]), ("completed", ["/done"]))
        run = self.start(boom("a"), **hooks)
        self.assertEqual(run["status"], "failed")
        self.assertEqual(service.seen("/tell")[0].body, {"code": "NON_RETRYABLE", "step": "a"})
        self.assertEqual(run["error"]["step_id"], "a")

    def test_a_failing_hook_does_not_change_the_outcome(self):
        self.assertEqual(self.start(log("a"), on_complete=boom("hook"))["status"], "completed")
        run = self.start(boom("a"), on_error=boom("hook", "worse"))
        self.assertEqual((run["status"], run["error"]["message"]), ("failed", "boom"))

    def test_trigger_rules(self):
        def rules(first, second):
            return [log(rule, depends_on=[first, second], trigger=rule)
                    for rule in ("all_success", "none_failed", "all_done", "one_success")]
        run = self.start(log("good"), log("idle", condition="false"), *rules("good", "idle"))
        self.assertEqual({k: v for k, v in self.outline(run).items() if "_" in k},
                         {"all_success": "skipped(upstream_failed)", "none_failed": "completed",
                          "all_done": "completed", "one_success": "completed"})
        run = self.start(log("good"), boom("bad"), *rules("good", "bad"))
        self.assertEqual({k: v for k, v in self.outline(run).items() if "_" in k},
                         {"all_success": "skipped(upstream_failed)", "none_failed": "skipped(upstream_failed)",
                          "all_done": "completed", "one_success": "completed"})
        self.assertEqual(run["status"], "failed")

    def test_the_losers_of_a_race_are_stopped(self):
        gate = Gate()
        self.addCleanup(gate.open)
        service = self.stand_in(lambda request: gate if request.path == "/slow" else Answer(200, {"n": 1}))
        run = self.start({"id": "race", "type": "parallel", "config": {"mode": "race", "branches": [
            [self.http("slow", service), log("never")], [pause("nap", "30ms"), log("quick")], [boom("bad")],
            [await_signal("hear", "go")]]}})
        self.assertEqual((run["status"], run["steps"]["race"]["output"]),
                         ("completed", {"mode": "race", "winner": 1, "output": {"logged": True}}))
        self.assertEqual(self.outline(run, "race"), {
            "race.branch_0.slow": "skipped(race_lost)", "race.branch_0.never": "skipped(race_lost)",
            "race.branch_1.nap": "completed", "race.branch_1.quick": "completed", "race.branch_2.bad": "failed",
            "race.branch_3.hear": "skipped(race_lost)"})
        lost = self.start({"id": "race", "type": "parallel", "config": {"mode": "race", "branches": [
            [boom("a", "first")], [pause("nap", "20ms"), boom("b", "second")]]}})
        self.assertEqual((lost["status"], lost["error"]["message"]), ("failed", "first"))


class Loops(DefinitionCase):
    def loop(self, mode, inputs=None, **config):
        return self.start({"id": "loop", "type": "loop", "config": {"mode": mode, **config}}, inputs=inputs)

    def test_for_each_goes_over_lists_objects_and_nothing(self):
        body = [log("say", "${{ loop.index }}:${{ loop.item }}")]
        run = self.loop("for_each", {"l": ["a", {"b": 1}, None]}, over="inputs.l", body=body)
        self.assertEqual(run["steps"]["loop"]["output"]["iterations"], 3)
        told = [event["data"]["message"] for event in self.events(run, "workflow_log")]
        self.assertEqual(told, ["0:a", '1:{"b":1}', "2:null"])
        empty = self.loop("for_each", {"l": []}, over="inputs.l", body=body)
        self.assertEqual(empty["steps"]["loop"]["output"], {"iterations": 0, "results": []})
        members = self.loop("for_each", {"o": {"x": 1, "y": 2}}, over="inputs.o",
                            body=[{"id": "add", "action": "expr.eval", "params": {"expression": "loop.item.value * 10"}}])
        self.assertEqual([r["result"] for r in members["steps"]["loop"]["output"]["results"]], [10, 20])
        self.assertEqual(self.loop("for_each", {"l": 7}, over="inputs.l", body=body)["error"]["code"], "EXPRESSION_ERROR")

    def test_max_iter_is_never_exceeded(self):
        for mode, more in (("for_each", {"over": "[1,2,3,4,5]"}), ("while", {"condition": "true"}),
                           ("until", {"condition": "false"})):
            run = self.loop(mode, body=[log("say")], max_iter=3, **more)
            self.assertEqual((run["status"], run["steps"]["loop"]["output"]["iterations"]), ("completed", 3), mode)

    def test_while_and_until_see_the_index_and_the_body(self):
        run = self.loop("while", condition="iter.index < 4", body=[log("say")])
        self.assertEqual(run["steps"]["loop"]["output"]["iterations"], 4)
        body = [{"id": "add", "action": "expr.eval", "params": {"expression": "loop.index + 1"}}]
        run = self.loop("until", condition="steps.add.result >= 3", body=body)
        self.assertEqual(run["steps"]["loop"]["output"]["iterations"], 3)

    def test_iterations_run_at_once_up_to_their_bound(self):
        gate = Gate()
        self.addCleanup(gate.open)
        service = self.stand_in(lambda request: gate)
        run = self.start({"id": "loop", "type": "map", "config": {
            "over": "[1,2,3,4,5]", "concurrency": 2, "body": [self.http("call", service)]}}, wait=None)
        until(lambda: gate.waiting == 2, "two at once")
        self.assertEqual(len(service.seen()), 2)
        gate.open()
        self.assertEqual(self.watch(run)["steps"]["loop"]["output"]["iterations"], 5)

    def test_a_long_loop_is_paged_and_complete(self):
        run = self.start({"id": "loop", "type": "loop", "config": {
            "over": "inputs.l", "body": [log("say")]}}, inputs={"l": list(range(3000))})
        run = self.watch(run)
        steps, cursor = {}, None
        while True:
            page = self.call("GET", f"/v1/runs/{run['id']}?limit=1000" + (f"&cursor={cursor}" if cursor else ""))["run"]
            steps.update(page["steps"])
            cursor = page.get("next_cursor")
            if not cursor:
                break
        self.assertEqual(len(steps), 3001)
        self.assertEqual({record["status"] for record in steps.values()}, {"completed"})


class Rollback(DefinitionCase):
    def undo(self, service, id, **more):
        return log(id, compensate={"action": "http.post", "params": {"url": service.url("/undo/" + id), "body": {
            "step": "${{ compensating.step }}", "output": "${{ compensating.output }}"}}}, **more)

    def test_what_was_done_is_undone_newest_first(self):
        service = self.stand_in()
        run = self.start(self.undo(service, "a"), self.undo(service, "b", depends_on=["a"]), log("c", depends_on=["b"]),
                         boom("d", depends_on=["c"], on_failure="rollback"))
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "ROLLED_BACK"))
        self.assertEqual([r.path for r in service.seen()], ["/undo/b", "/undo/a"])
        self.assertEqual(service.seen()[0].body, {"step": "b", "output": {"logged": True}})
        self.assertEqual([name for name, record in run["steps"].items() if record.get("compensated")], ["a", "b"])
        told = [(e["type"], e.get("step_id")) for e in self.events(
            run, "rollback_started", "step_compensating", "step_compensated", "rollback_completed")]
        self.assertEqual(told, [("rollback_started", None), ("step_compensating", "b"), ("step_compensated", "b"),
                                ("step_compensating", "a"), ("step_compensated", "a"), ("rollback_completed", None)])

    def test_the_whole_definition_may_roll_back(self):
        service = self.stand_in()
        for more in ({"on_failure": "rollback"}, {"on_error": {"strategy": "rollback"}}):
            run = self.start(self.undo(service, "a"), boom("b", depends_on=["a"]), **more)
            self.assertEqual((run["status"], run["error"]["code"]), ("failed", "ROLLED_BACK"))
        self.assertEqual(len(service.seen("/undo/a")), 2)

    def test_iterations_are_undone_last_to_first(self):
        service = self.stand_in()
        body = [log("x", compensate={"action": "http.post", "params": {"url": service.url("/undo"), "body": {"i": "${{ loop.index }}"}}})]
        run = self.start({"id": "loop", "type": "loop", "config": {"over": "[7,8,9]", "body": body}},
                         boom("b", depends_on=["loop"], on_failure="rollback"))
        self.assertEqual((run["error"]["code"], [r.body["i"] for r in service.seen()]), ("ROLLED_BACK", [2, 1, 0]))

    def test_cancel_with_rollback(self):
        service = self.stand_in()
        run = self.start(self.undo(service, "a"), ask("gate", depends_on=["a"]))
        self.steer(run, "cancel", {"rollback": True, "reason": "changed my mind"})
        run = self.watch(run)
        self.assertEqual((run["status"], len(service.seen("/undo/a"))), ("cancelled", 1))
        plain = self.start(self.undo(service, "a"), ask("gate", depends_on=["a"]))
        self.steer(plain, "cancel")
        self.assertEqual((self.watch(plain)["status"], len(service.seen("/undo/a"))), ("cancelled", 1))

    def test_a_compensation_that_fails_can_be_retried_or_left_out(self):
        broken = [True]
        service = self.stand_in(lambda request: Answer(500 if broken[0] and request.path == "/undo/b" else 200, {}))

        def undo(id, **more):
            return log(id, compensate={"action": "http.post", "retry": {"max": 1, "delay": "5ms"}, "params": {
                "url": service.url("/undo/" + id), "fail_on_error_status": True}}, **more)
        steps = (undo("a"), undo("b", depends_on=["a"]), boom("c", depends_on=["b"], on_failure="rollback"))
        run = self.start(*steps)
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "ROLLBACK_FAILED"))
        self.assertEqual(service.seen("/undo/a"), [])
        broken[0] = False
        self.steer(run, "retry")
        run = self.watch(run)
        self.assertEqual((run["error"]["code"], len(service.seen("/undo/a"))), ("ROLLED_BACK", 1))
        broken[0] = True
        other = self.start(*steps)
        self.assertEqual(other["error"]["code"], "ROLLBACK_FAILED")
        self.signal(other, "skip", step_id="b")
        other = self.watch(other)
        self.assertEqual((other["status"], len(service.seen("/undo/a"))), ("failed", 2))


class Again(DefinitionCase):
    def test_retry_keeps_what_was_done(self):
        service = self.stand_in(failing_first(1))
        run = self.start(log("a"), self.http("b", service, depends_on=["a"]), log("c", depends_on=["b"]))
        self.assertEqual(run["status"], "failed")
        preview = self.steer(run, "retry", {"preview": True})
        self.assertEqual((preview["again"], preview["kept"]), (["b", "c"], ["a"]))
        self.assertEqual(self.get(run["id"])["status"], "failed")
        self.steer(run, "retry")
        run = self.watch(run)
        self.assertEqual((run["status"], run.get("error")), ("completed", None))
        self.assertEqual(len([e for e in self.events(run, "step_started") if e["step_id"] == "a"]), 1)
        self.assertEqual(len(self.events(run, "workflow_resumed")), 1)
        keys = [request.key for request in service.seen()]
        self.assertEqual(len(set(keys)), 2, f"a second try under the first one's key: {keys}")

    def test_retry_from_a_step_runs_it_and_all_behind_it(self):
        run = self.start(log("a"), log("b", depends_on=["a"]), log("c", depends_on=["b"]), log("aside", depends_on=["a"]),
                         outputs={"n": "inputs.n"}, inputs={"n": 1})
        self.steer(run, "retry", {"from_step": "nobody"}, 422)
        self.steer(run, "retry", {}, 409)
        preview = self.steer(run, "retry", {"from_step": "b", "preview": True})
        self.assertEqual((preview["again"], preview["kept"]), (["b", "c"], ["a", "aside"]))
        self.steer(run, "retry", {"from_step": "b", "inputs": {"n": 2}})
        run = self.watch(run)
        self.assertEqual((run["status"], run["output"]), ("completed", {"n": 2}))
        started = [event["step_id"] for event in self.events(run, "step_started")]
        self.assertEqual([started.count(id) for id in ("a", "b", "c", "aside")], [1, 2, 2, 1])

    def test_retry_from_inside_a_loop_keeps_earlier_iterations(self):
        run = self.start({"id": "loop", "type": "loop", "config": {"over": "[1,2,3]", "body": [log("x"), log("y")]}},
                         log("end", depends_on=["loop"]))
        preview = self.steer(run, "retry", {"from_step": "loop.iter_1.y", "preview": True})
        self.assertIn("loop.iter_0.y", preview["kept"])
        self.assertIn("loop.iter_1.x", preview["kept"])
        self.assertIn("loop.iter_1.y", preview["again"])
        self.steer(run, "retry", {"from_step": "loop.iter_1.y"})
        run = self.watch(run)
        started = [event["step_id"] for event in self.events(run, "step_started")]
        self.assertEqual([started.count(f"loop.iter_{n}.{s}") for n in range(3) for s in "xy"], [1, 1, 1, 2, 2, 2])
        self.assertEqual((run["status"], run["steps"]["loop"]["output"]["iterations"], started.count("end")),
                         ("completed", 3, 2))

    def test_a_loop_that_failed_in_the_middle_goes_on_there(self):
        service = self.stand_in(lambda request, n=itertools.count(): Answer(500 if next(n) == 1 else 200, {}))
        run = self.start({"id": "loop", "type": "loop", "config": {"over": "[1,2,3]", "body": [self.http("call", service)]}})
        self.assertEqual(run["status"], "failed")
        self.steer(run, "retry")
        run = self.watch(run)
        self.assertEqual((run["status"], len(service.seen())), ("completed", 4))
        self.assertEqual([r.key.split("/")[1] for r in service.seen()],
                         ["loop.iter_0.call", "loop.iter_1.call", "loop.iter_1.call", "loop.iter_2.call"])

    def test_the_retry_signal_cuts_a_backoff_short(self):
        service = self.stand_in(failing_first(1))
        run = self.start(self.http("call", service, retry={"max": 1, "delay": "1h"}), wait=None)
        self.watch_step(run, "call", "retrying")
        self.signal(run, "retry", step_id="call")
        self.assertEqual(self.watch(run)["status"], "completed")

    def test_the_retry_and_skip_signals_revive_a_failed_run(self):
        service = self.stand_in(failing_first(1))
        run = self.start(self.http("call", service), log("after", depends_on=["call"]))
        self.signal(run, "retry", step_id="call")
        self.assertEqual(self.watch(run)["status"], "completed")
        run = self.start(boom("a"), log("after", depends_on=["a"]))
        self.signal(run, "skip", step_id="a")
        run = self.watch(run)
        self.assertEqual((run["status"], self.outline(run)),
                         ("completed", {"a": "skipped(skipped_by_signal)", "after": "completed"}))

    def test_a_live_run_is_not_retried(self):
        self.steer(self.start(ask("gate")), "retry", status=409)


class Pause(DefinitionCase):
    def test_drain_lets_what_is_under_way_finish(self):
        gate = Gate()
        self.addCleanup(gate.open)
        service = self.stand_in(lambda request: gate)
        run = self.start(self.http("call", service), log("after", depends_on=["call"]), wait=None)
        until(lambda: gate.waiting == 1, "the call is under way")
        self.steer(run, "pause")
        gate.open()
        run = self.watch(run, "suspended")
        self.assertEqual(self.outline(run), {"call": "completed", "after": "pending"})
        self.steer(run, "pause")  # again: nothing more happens
        self.steer(run, "resume")
        self.assertEqual(self.watch(run)["status"], "completed")
        self.assertEqual(len(service.seen()), 1)
        self.steer(run, "resume", status=409)

    def test_now_stops_what_is_under_way_and_does_it_again(self):
        gate, count = Gate(), itertools.count()
        self.addCleanup(gate.open)
        service = self.stand_in(lambda request: gate if next(count) == 0 else Answer(200, {}))
        run = self.start(self.http("call", service), log("after", depends_on=["call"]), wait=None)
        until(lambda: gate.waiting == 1, "the call is under way")
        self.steer(run, "pause", {"mode": "now"})
        self.watch(run, "suspended")
        self.steer(run, "resume")
        run = self.watch(run)
        self.assertEqual((run["status"], len(service.seen())), ("completed", 2))

    def test_a_paused_run_is_suspended_although_it_waits_for_time(self):
        run = self.start(pause("nap", "150ms"), log("after", depends_on=["nap"]), wait=None)
        self.steer(run, "pause")
        self.assertEqual(self.watch(run, "suspended")["steps"]["nap"]["status"], "running")
        self.steer(run, "resume")
        self.assertEqual(self.watch(run)["status"], "completed")

    def test_paused_time_does_not_count(self):
        run = self.start(await_signal("hear", "go"), timeout="700ms", wait="0s")
        self.steer(run, "pause")
        other = self.start(pause("nap", "900ms"))  # time passes
        self.assertEqual(other["status"], "completed")
        self.steer(run, "resume")
        self.signal(run, "go")
        self.assertEqual(self.watch(run)["status"], "completed")

    def test_a_paused_run_can_be_cancelled(self):
        run = self.start(ask("gate"))
        self.steer(run, "pause")
        self.steer(run, "cancel", {"reason": "enough"})
        run = self.watch(run)
        self.assertEqual((run["status"], run["reason"]), ("cancelled", "enough"))
        self.steer(run, "cancel", status=409)

    def test_a_decision_may_be_taken_while_the_run_is_paused(self):
        run = self.start(ask("gate"), log("after", depends_on=["gate"]))
        self.steer(run, "pause")
        self.decide(run, "yes")
        self.assertEqual(self.outline(self.get(run["id"])), {"gate": "completed", "after": "pending"})
        self.steer(run, "resume")
        self.assertEqual(self.watch(run)["status"], "completed")


class Extend(DefinitionCase):
    def test_steps_are_added_to_a_live_run(self):
        run = self.start(ask("gate"))
        self.steer(run, "extend", {"steps": [log("more", depends_on=["gate"])]})
        self.steer(run, "extend", {"steps": [log("more")]}, 422)
        self.steer(run, "extend", {"steps": [log("x", depends_on=["nobody"])]}, 422)
        self.steer(run, "extend", {"steps": []}, 422)
        self.decide(run, "yes")
        run = self.watch(run)
        self.assertEqual(self.outline(run), {"gate": "completed", "more": "completed"})
        self.assertEqual(len(self.events(run, "dag_mutated")), 1)
        self.steer(run, "extend", {"steps": [log("late")]}, 409)

    def test_a_named_definition_stays_as_it_is(self):
        self.define("extended", ask("gate"))
        run = self.run_named("extended")
        self.steer(run, "extend", {"steps": [log("more")]})
        self.decide(run, "yes")
        self.assertEqual(sorted(self.watch(run)["steps"]), ["gate", "more"])
        self.assertEqual(sorted(self.run_named("extended")["steps"]), ["gate"])
