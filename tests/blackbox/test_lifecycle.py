"""The lifecycle of one job over HTTP: push, fetch, ack, nack, cancel, and the shape of every refusal."""
import threading
import unittest

from harness import OJS_TYPE, Server, Worker, join_all, new_id, until

UUID7 = r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
FAST_RETRY = {"max_attempts": 2, "initial_interval": "PT0.05S", "jitter": False}


class OneServer(unittest.TestCase):
    """One server for the class; each test has a queue of its own, so none sees another's jobs."""

    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(cls.arguments)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.queue = "q-" + self.id().rsplit(".", 1)[-1].replace("_", "-")

    def push(self, **more):
        reply = self.client.push(queue=self.queue, **more)
        self.assertEqual(reply.status, 201, reply.raw)
        return reply.body["job"]

    def take(self, **more):
        """The next job of this test's queue; waits until there is one."""
        reply = self.client.fetch([self.queue], wait_ms=20000, **more)
        self.assertEqual(reply.status, 200, reply.raw)
        self.assertEqual(len(reply.body["jobs"]), 1, reply.raw)
        return reply.body["jobs"][0]

    def state(self, job_id):
        return self.client.job(job_id).body["job"]["state"]

    def assertRefused(self, reply, status, code=None):
        """A refusal has the one error shape, advice on retrying, and the id of its request."""
        allowed = status if isinstance(status, tuple) else (status,)
        self.assertIn(reply.status, allowed, reply.raw)
        self.assertEqual(reply.headers["Content-Type"], OJS_TYPE)
        error = reply.body["error"]
        if code is not None:
            self.assertIn(error["code"], code if isinstance(code, tuple) else (code,))
        self.assertIs(error["retryable"], False)
        self.assertTrue(error["message"])
        self.assertEqual(error["request_id"], reply.headers["X-Request-Id"])


class Push(OneServer):
    def test_reply_is_the_stored_job(self):
        reply = self.client.push("email.send", ["a@b.c", 3.14, None, {"n": [1]}], queue=self.queue)
        self.assertEqual(reply.status, 201, reply.raw)
        self.assertEqual(reply.headers["Content-Type"], OJS_TYPE)
        self.assertEqual(reply.headers["OJS-Version"], "1.0")
        job = reply.body["job"]
        self.assertRegex(job["id"], UUID7)
        self.assertEqual(reply.headers["Location"], f"/ojs/v1/jobs/{job['id']}")
        self.assertEqual(
            (job["type"], job["args"], job["state"], job["queue"], job["attempt"], job["meta"]),
            ("email.send", ["a@b.c", 3.14, None, {"n": [1]}], "available", self.queue, 0, {}))
        first, second = self.client.job(job["id"]), self.client.job(job["id"])
        self.assertEqual(first.body, second.body)
        self.assertEqual(first.body["job"]["args"], job["args"])

    def test_request_id_is_echoed(self):
        reply = self.client.get("/ojs/v1/health", headers={"X-Request-Id": "req-from-me"})
        self.assertEqual((reply.status, reply.headers["X-Request-Id"]), (200, "req-from-me"))

    def test_unknown_fields_come_back_everywhere(self):
        job = self.push(x_trace={"deep": [1, {"a": None}]}, version=7)
        got = self.client.job(job["id"]).body["job"]
        taken = self.take()
        for seen in (job, got, taken):
            self.assertEqual((seen["x_trace"], seen["version"]), ({"deep": [1, {"a": None}]}, 7))

    def test_client_id_is_kept_and_taken_once(self):
        job_id = new_id()
        self.assertEqual(self.push(id=job_id)["id"], job_id)
        self.assertRefused(self.client.push(queue=self.queue, id=job_id), 409, "duplicate")

    def test_bad_jobs_are_refused_and_leave_nothing(self):
        good = {"type": "a.b", "args": [], "options": {"queue": self.queue}}
        for change in (
            {"type": None}, {"type": ""}, {"type": "Upper.Case"}, {"type": 7}, {"type": "a..b"},
            {"args": None}, {"args": {}}, {"args": "x"}, {"id": ""}, {"id": "not-a-uuid"}, {"id": new_id().upper()},
            {"options": []}, {"options": {"queue": "Bad Queue"}},
            {"options": {"queue": self.queue, "priority": 101}},
            {"options": {"queue": self.queue, "priority": "high"}},
            {"options": {"queue": self.queue, "delay_until": "tomorrow"}},
            {"options": {"queue": self.queue, "retry": {"max_attempts": -1}}},
            {"options": {"queue": self.queue, "retry": {"backoff_coefficient": 0.5}}},
            {"meta": "text"},
        ):
            with self.subTest(change=change):
                body = {key: value for key, value in {**good, **change}.items() if value is not None or key == "args"}
                self.assertRefused(self.client.post("/ojs/v1/jobs", body), (400, 422))
        self.assertEqual(self.client.fetch([self.queue], 100).body["jobs"], [])

    def test_bad_bodies_are_refused(self):
        for raw in (b"", b"{", b"[]", b"null", b'"text"', b'{"type":"a.b","args":[]} trailing', b"\xff\xfe", b"{'a':1}"):
            with self.subTest(raw=raw):
                reply = self.client.post("/ojs/v1/jobs", raw=raw)
                self.assertRefused(reply, 400, ("invalid_payload", "invalid_request"))

    def test_batch_is_all_or_nothing_and_in_order(self):
        jobs = [{"type": "b.j", "args": [n], "options": {"queue": self.queue}} for n in range(100)]
        broken = jobs[:50] + [{"type": "NOT VALID", "args": []}] + jobs[50:]
        self.assertRefused(self.client.post("/ojs/v1/jobs/batch", {"jobs": broken}), (400, 422))
        self.assertEqual(self.client.fetch([self.queue], 100).body["jobs"], [])
        reply = self.client.post("/ojs/v1/jobs/batch", {"jobs": jobs})
        self.assertEqual((reply.status, reply.body["count"]), (201, 100))
        self.assertEqual([job["args"][0] for job in reply.body["jobs"]], list(range(100)))
        fetched = self.client.fetch([self.queue], 1000).body["jobs"]
        self.assertEqual([job["args"][0] for job in fetched], list(range(100)))

    def test_unique_jobs(self):
        ignore = {"unique": {"keys": ["type", "args"], "period": "PT1H", "on_conflict": "ignore"}}
        reject = {"unique": {"keys": ["type", "args"], "period": "PT1H", "on_conflict": "reject"}}
        first = self.push(args=["same"], options=ignore)
        again = self.client.push(args=["same"], queue=self.queue, options=ignore)
        self.assertEqual((again.status, again.body["job"]["id"]), (200, first["id"]))
        self.assertRefused(self.client.push(args=["same"], queue=self.queue, options=reject), 409, "duplicate")
        self.assertEqual(self.client.push(args=["other"], queue=self.queue, options=reject).status, 201)


