"""The clients of the Open Job Spec project, each with the requests it really sends and the replies it reads.

No client is needed to run this: the tests use their wire format. Python and Go send a workflow as
steps with depends_on, batches too; JavaScript writes retry policies in camelCase in some places and dies
of a refused ack; Go and Rust read queue statistics and schemas as the HTTP binding has them.
"""
import unittest
from urllib.parse import quote

from harness import Server, new_id

VERSION = {"OJS-Version": "1.0"}


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.queue = "q-" + self.id().rsplit(".", 1)[1].replace("_", "-")

    def post(self, path, body, status, **more):
        reply = self.client.post("/ojs/v1" + path, body, **more)
        self.assertEqual(reply.status, status, reply.raw)
        return reply.body

    def get(self, path, status=200, **more):
        reply = self.client.get("/ojs/v1" + path, **more)
        self.assertEqual(reply.status, status, reply.raw)
        return reply.body

    def delete(self, path, status=200):
        reply = self.client.delete("/ojs/v1" + path)
        self.assertEqual(reply.status, status, reply.raw)
        return reply.body

    def push(self, **options):
        return self.post("/jobs", {"type": "email.send", "args": [{"to": "a"}],
                                   "options": {"queue": self.queue, **options}}, 201)["job"]

    def fetch(self, queue=None, count=10, **more):
        return self.post("/workers/fetch", {"queues": [queue or self.queue], "count": count, **more}, 200)["jobs"]

    def ack(self, job, result=None, status=200):
        return self.post("/workers/ack", {"job_id": job["id"], "result": result}, status)

    def nack(self, job, status=200):
        error = {"code": "handler_error", "message": "no", "retryable": False}
        return self.post("/workers/nack", {"job_id": job["id"], "error": error}, status)

    def create(self, workflow, status=201):
        return self.post("/workflows", workflow, status)["workflow" if status == 201 else "error"]

    def workflow(self, workflow_id):
        return self.get("/workflows/" + quote(workflow_id, safe=""))["workflow"]

    def events(self, **query):
        text = "&".join(f"{name}={quote(value)}" for name, value in query.items())
        return self.get("/events?limit=1000&" + text)["events"]


def step(id, type, after=(), **options):
    return {"id": id, "type": type, "args": [], "depends_on": list(after), **({"options": options} if options else {})}


