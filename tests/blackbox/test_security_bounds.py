"""Definitions and signals that exceed their share.

A canary client pushes all the time: every push must be accepted, the process must survive, and the run that exceeded a
bound must report it in its own outcome.
"""
import threading
import time
import unittest

from harness import SANITIZED, Server, until

# About two hundred thousand steps of an evaluation.
DEAR = "[1,2,3,4,5,6,7,8,9,10].all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, " \
       "[1,2,3,4,5,6,7,8,9,10].all(d, a + b + c + d > 0))))"
# Within the bound of an output; two of them together are not within that of what is put together.
BIG = {"action": "jq", "params": {"expression": '"x" * 9000000', "data": {}}}


class Canary:
    """Pushes until it is told to stop; counts what was not taken."""

    def __init__(self, server):
        self._client = server.client()
        self._stop = threading.Event()
        self.taken = 0
        self.slowest = 0.0  # seconds
        self.refused = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        # Pushes before it looks: a test that is over within milliseconds has been watched too.
        while True:
            begun = time.monotonic()
            try:
                answer = self._client.push("canary", queue="canary")
                self.slowest = max(self.slowest, time.monotonic() - begun)
            except OSError as broken:
                self.refused.append(broken)
                return
            if answer.status == 201:
                self.taken += 1
            else:
                self.refused.append((answer.status, answer.body))
            if self._stop.wait(0.005):
                return

    def stop(self):
        if self._stop.is_set():
            return
        self._stop.set()
        self._thread.join()
        self._client.close()