class Delivery(OneServer):
    def test_higher_priority_first_then_oldest(self):
        for n, priority in enumerate((0, 5, 0, -5, 5)):
            self.push(args=[n], options={"priority": priority})
        jobs = self.client.fetch([self.queue], 10).body["jobs"]
        self.assertEqual([job["args"][0] for job in jobs], [1, 4, 0, 2, 3])

    def test_empty_fetch_is_an_empty_list(self):
        reply = self.client.fetch([self.queue])
        self.assertEqual((reply.status, reply.body["jobs"]), (200, []))

    def test_a_job_has_one_holder(self):
        pushed = {self.push(args=[n])["id"] for n in range(300)}
        taken, lock = [], threading.Lock()

        def handle(client, job):
            with lock:
                taken.append(job["id"])
            if client.ack(job["id"]).status != 200:
                raise AssertionError(f"the holder of {job['id']} could not ack it")

        workers = [Worker(self.server, handle, [self.queue], count=3) for _ in range(8)]
        until(lambda: len(taken) >= len(pushed) or any(w.failure for w in workers), "every job is taken")
        join_all(workers)
        self.assertEqual(sorted(taken), sorted(pushed))

    def test_parked_fetch_wakes_for_a_push(self):
        taken, done = [], threading.Event()

        def handle(client, job):
            taken.append(job["id"])
            client.ack(job["id"])
            done.set()

        worker = Worker(self.server, handle, [self.queue], wait_ms=60000)
        job = self.push()
        self.assertTrue(done.wait(30))
        worker.stop()
        self.push()  # lets the parked fetch return
        join_all([worker])
        self.assertEqual(taken[0], job["id"])

    def test_scheduled_job_waits_for_its_time(self):
        job = self.push(options={"delay_until": "+PT0.3S"})
        self.assertEqual(job["state"], "scheduled")
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"], [])
        self.assertEqual(self.take()["id"], job["id"])

    def test_expired_lease_moves_the_job_on(self):
        job = self.push(options={"retry": {"max_attempts": 5}})
        first = self.take(worker_id="slow", visibility_timeout_ms=200)
        second = self.take(worker_id="quick")
        self.assertEqual((first["id"], second["id"], second["attempt"]), (job["id"], job["id"], 2))
        self.assertRefused(self.client.ack(job["id"], worker_id="slow"), 409, "conflict")
        self.assertEqual(self.client.ack(job["id"], worker_id="quick").status, 200)

    def test_heartbeat_keeps_the_lease(self):
        job = self.push()
        self.take(worker_id="w1", visibility_timeout_ms=60000)
        reply = self.client.post("/ojs/v1/workers/heartbeat", {"worker_id": "w1", "active_jobs": [job["id"]]})
        self.assertEqual((reply.status, reply.body["state"]), (200, "running"))
        self.assertEqual(reply.body["jobs_extended"], [job["id"]])

    def test_paused_queue_hides_its_jobs(self):
        path = f"/ojs/v1/queues/{self.queue}"
        job = self.push()
        self.assertIs(self.client.post(path + "/pause").body["queue"]["paused"], True)
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"], [])
        stats = self.client.get(path + "/stats").body["queue"]
        self.assertEqual((stats["name"], stats["available"], stats["paused"]), (self.queue, 1, True))
        self.assertIs(self.client.post(path + "/resume").body["queue"]["paused"], False)
        self.assertEqual(self.take()["id"], job["id"])

    def test_one_call_acks_many_and_fetches_more(self):
        for n in range(4):
            self.push(args=[n])
        first = self.client.fetch([self.queue], 2).body["jobs"]
        unknown = new_id()
        reply = self.client.post("/ojs/v1/workers/ack", {
            "acks": [{"job_id": job["id"], "result": job["args"]} for job in first] + [{"job_id": unknown}],
            "fetch": {"queues": [self.queue], "count": 10}})
        self.assertEqual(reply.status, 200, reply.raw)
        results = reply.body["results"]
        self.assertEqual([r["job_id"] for r in results], [first[0]["id"], first[1]["id"], unknown])
        self.assertEqual([r.get("state") for r in results[:2]], ["completed", "completed"])
        self.assertEqual(results[2]["error"]["code"], "not_found")
        self.assertEqual([job["args"][0] for job in reply.body["jobs"]], [2, 3])