class Workflows(ClientTest):
    def steps(self, workflow):
        return {row["id"]: row for row in workflow["steps"]}

    def test_a_chain_of_steps_that_name_each_other(self):
        made = self.create({"name": "onboarding", "steps": [
            step("step-0", "a.first"), step("step-1", "a.second", ["step-0"], queue=self.queue + "-own")],
            "options": {"queue": self.queue, "priority": 7}})
        self.assertEqual((made["name"], made["state"]), ("onboarding", "running"))
        rows = self.steps(made)
        self.assertEqual(rows["step-0"]["depends_on"], [])
        self.assertEqual(rows["step-1"]["depends_on"], ["step-0"])
        self.assertEqual((rows["step-1"]["state"], rows["step-1"]["job_id"]), ("waiting", None))
        first, = self.fetch()
        self.assertEqual((first["type"], first["priority"]), ("a.first", 7))
        self.ack(first, {"x": 1})
        second, = self.fetch(self.queue + "-own")  # the step's own queue wins, the priority is the workflow's
        self.assertEqual((second["type"], second["priority"]), ("a.second", 7))
        self.assertEqual(second["parent_results"], [{"x": 1}])
        self.ack(second)
        self.assertEqual(self.workflow(made["id"])["state"], "completed")

    def test_step_ids_may_be_used_by_every_workflow(self):
        for id in ("Schritt 1: prüfen", "019414d4-8b2e-7c3a-b5d1-f0e2a3b4c5d6"):
            for _ in range(2):
                made = self.create({"name": "n", "steps": [step(id, "a.b", queue=self.queue)]})
                self.assertEqual([row["id"] for row in made["steps"]], [id])

    def test_steps_without_ids_are_called_by_their_place(self):
        made = self.create({"type": "chain", "steps": [{"type": "a.b", "args": []}, {"type": "a.c", "args": []}],
                            "options": {"queue": self.queue}})
        self.assertEqual([(row["id"], row["depends_on"]) for row in made["steps"]], [("0", []), ("1", ["0"])])

    def test_what_is_wrong_is_refused(self):
        ok = step("a", "a.b")
        for body, path in (
                ({"type": None, "steps": [ok]}, "$.type"),
                ({"steps": [ok, step("a", "a.b")]}, "$.steps[1].id"),
                ({"steps": [step("", "a.b")]}, "$.steps[0].id"),
                ({"steps": [step(7, "a.b")]}, "$.steps[0].id"),
                ({"steps": [step("a", "a.b", ["b"])]}, "$.steps[0].depends_on"),
                ({"steps": [ok], "options": 7}, "$.options"),
                ({"steps": [ok, step("c", "a.b", ["a"], callback_type="on_whim")]},
                 "$.steps[1].options.callback_type")):
            error = self.create(body, 400)
            self.assertEqual(error["code"], "invalid_workflow")
            self.assertEqual(error["details"]["validation_errors"][0]["path"], path, error)

    def run_batch(self, steps, fail):
        made = self.create({"name": "batch", "steps": steps, "options": {"queue": self.queue}})
        self.assertEqual(made["type"], "batch")
        self.assertEqual([row["id"] for row in made["steps"]], [s["id"] for s in steps])
        self.assertEqual(self.steps(made)[steps[-1]["id"]]["depends_on"], ["job-0", "job-1"])
        jobs = self.fetch()
        self.assertEqual([job["type"] for job in jobs], ["mail.send", "mail.send"])
        self.ack(jobs[0])
        (self.nack if fail else self.ack)(jobs[1])
        called = self.fetch()
        for job in called:
            self.ack(job)
        self.assertEqual(self.workflow(made["id"])["state"], "completed")
        return sorted(job["type"] for job in called)

    def test_a_batch_whose_callbacks_are_named_by_their_ids(self):  # Go, Rust
        jobs = [step("job-0", "mail.send"), step("job-1", "mail.send")]
        calls = [step(id, "called." + id, ["job-0", "job-1"]) for id in ("on-complete", "on-success", "on-failure")]
        self.assertEqual(self.run_batch(jobs + calls, False), ["called.on-complete", "called.on-success"])
        self.assertEqual(self.run_batch(jobs + calls, True), ["called.on-complete", "called.on-failure"])

    def test_a_batch_whose_callbacks_say_so_in_their_options(self):  # Python
        jobs = [step("job-0", "mail.send"), step("job-1", "mail.send")]
        calls = [step(role, "called." + role, ["job-0", "job-1"], callback_type=role)
                 for role in ("on_complete", "on_failure")]
        self.assertEqual(self.run_batch(jobs + calls, True), ["called.on_complete", "called.on_failure"])
        self.assertEqual(self.run_batch(jobs + calls, False), ["called.on_complete"])

    def test_a_step_that_is_only_named_like_a_callback_is_a_step(self):
        made = self.create({"steps": [step("a", "a.b"), step("b", "a.b", ["a"]), step("on-success", "a.b", ["b"])],
                            "options": {"queue": self.queue}})
        self.assertEqual(made["type"], "dag")

    def test_a_cancellation_counts_the_steps(self):
        made = self.create({"steps": [step("a", "a.b"), step("b", "a.b", ["a"]), step("c", "a.b", ["b"])],
                            "options": {"queue": self.queue}})
        self.ack(self.fetch()[0])
        body = self.delete("/workflows/" + made["id"])
        for shown in (body, body["workflow"]):
            self.assertEqual((shown["state"], shown["steps_cancelled"], shown["steps_already_completed"]),
                             ("cancelled", 2, 1))

    def test_a_nested_workflow_is_seen_before_it_starts(self):
        options = {"queue": self.queue}
        made = self.create({"type": "chain", "options": options, "steps": [
            {"type": "a.first", "args": []},
            {"type": "group", "id": "wf_inner", "name": "fan", "jobs": [{"type": "a.x", "args": []}, {"type": "a.y", "args": []}]},
            {"type": "chain", "steps": [{"type": "a.z", "args": []}]}]})
        row = made["steps"][1]
        self.assertEqual((row["state"], row["type"], row["workflow_id"]), ("waiting", "group", "wf_inner"))
        inner = self.workflow("wf_inner")
        for shown in (inner, row["workflow"]):
            self.assertEqual((shown["id"], shown["state"], shown["name"]), ("wf_inner", "pending", "fan"))
            self.assertEqual(shown["parent_workflow_id"], made["id"])
            self.assertEqual([(j["type"], j["state"], j["job_id"]) for j in shown["jobs"]],
                             [("a.x", "waiting", None), ("a.y", "waiting", None)])
        later = made["steps"][2]["workflow_id"]
        self.assertEqual(self.workflow(later)["state"], "pending")
        self.assertEqual(self.get("/workflows/wf_inner/events")["events"], [])
        progress = self.get("/workflows/wf_inner/progress")
        self.assertEqual((progress["workflow_id"], progress["state"], progress["progress"]), ("wf_inner", "pending", 0))
        self.assertEqual([(s["id"], s["type"], s["state"]) for s in progress["steps"]],
                         [("0", "a.x", "waiting"), ("1", "a.y", "waiting")])
        self.delete("/workflows/wf_inner", 409)
        self.ack(self.fetch()[0])
        self.assertEqual(self.workflow(made["id"])["steps"][1]["state"], "active")
        self.assertEqual(self.workflow("wf_inner")["state"], "running")
        for job in self.fetch():
            self.assertEqual((job["workflow_id"], job["workflow"]["id"]), ("wf_inner", "wf_inner"))
            self.assertEqual(self.get("/jobs/" + job["id"])["job"]["workflow_id"], "wf_inner")
            self.ack(job)
        self.assertEqual(self.workflow(later)["state"], "running")
        self.delete("/workflows/" + made["id"])
        self.assertEqual(self.workflow("wf_inner")["state"], "completed")

    def test_a_nested_workflow_that_never_starts_is_cancelled(self):
        made = self.create({"type": "chain", "options": {"queue": self.queue, "retry": {"max_attempts": 1}}, "steps": [
            {"type": "a.first", "args": []}, {"type": "group", "jobs": [{"type": "a.x", "args": []}]}]})
        self.nack(self.fetch()[0])
        inner = self.workflow(made["steps"][1]["workflow_id"])
        self.assertEqual((inner["state"], inner["jobs"][0]["state"]), ("cancelled", "cancelled"))

    def test_the_id_that_a_client_gave_stands_everywhere(self):
        made = self.create({"type": "chain", "id": "order 17/ü", "options": {"queue": self.queue}, "steps": [
            {"type": "a.b", "args": []}, {"type": "group", "id": "order 17 inner", "jobs": [{"type": "a.c", "args": []}]}]})
        self.assertEqual(made["id"], "order 17/ü")
        for _ in range(2):
            job, = self.fetch()
            self.ack(job)
        told = self.events(types="workflow.*", workflow_id="order 17/ü")
        self.assertEqual([e["type"] for e in told], ["workflow.created", "workflow.started", "workflow.step_completed",
                                                     "workflow.step_completed", "workflow.completed"])
        for event in told:
            self.assertEqual((event["subject"], event["data"]["workflow_id"]), ("order 17/ü", "order 17/ü"))
        self.assertEqual(told[3]["data"]["child_workflow_id"], "order 17 inner")
        inner = self.events(types="workflow.created", workflow_id="order 17 inner")
        self.assertEqual(inner[0]["data"]["parent_workflow_id"], "order 17/ü")
        self.assertEqual(self.workflow("order 17 inner")["parent_workflow_id"], "order 17/ü")
        for again, words in ((lambda: self.delete("/workflows/order%2017%2F%C3%BC", 409), "is already in terminal state"),
                             (lambda: self.post("/workflows/order%2017%2F%C3%BC/retry", {}, 409), "is completed"),
                             (lambda: self.post("/workflows/order%2017%20inner/retry", {}, 409), "is part of order 17/ü")):
            self.assertIn("Workflow order 17", again()["error"]["message"])
            self.assertIn(words, again()["error"]["message"])

    def test_a_prefixed_uuid_stays_as_it_was_given(self):
        uuid = new_id()
        made = self.create({"type": "chain", "id": "wf_" + uuid, "options": {"queue": self.queue}, "steps": [
            {"type": "a.b", "args": []}]})
        self.assertEqual(made["id"], "wf_" + uuid)
        job, = self.fetch()
        self.assertEqual(job["workflow_id"], "wf_" + uuid)
        self.ack(job)
        for asked in (uuid, "wf_" + uuid):  # either finds it
            self.assertEqual(self.workflow(asked)["id"], "wf_" + uuid)
            self.assertEqual({e["subject"] for e in self.events(workflow_id=asked)}, {"wf_" + uuid})
        error = self.post("/workflows", {"type": "chain", "id": uuid, "steps": [{"type": "a.b", "args": []}]}, 409)["error"]
        self.assertEqual(error["code"], "duplicate")


