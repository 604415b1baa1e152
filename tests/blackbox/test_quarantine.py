"""A run that ends the process whenever it is resumed: the third start quarantines it and serves all others. The deaths
are planted (PAWL_PLANT_ABORT, for tests only); the processes are real."""
import os
import signal
import subprocess
import unittest

from harness import Client, DEADLINE_S, PAWL, Server, until

MARK = "pawl-planted-abort"
SOON = {"id": "soon", "type": "wait", "config": {"duration": "300ms"}}


def definition(*steps):
    return {"name": "poison", "version": "1.0", "steps": list(steps)}


class QuarantineTest(unittest.TestCase):
    def setUp(self):
        self.server = Server(args=["--actions-shell-enabled"])
        self.addCleanup(self.server.close)

    def plant(self, where):
        self.server._environment.pop("PAWL_PLANT_ABORT", None)
        if where:
            self.server._environment["PAWL_PLANT_ABORT"] = where

    def client(self):
        client = self.server.client()
        self.addCleanup(client.close)
        return client

    def begin(self, text, inputs=None):
        reply = self.client().post("/v1/runs", {"definition": text, "inputs": inputs or {}})
        self.assertEqual(reply.status, 201, reply.raw[:2000])
        return reply.body["run"]["id"]

    def run_of(self, run):
        return self.client().get(f"/v1/runs/{run}").body["run"]

    def wait_for(self, run, status):
        return until(lambda: (lambda now: now if now["status"] == status else None)(self.run_of(run)),
                     f"{run} {status}")

    def dies(self):
        """Waits for the process to end by itself."""
        self.assertEqual(self.server.process.wait(DEADLINE_S), -signal.SIGABRT, self.server.log_tail())

    def start_and_die(self):
        self.server.spawn()
        self.dies()
        self.server.process.stdout.close()

    def innocents(self):
        """A run and a job of somebody else, there before the first death."""
        run = self.begin(definition({"id": "hold", "type": "wait", "config": {"signal": "go"}}))
        job = self.client().push("innocent", queue="innocent").body
        return run, (job.get("job") or job)["id"]

    def check_innocents(self, run, job):
        self.assertEqual(self.client().post(f"/v1/runs/{run}/signals", {"type": "go"}).status // 100, 2)
        self.wait_for(run, "completed")
        self.assertEqual([each["id"] for each in self.client().fetch(["innocent"]).body["jobs"]], [job])
        self.wait_for(self.begin(definition({"id": "new", "action": "crypto.uuid"})), "completed")

    def check_quarantined(self, run):
        now = self.wait_for(run, "failed")
        self.assertEqual(now["error"]["code"], "QUARANTINED", now)
        self.assertIn("died 2 times", now["error"]["message"])
        waits = self.client().get(f"/v1/runs/{run}/explain").body
        self.assertIn("quarantined", str(waits))
        self.assertIn(f"/v1/runs/{run}/release", str(waits))
        self.assertIn("run_quarantined", str(self.client().get(f"/v1/runs/{run}/events").body))
        self.assertIn(b"\npawl_runs_quarantined_total 1\n", self.client().get("/metrics").raw)

    def check_survives_restarts(self, run):
        self.server.kill()
        self.server.start()
        self.assertEqual(self.run_of(run)["error"]["code"], "QUARANTINED")
        self.assertEqual(self.server.stop(), 0)
        verified = subprocess.run([PAWL, "verify", "--data", self.server.data], capture_output=True, text=True,
                                  env=self.server._environment, timeout=DEADLINE_S)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)

    def check_release(self, run):
        """Once the plant is gone."""
        self.plant(None)
        self.server.start()
        client = self.client()
        self.assertEqual(client.post(f"/v1/runs/{run}/release").status, 200)
        self.assertEqual(client.post(f"/v1/runs/{run}/release").status, 409)

    def test_an_action(self):
        self.plant("action")
        self.server.start()
        innocents = self.innocents()
        run = self.begin(definition(SOON, {"id": "die", "depends_on": ["soon"], "action": "fs.write",
                                           "params": {"path": "x.txt", "content": MARK}}))
        self.dies()
        self.start_and_die()
        self.server.start()
        self.check_quarantined(run)
        self.check_innocents(*innocents)
        self.check_survives_restarts(run)
        self.check_release(run)
        self.wait_for(run, "completed")

    def test_an_evaluation(self):
        self.plant("evaluation")
        self.server.start()
        innocents = self.innocents()
        run = self.begin(definition(SOON, {"id": "die", "depends_on": ["soon"], "action": "crypto.uuid",
                                           "condition": f"'{MARK}' != ''"}))
        self.dies()
        self.start_and_die()
        self.server.start()
        self.check_quarantined(run)
        self.check_innocents(*innocents)
        self.check_survives_restarts(run)
        self.check_release(run)
        self.wait_for(run, "completed")

    def test_a_template(self):
        self.plant("evaluation")
        self.server.start()
        innocents = self.innocents()
        run = self.begin(definition(SOON, {"id": "die", "depends_on": ["soon"], "action": "crypto.hash",
                                           "params": {"data": "${{ '%s' }}" % MARK, "algorithm": "sha256"}}))
        self.dies()
        self.start_and_die()
        self.server.start()
        self.check_quarantined(run)
        self.check_innocents(*innocents)

    def test_the_guard_of_a_workflow_of_jobs(self):
        """Nothing takes it up by itself: its worker does, by acknowledging the job before it."""
        self.plant("evaluation")
        self.server.start()
        innocents = self.innocents()
        reply = self.client().post("/ojs/v1/workflows", {"type": "chain", "steps": [
            {"type": "a", "args": [], "options": {"queue": "guarded"}},
            {"type": "b", "args": [], "options": {"queue": "guarded"}, "when": f"'{MARK}' != ''"}]})
        self.assertEqual(reply.status, 201, reply.raw)
        run = reply.body["workflow"]["id"]
        job = self.client().fetch(["guarded"]).body["jobs"][0]
        for _ in range(2):
            with self.assertRaises(Client.FAILURES):
                self.client().post("/ojs/v1/workers/ack", {"job_id": job["id"], "result": 1})
            self.dies()
            self.server.process.stdout.close()
            self.server.start()
        now = self.wait_for(run, "failed")
        self.assertIn("QUARANTINED", str(self.client().get(f"/v1/runs/{run}/explain").body) + str(now))
        self.check_innocents(*innocents)

    def leave_in_the_tail(self):
        """A run with an event that dies when it is folded. Rows may be written before the process is killed:
        then nothing is folded, and it is tried again."""
        for _ in range(20):
            self.plant(None)
            self.server.start()
            run = self.begin(definition({"id": "hold", "type": "wait", "config": {"signal": "go"}}))
            client = self.client()
            client.post(f"/v1/runs/{run}/signals", {"type": "data", "payload": {"text": MARK}})
            self.server.kill()
            self.plant("apply")
            self.server.spawn()
            line = self.server.process.stdout.readline()
            if not line:
                self.dies()
                self.server.process.stdout.close()
                return run
            self.server.kill()
            self.server.process.stdout.close()
        raise AssertionError("nothing was left in the tail")

    def test_an_apply(self):
        self.server.start()
        innocents = self.innocents()
        self.assertEqual(self.server.stop(), 0)
        run = self.leave_in_the_tail()
        self.start_and_die()
        self.server.start()
        self.check_quarantined(run)
        self.check_innocents(*innocents)
        self.check_survives_restarts(run)
        self.check_release(run)
        self.client().post(f"/v1/runs/{run}/signals", {"type": "go"})
        self.wait_for(run, "completed")
        self.server.kill()
        self.server.start()
        self.assertEqual(self.run_of(run)["status"], "completed")

    def test_a_command_that_ends_the_server(self):
        """By a signal that tells who sent it, and by one that does not."""
        for signal_name in ("ABRT", "SEGV", "KILL"):
            with self.subTest(signal_name):
                self.server.start()
                innocents = self.innocents()
                # It kills when it is told to, which is not before the answer to its start has come.
                path = os.path.join(os.path.dirname(self.server.data), f"word-{signal_name}")
                os.mkfifo(path)
                word = os.open(path, os.O_RDWR)
                self.addCleanup(os.close, word)
                run = self.begin(definition({"id": "die", "action": "shell.exec", "params": {"command": "sh", "args": [
                    "-c", f"read word < {path}; kill -{signal_name} $PPID; sleep 60"]}}))
                os.write(word, b"now\n")
                self.assertLess(self.server.process.wait(DEADLINE_S), 0)
                os.write(word, b"now\n")
                self.server.spawn()
                self.assertLess(self.server.process.wait(DEADLINE_S), 0)
                self.server.process.stdout.close()
                self.server.start()
                self.check_quarantined(run)
                self.check_innocents(*innocents)
                self.check_survives_restarts(run)

    def test_kills_during_a_long_action_are_nobodys_fault(self):
        self.server.start()
        # Its mark says that it has run for longer than a new command has.
        run = self.begin(definition({"id": "sleep", "action": "shell.exec", "params": {
            "command": "sh", "args": ["-c", "sleep 1.6; echo > long; sleep 600"]}}))
        mark = os.path.join(self.server.data, "work", run, "long")
        for _ in range(3):
            until(lambda: os.path.exists(mark), "it has run for long")
            self.server.kill()
            os.unlink(mark)
            self.server.start()
        self.assertEqual(self.run_of(run)["status"], "active", self.run_of(run))

    def test_a_book_that_cannot_be_written_stops_nobody(self):
        os.makedirs(os.path.join(self.server.data, "crash.book"))
        self.server.start()
        self.wait_for(self.begin(definition({"id": "new", "action": "crypto.uuid"})), "completed")

    def test_only_a_quarantined_run_is_released(self):
        self.server.start()
        run = self.begin(definition({"id": "new", "action": "crypto.uuid"}))
        self.wait_for(run, "completed")
        self.assertEqual(self.client().post(f"/v1/runs/{run}/release").status, 409)
        unknown = "01900000-0000-7000-8000-000000000000"
        self.assertEqual(self.client().post(f"/v1/runs/{unknown}/release").status, 404)


if __name__ == "__main__":
    unittest.main()