class Outcome(OneServer):
    def test_ack_completes_once(self):
        job = self.push()
        self.assertRefused(self.client.ack(job["id"]), 409, "conflict")  # not fetched yet
        taken = self.take()
        self.assertEqual((taken["state"], taken["attempt"]), ("active", 1))
        reply = self.client.ack(job["id"], result={"sum": 3})
        self.assertEqual((reply.status, reply.body["state"], reply.body["id"]), (200, "completed", job["id"]))
        self.assertRefused(self.client.ack(job["id"]), 409, "conflict")
        self.assertRefused(self.client.nack(job["id"]), 409, "conflict")
        stored = self.client.job(job["id"]).body["job"]
        self.assertEqual((stored["state"], stored["result"]), ("completed", {"sum": 3}))
        self.assertTrue(stored["completed_at"])

    def test_nack_retries_then_discards(self):
        job = self.push(options={"retry": {**FAST_RETRY, "on_exhaustion": "dead_letter"}})
        self.take()
        first = self.client.nack(job["id"], {"code": "boom", "message": "first"})
        self.assertEqual((first.status, first.body["state"], first.body["attempt"]), (200, "retryable", 1))
        self.assertEqual(first.body["retry_delay_ms"], 50)
        self.assertEqual(self.take()["attempt"], 2)
        last = self.client.nack(job["id"], {"code": "boom", "message": "second"})
        self.assertEqual((last.status, last.body["state"]), (200, "discarded"))
        stored = self.client.job(job["id"]).body["job"]
        self.assertEqual([(e["message"], e["attempt"]) for e in stored["errors"]], [("first", 1), ("second", 2)])

        dead = self.client.get(f"/ojs/v1/dead-letter?queue={self.queue}").body["jobs"]
        self.assertEqual([d["id"] for d in dead], [job["id"]])
        again = self.client.post(f"/ojs/v1/dead-letter/{job['id']}/retry").body["job"]
        self.assertEqual((again["id"], again["state"], again["attempt"]), (job["id"], "available", 0))
        self.assertEqual(self.take()["id"], job["id"])
        self.assertEqual(self.client.get(f"/ojs/v1/dead-letter?queue={self.queue}").body["jobs"], [])

    def test_nack_without_retry_discards_at_once(self):
        job = self.push(options={"retry": {"max_attempts": 9}})
        self.take()
        reply = self.client.nack(job["id"], {"code": "bad_input", "message": "never", "retryable": False})
        self.assertEqual((reply.status, reply.body["state"]), (200, "discarded"))
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"], [])

    def test_cancelled_job_is_never_delivered(self):
        job = self.push()
        reply = self.client.cancel(job["id"])
        self.assertEqual((reply.status, reply.body["job"]["state"]), (200, "cancelled"))
        self.assertTrue(reply.body["job"]["cancelled_at"])
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"], [])
        self.assertRefused(self.client.cancel(job["id"]), 409, "conflict")

    def test_cancel_takes_the_job_from_its_worker(self):
        job = self.push()
        self.take()
        self.assertEqual(self.client.cancel(job["id"]).status, 200)
        reply = self.client.ack(job["id"])  # it could not know: it is told, and nothing else happens
        self.assertEqual((reply.status, reply.body["state"]), (200, "cancelled"))
        self.assertRefused(self.client.ack(job["id"], worker_id="another"), 409, "conflict")
        self.assertEqual(self.state(job["id"]), "cancelled")

    def test_unknown_things_are_not_found(self):
        nobody = new_id()
        for reply in (
            self.client.job(nobody), self.client.job("not-an-id"), self.client.cancel(nobody),
            self.client.ack(nobody), self.client.nack(nobody), self.client.delete("/ojs/v1/cron/none"),
            self.client.post(f"/ojs/v1/dead-letter/{nobody}/retry"), self.client.get("/ojs/v1/no-such-thing"),
        ):
            self.assertRefused(reply, 404, "not_found")
            self.assertTrue(reply.body["error"]["hint"])
            self.assertTrue(reply.body["error"]["docs_url"])

    def test_wrong_method_is_refused(self):
        reply = self.client.call("PATCH", "/ojs/v1/jobs", body={})
        self.assertRefused(reply, 405, "method_not_allowed")
        self.assertIn("POST", reply.headers["Allow"])

    def test_expired_job_is_discarded(self):
        job = self.push(options={"expires_at": "+PT0.1S"})
        until(lambda: self.state(job["id"]) == "discarded", "the job has expired")
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"], [])

    def test_events_tell_the_story_in_order(self):
        job = self.push()
        self.take()
        self.client.ack(job["id"])

        def story():
            events = self.client.get(f"/ojs/v1/events?queues={self.queue}&limit=100").body["events"]
            return [e["type"].removeprefix("ojs.") for e in events if job["id"] in str(e)]

        until(lambda: "job.completed" in story(), "the completion is in the events")
        self.assertEqual(story(), ["job.enqueued", "job.started", "job.completed"])


