"""The server before authentication, and at its bounds of bodies, connections and files."""
import gzip
import json
import os
import resource
import socket
import subprocess
import threading
import unittest

from harness import DEADLINE_S, PAWL, SANITIZED, Server, until

KEY = {"Authorization": "Bearer k"}
MB = 1 << 20


def head(path="/ojs/v1/jobs/batch", length=60_000_000, more=b""):
    return b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (path.encode(), length, more)


def answer(connection):
    """The head of the first answer on this connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            break
        data += piece
    return data


def send_all_it_takes(connection, size):
    """Sends up to size bytes, as far as the server takes them. What it does not want it may cut."""
    block = bytes(1 << 16)
    try:
        for _ in range(size // len(block)):
            connection.sendall(block)
    except OSError:
        pass


class Strangers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=("--api-key", "k"))
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        return connection

    def test_who_has_no_key_is_told_before_the_body(self):
        for request, status in ((head(), b"401"), (head(more=b"Authorization: Bearer wrong\r\n"), b"401"), (head("/nothing"), b"404"),
                                (head("/health"), b"405"), (head(more=b"Expect: 100-continue\r\n"), b"401"),
                                (head(more=b"Content-Encoding: gzip\r\n"), b"401"),
                                (head(more=b"Authorization: Bearer k\r\nOrigin: http://evil.example\r\n"), b"403")):
            connection = self.connect()
            connection.sendall(request)
            self.assertEqual(answer(connection).split()[1], status, request)

    def test_bodies_without_a_key_take_no_memory(self):
        client = self.server.client(headers=KEY)
        client.get("/v1/system")
        before = self.server.rss_kb("VmHWM")

        def send():
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as connection:
                connection.sendall(head())
                send_all_it_takes(connection, 60_000_000)

        senders = [threading.Thread(target=send) for _ in range(30)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
        self.assertLess(self.server.rss_kb("VmHWM") - before, 64 * 1024 * (4 if SANITIZED else 1))
        self.assertEqual(client.push().status, 201)
        client.close()

    def test_chunks_without_end_are_cut(self):
        connection = self.connect()
        connection.sendall(b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        self.assertEqual(answer(connection).split()[1], b"401")
        send_all_it_takes(connection, 1 << 16)
        try:
            while connection.sendall(b"10000\r\n" + bytes(65536) + b"\r\n") is None:
                pass
        except OSError:
            pass  # closed, after a little

    def test_a_connection_that_was_refused_can_be_used_again(self):
        client = self.server.client()
        self.assertEqual(client.post("/ojs/v1/jobs", {"type": "a.b", "args": ["x" * 1000]}).status, 401)
        self.assertEqual(client.call("POST", "/ojs/v1/jobs", {"type": "a.b", "args": []}, headers=KEY).status, 201)
        client.close()


class Budget(unittest.TestCase):
    def test_all_bodies_together_are_bounded_and_small_requests_get_in(self):
        server = Server(args=("--limits-request-bytes", "64MiB")).start()
        self.addCleanup(server.close)
        held = []
        statuses = []
        for _ in range(12):
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S)
            self.addCleanup(connection.close)
            connection.sendall(head(length=20 * MB, more=b"Expect: 100-continue\r\n"))
            statuses.append(answer(connection).split()[1])
            held.append(connection)
        self.assertEqual(statuses, [b"100"] * 2 + [b"503"] * 10)
        client = server.client()
        self.assertEqual(client.push().status, 201)
        body = b'{"jobs":[' + b",".join([b'{"type":"a.b","args":[]}'] * 10) + b"]}"
        held[0].sendall(body + b" " * (20 * MB - len(body)))
        self.assertEqual(answer(held[0]).split()[1], b"201")
        # There is room again: nobody holds more than he uses.
        held[1].close()
        until(lambda: client.post("/ojs/v1/jobs/batch", raw=body + b" " * (40 * MB)).status == 201, "room for a large one")
        client.close()

    def test_packed_bombs_are_refused_and_packed_pushes_taken(self):
        server = Server(args=("--api-key", "k")).start()
        self.addCleanup(server.close)
        client = server.client(headers=KEY)
        packed = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
        before = server.rss_kb("VmHWM")
        for size in (60_000_000, 1 << 30):
            bomb = gzip.compress(b" " * size, 9)
            self.assertEqual(client.post("/ojs/v1/jobs", raw=bomb, headers=packed).status, 413)
        # The largest body allowed (64 MiB), with the copy of it that growing makes: never the gigabyte.
        self.assertLess(server.rss_kb("VmHWM") - before, 192 * 1024 * (4 if SANITIZED else 1))
        jobs = {"jobs": [{"type": "a.b", "args": [n, "x" * 50]} for n in range(5_000)]}
        reply = client.post("/ojs/v1/jobs/batch", raw=gzip.compress(json.dumps(jobs).encode()), headers=packed)
        self.assertEqual((reply.status, reply.body["count"] if "count" in reply.body else len(reply.body["jobs"])), (201, 5_000))
        self.assertEqual(client.post("/ojs/v1/jobs", raw=b"no gzip at all", headers=packed).status, 400)
        client.close()


class Files(unittest.TestCase):
    def test_idle_clients_leave_files_for_the_server(self):
        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (128, 512))

        server = Server(args=("--actions-shell-enabled", "--actions-shell-open-files", "0"))
        self.addCleanup(server.close)
        real = subprocess.Popen

        def limited(*args, preexec_fn=None, **more):
            return real(*args, preexec_fn=lambda: (preexec_fn() if preexec_fn else None, few_files()), **more)

        subprocess.Popen = limited
        try:
            server.start()
        finally:
            subprocess.Popen = real
        client = server.client()
        definition = {"steps": [{"id": "w", "action": "fs.write", "params": {"path": "out.txt", "content": "hello"}},
                                {"id": "s", "action": "shell.exec", "params": {"command": "sh", "args": ["-c", "ulimit -n"]}}]}
        self.assertEqual(client.get("/health").status, 200)  # its connection is there before the crowd
        crowd = []
        self.addCleanup(lambda: [one.close() for one in crowd])
        for _ in range(600):  # more than there are files
            try:
                crowd.append(socket.create_connection(("127.0.0.1", server.port), timeout=DEADLINE_S))
            except OSError:
                pass
        # 512 of the hard limit, less the reserve of 128 and 64 that are told why.
        metrics = client.get("/metrics").raw.decode()
        self.assertIn("\npawl_http_connections_max 320\n", metrics)
        self.assertIn("\nprocess_max_fds 512\n", metrics)
        run = client.post("/v1/runs", {"definition": definition, "wait": "20s"}).body["run"]
        self.assertEqual(run["status"], "completed", run)
        self.assertEqual(run["steps"]["s"]["output"]["stdout_raw"].strip(), "128", "a command has the limit that the server was started with")
        client.close()


class Log(unittest.TestCase):
    def test_what_workflow_log_says_is_in_the_log(self):
        server = Server(args=("--log-format", "json")).start()
        self.addCleanup(server.close)
        client = server.client()
        tell = {"id": "tell", "action": "workflow.log", "params": {"message": "${{ inputs.text }}", "level": "warn", "data": {"n": 7}}}
        made = client.post("/v1/runs", {"definition": {"steps": [tell]}, "inputs": {"text": "hello\n\x1b[2J" + "x" * 20_000}, "wait": "20s"})
        self.assertEqual(made.status, 201, made.raw)
        run = made.body["run"]["id"]
        path = os.path.join(server.directory, "stderr.log")

        def line():
            with open(path, encoding="utf-8") as log:
                return next((json.loads(one) for one in log if run in one and "tell" in one), None)

        said = until(line, "the line in the log")
        self.assertEqual((said["level"], said["run"], said["step"]), ("warning", run, "tell"))
        self.assertTrue(said["message"].startswith("hello\n\x1b[2Jx"))
        self.assertLess(len(said["message"]), 9_000)
        self.assertEqual(json.loads(said["data"]), {"n": 7})
        client.close()


class Browsers(unittest.TestCase):
    def test_named_origins_and_the_content_type(self):
        server = Server(args=("--api-key", "k", "--cors-origin", "http://localhost:3000", "--cors-origin", "https://APP.example:443",
                              "--ojs-content-type", "application/json")).start()
        self.addCleanup(server.close)
        client = server.client()
        for origin in ("http://localhost:3000", "https://app.example"):
            asked = client.call("OPTIONS", "/ojs/v1/jobs", headers={"Origin": origin, "Access-Control-Request-Method": "POST"})
            self.assertEqual((asked.status, asked.headers["Access-Control-Allow-Origin"]), (204, origin))
            reply = client.get("/ojs/v1/queues", headers={"Origin": origin, **KEY})
            self.assertEqual((reply.status, reply.headers["Access-Control-Allow-Origin"]), (200, origin))
            self.assertEqual(reply.headers["Content-Type"], "application/json")
        self.assertEqual(client.get("/ojs/v1/queues", headers={"Origin": "http://localhost:3001", **KEY}).status, 403)
        self.assertEqual(client.get("/ojs/v1/jobs/none", headers=KEY).headers["Content-Type"], "application/json")
        client.close()
        for wrong in ("*", "null", "app.example", "https://app.example/path", "ftp://app.example"):
            refused = subprocess.run([PAWL, "serve", "--cors-origin", wrong], capture_output=True, text=True, check=False)
            self.assertEqual(refused.returncode != 0 and "origin" in refused.stderr, True, wrong)

    def test_replies_keep_their_own_type_unless_told(self):
        server = Server().start()
        self.addCleanup(server.close)
        client = server.client()
        self.assertEqual(client.get("/ojs/v1/queues").headers["Content-Type"], "application/openjobspec+json")
        client.close()


if __name__ == "__main__":
    unittest.main()
