"""Nodes that die, stand still, are drained, have nothing to do or are not wanted; one process with several partitions."""
import os
import random
import threading
import unittest

from cluster import Cluster, code_of, needs_postgres
from harness import DEADLINE_S, Client, Server, join_all, new_id, until

OJS = "/ojs/v1"
PARTITIONS = 6


class Pushers:
    """Clients that push to any node and keep what was acknowledged."""

    def __init__(self, cluster, count=4, **client):
        self.pushed, self.failed = [], []
        self._cluster, self._client, self._ending = cluster, client, threading.Event()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        client = self._cluster.client(**self._client)
        while not self._ending.is_set():
            try:
                reply = client.push("work", [random.random()], queue=f"load-{random.randrange(9)}")
                if reply.status == 201:
                    self.pushed.append(reply.body["id"])
                else:
                    self.failed.append((reply.status, code_of(reply), reply.raw[:200]))
            except Client.FAILURES as failure:
                self.failed.append(repr(failure))
        client.close()

    def more(self, count):
        target = len(self.pushed) + count
        until(lambda: len(self.pushed) >= target, f"{count} more pushes; failed: {self.failed[-3:]}")

    def end(self):
        self._ending.set()
        join_all(self._threads)
        return self


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        needs_postgres()
        cls.cluster = Cluster(partitions=PARTITIONS, gated=True)
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
        self.client = self.closed(self.cluster.client())

    def closed(self, client):
        self.addCleanup(client.close)
        return client

    def owner_of_some(self):
        owners = list(self.cluster.owners().values())
        return self.cluster.node(max(owners, key=owners.count))

    def all_are_there(self, pushed):
        self.assertEqual(len(pushed), len(set(pushed)))
        missing = [one for one in pushed if self.client.job(one).status != 200]
        self.assertEqual(missing, [])

    def answers_of_all(self):
        """Each partition through each node."""
        for node in self.cluster.up():
            client = self.closed(node.client())
            for partition in range(PARTITIONS):
                probe = new_id()[:-4] + f"{partition:04x}"
                until(lambda: client.job(probe).status == 404, f"partition {partition} through {node.name}")

    def test_a_node_is_killed_under_load(self):
        work = {"type": "work", "args": [], "options": {"queue": "killed"}}
        callbacks = {role: {"type": role, "args": [], "options": {"queue": "killed"}} for role in ("on_complete", "on_success")}
        flows = [self.client.post(f"{OJS}/workflows", {"type": "batch", "jobs": [work] * 3, "callbacks": callbacks},
                                  headers={"Idempotency-Key": new_id()}).body["workflow"]["id"] for _ in range(12)]
        load = Pushers(self.cluster)
        load.more(50)
        node = self.owner_of_some()
        ran = {}

        def work_on():
            for job in self.client.fetch(["killed"], count=5, worker_id="w", visibility_timeout_ms=2000).body.get("jobs", []):
                ran.setdefault(job["id"], job["type"])
                try:
                    self.client.ack(job["id"], worker_id="w")
                except Client.FAILURES:
                    pass  # it comes again when its lease ends
            return len(ran)
        until(lambda: work_on() >= 10, "some of the work")
        node.kill()
        load.more(200)
        until(lambda: work_on() >= 60, "all of the work")
        until(lambda: not work_on() or all(self.client.get(f"{OJS}/workflows/{flow}").body["workflow"]["state"] == "completed"
                                           for flow in flows), "the ends of workflows")
        node.start()
        load.more(100)
        self.all_are_there(load.end().pushed)
        self.assertEqual(sorted(ran.values()), ["on_complete"] * 12 + ["on_success"] * 12 + ["work"] * 36)

    def test_a_node_stands_still_and_goes_on(self):
        node = self.owner_of_some()
        others = [other for other in self.cluster.nodes if other is not node]
        partition = next(k for k, name in self.cluster.owners().items() if name == node.name)
        mine = new_id()[:-4] + f"{partition:04x}"
        self.assertEqual(self.client.push("seen", id=mine, queue="zombie").status, 201)
        direct = [self.closed(node.client()) for _ in range(3)]
        for client in direct:
            client.get("/health")  # connected before it stands still
        node.freeze()
        answers, late = {}, new_id()[:-4] + f"{partition:04x}"

        def ask(what, call):
            try:
                reply = call()
                answers[what] = (reply.status, reply.body)
            except Client.FAILURES:
                answers[what] = ("closed", None)
        asking = [threading.Thread(target=ask, args=one) for one in (
            ("read", lambda: direct[0].job(mine)),
            ("fetch", lambda: direct[1].fetch(["zombie"])),
            ("push", lambda: direct[2].push("late", id=late, queue="late")))]
        for thread in asking:  # their requests wait in its sockets
            thread.start()
        client = self.closed(others[0].client())
        until(lambda: client.cancel(mine).status == 200, "the takeover")
        self.cluster.await_served()
        node.thaw()
        join_all(asking)
        # It owns nothing now: what it answers comes from the new owner, or is no answer.
        status, body = answers["read"]
        self.assertTrue(status in (503, "closed") or body["job"]["state"] == "cancelled", answers)
        status, body = answers["fetch"]
        self.assertTrue(status in (503, "closed") or body["jobs"] == [], answers)
        status, body = answers["push"]
        if status == 201:
            self.assertEqual(self.client.job(late).status, 200)
        self.assertTrue(node.alive(), node.log_tail())
        self.answers_of_all()

    def test_a_node_is_drained_under_load(self):
        """Nobody repeats anything here, and no request fails."""
        node = self.owner_of_some()
        load = Pushers(self.cluster, retries=False)
        load.more(50)
        self.assertIn(self.client.post(f"/v1/cluster/nodes/{node.name}/drain").status, (200, 202))
        until(lambda: node.name not in self.cluster.owners().values(), "an empty node")
        load.more(50)
        self.assertEqual(load.end().failed, [])
        # It still takes requests, for the others.
        direct = self.closed(node.client())
        for number in range(10):
            self.assertEqual(direct.push(args=[number], queue=f"drained-{number}").status, 201)
        self.assertEqual(self.client.post("/v1/cluster/nodes/nobody/drain").status, 404)
        until(lambda: [one["state"] for one in self.cluster.view()["nodes"] if one["id"] == node.name] == ["draining"],
              "the state of a drained node")
        self.assertEqual(node.stop(), 0)
        node.start()
        self.assertIn(self.client.post(f"/v1/cluster/nodes/{node.name}/undrain").status, (200, 202))
        self.all_are_there(load.pushed)

    def test_a_node_ends_in_good_order_under_load(self):
        node = self.owner_of_some()
        load = Pushers(self.cluster)
        load.more(50)
        self.assertEqual(node.stop(), 0)
        load.more(50)
        load.end()
        self.all_are_there(load.pushed)
        # A request at work in the last moment may be without its answer, and is told so.
        told = {one[1] for one in load.failed if one[0] == 503}
        self.assertLessEqual(told, {"outcome_unknown", "partition_unavailable", "unavailable"})

    def test_the_database_restarts(self):
        for restart in (self.cluster.database.stop, self.cluster.database.crash):
            load = Pushers(self.cluster)
            load.more(30)
            restart()
            self.cluster.database.start()
            load.more(100)
            self.all_are_there(load.end().pushed)
            self.answers_of_all()

    def test_sessions_are_ended(self):
        load = Pushers(self.cluster)
        for _ in range(3):
            load.more(30)
            self.assertGreater(self.cluster.database.end_sessions(), 3)
        load.more(30)
        self.all_are_there(load.end().pushed)
        self.answers_of_all()

    def test_a_node_that_the_others_cannot_call(self):
        node = self.owner_of_some()
        self.addCleanup(node.gate.mend)
        partition = next(k for k, name in self.cluster.owners().items() if name == node.name)
        other = next(one for one in self.cluster.nodes if one is not node)
        for mode in ("refuse", "hang"):
            made = new_id()[:-4] + f"{partition:04x}"
            answers = []

            def push(made=made, answers=answers):
                client = other.client()
                answers.append(client.push("cut", id=made, queue="cut", timeout_s=120))
                client.close()
            node.gate.cut(mode)
            pushing = threading.Thread(target=push)
            pushing.start()
            # It is served all the time, for those who call the node itself.
            direct = self.closed(node.client())
            self.assertEqual(direct.push("direct", id=new_id()[:-4] + f"{partition:04x}", queue="cut").status, 201)
            node.gate.mend()
            pushing.join()
            # An answer that says yes is true; else it says that nothing happened, or that it may have.
            reply = answers[0]
            found = until(lambda: self.client.job(made).status, "an answer")
            if reply.status == 201:
                self.assertEqual(found, 200)
            else:
                self.assertIn((reply.status, code_of(reply)), [(503, "partition_unavailable"), (503, "outcome_unknown")])
                if code_of(reply) == "partition_unavailable":
                    self.assertEqual(found, 404)
        self.answers_of_all()

    def test_a_node_whose_row_is_gone_enters_anew(self):
        """It loses its partitions, gets some again, and calls and is called as before: under another incarnation."""
        node = self.owner_of_some()
        before = self.cluster.database.ask(f"SELECT incarnation FROM pawl_node WHERE name = '{node.name}'")
        self.cluster.database.ask(f"DELETE FROM pawl_node WHERE name = '{node.name}'")
        anew = f"SELECT count(*) FROM pawl_partition WHERE owner = '{node.name}' AND incarnation <> '{before}'"
        until(lambda: self.cluster.database.ask(anew) != "0", "partitions of its new incarnation")
        self.cluster.await_served()
        self.answers_of_all()  # each node passes on what belongs to another one
        direct = self.closed(node.client())
        self.assertEqual([direct.push(args=[number], queue=f"anew-{number}").status for number in range(12)], [201] * 12)
        self.assertTrue(node.alive(), node.log_tail())

    def test_more_nodes_than_partitions(self):
        extra = [self.cluster.add(f"extra{n}") for n in range(4)]
        try:
            for node in extra:
                node.spawn()
            for node in extra:
                node.await_ready()
            def whole():
                view = self.cluster.view()
                return view if view and len(view["nodes"]) == 7 else None
            view = until(whole, "7 nodes")
            idle = [one["id"] for one in view["nodes"] if not one["partitions"]]
            self.assertTrue(idle)
            client = self.closed(self.cluster.node(idle[0]).client())
            made = client.push(queue="idle")
            self.assertEqual(made.status, 201, made.raw)
            self.assertEqual([job["id"] for job in client.fetch(["idle"]).body["jobs"]], [made.body["id"]])
            self.assertEqual(client.ack(made.body["id"]).status, 200)
            self.assertEqual(client.get("/ready").status, 200)
        finally:
            for node in extra:
                self.assertEqual(node.stop(), 0)
                self.cluster.nodes.remove(node)
                node.close()

    def test_starts_that_are_refused(self):
        url, key = self.cluster.database.url(), self.cluster.database.key()
        cases = [("cluster key", {"--cluster-key": self.cluster.database.key("other.key")}),
                 ("partitions", {"--partitions": "7"}),
                 (f"name {self.cluster.nodes[0].name} is alive", {"--node": self.cluster.nodes[0].name})]
        for told, more in cases:
            args = {"--store": url, "--cluster-key": key, "--node": "refused", **more}
            server = Server([word for pair in args.items() for word in pair])
            self.addCleanup(server.close)
            server.spawn()
            self.assertEqual(server.process.wait(DEADLINE_S), 1, told)
            server.process.stdout.close()
            self.assertIn(told, server.log_tail())
        server = Server(["--store", url, "--cluster-key", key, "--node", "without-a-number"])
        self.addCleanup(server.close)
        server.start()
        self.assertEqual(server.stop(), 0)