class Jobs(ClientTest):
    def test_the_envelope_stands_at_the_top_too(self):
        body = self.post("/jobs", {"type": "email.send", "args": [1], "job": "mine", "specversion": "1.0",
                                   "options": {"queue": self.queue}}, 201)
        job = body.pop("job")
        self.assertEqual({**job, "job": "mine"}, {**body, "job": "mine"})
        self.assertEqual((job["specversion"], job["type"], job["args"]), ("1.0", "email.send", [1]))
        read = self.get("/jobs/" + job["id"])
        self.assertEqual((read["id"], read["job"]["id"]), (job["id"], job["id"]))
        self.assertNotIn("timeout", job)

    def test_policies_come_back(self):
        retry = {"max_attempts": 5, "initial_interval": "PT90S", "jitter": False}
        unique = {"key": ["type", "args"], "on_conflict": "reject", "period": "PT1H"}
        job = self.push(retry=retry, unique=unique)
        self.assertEqual((job["retry"], job["unique"]), (retry, unique))
        self.assertEqual(self.fetch()[0]["retry"], retry)

    def test_camel_case_policies_are_understood(self):  # JavaScript
        job = self.push(retry={"maxAttempts": 2, "initialInterval": "PT3S", "backoffCoefficient": 3, "maxInterval": "PT9S",
                               "nonRetryableErrors": ["Auth.*"], "onExhaustion": "discard"})
        self.assertEqual(job["max_attempts"], 2)
        self.assertEqual(job["retry"], {"max_attempts": 2, "initial_interval": "PT3S", "backoff_coefficient": 3,
                                        "max_interval": "PT9S", "jitter": True, "non_retryable_errors": ["Auth.*"],
                                        "on_exhaustion": "discard"})
        error = self.post("/jobs", {"type": "a.b", "args": [], "options": {"retry": {"maxAttempts": "x"}}}, 422)["error"]
        self.assertIn("maxAttempts", error["message"])

    def test_a_cancellation_tells_the_state_before(self):
        body = self.delete("/jobs/" + self.push()["id"])
        self.assertEqual((body["previous_state"], body["job"]["previous_state"]), ("available", "available"))
        pending = self.push(pending=True)
        body = self.post(f"/jobs/{pending['id']}/activate", {}, 200)
        self.assertEqual(body["job"]["previous_state"], "pending")

    def test_unique_key(self):
        def push(key, to, status, **more):
            return self.post("/jobs", {"type": "email.send", "args": [{"to": to, "n": more.pop("n", 0)}], "meta": {"m": to},
                                       "options": {"queue": self.queue, "unique": {"key": key, **more}}}, status)
        first = push(["to"], "a", 201)["job"]
        error = push(["to"], "a", 409, n=1)["error"]
        self.assertEqual((error["code"], error["details"]["existing_job_id"]), ("duplicate", first["id"]))
        push(["to"], "b", 201)
        other = push(["type", "queue", "args"], "a", 201)["job"]
        self.assertEqual(push(["type", "queue", "args"], "a", 409)["error"]["details"]["existing_job_id"], other["id"])
        push(["type", "queue", "args"], "a", 201, n=2)
        for unique in ({"key": ["meta"]}, {"keys": ["type", "meta"]}, {"keys": ["type", "tpye"]}, {"key": "to"},
                       {"key": [1]}):
            self.post("/jobs", {"type": "a.b", "args": [], "options": {"unique": unique}}, 422)
        push(["type", "meta"], "c", 201, meta_keys=["m"])
        push(["type", "meta"], "c", 409, meta_keys=["m"], n=3)

    def test_an_id_used_twice(self):
        job = self.push()
        error = self.post("/jobs", {"id": job["id"], "type": "a.b", "args": []}, 409)["error"]
        self.assertEqual(error["details"]["existing_job_id"], job["id"])

    def test_what_was_not_found_is_named(self):
        nobody = "019414d4-0000-7000-8000-000000000000"
        ack = {"job_id": nobody, "error": {"code": "x", "message": "y"}}
        for method, path, body, type, id in (
                ("GET", f"/jobs/{nobody}", None, "job", nobody),
                ("GET", "/jobs/none", None, "job", "none"),
                ("DELETE", f"/jobs/{nobody}", None, "job", nobody),
                ("POST", "/workers/ack", ack, "job", nobody),
                ("POST", "/workers/nack", ack, "job", nobody),
                ("GET", "/workflows/none", None, "workflow", "none"),
                ("DELETE", "/workflows/none", None, "workflow", "none"),
                ("DELETE", "/cron/none", None, "cron_job", "none"),
                ("GET", "/schemas/none", None, "schema", "none"),
                ("GET", "/schemas/none/1", None, "schema", "none/1"),
                ("DELETE", "/schemas/none/x", None, "schema", "none/x"),
                ("GET", "/schemas/none/versions", None, "schema", "none"),
                ("GET", "/webhooks/subscriptions/none", None, "webhook_subscription", "none")):
            reply = self.client.call(method, "/ojs/v1" + path, body=body)
            self.assertEqual(reply.status, 404, (method, path, reply.raw))
            details = reply.body["error"]["details"]
            self.assertEqual((details["resource_type"], details["resource_id"]), (type, id), (method, path))