class Watched(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.server.start()
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.canary = Canary(self.server)

    def tearDown(self):
        self.canary.stop()
        self.assertTrue(self.server.alive(), self.server.log_tail())
        self.assertEqual(self.canary.refused, [])
        self.assertGreater(self.canary.taken, 0)

    def begin(self, definition, **more):
        answer = self.client.post("/v1/runs", {"definition": definition, **more})
        self.assertEqual(answer.status, 201, answer.body)
        return answer.body["run"]["id"]

    def end(self, run, seconds=200):
        def over():
            body = self.client.get(f"/v1/runs/{run}?fields=id,status,error,output").body["run"]
            return body if body.get("status") in ("completed", "failed", "cancelled") else None
        return until(over, "the run's end", seconds)


class Bounds(Watched):
    def test_one_large_result_is_fine(self):
        over = self.end(self.begin({"name": "one", "steps": [{"id": "a", **BIG}]}))
        self.assertEqual(over["status"], "completed", over.get("error"))

    def test_a_loop_of_large_results(self):
        body = [{"id": "big", **BIG}]
        run = self.begin({"name": "loop", "steps": [
            {"id": "l", "type": "loop", "config": {"over": list(range(60)), "body": body}}]})
        over = self.end(run)
        self.assertEqual(over["status"], "failed")
        self.assertIn(over["error"]["code"], ("RUN_TOO_LARGE", "NON_RETRYABLE"))

    def test_branches_of_large_results(self):
        branches = [[{"id": f"b{i}", **BIG}] for i in range(4)]
        over = self.end(self.begin({"name": "p", "steps": [
            {"id": "p", "type": "parallel", "config": {"branches": branches}}]}))
        self.assertEqual((over["status"], over["error"]["code"]), ("failed", "NON_RETRYABLE"))

    def test_outputs_and_events_of_large_results(self):
        twice = "${{ steps.a.result + steps.a.result }}"
        for extra in ({"outputs": {"o": twice}},
                      {"more": {"action": "workflow.emit", "params": {"event_type": "e", "payload": twice}}},
                      {"more": {"action": "workflow.context", "params": {"action": "update", "data": {"k": twice}}}}):
            definition = {"name": "o", "steps": [{"id": "a", **BIG}]}
            if "more" in extra:
                definition["steps"].append({"id": "b", "depends_on": ["a"], **extra["more"]})
            else:
                definition["outputs"] = extra["outputs"]
            over = self.end(self.begin(definition))
            self.assertEqual(over["status"], "failed", extra)
            self.assertTrue(over["error"]["code"], extra)

    def test_a_loop_of_dear_conditions_lets_others_through(self):
        loop = {"mode": "while", "condition": f"{DEAR} && iter.index < 200", "max_iter": 200,
                "body": [{"id": "b", "action": "workflow.log", "params": {"message": "m"}}]}
        runs = [self.begin({"name": "w", "steps": [{"id": "l", "type": "loop", "config": loop}]}) for _ in range(3)]
        over = [self.end(run) for run in runs]
        self.assertEqual([(run["status"], run["output"]["l"]["iterations"]) for run in over], [("completed", 200)] * 3)

    def test_runs_of_many_steps(self):
        """Each step costs what it looks at, and what they answer does not come before everybody else."""
        pattern = "(a{1,100}|b[^c]{1,99}){1,5}x"
        many = [{"id": f"s{i}", "action": "jq", "params": {"expression": f'.a|test("{pattern}{i}")', "data": {"a": "aaa"}}}
                for i in range(3000)]
        words = "lorem ipsum " * 40000
        loud = {"id": "b", "action": "workflow.log", "params": {"message": "${{ steps.s1 }} " + words}}
        quiet = [{"id": f"s{i}", "action": "workflow.log", "params": {"message": "m"}} for i in range(5000)]
        slow = [*quiet, {"id": "l", "depends_on": ["s1"], "type": "loop", "config": {"over": list(range(50)), "body": [loud]}}]
        # Each falls back on the next.
        chain = [{"id": f"s{i}", "action": "workflow.fail", "params": {"reason": "r"},
                  "on_error": {"strategy": "fallback_step", "fallback_step": f"s{i + 1}"}} for i in range(2000)]
        chain += [{"id": f"s{i}", "action": "workflow.log", "params": {"message": "m"}, **({"depends_on": ["s2000"]} if i > 2000 else {})}
                  for i in range(2000, 4000)]
        before = self.canary.slowest
        for steps in (many, slow, chain):
            run = self.begin({"name": "m", "steps": steps})
            taken = self.canary.taken
            until(lambda: self.canary.taken > taken + 100, "pushes are taken meanwhile")
            self.client.post(f"/v1/runs/{run}/cancel")
        if not SANITIZED:
            self.assertLess(self.canary.slowest, before + 1.5)

    def test_large_signals(self):
        run = self.begin({"name": "s", "steps": [{"id": "w", "type": "wait", "config": {"signal": "go"}}]})
        statuses = [self.client.post(f"/v1/runs/{run}/signals", {"type": "early", "payload": {"x": "y" * 9_000_000}}).status
                    for _ in range(9)]
        self.assertEqual(statuses[:5], [200] * 5)
        self.assertIn(413, statuses)
        self.canary.stop()
        self.server.kill()
        self.server.start()
        self.client.close()
        self.assertEqual(self.client.post(f"/v1/runs/{run}/signals", {"type": "go"}).status, 200)
        self.assertEqual(self.end(run)["status"], "completed")

    def test_outputs_of_many_dear_expressions(self):
        definition = {"name": "many", "steps": [{"id": "b", "action": "workflow.log", "params": {"message": "m"}}],
                      "outputs": {f"o{i}": "${{ " + DEAR + " }}" for i in range(30)}}
        over = self.end(self.begin(definition))
        self.assertEqual(over["status"], "completed", over)
        self.assertEqual(over["output"], {f"o{i}": True for i in range(30)})


class Replies(Watched):
    """Whoever may only read must not be able to hold the others up, however much is stored."""

    RESULT = "x" * 6_000_000
    # A bound for what all of it may need at once; without bounds on replies it took gigabytes.
    RSS_KB_MAX = 1_500_000

    def together(self, paths, times=6):
        """Reads each path that often, all at once; the sizes of the replies."""
        sizes = []

        def read(path):
            client = self.server.client()
            answer = client.get(path, timeout_s=60)
            sizes.append(len(answer.raw) if answer.status == 200 else -answer.status)
            client.close()
        threads = [threading.Thread(target=read, args=(path,)) for path in paths * times]
        before = self.canary.slowest
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(sizes), len(threads))
        if not SANITIZED:
            self.assertLess(self.canary.slowest, before + 1.5)
            self.assertLess(self.server.rss_kb("VmHWM"), self.RSS_KB_MAX)
        return sizes

    def pages(self, path, member):
        """All entries of a list, by its cursor."""
        found, cursor = [], ""
        while True:
            body = self.client.get(path + cursor).body
            found += body[member]
            if not body.get("next_cursor"):
                return found
            cursor = ("&" if "?" in path else "?") + "cursor=" + body["next_cursor"]

    def test_lists_of_large_jobs(self):
        ids = {self.client.push("t", ["x" * 5_000_000], queue="big").body["job"]["id"] for _ in range(16)}
        path = "/ojs/v1/jobs?limit=1000&queue=big"
        self.assertLess(max(self.together([path])), 10_000_000)
        self.assertEqual({job["id"] for job in self.pages(path, "jobs")}, ids)
        self.canary.stop()
        self.server.kill()  # and once more from the disk
        self.server.start()
        self.client.close()
        self.assertEqual({job["id"] for job in self.pages(path, "jobs")}, ids)

    def test_a_workflow_of_large_results(self):
        jobs = [{"type": "t", "args": [], "options": {"queue": "big"}} for _ in range(16)]
        workflow = self.client.post("/ojs/v1/workflows", {"type": "group", "jobs": jobs}).body["workflow"]
        for job in self.client.fetch(["big"], count=16, worker_id="w").body["jobs"]:
            self.client.ack(job["id"], worker_id="w", result=self.RESULT)
        path = "/ojs/v1/workflows/" + workflow["id"]
        self.assertLess(max(self.together([path])), 20_000_000)
        found, cursor = [], "0"
        while cursor:
            body = self.client.get(f"{path}?cursor={cursor}").body["workflow"]
            found += [job["result"] for job in body["jobs"]]
            cursor = body.get("next_cursor")
        self.assertEqual(found, [self.RESULT] * 16)

    def test_a_run_of_large_outputs(self):
        run = self.begin({"name": "r", "steps": [{"id": f"s{i}", "action": "jq", "params": {
            "expression": '"x" * 6000000', "data": {}}} for i in range(8)], "outputs": {"n": 1}})
        self.assertEqual(self.end(run)["status"], "completed")
        self.assertLess(max(self.together([f"/v1/runs/{run}"])), 20_000_000)
        steps = self.client.get(f"/v1/runs/{run}").body["run"]["steps"]
        left_out = [step for step, shown in steps.items() if shown.get("output_omitted")]
        self.assertEqual((len(steps), {steps[step]["output"] for step in left_out}), (8, {None}))
        self.assertGreaterEqual(len(left_out), 6)
        for step in left_out:
            one = self.client.get(f"/v1/runs/{run}/steps/{step}").body["step"]
            self.assertEqual((one["status"], one["output"]["result"]), ("completed", self.RESULT))

    def test_large_decisions_and_definitions(self):
        ask = {"id": "q", "type": "reasoning", "config": {"prompt_context": "?", "data_inject": {"a": "inputs.b"}}}
        runs = {self.begin({"name": "q", "steps": [ask]}, inputs={"b": "x" * 5_000_000}) for _ in range(12)}
        for i in range(12):
            self.assertEqual(self.client.post("/v1/definitions", {"name": f"d{i}", "definition": {"steps": [
                {"id": "a", "action": "workflow.log", "params": {"message": "x" * 3_500_000}}]}}).status, 201)
        decisions = "/v1/decisions?status=pending&limit=1000"
        self.assertLess(max(self.together([decisions, "/v1/definitions?limit=1000"])), 11_000_000)
        self.assertEqual({one["run_id"] for one in self.pages(decisions, "decisions")}, runs)
        self.assertEqual({one["name"] for one in self.pages("/v1/definitions", "definitions")}, {f"d{i}" for i in range(12)})

    def test_a_dense_diagram(self):
        for name, before in (("dense", 200), ("drawn", 40)):
            steps = [{"id": f"s{i}", "action": "crypto.uuid", "depends_on": [f"s{k}" for k in range(max(0, i - before), i)]}
                     for i in range(1000)]
            self.assertEqual(self.client.post("/v1/definitions", {"name": name, "definition": {"steps": steps}}).status, 201)
        self.assertEqual(self.client.get("/v1/definitions/dense/diagram?format=svg").status, 422)
        self.assertGreater(min(self.together(["/v1/definitions/drawn/diagram?format=svg"])), 1_000_000)


