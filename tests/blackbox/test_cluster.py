"""Three nodes on one PostgreSQL: every kind of call through every node, and nodes that die, stand still, are drained, or
have nothing to do."""
import threading
import unittest

from cluster import Cluster, needs_postgres
from harness import join_all, new_id, until
from stand_in import StandIn

OJS = "/ojs/v1"
PARTITIONS = 6


def setUpModule():
    needs_postgres()


def definition(name, *steps):
    return {"name": name, "definition": {"steps": list(steps)}}


class ClusterCase(unittest.TestCase):
    """One cluster for all tests of a class."""
    ARGS = ["--actions-http-allow-private"]
    GATED = False

    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(partitions=PARTITIONS, args=cls.ARGS, gated=cls.GATED)
        try:
            cls.cluster.start()
        except BaseException:
            cls.cluster.close()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()

    def setUp(self):
        for node in self.cluster.nodes:
            if not node.alive():
                node.start()
        self.cluster.await_served()
        self.queue = f"q-{new_id()}"
        self.clients = [self.closed(node.client()) for node in self.cluster.nodes]
        self.any = self.closed(self.cluster.client())

    def closed(self, client):
        self.addCleanup(client.close)
        return client

    def good(self, reply, *statuses):
        self.assertIn(reply.status, statuses or (200, 201, 202, 204), reply.raw)
        return reply.body

    def finished(self, run, client=None, status="completed"):
        def over():
            found = self.good((client or self.any).get(f"/v1/runs/{run}"))["run"]
            return found if found["status"] in ("completed", "failed", "cancelled") else None
        found = until(over, f"the end of {run}")
        self.assertEqual(found["status"], status, found)
        return found


