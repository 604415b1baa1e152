"""Every definition in the documents is validated by a real server, and run if the document states its output.

The guide's shell commands are run unchanged, in order, and must print the text below them.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "blackbox"))
import examples  # noqa: E402
from harness import DEADLINE_S, PAWL, Server, Worker, join_all, until  # noqa: E402
from services import Services  # noqa: E402

GUIDES = ("docs/guide/definitions.md", "docs/guide/jobs.md", "docs/guide/workflows.md")
FLAGS = ("--actions-http-allow-private",)
ALL = list(examples.examples())


def setUpModule():
    global SERVER, SERVICES
    SERVER = Server(args=FLAGS).start()
    SERVICES = Services()


def tearDownModule():
    SERVICES.close()
    SERVER.close()


def holds(part, whole):
    """Whether everything in part is found in whole."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and holds(value, whole[key]) for key, value in part.items())
    return part == whole


def with_services(value):
    """Addresses of the services that the examples call."""
    return json.loads(json.dumps(value).replace("https://api.example.com", SERVICES.url))


class Definitions(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.client = SERVER.client()
        self.addCleanup(self.client.close)

    def judge(self, example):
        given = self.client.post("/v1/definitions/validate", {"definition": example.text}).body
        if example.invalid:
            self.assertIn(example.invalid, [fault["code"] for fault in given["errors"]], given)
            return
        self.assertEqual(given["errors"], [])
        self.assertEqual(given["warnings"], [])
        if example.is_settings:
            return
        name = example.name or re.sub(r"\W+", "-", example.where)
        put = self.client.post("/v1/definitions", {"name": name, "definition": example.text})
        self.assertEqual(put.status, 201, put.raw)
        says = (example.inputs, example.output, example.status, example.error)
        if any(value is not None for value in says) or example.steps:
            self.run_it(name, example)

    def run_it(self, name, example):
        workers = [Worker(SERVER, self.worker(example.work), queues=("default", "agents"))] if example.work else []
        try:
            begun = self.client.post("/v1/runs", {"definition": name, "inputs": with_services(example.inputs or {})})
            self.assertEqual(begun.status, 201, begun.raw)
            run = self.client_moves(begun.body["run"]["id"], example)
        finally:
            join_all(workers)
        self.assertEqual(run["status"], example.status or "completed", run)
        self.assertEqual(run.get("error", {}).get("code"), example.error, run)
        for step, wanted in example.steps.items():
            self.assertTrue(holds(wanted, run["steps"].get(step)), f"{step}: {run['steps'].get(step)} has not {wanted}")
        if example.output is not None:
            self.assertEqual(run["output"], example.output)

    def client_moves(self, run_id, example):
        """Answers and signals as the example says, until it is where it is said to come."""
        signals, answers = list(example.signals), dict(example.decide)
        target = example.status or "completed"

        def moved():
            run = self.client.get(f"/v1/runs/{run_id}").body["run"]
            for question in run["pending_decisions"]:
                choice = answers.pop(question["step_id"], None)
                if choice is not None:
                    reply = self.client.post(f"/v1/decisions/{question['id']}", {"choice": choice})
                    self.assertEqual(reply.status, 200, reply.raw)
                    return None
            if run["status"] == "suspended" and signals:
                reply = self.client.post(f"/v1/runs/{run_id}/signals", signals.pop(0))
                self.assertEqual(reply.status, 200, reply.raw)
                return None
            over = run["status"] in ("completed", "failed", "cancelled", target)
            return run if over else None

        return until(moved, f"{example.where} to end")

    def worker(self, results):
        def handle(client, job):
            result = results.get(job["type"])
            if isinstance(result, dict) and set(result) == {"error"}:
                client.nack(job["id"], {"code": "handler_error", "message": result["error"], "retryable": False})
            else:
                client.ack(job["id"], result=result)
        return handle


def add_test(number, example):
    def test(self):
        self.judge(example)
    test.__doc__ = example.where
    setattr(Definitions, f"test_{number:03}_" + re.sub(r"\W+", "_", example.where), test)


for NUMBER, EXAMPLE in enumerate(ALL):
    if not EXAMPLE.is_settings:
        add_test(NUMBER, EXAMPLE)


class Documents(unittest.TestCase):
    maxDiff = None

    def test_there_are_examples(self):
        self.assertGreater(len(ALL), 30)

    def test_settings_are_accepted(self):
        for example in ALL:
            if not example.is_settings:
                continue
            with self.subTest(example.where), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(example.text)
                file.flush()
                server = Server(args=("--config", file.name))
                try:
                    server.start()
                finally:
                    server.close()

    def test_the_page_of_actions_is_current(self):
        page = os.path.join(examples.ROOT, "docs", "reference", "actions.md")
        done = subprocess.run([sys.executable, os.path.join(examples.ROOT, "tools", "action_docs"), "--check",
                               "--url", f"http://127.0.0.1:{SERVER.port}", page], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_picture_is_of_the_example(self):
        example = next(example for example in ALL if example.where.startswith("README.md"))
        drawn = subprocess.run([PAWL, "graph", "--format", "svg", "/dev/stdin"], input=example.text, capture_output=True, text=True)
        self.assertEqual(drawn.stdout.strip(), examples.read("docs/img/expense.svg").strip(), drawn.stderr)

    @unittest.skipUnless(shutil.which("jq"), "the guides use jq")
    def test_guides_print_what_they_show(self):
        for path in GUIDES:
            with self.subTest(path):
                self.follow(path)

    def printed(self, shell):
        """What the shell prints until its command is over; it is killed when that takes too long."""
        alarm = threading.Timer(DEADLINE_S, shell.kill)
        alarm.start()
        lines = []
        while (line := shell.stdout.readline()) != "==over==\n":
            self.assertTrue(line, "the shell ended after:\n" + "".join(lines))
            lines.append(line)
        alarm.cancel()
        return "".join(lines).strip("\n")

    def follow(self, path):
        server = Server(args=FLAGS).start()
        folder = tempfile.mkdtemp(prefix="pawl-guide-")
        shell = subprocess.Popen(["bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 text=True, cwd=folder, env={**os.environ, "PAWL_URL": f"http://127.0.0.1:{server.port}"})
        try:
            for command in examples.transcript(path):
                text = command.text.replace("127.0.0.1:8080", f"127.0.0.1:{server.port}").replace("build/pawl", PAWL)
                shell.stdin.write(text + "\nprintf '\\n==over==\\n'\n")
                shell.stdin.flush()
                printed = self.printed(shell)
                with self.subTest(command.where):
                    if command.printed is not None:
                        self.assertEqual(tidy(printed, server), command.printed, server.log_tail())
        finally:
            shell.kill()
            shell.wait()
            shell.stdin.close()
            shell.stdout.close()
            server.close()
            shutil.rmtree(folder, ignore_errors=True)


def tidy(printed, server):
    """What differs from day to day is shown as the documents show it."""
    printed = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", printed)
    printed = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", printed)
    printed = printed.replace(f"127.0.0.1:{server.port}", "127.0.0.1:8080")
    return "\n".join(line.rstrip() for line in printed.split("\n"))


if __name__ == "__main__":
    unittest.main()
