"""What a definition can reach: addresses, files, commands, the server's own environment.

Everything is sent as an attacker would send it: over the HTTP API to a server with its defaults, or with one
permission. A stand-in on loopback must not be reached.
"""
import json
import os
import re
import socket
import unittest

from definition_case import DefinitionCase
from harness import Server, until
from stand_in import Answer, StandIn

SECRET = "env-s3cret-of-the-server"


def in_words(address):
    """127.0.0.1 in every spelling that some resolver or client takes for it."""
    a, b, c, d = (int(part) for part in address.split("."))
    number = a << 24 | b << 16 | c << 8 | d
    return [address, str(number), hex(number), "0" + oct(number)[2:], f"{a}.{b << 16 | c << 8 | d}", f"{a}.{b}.{c << 8 | d}",
            f"0x{a:02x}.0x{b:02x}.0x{c:02x}.0x{d:02x}", f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"[::ffff:{address}]", f"[::{address}]",
            f"[::ffff:{a << 8 | b:x}:{c << 8 | d:x}]", f"[64:ff9b::{address}]", f"[2002:{a << 8 | b:x}:{c << 8 | d:x}::]",
            address + "."]


PRIVATE_HOSTS = (in_words("127.0.0.1") + in_words("169.254.169.254") +
                 ["localhost", "LOCALHOST.", "ip6-localhost", socket.gethostname(), "[::1]", "[::]", "0.0.0.0", "0", "10.0.0.1",
                  "172.16.0.1", "192.168.0.1", "100.64.0.1", "[fe80::1]", "[fc00::1]", "[fd00:ec2::254]", "224.0.0.1",
                  "255.255.255.255", "127.1.2.3", "１２７.0.0.1", "127。0。0。1", "%6c%6f%63alhost", "①②⑦.0.0.1"])


def own_names():
    """The machine's own name, unless nothing resolves it: a minimal system has no line for it in its hosts file."""
    try:
        socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return []
    return [socket.gethostname()]


class PrivateAddresses(DefinitionCase):
    arguments = ()  # the defaults

    def one_step(self, action, **params):
        run = self.start({"id": "s", "action": action, "params": params})
        return run["steps"]["s"]["error"]["code"] if run["status"] == "failed" else run["steps"]["s"]["output"]

    def test_no_spelling_of_a_private_address_is_reached(self):
        inside = self.stand_in()
        steps = [{"id": f"s{n}", "action": action, "on_error": "ignore",
                  "params": {"url": f"http://{host}:{inside.port}/latest/meta-data", "timeout": "5s"}}
                 for n, (action, host) in enumerate((a, h) for h in PRIVATE_HOSTS for a in ("http.get", "http.post"))]
        run = self.watch(self.start(*steps))
        codes = {steps[n]["params"]["url"]: run["steps"][f"s{n}"].get("ignored_error", {}).get("code") for n in range(len(steps))}
        # Refused by policy, or no address at all: never an answer, never an attempt to connect.
        self.assertEqual({u: c for u, c in codes.items() if c not in ("PERMISSION_DENIED", "VALIDATION_ERROR", "CIRCUIT_OPEN",
                                                                      "CONNECTION_ERROR", "EXECUTION_ERROR")}, {})
        self.assertEqual(codes[f"http://127.0.0.1:{inside.port}/latest/meta-data"], "PERMISSION_DENIED")
        self.assertEqual(inside.seen(), [])

    def test_a_name_is_judged_by_the_address_it_has_when_it_is_connected_to(self):
        inside = self.stand_in()
        for name in ["localhost", *own_names()]:
            self.assertEqual(self.one_step("http.get", url=f"http://{name}:{inside.port}/"), "PERMISSION_DENIED", name)
        self.assertEqual(inside.seen(), [])

    def test_other_schemes_and_credentials_in_urls_are_refused(self):
        for url in ("file:///etc/passwd", "gopher://127.0.0.1:1/", "ftp://127.0.0.1/", "dict://127.0.0.1:1/", "http://",
                    "http://user:pass@127.0.0.1/", "http://example.com@127.0.0.1/", "http:///127.0.0.1", "//127.0.0.1/",
                    "http://127.0.0.1:99999/", "http://a b/", "http://127.0.0.1\r\nX: y/", "unix:/var/run/docker.sock", "http://h%evil/", "http://a$b/",
                    "http://example.com%00.evil/", "http://a^b/"):
            self.assertIn(self.one_step("http.get", url=url), ("VALIDATION_ERROR", "PERMISSION_DENIED"), url)

    def test_headers_cannot_smuggle_a_request(self):
        for name in ("Content-Length", "content-length", "Content_Length", "Transfer-Encoding", "Host", "Connection", "Upgrade", "TE", "Trailer",
                     "Keep-Alive", "Proxy-Connection", "Expect", "HTTP2-Settings", "Host ", "Host:"):
            for params in ({"headers": {name: "0"}}, {"auth": {"type": "api_key", "header_name": name, "token": "0"}}):
                run = self.start({"id": "s", "action": "http.post", "params": {"url": "http://192.0.2.1/", **params}})
                self.assertEqual(run["steps"]["s"]["error"]["code"], "VALIDATION_ERROR", (name, run["steps"]["s"]))
                self.assertIn(name.strip(": "), run["steps"]["s"]["error"]["message"])
        for name, value in (("X-A", "b\r\nX-Evil: 1"), ("X-A\r\nX-Evil", "1"), ("X-A", "b\n\nGET / HTTP/1.1"), ("", "x"), ("X A", "b")):
            self.assertEqual(self.one_step("http.get", url="http://192.0.2.1/", headers={name: value}), "VALIDATION_ERROR", name)


