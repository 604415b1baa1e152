"""Workflows over HTTP: replies, data flow through nested ones, and delivery of every callback exactly once, also across
crashes.

The last is small by default. In full:
    PAWL_WORKFLOW_BATCHES=200 PAWL_WORKFLOW_JOBS=1000 PAWL_WORKFLOW_WORKERS=32 PAWL_WORKFLOW_KILLS=10 \\
    python3 -m unittest discover -s tests/blackbox -p test_workflows.py -k Crash
"""
import os
import random
import subprocess
import threading
import unittest

from harness import PAWL, Client, Server, Worker, join_all, new_id, until

BATCHES = int(os.environ.get("PAWL_WORKFLOW_BATCHES", "4"))
BATCH_JOBS = int(os.environ.get("PAWL_WORKFLOW_JOBS", "200"))
KILLS = int(os.environ.get("PAWL_WORKFLOW_KILLS", "3"))
WORKERS = int(os.environ.get("PAWL_WORKFLOW_WORKERS", "8"))
LEASE_MS = 2000  # a fetch whose reply was lost with the server is given to another worker after this


def job(type, queue="default", **more):
    options = {"queue": queue, "retry": {"max_attempts": more.pop("attempts", 1)}, **more.pop("options", {})}
    return {"type": type, "args": more.pop("args", []), "options": options, **more}


def chain(*steps, **more):
    return {"type": "chain", "steps": list(steps), **more}


def group(*jobs, **more):
    return {"type": "group", "jobs": list(jobs), **more}


def batch(*jobs, **more):
    roles = more.pop("callbacks", ("on_complete", "on_success", "on_failure"))
    return {"type": "batch", "jobs": list(jobs), "callbacks": {role: job(role) for role in roles}, **more}


class WorkflowTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def create(self, workflow, **more):
        reply = self.client.post("/ojs/v1/workflows", workflow, **more)
        self.assertEqual(reply.status, 201, reply.raw)
        return reply.body["workflow"]["id"]

    def get(self, workflow_id):
        reply = self.client.get(f"/ojs/v1/workflows/{workflow_id}")
        self.assertEqual(reply.status, 200, reply.raw)
        return reply.body["workflow"]

    def take(self, type):
        """The next job, which must be of this type."""
        jobs = self.client.fetch().body["jobs"]
        self.assertEqual([found["type"] for found in jobs], [type])
        return jobs[0]

    def do(self, type, result=None):
        """Completes the next job; returns what it was given of the jobs before it."""
        taken = self.take(type)
        reply = self.client.ack(taken["id"], result=result) if result is not None else self.client.ack(taken["id"])
        self.assertEqual(reply.status, 200, reply.raw)
        return taken["parent_results"]

    def spoil(self, type):
        taken = self.take(type)
        reply = self.client.nack(taken["id"], {"code": "broken", "message": "it broke"})
        self.assertEqual(reply.status, 200, reply.raw)
        return taken["id"]

    def nothing_waits(self):
        self.assertEqual(self.client.fetch().body["jobs"], [])