class Workers(ClientTest):
    def test_a_job_cancelled_under_the_workers_hands(self):  # the JavaScript worker dies of a refusal here
        for finish in (self.ack, self.nack):
            self.push()
            job, = self.fetch(worker_id="w1")
            self.delete("/jobs/" + job["id"])
            for _ in range(2):
                body = finish(job)
                self.assertEqual((body["job_id"], body["state"], body["job"]["state"]), (job["id"], "cancelled", "cancelled"))
        self.push()
        job, = self.fetch(worker_id="w1")
        self.delete("/jobs/" + job["id"])
        many = self.post("/workers/ack", {"acks": [{"job_id": job["id"], "result": 7}], "worker_id": "w1"}, 200)
        self.assertEqual((many["acknowledged"], many["results"]), (True, [{"job_id": job["id"], "state": "cancelled"}]))
        self.assertNotIn("result", self.get("/jobs/" + job["id"])["job"])

    def test_a_stale_lease_stays_refused(self):
        self.push()
        job, = self.fetch(worker_id="w1")
        self.delete("/jobs/" + job["id"])
        for claim in ({"worker_id": "w2"}, {"attempt": 2}):
            self.post("/workers/ack", {"job_id": job["id"], **claim}, 409)
        waiting = self.push()
        self.delete("/jobs/" + waiting["id"])
        self.ack(waiting, status=409)

    def test_bulk_cancellation_is_no_different(self):
        self.push()
        job, = self.fetch()
        self.post("/admin/jobs/bulk/cancel", {"ids": [job["id"]], "confirm": True}, 200)
        self.assertEqual(self.ack(job)["state"], "cancelled")