class DeniedLoopback(DefinitionCase):
    """Private addresses are allowed, loopback is denied: the operator's own services stay out of reach."""

    arguments = ("--actions-http-allow-private", "--actions-http-deny-hosts", "127.0.0.1")

    def test_no_other_name_of_loopback_reaches_it(self):
        inside = self.stand_in()
        hosts = ["127.0.0.1", "0.0.0.0", "0", "[::]", "[::ffff:0.0.0.0]", "localhost", "2130706433"]
        codes = {}
        for host in hosts:
            run = self.start({"id": "s", "action": "http.get", "params": {"url": f"http://{host}:{inside.port}/"}})
            codes[host] = run["steps"]["s"].get("error", {}).get("code")
        self.assertEqual(codes, {host: "PERMISSION_DENIED" for host in hosts})
        self.assertEqual(inside.seen(), [])


class Redirects(DefinitionCase):
    """One private host is allowed; it must not be a door to the others."""

    def setUp(self):
        self.inside, self.outside = StandIn(), StandIn()
        self.addCleanup(self.inside.close)
        self.addCleanup(self.outside.close)
        self.shared = False
        self.arguments = ("--actions-http-allow-hosts", f"127.0.0.1:{self.outside.port}",
                          "--actions-http-deny-hosts", "denied.example")
        super().setUp()

    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def test_a_redirect_is_judged_like_a_request(self):
        targets = [f"http://127.0.0.1:{self.inside.port}/", f"http://localhost:{self.inside.port}/",
                   f"//127.0.0.1:{self.inside.port}/", f"http://[::ffff:127.0.0.1]:{self.inside.port}/",
                   f"http://2130706433:{self.inside.port}/", "file:///etc/passwd", f"gopher://127.0.0.1:{self.inside.port}/_x",
                   "http://denied.example/"]
        for target in targets:
            for status in (301, 302, 303, 307, 308):
                self.outside.answer_with(lambda request: Answer(status, None, {"Location": target}))
                run = self.start({"id": "s", "action": "http.post", "params": {"url": self.outside.url("/"), "body": {"a": 1}}})
                self.assertEqual((run["status"], run["steps"]["s"]["error"]["code"] in ("PERMISSION_DENIED", "VALIDATION_ERROR",
                                                                                      "CIRCUIT_OPEN")),
                                 ("failed", True), (target, status, run["steps"]["s"]))
        self.assertEqual(self.inside.seen(), [])
        self.assertGreater(len(self.outside.seen()), 4)

    def test_a_redirect_loop_ends(self):
        self.outside.answer_with(lambda request: Answer(302, None, {"Location": "/again"}))
        run = self.start({"id": "s", "action": "http.get", "params": {"url": self.outside.url("/")}})
        self.assertEqual(run["status"], "failed")
        self.assertLess(len(self.outside.seen()), 20)