class Shapes(WorkflowTest):
    def test_a_created_workflow_is_answered_whole(self):
        reply = self.client.post("/ojs/v1/workflows", chain(job("shape.a"), group(job("b"), job("c")), name="n"))
        self.assertEqual(reply.status, 201, reply.raw)
        workflow = reply.body["workflow"]
        self.assertEqual(reply.headers["Location"], f"/ojs/v1/workflows/{workflow['id']}")
        self.assertEqual((workflow["type"], workflow["state"], workflow["name"]), ("chain", "running", "n"))
        self.assertEqual((workflow["steps_total"], workflow["steps_completed"]), (2, 0))
        self.assertEqual([(s["index"], s["type"], s["state"]) for s in workflow["steps"]],
                         [(0, "shape.a", "pending"), (1, "group", "waiting")])
        self.assertIsNone(workflow["steps"][1]["job_id"])
        metadata = workflow["metadata"]
        self.assertEqual((metadata["job_count"], metadata["completed_count"], metadata["failed_count"]), (3, 0, 0))
        self.assertNotIn("started_at", metadata)
        for name, value in workflow.items():  # clients read the fields with and without the wrapper
            self.assertEqual(reply.body[name], value)
        self.assertEqual(self.client.delete(f"/ojs/v1/workflows/{workflow['id']}").status, 200)

    def test_what_is_no_workflow_is_refused_with_its_place(self):
        cases = [
            ({}, "$.type"),
            ({"type": "circle"}, "$.type"),
            ({"type": "chain"}, "$.steps"),
            (chain(), "$.steps"),
            (group(), "$.jobs"),
            ({"type": "group", "jobs": {}}, "$.jobs"),
            (chain({"args": []}), "$.steps[0]"),
            (chain(job("ok"), {"type": "x", "args": 7}), "$.steps[1]"),
            (chain(job("ok"), group()), "$.steps[1].jobs"),
            (batch(job("ok"), callbacks=()), "$.callbacks"),
            ({"type": "batch", "jobs": [job("ok")]}, "$.callbacks"),
            ({**batch(job("ok")), "callbacks": {"on_whim": job("x")}}, "$.callbacks.on_whim"),
            ({"type": "dag", "steps": [job("a", name="a", depends_on=["b"]), job("b", name="b", depends_on=["a"])]}, "$.steps"),
            (chain(job("a", when="1 +")), "$.steps[0].when"),
        ]
        for workflow, path in cases:
            reply = self.client.post("/ojs/v1/workflows", workflow)
            self.assertEqual((reply.status, reply.body["error"]["code"]), (400, "invalid_workflow"), reply.raw)
            errors = reply.body["error"]["details"]["validation_errors"]
            self.assertTrue(errors[0]["path"].startswith(path), (path, errors))
            self.assertTrue(errors[0]["message"])
        self.nothing_waits()

    def test_nesting_has_a_bound(self):
        def nested(levels):
            workflow = job("deep")
            for level in range(levels):
                workflow = chain(workflow) if level % 2 else group(workflow)
            return workflow

        workflow = self.create(nested(16))
        self.do("deep")
        self.assertEqual(self.get(workflow)["state"], "completed")
        reply = self.client.post("/ojs/v1/workflows", nested(200))
        self.assertEqual(reply.status, 400, reply.raw)
        self.assertIn("nested deeper than", reply.body["error"]["message"])

    def test_unknown_and_ended_ones(self):
        for method in ("GET", "DELETE"):
            reply = self.client.call(method, "/ojs/v1/workflows/wf_nonexistent")
            self.assertEqual((reply.status, reply.body["error"]["code"]), (404, "not_found"))
            self.assertEqual(reply.body["error"]["message"], "Workflow wf_nonexistent not found")
        workflow = self.create(chain(job("end.a"), job("end.b")))
        first = self.client.delete(f"/ojs/v1/workflows/{workflow}")
        self.assertEqual((first.status, first.body["workflow"]["state"]), (200, "cancelled"))
        self.assertIn("cancelled_at", first.body["workflow"]["metadata"])
        again = self.client.delete(f"/ojs/v1/workflows/{workflow}")
        self.assertEqual((again.status, again.body["error"]["code"]), (409, "conflict"))
        self.assertEqual(self.client.post(f"/ojs/v1/workflows/{workflow}/retry").status, 409)
        self.nothing_waits()

    def test_asking_twice_creates_one(self):
        key = {"Idempotency-Key": new_id()}
        workflow = chain(job("twice.a"))
        first = self.client.post("/ojs/v1/workflows", workflow, headers=key)
        second = self.client.post("/ojs/v1/workflows", workflow, headers=key)
        self.assertEqual((first.status, second.status), (201, 201))
        self.assertEqual(first.body, second.body)
        self.do("twice.a")
        named = {**workflow, "id": "wf_my-own-name"}
        self.assertEqual(self.create(named), "wf_my-own-name")
        self.assertEqual(self.client.post("/ojs/v1/workflows", named).status, 409)
        self.do("twice.a")
        self.nothing_waits()
        self.assertEqual(self.get("wf_my-own-name")["state"], "completed")

    def test_the_list_is_newest_first_and_pages(self):
        made = [self.create(chain(job("list.a"), name="listed")) for _ in range(5)]
        seen, cursor = [], ""
        while True:
            reply = self.client.get(f"/ojs/v1/workflows?name=listed&limit=2{cursor}")
            self.assertEqual(reply.status, 200, reply.raw)
            seen += [workflow["id"] for workflow in reply.body["workflows"]]
            if not reply.body["next_cursor"]:
                break
            cursor = f"&cursor={reply.body['next_cursor']}"
        self.assertEqual(seen, sorted(made, reverse=True))
        for workflow in made:
            self.client.delete(f"/ojs/v1/workflows/{workflow}")
        self.assertEqual(self.client.get("/ojs/v1/workflows?name=listed&state=running").body["workflows"], [])
        self.assertEqual(self.client.get("/ojs/v1/workflows?limit=0").status, 400)


