"""Access: by default only from this machine, and never from a web page."""
import json
import os
import subprocess
import unittest

from harness import DEADLINE_S, PAWL, Client, Server


class Listening(unittest.TestCase):
    def serve(self, listen, *args, environment=None):
        """The outcome of a server that should not start."""
        server = Server()
        self.addCleanup(server.close)
        return subprocess.run([PAWL, "serve", "--listen", listen, "--data", server.data, *args], capture_output=True, check=False,
                              timeout=DEADLINE_S, env={**os.environ, **(environment or {})})

    def test_without_a_key_only_loopback_is_served(self):
        for listen in ("0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "*:0"):
            done = self.serve(listen)
            self.assertNotEqual(done.returncode, 0, listen)
            self.assertNotIn(b"listening", done.stdout, listen)
        self.assertIn(b"API key", self.serve("0.0.0.0:0").stderr)

    def test_with_a_key_or_on_demand_it_is(self):
        for args, status in ((("--api-key", "k"), 401), (("--no-auth",), 200)):
            server = Server(args=("--listen", "0.0.0.0:0", *args))
            self.addCleanup(server.close)
            server.spawn()
            line = server.process.stdout.readline().decode()
            self.assertIn("pawl listening on http://0.0.0.0:", line)
            client = Client(int(line.split(":")[2].split(" ")[0]))
            self.assertEqual(client.get("/v1/system").status, status)
            client.close()
            server.process.stdout.close()

    def test_no_auth_and_a_key_contradict_each_other(self):
        self.assertNotEqual(self.serve("127.0.0.1:0", "--no-auth", "--api-key", "k").returncode, 0)


class WebPages(unittest.TestCase):
    """A page in a browser on this machine reaches loopback ports; it must not drive the server."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def status(self, method="GET", path="/v1/system", **headers):
        client = self.server.client()
        reply = client.call(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        client.close()
        return reply.status

    def test_other_origins_are_refused(self):
        for origin in ("http://evil.example", "null", "https://evil.example:8080", "http://127.0.0.1:1", "file://"):
            self.assertEqual(self.status(Origin=origin), 403, origin)
            self.assertEqual(self.status("POST", "/ojs/v1/jobs", Origin=origin), 403, origin)
        self.assertEqual(self.status(Origin=f"http://127.0.0.1:{self.server.port}"), 200)

    def test_a_name_that_a_stranger_points_here_is_refused(self):
        for host in ("evil.example", f"evil.example:{self.server.port}", "evil.example.", "127.0.0.1.evil.example", "localhost.evil.example",
                     "1.2.3.com:80", "EVIL.example", "evil", "evil:80", "pawl", "evil?.localhost", "evil..localhost", "localhost:99999"):
            self.assertEqual(self.status(Host=host), 403, host)
            self.assertEqual(self.status(Host=host, Origin="http://" + host), 403, host)
        for host in (f"127.0.0.1:{self.server.port}", "localhost", "localhost.", f"LOCALHOST:{self.server.port}", "[::1]:80", "pawl.localhost",
                     "192.0.2.7"):
            self.assertEqual(self.status(Host=host), 200, host)

    def test_a_target_with_a_name_counts_more_than_the_header(self):
        def status(target, host):
            return self.server.raw(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        self.assertEqual(status("http://evil.example/v1/system", "localhost"), [403])
        self.assertEqual(status("http://localhost/v1/system", "evil.example"), [200])

    def test_on_loopback_names_are_judged_without_auth_too(self):
        server = Server(args=("--no-auth",)).start()
        self.addCleanup(server.close)
        client = server.client()
        self.assertEqual(client.get("/v1/system", headers={"Host": "evil"}).status, 403)
        self.assertEqual(client.get("/v1/system").status, 200)
        client.close()

    def test_who_has_a_key_may_use_any_name(self):
        server = Server(args=("--api-key", "k")).start()
        self.addCleanup(server.close)
        client = server.client()
        headers = {"Host": "pawl.example.com"}
        self.assertEqual(client.get("/v1/system", headers={**headers, "Authorization": "Bearer k"}).status, 200)
        self.assertEqual(client.get("/v1/system", headers=headers).status, 401)
        client.close()

    def test_the_scheme_of_a_key_has_no_case(self):
        server = Server(args=("--api-key", "k")).start()
        self.addCleanup(server.close)
        client = server.client()
        for value, status in (("bearer k", 200), ("BEARER k", 200), ("Bearer   k", 200), ("Bearer K", 401), ("Bearerk", 401),
                              ("Basic k", 401)):
            self.assertEqual(client.get("/v1/system", headers={"Authorization": value}).status, status, value)
        client.close()

    def test_no_answer_invites_other_origins(self):
        client = self.server.client()
        for method, path in (("GET", "/health"), ("GET", "/v1/system"), ("OPTIONS", "/v1/runs"), ("GET", "/")):
            reply = client.call(method, path, headers={"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
            self.assertEqual([name for name in reply.headers if name.lower().startswith("access-control-")], [], path)
        client.close()


class Keys(unittest.TestCase):
    def test_a_server_does_not_open_when_its_last_key_is_revoked(self):
        server = Server().start()
        self.addCleanup(server.close)
        client = server.client()
        made = client.post("/v1/keys", {"name": "a", "scopes": ["admin"]}).body
        self.assertEqual(client.get("/v1/keys").status, 401)
        key = {"Authorization": "Bearer " + made["key"]}
        self.assertEqual(client.delete(f"/v1/keys/{made['id']}", headers=key).status, 200)
        self.assertEqual(client.get("/v1/keys", headers=key).status, 401)
        self.assertEqual(client.get("/v1/keys").status, 401)
        client.close()
        # Nor when it starts again; but then it says how to get in, and that works.
        server.stop()
        server.start()
        self.assertEqual(client.get("/v1/keys").status, 401)
        self.assertEqual(client.get("/v1/keys", headers=key).status, 401)
        self.assertEqual(client.get("/health").status, 200)
        self.assertIn("pawl keys create", server.log_tail())
        client.close()
        server.stop()
        fresh = subprocess.run([PAWL, "keys", "create", "again", "--data", server.data], capture_output=True, text=True, check=True)
        server.start()
        self.assertEqual(client.get("/v1/keys", headers={"Authorization": "Bearer " + fresh.stdout.split()[-1]}).status, 200)
        client.close()

    def test_a_last_key_that_is_revoked_in_the_data_directory_closes_too(self):
        server = Server()
        self.addCleanup(server.close)
        run = lambda *args: subprocess.run([PAWL, "keys", *args, "--data", server.data], capture_output=True, text=True, check=True).stdout
        run("create", "only")
        (row,) = json.loads(run("list", "--json"))["keys"]
        run("revoke", row["id"])
        self.assertEqual(json.loads(run("list", "--json"))["keys"], [])
        server.start()
        client = server.client()
        self.assertEqual(client.get("/v1/keys").status, 401)
        client.close()

    def test_names_of_the_server_and_who_revokes_nothing(self):
        server = Server(args=("--host-name", "build-box")).start()
        self.addCleanup(server.close)
        client = server.client()
        self.assertEqual(client.get("/v1/system", headers={"Host": "build-box:8080"}).status, 200)
        self.assertEqual(client.get("/v1/system", headers={"Host": "evil"}).status, 403)
        client.close()

    def test_keys_survive_a_crash_and_so_does_their_end(self):
        server = Server(args=("--api-key", "root")).start()
        self.addCleanup(server.close)
        client = server.client(headers={"Authorization": "Bearer root"})
        kept, revoked = (client.post("/v1/keys", {"name": name, "scopes": ["read"]}).body for name in ("kept", "revoked"))
        client.delete(f"/v1/keys/{revoked['id']}")
        server.kill()
        client.close()
        server.start()
        for made, status in ((kept, 200), (revoked, 401)):
            self.assertEqual(client.get("/ojs/v1/queues", headers={"Authorization": "Bearer " + made["key"]}).status, status)
        client.close()


if __name__ == "__main__":
    unittest.main()