class Webhooks(unittest.TestCase):
    def test_subscriptions_reach_no_private_address(self):
        inside = StandIn()
        self.addCleanup(inside.close)
        server = Server().start()
        self.addCleanup(server.close)
        client = server.client()
        hosts = ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f000001", *own_names()]
        made = [client.post("/ojs/v1/webhooks/subscriptions", {"url": f"http://{host}:{inside.port}/hook",
                                                               "events": ["job.enqueued"]}) for host in hosts]
        self.assertEqual({reply.status for reply in made}, {201})
        refused = client.post("/ojs/v1/webhooks/subscriptions", {"url": "file:///etc/passwd", "events": ["*"]})
        self.assertEqual(refused.status, 400)
        client.push(queue="watched")

        def failures():
            found = client.get("/ojs/v1/events?queues=pawl.webhooks&types=job.failed&limit=100").body["events"]
            return found if len(found) >= len(hosts) else None
        for event in until(failures, "every delivery is refused"):
            self.assertIn("private", json.dumps(event))
        self.assertEqual(inside.seen(), [])
        client.close()


class Files(DefinitionCase):
    arguments = ()

    def code(self, action, **params):
        run = self.start({"id": "s", "action": action, "params": params})
        return run["steps"]["s"]["error"]["code"] if run["status"] == "failed" else "done"

    def test_nothing_outside_the_runs_directory_is_touched(self):
        treasure = os.path.join(self.server.directory, "treasure")
        with open(treasure, "w", encoding="ascii") as file:
            file.write("gold")
        outside = ["/etc/passwd", "/proc/self/environ", "/proc/self/mem", "/proc/1/root/etc/passwd", "/dev/mem", "/sys/kernel/uevent_seqnum",
                   "../../../treasure", treasure, "a/../../../../treasure", "./././../../vault.key", "../../pawl.db", "/", "..",
                   os.path.join(self.server.data, "vault.key"), "/proc/self/cwd/../../treasure", "/proc/self/root" + treasure,
                   "/proc/self/fd/0", "/dev/fd/0", "/dev/stdin", treasure + "/", "//" + treasure, "x" * 5000, "../" * 200 + "etc/passwd"]
        wrong = {}
        for path in outside:
            for action, params in (("fs.read", {"path": path}), ("fs.write", {"path": path, "content": "x"}),
                                   ("fs.append", {"path": path, "content": "x"}), ("fs.delete", {"path": path}),
                                   ("fs.list", {"path": path}), ("fs.stat", {"path": path}),
                                   ("fs.copy", {"src": path, "dst": "mine"}), ("fs.move", {"src": path, "dst": "mine"})):
                code = self.code(action, **params)
                if code not in ("PATH_DENIED", "PERMISSION_DENIED", "VALIDATION_ERROR"):
                    wrong[f"{action} {path[:60]}"] = code
        self.assertEqual(wrong, {})
        with open(treasure, encoding="ascii") as file:
            self.assertEqual(file.read(), "gold")
        self.assertEqual(self.code("fs.read", path="a\0b"), "PATH_DENIED")

    def test_one_run_does_not_see_anothers_files(self):
        first = self.start({"id": "s", "action": "fs.write", "params": {"path": "mine.txt", "content": "private"}})
        self.assertEqual(first["status"], "completed")
        self.assertEqual(self.code("fs.read", path=f"../{first['id']}/mine.txt"), "PATH_DENIED")

    def test_links_lead_nowhere(self):
        run = self.start({"id": "w", "action": "fs.write", "params": {"path": "a", "content": "x"}},
                         {"id": "hold", "type": "wait", "depends_on": ["w"], "config": {"signal": "go"}},
                         *[{"id": f"r{n}", "action": action, "depends_on": ["hold"], "on_error": "ignore", "params": params}
                           for n, (action, params) in enumerate([
                               ("fs.read", {"path": "link"}), ("fs.write", {"path": "link", "content": "x"}),
                               ("fs.read", {"path": "dir/passwd"}), ("fs.list", {"path": "dir"}),
                               ("fs.copy", {"src": "link", "dst": "stolen"}), ("fs.append", {"path": "link", "content": "x"}),
                               ("fs.read", {"path": "loop"}), ("fs.write", {"path": "dir/new", "content": "x"})])], wait="1s")
        work = os.path.join(self.server.data, "work", run["id"])
        until(lambda: os.path.exists(os.path.join(work, "a")), "the first file")
        victim = os.path.join(self.server.directory, "victim")
        with open(victim, "w", encoding="ascii") as file:
            file.write("whole")
        os.symlink(victim, os.path.join(work, "link"))
        os.symlink("/etc", os.path.join(work, "dir"))
        os.symlink("loop", os.path.join(work, "loop"))
        self.signal(run, "go")
        run = self.watch(run)
        codes = {step: record["ignored_error"]["code"] for step, record in run["steps"].items() if step.startswith("r")}
        self.assertEqual(set(codes.values()), {"PATH_DENIED"}, codes)
        with open(victim, encoding="ascii") as file:
            self.assertEqual(file.read(), "whole")
        self.assertFalse(os.path.exists(os.path.join(work, "stolen")))