class Flows(WorkflowTest):
    def test_data_flows_through_nested_ones(self):
        workflow = self.create(chain(job("extract"), group(chain(job("b1"), job("b2")), job("c")), batch(job("d"), job("e")),
                                     job("load")))
        self.assertEqual(self.do("extract", {"n": 1}), [])
        self.assertEqual(self.do("b1", "b1"), [{"n": 1}])
        self.assertEqual(self.do("c"), [{"n": 1}])
        self.assertEqual(self.do("b2", "b2"), ["b1"])
        before = [{"n": 1}, {"0": "b2", "1": None}]
        self.assertEqual(self.do("d", 4), before)
        self.assertEqual(self.do("e", 5), before)
        self.assertEqual(self.do("on_complete"), [4, 5])
        self.assertEqual(self.get(workflow)["state"], "running")
        self.assertEqual(self.do("on_success"), [4, 5])
        self.assertEqual(self.do("load"), before + [{"0": 4, "1": 5}])
        ended = self.get(workflow)
        self.assertEqual((ended["state"], ended["steps_completed"]), ("completed", 4))
        metadata = ended["metadata"]
        self.assertEqual((metadata["job_count"], metadata["completed_count"], metadata["failed_count"]), (7, 7, 0))
        self.assertLessEqual(metadata["created_at"], metadata["started_at"])
        self.assertLessEqual(metadata["started_at"], metadata["completed_at"])

    def test_a_failure_is_told_with_its_place(self):
        workflow = self.create(chain(job("f1"), job("f2"), job("f3")))
        self.do("f1")
        failed = self.spoil("f2")
        self.nothing_waits()
        told = self.get(workflow)
        self.assertEqual(told["state"], "failed")
        self.assertEqual([step["state"] for step in told["steps"]], ["completed", "failed", "cancelled"])
        self.assertEqual(told["metadata"]["failed_step_index"], 1)
        self.assertEqual(told["metadata"]["failed_job_ids"], [failed])
        error = told["metadata"]["errors"][0]
        self.assertEqual((error["job_id"], error["code"], error["message"], error["attempt"]), (failed, "broken", "it broke", 1))
        for _ in range(2):
            self.assertEqual(self.client.post(f"/ojs/v1/workflows/{workflow}/retry").status, 200)
        self.do("f2")
        self.do("f3")
        self.nothing_waits()
        self.assertEqual(self.get(workflow)["state"], "completed")

    def test_a_failed_callback_is_named(self):
        workflow = self.create(batch(job("g"), callbacks=("on_complete", "on_success")))
        self.do("g")
        self.do("on_complete")
        self.spoil("on_success")
        told = self.get(workflow)
        self.assertEqual((told["state"], told["metadata"]["failed_callback"]), ("failed", "on_success"))

    def test_a_callback_may_have_an_id_of_its_own(self):
        own = new_id()
        workflow = {"type": "batch", "jobs": [job("j")], "callbacks": {"on_complete": {**job("on_complete"), "id": own}}}
        workflow_id = self.create(workflow)
        self.do("j")
        self.assertEqual(self.get(workflow_id)["callbacks"]["on_complete"]["job_id"], own)
        self.do("on_complete")
        self.assertEqual(self.get(workflow_id)["state"], "completed")

    def test_a_cancelled_member_counts_as_failed(self):
        workflow = self.create(batch(job("h1"), job("h2"), callbacks=("on_failure",)))
        self.assertEqual(self.client.cancel(self.get(workflow)["jobs"][1]["job_id"]).status, 200)
        self.do("h1", 1)
        results = self.do("on_failure")
        self.assertEqual((results[0], results[1]["error"]["code"]), (1, "cancelled"))
        self.assertEqual(self.get(workflow)["state"], "completed")

    def test_cancelling_lets_the_active_finish(self):
        workflow = self.create(batch(job("i1"), job("i2")))
        active = self.take("i1")
        self.assertEqual(self.client.delete(f"/ojs/v1/workflows/{workflow}").status, 200)
        self.nothing_waits()
        self.assertEqual(self.client.ack(active["id"], result=3).status, 200)
        self.nothing_waits()
        told = self.get(workflow)
        self.assertEqual(told["state"], "cancelled")
        self.assertEqual([(member["state"], member.get("result")) for member in told["jobs"]],
                         [("completed", 3), ("cancelled", None)])