class EveryCallThroughEveryNode(ClusterCase):
    """Made through one node, seen and gone on with through the others: in all orders."""

    def turns(self):
        for first in range(3):
            yield self.clients[first], self.clients[(first + 1) % 3], self.clients[(first + 2) % 3]

    def test_jobs(self):
        for push, fetch, end in self.turns():
            made = [self.good(push.push(args=[n], queue=f"{self.queue}{n}"))["id"] for n in range(8)]
            taken = []
            for n in range(8):
                # Everything pushed before is there for who asks now.
                jobs = self.good(fetch.fetch([f"{self.queue}{n}"]))["jobs"]
                self.assertEqual([job["id"] for job in jobs], [made[n]])
                taken += jobs
            for job in taken[:4]:
                self.good(end.ack(job["id"], result={"n": job["args"][0]}))
            self.good(end.nack(taken[4]["id"], {"code": "x", "message": "y", "retryable": False}))
            answer = self.good(end.post(f"{OJS}/workers/ack", {"acks": [{"job_id": job["id"]} for job in taken[5:]]}))
            self.assertIs(answer["acknowledged"], True)
            self.assertEqual([one["job_id"] for one in answer["results"]], [job["id"] for job in taken[5:]])
            states = [self.good(push.job(one))["state"] for one in made]
            self.assertEqual(states, ["completed"] * 4 + ["discarded"] + ["completed"] * 3)

    def test_a_job_that_is_cancelled_through_another_node(self):
        for push, cancel, see in self.turns():
            made = self.good(push.push(queue=self.queue))["id"]
            self.good(cancel.cancel(made))
            self.assertEqual(self.good(see.job(made))["state"], "cancelled")
            self.assertEqual(self.good(push.fetch([self.queue]))["jobs"], [])

    def test_lists_of_jobs_are_made_whole_or_not_at_all(self):
        for push, fetch, _ in self.turns():
            jobs = [{"type": "b", "args": [n], "options": {"queue": f"{self.queue}-{n % 3}"}} for n in range(12)]
            made = [job["id"] for job in self.good(push.post(f"{OJS}/jobs/batch", {"jobs": jobs}))["jobs"]]
            bad = push.post(f"{OJS}/jobs/batch", {"jobs": [*jobs, {"type": 1}]})
            self.assertEqual(bad.status, 400, bad.raw)
            got = []
            while found := self.good(fetch.fetch([f"{self.queue}-{n}" for n in range(3)], count=5))["jobs"]:
                got += [job["id"] for job in found]
            self.assertEqual(sorted(got), sorted(made))

    def test_a_worker_that_waits_at_one_node_gets_what_is_pushed_at_another(self):
        for wait, push, end in self.turns():
            for n in range(3):
                answers = []
                waiting = threading.Thread(target=lambda: answers.append(
                    wait.fetch([self.queue], wait_ms=20000, worker_id=f"waits-{new_id()}")))
                waiting.start()
                made = self.good(push.push(args=[n], queue=self.queue))["id"]
                waiting.join()
                self.assertEqual([job["id"] for job in self.good(answers[0])["jobs"]], [made])
                self.good(end.ack(made))

    def test_a_key_makes_one_job_wherever_it_is_sent(self):
        key = {"Idempotency-Key": new_id()}
        body = {"type": "keyed", "args": [], "options": {"queue": self.queue}}
        made = {self.good(client.post(f"{OJS}/jobs", body, headers=key))["id"] for client in self.clients * 2}
        self.assertEqual(len(made), 1)

    def test_a_unique_job_is_one_however_many_nodes_are_asked_at_once(self):
        for n in range(5):
            body = {"type": "only", "args": [n],
                    "options": {"queue": self.queue, "unique": {"keys": ["type", "args"], "on_conflict": "reject"}}}
            replies = []
            threads = [threading.Thread(target=lambda client=client: replies.append(client.post(f"{OJS}/jobs", body)))
                       for client in self.clients]
            for thread in threads:
                thread.start()
            join_all(threads)
            self.assertEqual(sorted(reply.status for reply in replies), [201, 409, 409], [r.raw for r in replies])

    def test_an_id_of_the_client_is_given_once(self):
        for first, second, third in self.turns():
            own = new_id()
            body = {"id": own, "type": "own", "args": [], "options": {"queue": self.queue}}
            self.assertEqual(self.good(first.post(f"{OJS}/jobs", body))["id"], own)
            self.assertEqual(second.post(f"{OJS}/jobs", body).status, 409)
            self.assertEqual(self.good(third.job(own))["type"], "own")

    def test_one_job_at_a_time_of_a_concurrency_key(self):
        limit = {"key": f"limit-{new_id()}", "concurrency": 1}
        for n in range(6):
            self.good(self.any.push("limited", [n], queue=f"{self.queue}{n % 3}", options={"rate_limit": limit}))
        queues = [f"{self.queue}{n}" for n in range(3)]
        for client in self.clients * 2:
            jobs = [job for other in self.clients for job in self.good(other.fetch(queues, count=5))["jobs"]]
            self.assertEqual(len(jobs), 1, jobs)
            self.good(client.ack(jobs[0]["id"]))

    def test_workflows_with_callbacks(self):
        work = {"type": "work", "args": [], "options": {"queue": self.queue}}
        callbacks = {role: {"type": role, "args": [], "options": {"queue": self.queue}}
                     for role in ("on_complete", "on_success", "on_failure")}
        bodies = [{"type": "chain", "steps": [work] * 3}, {"type": "group", "jobs": [work] * 4},
                  {"type": "batch", "jobs": [work] * 4, "callbacks": callbacks}]
        for create, fetch, end in self.turns():
            flows = [self.good(create.post(f"{OJS}/workflows", body))["workflow"]["id"] for body in bodies]
            ran = []

            def over():
                for job in self.good(fetch.fetch([self.queue], count=10))["jobs"]:
                    ran.append(job["type"])
                    self.good(end.ack(job["id"]))
                states = [self.good(end.get(f"{OJS}/workflows/{flow}"))["workflow"]["state"] for flow in flows]
                return states == ["completed"] * 3 and len(ran) >= 13
            until(over, "three workflows and two callbacks")
            self.assertEqual(sorted(ran), ["on_complete", "on_success"] + ["work"] * 11)

    def test_definitions_with_steps_waits_decisions_and_signals(self):
        stand_in = StandIn()
        self.addCleanup(stand_in.close)
        post = {"action": "http.post", "params": {"url": "${{ inputs.url }}", "body": {}}}
        name = f"asks-{new_id()}"
        steps = [{"id": "first", **post},
                 {"id": "choice", "type": "reasoning", "depends_on": ["first"],
                  "config": {"prompt_context": "?", "options": ["yes", "no"], "timeout": "1h", "fallback": "no"}},
                 {"id": "hold", "type": "wait", "depends_on": ["choice"], "config": {"signal": "go", "timeout": "1h"}},
                 {"id": "pause", "type": "wait", "depends_on": ["hold"], "config": {"duration": "10ms"}},
                 {"id": "work", "type": "job", "depends_on": ["pause"], "config": {"type": "work", "queue": self.queue}},
                 {"id": "last", "depends_on": ["work"], **post}]
        self.good(self.clients[0].post("/v1/definitions", definition(name, *steps)))
        for start, answer, see in self.turns():
            run = self.good(start.post("/v1/runs", {"definition": name, "inputs": {"url": stand_in.url(f"/{new_id()}")}}))
            run = run["run"]["id"]

            def asked():
                pending = self.good(see.get(f"/v1/runs/{run}"))["run"]["pending_decisions"]
                return pending and pending[0]["id"]
            decision = until(asked, "the question")
            self.good(answer.post(f"/v1/decisions/{decision}", {"choice": "yes"}))
            self.good(see.post(f"/v1/runs/{run}/signals", {"type": "go", "payload": {}}))

            def worked():
                jobs = self.good(start.fetch([self.queue], wait_ms=1000))["jobs"]
                return jobs and self.good(answer.ack(jobs[0]["id"]))
            until(worked, "the job of a step")
            found = self.finished(run, see)
            self.assertEqual(found["steps"]["choice"]["output"]["choice"], "yes")
            kinds = [event["seq"] for event in self.good(answer.get(f"/v1/runs/{run}/events?limit=1000"))["events"]]
            self.assertEqual(kinds, sorted(set(kinds)))
        keys = stand_in.keys()
        self.assertEqual((len(keys), set(keys.values())), (6, {1}), "each step called once")

    def test_settings_are_known_to_every_node_once_they_are_answered(self):
        say = {"id": "say", "action": "workflow.log", "params": {"message": "hello"}}
        for number, (change, one, two) in enumerate(self.turns()):
            name = f"hello-{new_id()}"
            self.good(change.post("/v1/definitions", definition(name, say)))
            # The runs' ids spread over all partitions, and each of these must know the definition.
            for client in (one, two, change):
                for k in range(PARTITIONS):
                    own = new_id()[:-4] + f"{k:04x}"
                    self.good(client.post("/v1/runs", {"definition": name, "id": own}))
            queue = f"{self.queue}-{number}"
            self.good(change.post(f"{OJS}/queues/{queue}/pause"))
            self.good(one.push(queue=queue))
            for client in (one, two, change):
                self.assertEqual(self.good(client.fetch([queue]))["jobs"], [])
            self.good(two.post(f"{OJS}/queues/{queue}/resume"))
            self.assertEqual(len(self.good(one.fetch([queue]))["jobs"]), 1)
            self.good(two.delete(f"/v1/definitions/{name}"))
            for client in (one, two, change):
                self.assertEqual(client.post("/v1/runs", {"definition": name}).status, 404)

    def test_schedules(self):
        for make, fetch, drop in self.turns():
            name = f"cron-{new_id()}"
            self.good(make.post(f"{OJS}/cron", {
                "name": name, "expression": "0 0 1 1 *", "job_template": {
                    "type": "tick", "args": [], "options": {"queue": self.queue}}}))
            self.good(drop.post(f"{OJS}/cron/{name}/trigger"))
            jobs = until(lambda: self.good(fetch.fetch([self.queue], wait_ms=2000))["jobs"], "a firing")
            self.assertEqual(jobs[0]["type"], "tick")
            self.good(drop.delete(f"{OJS}/cron/{name}"))
            self.assertNotIn(name, [cron["name"] for cron in self.good(make.get(f"{OJS}/cron"))["crons"]])
        later = self.good(self.clients[0].push(queue=self.queue, scheduled_at="2100-01-01T00:00:00Z"))["id"]
        self.assertEqual(self.good(self.clients[1].job(later))["state"], "scheduled")

    def test_lists_show_what_lies_in_every_partition(self):
        made = {self.good(self.any.push(args=[n], queue=f"{self.queue}-{n % 7}"))["id"] for n in range(30)}
        for client in self.clients:
            seen, cursor = [], ""
            while True:
                page = self.good(client.get(f"{OJS}/jobs?limit=7&state=available{cursor}"))
                seen += [job["id"] for job in page["jobs"]]
                if not page["pagination"].get("next_cursor") if "pagination" in page else not page.get("has_more"):
                    break
                cursor = f"&cursor={page['pagination']['next_cursor'] if 'pagination' in page else page['cursor']}"
            self.assertEqual(len(seen), len(set(seen)))
            self.assertLessEqual(made, set(seen))
            names = {queue["name"] for queue in self.good(client.get(f"{OJS}/queues?limit=1000"))["queues"]}
            self.assertLessEqual({f"{self.queue}-{n}" for n in range(7)}, names)