class DataDirectory(unittest.TestCase):
    """The server's data lies inside a directory that definitions may write."""

    def test_only_a_runs_own_directory_is_open(self):
        server = Server(args=("--actions-shell-enabled", "--actions-fs-writable", "/")).start()
        self.addCleanup(server.close)
        client = server.client()
        self.addCleanup(client.close)

        def code(action, **params):
            run = client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": action, "params": params}]},
                                           "wait": "20s"}).body["run"]
            return run["error"]["code"] if run["status"] == "failed" else run["id"]
        theirs = code("fs.write", path="f", content="theirs")
        key = os.path.join(server.data, "vault.key")
        beside = os.path.join(server.directory, "beside")
        os.mkdir(beside)
        os.symlink(key, os.path.join(beside, "link"))
        os.symlink(server.data, os.path.join(beside, "dir"))
        os.link(key, os.path.join(beside, "hard"))
        with open(key, "rb") as file:
            whole = file.read()
        paths = [key, os.path.join(server.data, "pawl.db"), os.path.join(server.data, "work", theirs, "f"), f"../{theirs}/f",
                 os.path.join(beside, "link"), os.path.join(beside, "dir", "vault.key"), os.path.join(beside, "hard"),
                 "/proc/self/root" + key, "/proc/self/mem", "/proc/self/environ", f"/proc/{server.process.pid}/root{key}",
                 f"/proc/{server.process.pid}/maps"]
        wrong = {}
        for path in paths:
            for action, params in (("fs.read", {"path": path}), ("fs.append", {"path": path, "content": "x"}),
                                   ("fs.copy", {"src": path, "dst": "mine"}), ("fs.stat", {"path": path})):
                if (got := code(action, **params)) != "PATH_DENIED":
                    wrong[f"{action} {path}"] = got
        for action, params in (("fs.write", {"path": key, "content": "x"}), ("fs.delete", {"path": key}),
                               ("fs.move", {"src": key, "dst": "mine"}), ("fs.list", {"path": server.data}),
                               ("fs.delete", {"path": server.directory, "recursive": True}),
                               ("shell.exec", {"command": "ls", "cwd": server.data})):
            if (got := code(action, **params)) != "PATH_DENIED":
                wrong[f"{action} {params}"] = got
        self.assertEqual(wrong, {})
        with open(key, "rb") as file:
            self.assertEqual(file.read(), whole)
        self.assertEqual(len(code("fs.write", path=os.path.join(beside, "free"), content="x")), len(theirs))

    def test_a_server_in_memory_does_not_open_what_another_one_left(self):
        server = Server(args=("--store", "memory", "--actions-fs-writable", "/"))
        self.addCleanup(server.close)
        os.makedirs(server.data)
        with open(os.path.join(server.data, "vault.key"), "w", encoding="ascii") as file:
            file.write("key")
        server.start()
        client = server.client()
        self.addCleanup(client.close)
        run = client.post("/v1/runs", {"definition": {"steps": [
            {"id": "s", "action": "fs.read", "params": {"path": os.path.join(server.data, "vault.key")}}]}, "wait": "20s"}).body["run"]
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "PATH_DENIED"))

    def test_what_runs_leave_is_the_servers_alone(self):
        server = Server()
        self.addCleanup(server.close)
        os.makedirs(os.path.join(server.data, "work"), exist_ok=True)
        os.chmod(server.data, 0o755)
        os.chmod(os.path.join(server.data, "work"), 0o777)
        self.check_work_directory(server)

    def test_the_directory_above_says_nothing_about_what_runs_leave(self):
        server = Server()
        self.addCleanup(server.close)
        os.makedirs(server.data)
        os.chmod(server.data, 0o2777)
        self.check_work_directory(server)

    def check_work_directory(self, server):
        server.start()
        client = server.client()
        self.addCleanup(client.close)
        run = client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": "fs.write", "params": {"path": "f", "content": "x"}}]},
                                       "wait": "20s"}).body["run"]
        self.assertEqual(run["status"], "completed")
        for path in ("work", os.path.join("work", run["id"])):
            self.assertEqual(os.stat(os.path.join(server.data, path)).st_mode & 0o7777, 0o700, path)