class Schedules(OneServer):
    def test_cron_is_listed_until_deleted(self):
        body = {"name": "nightly", "expression": "0 3 * * *", "timezone": "Europe/Vienna",
                "job_template": {"type": "report.nightly", "args": [], "options": {"queue": self.queue}}}
        reply = self.client.post("/ojs/v1/cron", body)
        self.assertEqual(reply.status, 201, reply.raw)
        self.assertTrue(reply.body["cron"]["next_run_at"])
        self.assertIn("nightly", [cron["name"] for cron in self.client.get("/ojs/v1/cron").body["crons"]])
        self.assertEqual(self.client.delete("/ojs/v1/cron/nightly").status, 200)
        self.assertRefused(self.client.delete("/ojs/v1/cron/nightly"), 404, "not_found")

    def test_bad_cron_is_refused(self):
        template = {"type": "a.b", "args": []}
        for change in ({"expression": "99 25 32 13 8"}, {"expression": "not a cron line"}, {"expression": ""},
                       {"timezone": "Mars/Olympus"}, {"job_template": {"type": "a.b", "args": {}}}, {"name": ""}):
            with self.subTest(change=change):
                body = {"name": "bad", "expression": "* * * * *", "job_template": template, **change}
                self.assertRefused(self.client.post("/ojs/v1/cron", body), (400, 422))


class Process(unittest.TestCase):
    def test_everything_is_there_after_a_clean_stop(self):
        server = Server()
        self.addCleanup(server.close)
        server.start()
        client = server.client()
        done, waiting = client.push(args=["done"]).body["job"], client.push(args=["waiting"]).body["job"]
        client.fetch()
        client.ack(done["id"], result=[1])
        before = [client.job(job["id"]).body for job in (done, waiting)]
        self.assertEqual(server.stop(), 0)
        server.start()
        client = server.client()
        self.assertEqual([client.job(job["id"]).body for job in (done, waiting)], before)
        self.assertEqual([job["id"] for job in client.fetch(count=10).body["jobs"]], [waiting["id"]])

    def test_second_server_on_the_same_data_is_refused(self):
        server = Server()
        self.addCleanup(server.close)
        server.start()
        second = Server()
        self.addCleanup(second.close)
        second.data = server.data
        with self.assertRaisesRegex(AssertionError, "exited with [1-9]"):
            second.start()
        self.assertEqual(server.client().push().status, 201)

    def test_api_key_guards_every_call(self):
        server = Server(["--api-key", "s3cret-key-for-tests"])
        self.addCleanup(server.close)
        server.start()
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "s3cret-key-for-tests"}):
            reply = server.client(headers=headers).push()
            self.assertEqual((reply.status, reply.body["error"]["code"]), (401, "unauthenticated"))
        allowed = server.client(headers={"Authorization": "Bearer s3cret-key-for-tests"})
        self.assertEqual(allowed.push().status, 201)


if __name__ == "__main__":
    unittest.main()