class OneProcess(unittest.TestCase):
    """SQLite with three partitions: one process, the same routing, no other node."""

    def setUp(self):
        self.server = Server(["--partitions", "3", "--no-auth"])
        self.addCleanup(self.server.close)
        self.server.start()

    def client(self):
        client = self.server.client()
        self.addCleanup(client.close)
        return client

    def test_it_is_killed_and_starts_again(self):
        client, made = self.client(), []
        for number in range(40):
            made.append(client.push(args=[number], queue=f"q{number % 7}").body["id"])
        self.assertEqual({int(one[-4:], 16) % 3 for one in made}, {0, 1, 2})
        for one in made[:10]:
            jobs = client.fetch([f"q{made.index(one) % 7}"]).body["jobs"]
            self.assertEqual(client.ack(jobs[0]["id"]).status, 200)
        key = {"Idempotency-Key": "the-same"}
        keyed = client.post(f"{OJS}/jobs", {"type": "keyed", "args": []}, headers=key).body["id"]
        self.assertEqual(client.post("/v1/definitions", {"name": "hello", "definition": {"steps": [
            {"id": "say", "action": "workflow.log", "params": {"message": "hello"}}]}}).status, 201)
        before = [client.job(one).body["state"] for one in made]
        self.server.kill()
        self.assertTrue(os.path.exists(os.path.join(self.server.data, "pawl-2.db")))
        self.server.start()
        client = self.client()
        self.assertEqual([client.job(one).body["state"] for one in made], before)
        self.assertEqual(client.post(f"{OJS}/jobs", {"type": "keyed", "args": []}, headers=key).body["id"], keyed)
        for partition in range(3):
            run = client.post("/v1/runs", {"definition": "hello", "id": new_id()[:-4] + f"{partition:04x}"}).body["run"]["id"]
            until(lambda: client.get(f"/v1/runs/{run}").body["run"]["status"] == "completed", "a run")
        self.assertEqual(self.server.stop(), 0)

    def test_the_number_of_partitions_stays(self):
        self.assertEqual(self.server.stop(), 0)
        self.server._args[1] = "4"
        with self.assertRaisesRegex(AssertionError, "exited with 1"):
            self.server.start()
        self.assertIn("partitions", self.server.log_tail())


if __name__ == "__main__":
    unittest.main()