class Commands(unittest.TestCase):
    def run_shell(self, client, command, **params):
        reply = client.post("/v1/runs", {"definition": {"steps": [
            {"id": "s", "action": "shell.exec", "params": {"command": command, "shell": True, **params}}]}, "wait": "20s"})
        return reply.body["run"]

    def test_commands_are_off(self):
        server = Server().start()
        self.addCleanup(server.close)
        client = server.client()
        run = self.run_shell(client, "id")
        client.close()
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "PERMISSION_DENIED"))

    def test_the_servers_secrets_do_not_reach_commands(self):
        key = "pawl-root-" + SECRET
        environment = {"PAWL_API_KEY": key, "PAWL_VAULT_KEY": "phrase-" + SECRET, "PAWL_SECRET_X": "own-" + SECRET,
                       "DATABASE_PASSWORD": "db-" + SECRET}
        for more in ((), ("--actions-shell-environment", "*"), ("--actions-shell-environment", "PAWL_API_KEY")):
            server = Server(args=("--actions-shell-enabled", *more), environment=environment).start()
            try:
                client = server.client(headers={"Authorization": f"Bearer {key}"})
                own = json.dumps(self.run_shell(client, "env; ls -l /proc/self/fd"))
                around = json.dumps(self.run_shell(client, "cat /proc/$PPID/environ /proc/$PPID/cmdline | tr '\\0' '\\n'"))
                self.assertTrue("PATH=" in own and "PAWL_API_KEY=" in around, "the commands ran")
                # What was the server's own is in neither; what the operator passes on is where he wants it.
                leaked = [name for name in ("pawl-root-", "phrase-", "own-") if name + SECRET in own + around]
                self.assertEqual(leaked, [], more)
                self.assertEqual("db-" + SECRET in own, "*" in more)
                self.assertFalse("pawl.db" in own, "a descriptor of the server's is open in a command")
                client.close()
            finally:
                server.close()

    def test_a_key_on_the_command_line_is_hidden_from_the_machine(self):
        server = Server(args=("--api-key", "cmd-" + SECRET, "--api-key=two-" + SECRET)).start()
        self.addCleanup(server.close)
        with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
            told = file.read()
        self.assertIn(b"--api-key", told)
        self.assertNotIn(SECRET.encode(), told)
        for key in ("cmd-" + SECRET, "two-" + SECRET):
            client = server.client(headers={"Authorization": f"Bearer {key}"})
            self.assertEqual(client.get("/v1/system").status, 200)
            client.close()

    def test_a_list_of_commands_is_not_talked_around(self):
        server = Server(args=("--actions-shell-enabled", "--actions-shell-allow", "echo")).start()
        self.addCleanup(server.close)
        client = server.client()
        for params in ({"command": "id"}, {"command": "echo x; id", "shell": True}, {"command": "/bin/sh", "args": ["-c", "id"]},
                       {"command": "../../../../bin/id"}, {"command": "echo", "env": {"LD_PRELOAD": "/tmp/x.so"}},
                       {"command": "echo", "env": {"PATH": "/tmp"}, "shell": True}, {"command": "env", "args": ["echo"]}):
            run = client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": "shell.exec", "params": params}]},
                                           "wait": "20s"}).body["run"]
            self.assertEqual((run["status"], run["error"]["code"]), ("failed", "PERMISSION_DENIED"), params)
        for name in ("PATH", "BASH_ENV", "ENV", "GIT_SSH_COMMAND", "PYTHONPATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "PERL5OPT", "ANY"):
            run = client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": "shell.exec", "params": {
                "command": "echo", "env": {name: "/tmp"}}}]}, "wait": "20s"}).body["run"]
            self.assertEqual((run["status"], run["error"]["code"]), ("failed", "PERMISSION_DENIED"), name)
            self.assertIn(name, run["error"]["message"])
        run = client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": "shell.exec", "params": {
            "command": "echo", "args": ["$(id)", "; id"]}}]}, "wait": "20s"}).body["run"]
        self.assertEqual(run["steps"]["s"]["output"]["stdout_raw"], "$(id) ; id\n")
        client.close()

    def test_the_operator_lists_variables_and_says_where_commands_run(self):
        server = Server(args=("--actions-shell-enabled", "--actions-shell-allow", "printenv", "--actions-shell-allow", "pwd",
                              "--actions-shell-environment", "GREETING", "--actions-shell-cwd", "/usr")).start()
        self.addCleanup(server.close)
        client = server.client()
        self.addCleanup(client.close)
        client.call("PUT", "/v1/secrets/T", body={"value": "greeting-value"})
        for params, said in (({"command": "printenv", "args": ["GREETING"], "env": {"GREETING": "hi"}}, "hi\n"),
                             ({"command": "printenv", "args": ["GREETING"], "env": {"GREETING": "${{ secrets.T }}"}}, "***\n"),
                             ({"command": "pwd"}, "/usr\n"), ({"command": "pwd", "cwd": "bin"}, "/usr/bin\n")):
            run = client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": "shell.exec", "params": params}]},
                                           "wait": "20s"}).body["run"]
            self.assertEqual(run["steps"]["s"].get("output", {}).get("stdout_raw"), said, run)