class DeadLetter(ClientTest):
    def dead(self):
        return [job["id"] for job in self.get("/dead-letter?queue=" + self.queue)["jobs"]]

    def test_lists_what_used_up_its_attempts_unless_it_said_discard(self):
        for options in ({}, {"retry": {"max_attempts": 1}}, {"retry": {"on_exhaustion": "dead_letter"}}):
            self.push(**options)
            job, = self.fetch()
            self.assertEqual(self.nack(job)["state"], "discarded")
            self.assertIn(job["id"], self.dead())
        self.push(retry={"on_exhaustion": "discard"})
        job, = self.fetch()
        self.nack(job)
        self.assertNotIn(job["id"], self.dead())


class Queues(ClientTest):
    def test_stats_as_the_binding_has_them(self):  # Go, Rust, Python, and flat for JavaScript
        self.push()
        self.ack(self.fetch()[0])
        self.push()
        path = f"/queues/{self.queue}/stats"
        body = self.get(path, headers=VERSION)
        self.assertEqual((body["queue"], body["status"], body["name"], body["paused"]),
                         (self.queue, "active", self.queue, False))
        for shown in (body, body["stats"]):
            self.assertEqual((shown["available"], shown["completed"], shown["completed_last_hour"], shown["failed_last_hour"]),
                             (1, 1, 1, 0))
            for name in ("active", "scheduled", "retryable", "discarded", "avg_duration_ms", "avg_wait_ms",
                         "throughput_per_second"):
                self.assertIn(name, shown)
        self.assertIn("computed_at", body)
        self.assertEqual(self.get(path)["queue"]["name"], self.queue)