class Keys(ClusterCase):
    """API keys and secrets: made through one node, needed on another."""
    ROOT = "the-root-key-of-this-test"
    ARGS = ["--actions-http-allow-private", "--api-key", ROOT]

    def setUp(self):
        super().setUp()
        for client in [*self.clients, self.any]:
            client.headers["Authorization"] = f"Bearer {self.ROOT}"

    def test_a_key_made_on_one_node_opens_the_others(self):
        for number in range(3):
            made = self.good(self.clients[number].post("/v1/keys", {"name": f"key-{number}", "scopes": ["read", "write"]}))
            own = [self.closed(node.client(headers={"Authorization": f"Bearer {made['key']}"})) for node in self.cluster.nodes]
            for client in own:
                for k in range(3):
                    self.good(client.push("keyed", id=new_id()[:-4] + f"{k:04x}", queue=self.queue))
                self.assertEqual(client.get("/v1/keys").status, 403)
            self.good(self.clients[(number + 1) % 3].delete(f"/v1/keys/{made['id']}"))
            for client in own:
                self.assertEqual(client.push("keyed", queue=self.queue).status, 401)

    def test_a_secret_set_through_one_node_is_used_on_the_others(self):
        stand_in = StandIn()
        self.addCleanup(stand_in.close)
        for number in range(3):
            name = f"TOKEN_{number}"
            self.good(self.clients[number].call("PUT", f"/v1/secrets/{name}", {"value": f"value-{number}"}))
            definition_name = f"sends-{new_id()}"
            self.good(self.clients[number].post("/v1/definitions", definition(definition_name, {
                "id": "send", "action": "http.get", "params": {
                    "url": stand_in.url(f"/{number}"), "headers": {"X-Token": "${{ secrets.%s }}" % name}}})))
            for k in range(3):
                run = self.good(self.clients[(number + 1 + k) % 3].post("/v1/runs", {
                    "definition": definition_name, "id": new_id()[:-4] + f"{k:04x}"}))["run"]["id"]
                self.finished(run)
            self.assertEqual([request.headers.get("X-Token") for request in stand_in.seen(f"/{number}")],
                             [f"value-{number}"] * 3)


if __name__ == "__main__":
    unittest.main()
