"""Two servers on one PostgreSQL: they share its partitions, and take each other's over.

The database is a real one with fsync on, made by tools/postgres. Time passes by leases here, which are three seconds:
the tests wait for what happens, not for a time.
"""
import os
import signal
import subprocess
import threading
import unittest

from harness import DEADLINE_S, PAWL, Server, until
from postgres_database import Database


class Nodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.database = Database()

    @classmethod
    def tearDownClass(cls):
        cls.database.close()

    def setUp(self):
        self.key = self.database.key()
        self.pushed = []

    def node(self, name, **more):
        args = {"--store": self.database.url(), "--node": name, "--cluster-key": self.key, **more}
        server = Server([word for pair in args.items() if pair[1] is not None for word in pair])
        self.addCleanup(server.close)
        return server

    def client(self, server):
        client = server.client()
        self.addCleanup(client.close)
        return client

    def push(self, server, count=1):
        client = self.client(server)
        for number in range(count):
            reply = client.push(args=[number])
            self.assertEqual(reply.status, 201, reply.raw)
            self.pushed.append(reply.body["id"])

    def all_are_there(self, server):
        client = self.client(server)
        self.assertEqual([client.job(one).status for one in self.pushed], [200] * len(self.pushed))

    def waiting(self, name):
        """A node that cannot serve yet."""
        server = self.node(name)
        server.spawn()
        self.addCleanup(server.process.stdout.close)
        return server

    def shares(self, server):
        """How many partitions each node serves, as this one tells it."""
        counts = {}
        for one in self.client(server).get("/v1/cluster").body.get("partitions", []):
            name = one["owner"] if one["state"] == "serving" else one["state"]
            counts[name] = counts.get(name, 0) + 1
        return counts

    def wait_for_shares(self, server, **wanted):
        until(lambda: self.shares(server) == wanted, f"shares {wanted}", 2 * DEADLINE_S)

    def states(self, server):
        return {node["id"]: node["state"] for node in self.client(server).get("/v1/cluster").body["nodes"]}

    def exit_code(self, server):
        return server.process.wait(timeout=DEADLINE_S)


class TakeOver(Nodes):
    def test_a_killed_node_is_followed_by_the_other(self):
        first = self.node("a").start()
        self.assertIn("store postgres, node a,", first.ready_line)
        self.wait_for_shares(first, a=16)
        self.push(first, 20)
        second = self.node("b").start()
        self.wait_for_shares(first, a=8, b=8)
        self.push(first, 10)
        self.push(second, 10)
        first.kill()
        self.wait_for_shares(second, b=16)
        self.all_are_there(second)
        self.assertEqual(self.states(second), {"a": "dead", "b": "live"})
        self.push(second, 5)
        first.start()
        self.wait_for_shares(first, a=8, b=8)
        self.all_are_there(first)
        self.assertEqual(second.stop(), 0)
        self.wait_for_shares(first, a=16)
        self.all_are_there(first)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.database.ask("SELECT count(*) FROM pawl_node"), "0")

    def test_a_node_that_was_stopped_and_goes_on_tells_nothing_old(self):
        first = self.node("c").start()
        self.wait_for_shares(first, c=16)
        self.push(first, 3)
        second = self.node("d").start()
        self.wait_for_shares(first, c=8, d=8)
        cancelled = self.pushed[0]
        answers = {}

        def ask(name, client, method, path, body=None):
            try:
                answers[name] = client.call(method, path, body)
            except OSError:
                answers[name] = None
        asking = [threading.Thread(target=ask, args=("push", self.client(first), "POST", "/ojs/v1/jobs", {"type": "late", "args": []})),
                  threading.Thread(target=ask, args=("read", self.client(first), "GET", f"/ojs/v1/jobs/{cancelled}"))]
        first.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, first.process.pid, os.WSTOPPED)  # all its threads stand still
        for thread in asking:  # their requests wait in its sockets
            thread.start()
        self.wait_for_shares(second, d=16)
        self.assertEqual(self.client(second).cancel(cancelled).status, 200)
        first.process.send_signal(signal.SIGCONT)
        for thread in asking:
            thread.join()
        # It passes them on, or says that it does not know.
        if answers["push"] is not None and answers["push"].status == 201:
            self.pushed.append(answers["push"].body["id"])
        if answers["read"] is not None and answers["read"].status == 200:
            self.assertEqual(answers["read"].body["state"], "cancelled")
        until(lambda: "lost a partition" in first.log_tail(), "the loss noticed")
        self.wait_for_shares(second, c=8, d=8)
        self.wait_for_shares(first, c=8, d=8)
        self.all_are_there(first)
        self.all_are_there(second)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(second.stop(), 0)

    def test_a_node_is_told_to_stop_while_it_waits(self):
        first = self.node("e").start()
        second = self.waiting("f")
        until(lambda: self.database.ask("SELECT count(*) FROM pawl_node WHERE name = 'f'") == "1", "the second node")
        self.assertEqual(second.stop(), 0)
        self.assertEqual(self.database.ask("SELECT count(*) FROM pawl_node WHERE name = 'f'"), "0")
        self.assertEqual(first.stop(), 0)