class Counter:
    """Which jobs completed, as far as the workers were told. Safe from any thread."""

    def __init__(self):
        self._lock = threading.Lock()
        self.completed = {}   # job id -> how often a completion was acknowledged
        self.callbacks = {}   # (batch, role) -> callback job ids that were delivered
        self._kill_at, self.kill_now = None, threading.Event()

    def arm(self, completions):
        with self._lock:
            self._kill_at = len(self.completed) + completions
            self.kill_now.clear()

    def delivered(self, found):
        if found["type"].startswith("callback."):
            with self._lock:
                self.callbacks.setdefault((found["args"][0], found["type"]), set()).add(found["id"])

    def done(self, job_id):
        with self._lock:
            self.completed[job_id] = self.completed.get(job_id, 0) + 1
            if self._kill_at is not None and len(self.completed) >= self._kill_at:
                self.kill_now.set()


class Crash(unittest.TestCase):
    def test_callbacks_are_delivered_once_whatever_happens(self):
        server = Server().start()
        self.addCleanup(server.close)
        counter = Counter()

        def handle(client, found):
            counter.delivered(found)
            if client.ack(found["id"]).status == 200:
                counter.done(found["id"])

        client = server.client()
        self.addCleanup(client.close)
        batches = {}
        for number in range(BATCHES):
            roles = ("on_complete", "on_success", "on_failure")
            workflow = {"type": "batch",
                        "jobs": [self.member(number, i) for i in range(BATCH_JOBS)],
                        "callbacks": {role: job(f"callback.{role}", "flood", args=[number], attempts=50,
                                                options={"visibility_timeout_ms": LEASE_MS}) for role in roles}}
            reply = client.post("/ojs/v1/workflows", workflow)
            self.assertEqual(reply.status, 201, reply.raw)
            batches[number] = reply.body["workflow"]["id"]
        workers = [Worker(server, handle, ["flood"], count=4, name=f"w{i}") for i in range(WORKERS)]
        for _ in range(KILLS):
            counter.arm(random.randrange(BATCH_JOBS // 4, BATCH_JOBS))
            until(counter.kill_now.is_set, "work to be done before the next kill", 60)
            server.kill()
            server.start()

        def states():
            try:
                return [client.get(f"/ojs/v1/workflows/{w}?limit=1").body["workflow"]["state"] for w in batches.values()]
            except Client.FAILURES:
                return []

        until(lambda: states() and "running" not in states(), "all batches to end", 120 + BATCHES * BATCH_JOBS / 200)
        join_all(workers)
        self.assertEqual(states(), ["completed"] * BATCHES)
        for number, workflow in batches.items():
            for role in ("on_complete", "on_success"):
                ids = counter.callbacks.get((number, f"callback.{role}"), set())
                self.assertEqual(len(ids), 1, f"{role} of batch {number} fired as {ids}")
            self.assertNotIn((number, "callback.on_failure"), counter.callbacks)
            told = client.get(f"/ojs/v1/workflows/{workflow}").body["workflow"]
            self.assertEqual((told["jobs_completed"], told["jobs_failed"]), (BATCH_JOBS, 0))
        self.assertEqual(max(counter.completed.values()), 1, "a completion was acknowledged twice")
        self.assertEqual(client.fetch(["flood"], 10).body["jobs"], [])
        self.assertEqual(server.stop(), 0)
        verified = subprocess.run([PAWL, "verify", "--data", server.data], capture_output=True, text=True, check=False)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)

    @staticmethod
    def member(number, i):
        work = job("work", "flood", args=[number, i], attempts=50, options={"visibility_timeout_ms": LEASE_MS})
        if i % 50 == 7:
            return chain(work, work)
        return group(work, work) if i % 50 == 13 else work


if __name__ == "__main__":
    unittest.main()
