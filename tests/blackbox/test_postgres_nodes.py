"""Two servers on one PostgreSQL: one serves, the other waits and takes over when the first is gone.

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

    def seen(self, server):
        """What a node tells of the cluster, once it has seen itself as the owner."""
        def look():
            body = self.client(server).get("/v1/cluster").body
            partitions = [(one["owner"], one["state"]) for one in body["partitions"]]
            own = [node["partitions"] for node in body["nodes"] if node["url"].endswith(f":{server.port}")]
            return own == [[0]] and ({node["id"]: node["state"] for node in body["nodes"]}, partitions)
        return until(look, "its own partition")

    def exit_code(self, server):
        return server.process.wait(timeout=DEADLINE_S)


class TakeOver(Nodes):
    def test_a_killed_node_is_followed_by_the_one_that_waits(self):
        first = self.node("a").start()
        self.assertIn("store postgres, node a,", first.ready_line)
        self.push(first, 20)
        second = self.waiting("b")
        until(lambda: self.database.ask("SELECT count(*) FROM pawl_node") == "2", "the second node")
        self.push(first, 5)
        self.assertEqual(self.seen(first), ({"a": "live", "b": "live"}, [("a", "serving")]))
        first.kill()
        second._read_ready_line()
        self.all_are_there(second)
        self.assertEqual(self.seen(second), ({"a": "dead", "b": "live"}, [("b", "serving")]))
        self.push(second, 5)
        # Back again, it waits for its turn.
        first.spawn()
        self.addCleanup(first.process.stdout.close)
        until(lambda: self.database.ask("SELECT beat > 3 FROM pawl_node WHERE name = 'a'") == "t", "the first node's beats")
        self.assertEqual(self.database.ask("SELECT owner FROM pawl_partition"), "b")
        self.assertEqual(second.stop(), 0)
        first._read_ready_line()
        self.all_are_there(first)
        self.assertEqual(first.stop(), 0)
        self.assertEqual(self.database.ask("SELECT count(*) FROM pawl_node"), "0")

    def test_a_node_that_was_stopped_and_goes_on_writes_and_tells_nothing(self):
        first = self.node("c").start()
        self.push(first, 3)
        second = self.waiting("d")
        answers = []

        def ask(client, method, path, body=None):
            try:
                answers.append(client.call(method, path, body).status)
            except OSError:
                answers.append("closed")
        asking = [threading.Thread(target=ask, args=(self.client(first), "POST", "/ojs/v1/jobs", {"type": "late", "args": []})),
                  threading.Thread(target=ask, args=(self.client(first), "GET", "/v1/system"))]
        first.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, first.process.pid, os.WSTOPPED)  # all its threads stand still
        for thread in asking:  # their requests wait in its sockets
            thread.start()
        second._read_ready_line()
        first.process.send_signal(signal.SIGCONT)
        for thread in asking:
            thread.join()
        self.assertLessEqual(set(answers), {503, "closed"})
        self.assertEqual(self.exit_code(first), 1)
        self.assertIn("another node has taken partition 0 over", first.log_tail())
        self.all_are_there(second)
        types = {job["type"] for job in self.client(second).fetch(["default"], count=100).body["jobs"]}
        self.assertNotIn("late", types)
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
        self.waiting("t")

        def state():
            return {node["id"]: node["state"] for node in self.client(first).get("/v1/cluster").body["nodes"]}.get("t")
        until(lambda: state() == "live", "the second node")
        url = f"http://127.0.0.1:{first.port}"
        drained = self.pawl("cluster", "drain", "t", "--wait", "10s", "--url", url)
        self.assertEqual((drained.returncode, drained.stdout), (0, "t has no partition any more\n"))
        until(lambda: state() == "draining", "a drained node")
        self.assertIn("draining", self.pawl("cluster", "status", "--url", url).stdout)
        self.assertEqual(self.pawl("cluster", "undrain", "t", "--url", url).returncode, 0)
        until(lambda: state() == "live", "a node that takes part again")
        unknown = self.pawl("cluster", "drain", "nobody", "--url", url)
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("no node has this name", unknown.stderr)
        self.assertEqual(self.client(first).post("/v1/cluster/nodes/t/drain").body, {"id": "t", "draining": True})
        self.assertEqual(self.client(first).post("/v1/cluster/nodes/nobody/undrain").status, 404)
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