class LongNames(Watched):
    """What names a row is part of its key, and a store takes keys up to a bound: a name beyond it once failed every
    commit that wrote its row."""

    def write_all_rows(self):
        jobs = {"jobs": [{"type": "t", "args": []} for _ in range(1000)]}
        for _ in range(80):  # more changes than a server holds back from its rows
            self.assertEqual(self.client.post("/ojs/v1/jobs/batch", jobs).status, 201)
        self.assertEqual(self.client.get("/v1/system").body["store"]["outages"], 0)

    def test_targets_of_actions(self):
        asked = {"id": "a", "action": "http.get", "params": {"url": f"http://{'h' * 5000}.invalid/"}}
        self.assertEqual(self.end(self.begin({"name": "far", "steps": [asked]}))["status"], "failed")
        self.write_all_rows()

    def test_ids_of_nested_steps(self):
        def nested(length, depth=14):
            step = {"id": "w", "type": "wait", "config": {"duration": "1h"}}
            for _ in range(depth):
                step = {"id": "s" * length, "type": "sequence", "config": {"steps": [step]}}
            return {"name": "deep", "steps": [step]}
        self.begin(nested(110))
        refused = self.client.post("/v1/runs", {"definition": nested(190)})
        self.assertEqual(refused.status, 422)
        self.assertTrue("too_deep" in refused.raw.decode())
        self.write_all_rows()


class RunBytes(unittest.TestCase):
    def test_the_bound_of_a_run_can_be_set(self):
        server = Server(args=["--limits-run-bytes", "64KiB"])
        self.addCleanup(server.close)
        server.start()
        client = server.client()
        self.addCleanup(client.close)
        steps = [{"id": f"s{i}", "action": "jq", "params": {"expression": '"x" * 20000', "data": {}},
                  **({"depends_on": [f"s{i - 1}"]} if i else {})} for i in range(5)]
        run = client.post("/v1/runs", {"definition": {"name": "r", "steps": steps}, "wait": "30s"}).body["run"]
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "RUN_TOO_LARGE"), run)
        self.assertIn("65536", run["error"]["message"])


if __name__ == "__main__":
    unittest.main()