class Drains(Nodes):
    def pawl(self, *words):
        return subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=DEADLINE_S)

    def test_a_node_is_drained_through_another_one(self):
        first = self.node("s").start()
        second = self.node("t").start()
        self.wait_for_shares(first, s=8, t=8)
        self.push(second, 10)
        url = f"http://127.0.0.1:{first.port}"
        drained = self.pawl("cluster", "drain", "t", "--wait", "20s", "--url", url)
        self.assertEqual((drained.returncode, drained.stdout), (0, "t has no partition any more\n"), drained.stderr)
        self.wait_for_shares(second, s=16)
        self.assertEqual(self.states(second), {"s": "live", "t": "draining"})
        self.assertIn("draining", self.pawl("cluster", "status", "--url", url).stdout)
        self.all_are_there(second)
        self.assertEqual(self.pawl("cluster", "undrain", "t", "--url", url).returncode, 0)
        self.wait_for_shares(first, s=8, t=8)
        unknown = self.pawl("cluster", "drain", "nobody", "--url", url)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("no node has this name", unknown.stderr)
        self.assertEqual(self.client(first).post("/v1/cluster/nodes/t/drain").body, {"id": "t", "draining": True})
        self.assertEqual(self.client(first).post("/v1/cluster/nodes/nobody/undrain").status, 404)
        self.assertEqual(second.stop(), 0)
        self.assertEqual(first.stop(), 0)


class Outages(Nodes):
    def test_the_database_crashes_under_load(self):
        node = self.node("g").start()
        stop = threading.Event()

        def load():
            client = self.client(node)
            while not stop.is_set():
                try:
                    reply = client.push()
                    if reply.status == 201:
                        self.pushed.append(reply.body["id"])
                except OSError:
                    pass
        threads = [threading.Thread(target=load) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(3):
            before = len(self.pushed)
            until(lambda: len(self.pushed) > before + 20, "pushes")
            self.database.crash()
            self.database.start()
        before = len(self.pushed)
        until(lambda: len(self.pushed) > before + 20, "pushes after the last crash")
        stop.set()
        for thread in threads:
            thread.join()
        self.all_are_there(node)
        self.assertEqual(len(self.pushed), len(set(self.pushed)))
        self.assertEqual(node.stop(), 0)

    def test_its_sessions_are_ended(self):
        node = self.node("h").start()
        self.push(node, 3)
        self.database.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'pawl/%'")
        client = self.client(node)
        until(lambda: client.push().status == 201, "a push")
        self.all_are_there(node)
        self.assertEqual(node.stop(), 0)


class Refusals(Nodes):
    def refused(self, **more):
        node = self.node("r", **more)
        node.spawn()
        self.assertEqual(self.exit_code(node), 1)
        node.process.stdout.close()
        return node.log_tail()

    def test_starts_that_cannot_work(self):
        node = self.node("first").start()
        self.assertEqual(node.stop(), 0)
        self.assertIn("cluster key is not the one", self.refused(**{"--cluster-key": self.database.key("other.key")}))
        self.assertIn("needs --cluster-key", self.refused(**{"--cluster-key": None}))
        told = self.refused(**{"--store": "postgres://someone:secret-word@127.0.0.1:1/none"})
        self.assertIn("cannot be reached", told)
        self.assertNotIn("secret-word", told)

    def test_another_number_of_partitions(self):
        database, self.database = self.database, Database()
        self.addCleanup(self.database.close)
        try:
            self.key = self.database.key()
            node = self.node("first", **{"--partitions": "2"}).start()
            self.wait_for_shares(node, first=2)
            self.assertIn("2 partitions, which is fixed; 3 were asked for", self.refused(**{"--partitions": "3"}))
            self.assertEqual(node.stop(), 0)
        finally:
            type(self).database = self.database = database

    def test_a_name_that_lives(self):
        node = self.node("r").start()
        self.assertIn("a node with the name r is alive", self.refused())
        self.assertEqual(self.client(node).push().status, 201)
        self.assertEqual(node.stop(), 0)

    def test_a_database_that_forgets(self):
        self.assertEqual(self.database.ask("ALTER SYSTEM SET synchronous_commit = off"), "")
        self.database.ask("SELECT pg_reload_conf()")
        try:
            until(lambda: self.database.ask("SHOW synchronous_commit") == "off", "the setting")
            self.assertIn("synchronous_commit = off", self.refused())
        finally:
            self.database.ask("ALTER SYSTEM RESET synchronous_commit")
            self.database.ask("SELECT pg_reload_conf()")
            until(lambda: self.database.ask("SHOW synchronous_commit") == "on", "the setting")


class Alone(unittest.TestCase):
    def test_a_server_without_others_is_a_cluster_of_one(self):
        server = Server(["--node", "here"])
        self.addCleanup(server.close)
        server.start()
        client = server.client()
        body = client.get("/v1/cluster").body
        self.assertEqual(sorted(body), ["cluster_id", "format", "nodes", "partitions", "warnings"])
        node, = body["nodes"]
        self.assertEqual(sorted(node), ["id", "last_seen", "partitions", "started_at", "state", "url", "version"])
        self.assertEqual((node["id"], node["state"], node["partitions"]), ("here", "live", [0]))
        partition, = body["partitions"]
        self.assertEqual((partition["id"], partition["owner"], partition["state"]), (0, "here", "serving"))
        self.assertEqual(client.post("/v1/cluster/nodes/here/drain").status, 200)
        self.assertEqual(client.post("/v1/cluster/nodes/there/drain").status, 404)
        self.assertEqual(client.post("/v1/cluster/nodes/there/undrain").status, 404)
        client.close()
        server.kill()
        server.start()
        client = server.client()
        self.assertEqual(client.get("/v1/cluster").body["cluster_id"], body["cluster_id"])
        client.close()


if __name__ == "__main__":
    unittest.main()