class WebhookReceivers(unittest.TestCase):
    def test_a_receiver_can_tell_a_delivery_from_a_replay(self):
        """Runs the receiver of docs/guide/jobs.md."""
        with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "guide", "jobs.md"), encoding="utf-8") as file:
            code = re.search(r"```python\n(.*?def is_genuine.*?)```", file.read(), re.S).group(1)
        names = {}
        exec(code, names)  # pylint: disable=exec-used
        raw = []
        receiver = StandIn(lambda request: raw.append(request) or Answer(200, {}))
        self.addCleanup(receiver.close)
        server = Server(args=("--webhooks-allow-private",)).start()
        self.addCleanup(server.close)
        client = server.client()
        self.addCleanup(client.close)
        made = client.post("/ojs/v1/webhooks/subscriptions", {"url": receiver.url("/hook"), "events": ["job.enqueued"],
                                                              "secret": "s3cret", "headers": {"X-T": "t"}})
        self.assertEqual(made.status, 201, made.raw)
        client.push(queue="watched")
        until(lambda: raw, "the delivery")
        sent = raw[0]
        body = json.dumps(sent.body, separators=(",", ":"), ensure_ascii=False).encode()
        now = int(sent.headers["X-OJS-Timestamp"])
        genuine = names["is_genuine"]
        self.assertTrue(genuine(sent.headers, body, b"s3cret", now))
        self.assertFalse(genuine(sent.headers, body, b"other", now))
        self.assertFalse(genuine(sent.headers, body + b" ", b"s3cret", now))
        self.assertFalse(genuine(sent.headers, body, b"s3cret", now + 301), "too old")
        self.assertFalse(genuine({**sent.headers, "X-OJS-Timestamp": str(now + 300)}, body, b"s3cret", now + 301), "a new time for an old one")

        one = "/ojs/v1/webhooks/subscriptions/" + made.body["subscription"]["id"]
        for header in ("Content-Length", "Host", "Keep-Alive", "Proxy-Authorization"):
            reply = client.call("PATCH", one, body={"headers": {header: "1"}})
            self.assertEqual(reply.status, 400)
            self.assertIn(header.encode(), reply.raw)
        moved = client.call("PATCH", one, body={"url": receiver.url("/other")})
        self.assertEqual((moved.body["subscription"]["signed"], moved.body.get("dropped")), (True, None))
        moved = client.call("PATCH", one, body={"url": "https://evil.example/"})
        self.assertEqual((moved.body["subscription"]["signed"], moved.body["subscription"]["header_names"], moved.body["dropped"]),
                         (False, [], ["headers", "secret"]))


if __name__ == "__main__":
    unittest.main()