class Schemas(ClientTest):
    def test_are_known_by_their_uri(self):
        uri = "urn:ojs:schema:email.send:v1"
        schema = {"type": "array", "minItems": 1}
        made = self.post("/schemas", {"uri": uri, "type": "email.send", "version": 1, "schema": schema}, 201)["schema"]
        self.assertEqual(made, {"uri": uri, "type": "email.send", "version": 1, "created_at": made["created_at"]})
        self.post("/schemas", {"uri": uri, "type": "email.send", "version": 1, "schema": schema}, 409)
        path = "/schemas/" + quote(uri, safe="")
        self.assertEqual(self.get(path)["schema"], {**made, "schema": schema})
        listed = [s for s in self.get("/schemas")["schemas"] if s.get("uri") == uri]
        self.assertEqual(listed, [made])
        self.assertEqual(self.delete(path), {"deleted": True, "uri": uri})
        self.assertEqual(self.get(path, 404)["error"]["details"]["resource_id"], uri)

    def test_every_entry_of_the_list_can_be_asked_for_by_its_uri(self):
        self.post("/schemas", {"job_type": "uri.listed", "schema": {"type": "array"}}, 201)
        self.post("/schemas", {"uri": "urn:x:1", "type": "uri.given", "schema": {}}, 201)
        listed = {entry["type"]: entry["uri"] for entry in self.get("/schemas?limit=1000")["schemas"]}
        self.assertEqual((listed["uri.listed"], listed["uri.given"]), ("uri.listed/1", "urn:x:1"))
        self.assertEqual(self.get("/schemas/uri.listed%2F1")["version"], 1)
        self.assertEqual(self.get("/schemas/uri.listed%2F2", 404)["error"]["details"]["resource_id"], "uri.listed/2")

    def test_versions_and_types_stay_as_they_were_sent(self):  # Go and Rust send texts, and any type
        body = {"uri": "https://x.example/s?a=1", "type": "json-schema", "version": "007", "schema": {}}
        made = self.post("/schemas", body, 201)["schema"]
        self.assertEqual((made["type"], made["version"]), ("json-schema", "007"))
        self.assertEqual(self.get("/schemas/" + quote(body["uri"], safe=""))["schema"]["version"], "007")
        for bad in ({"uri": ""}, {"uri": 7}, {"type": ""}, {"version": -1}, {"version": 1.5}, {"schema": 7}):
            self.post("/schemas", {**body, "uri": "other", **bad}, 400)


if __name__ == "__main__":
    unittest.main()
