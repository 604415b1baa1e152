"""The command line, driven as a person or a script drives it: the real binary, its output and exit codes."""
import json
import os
import signal
import subprocess
import tempfile
import unittest

import harness
from harness import DEADLINE_S, PAWL, Server, until

DONE, REFUSED, USAGE, NO_SERVER = 0, 1, 2, 3


def pawl(*words, url=None, environment=None):
    """Runs the program to its end; nothing of the caller's PAWL_ variables reaches it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    if url:
        clean["PAWL_URL"] = url
    clean.update(environment or {})
    return subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=DEADLINE_S, env=clean, stdin=subprocess.DEVNULL)


class WithServer(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().start()
        cls.url = f"http://127.0.0.1:{cls.server.port}"

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def pawl(self, *words, expect=DONE, **more):
        run = pawl(*words, url=self.url, **more)
        self.assertEqual(run.returncode, expect, f"pawl {' '.join(words)}\n{run.stdout}{run.stderr}")
        return run

    def json(self, *words, **more):
        return json.loads(self.pawl(*words, "--json", **more).stdout)

    def push(self, *words):
        return self.json("jobs", "push", *words)["job"]


class Jobs(WithServer):
    def test_push_get_list_cancel_retry(self):
        job = self.push("mail.send", "--args", '["ada", [1, 2]]', "--queue", "cli-a", "--priority", "5",
                        "--meta", '{"k":"v"}', "--attempts", "4")
        self.assertEqual((job["args"], job["queue"], job["priority"], job["max_attempts"], job["meta"]["k"]),
                         (["ada", [1, 2]], "cli-a", 5, 4, "v"))
        shown = self.pawl("jobs", "get", job["id"]).stdout
        self.assertRegex(shown, r"(?m)^state +available$")
        listed = self.pawl("jobs", "list", "--queue", "cli-a").stdout
        self.assertIn(job["id"], listed)
        self.assertNotIn("\x1b", listed, "colours belong on a terminal")
        self.assertEqual([j["id"] for j in self.json("jobs", "list", "--queue", "cli-a", "--state", "available")["jobs"]], [job["id"]])
        self.assertEqual(self.json("jobs", "cancel", job["id"])["job"]["state"], "cancelled")
        refused = self.pawl("jobs", "cancel", job["id"], expect=REFUSED)
        self.assertIn("(conflict)", refused.stderr)
        self.pawl("jobs", "retry", job["id"], expect=REFUSED)  # only what was discarded runs again

    def test_delay_and_uniqueness(self):
        later = self.push("mail.later", "--queue", "cli-b", "--delay", "1h30m")
        self.assertEqual(later["state"], "scheduled")
        words = ("mail.once", "--queue", "cli-b", "--unique", "type,args", "--unique-period", "1h", "--on-conflict", "ignore")
        self.assertEqual(self.push(*words)["id"], self.push(*words)["id"])
        self.pawl("jobs", "push", *words[:-1], "reject", expect=REFUSED)

    def test_usage_errors_are_2_and_change_nothing(self):
        for words in (("jobs",), ("jobs", "push"), ("jobs", "push", "a.b", "--args", "{nope"), ("jobs", "push", "a.b", "--delay", "soon"),
                      ("jobs", "fly"), ("nonsense",), (), ("jobs", "get", "--url", "ftp://x", "1"), ("queues", "purge", "cli-x")):
            with self.subTest(words=words):
                self.assertEqual(pawl(*words, url=self.url).returncode, USAGE)

    def test_unknown_job_is_refused(self):
        run = self.pawl("jobs", "get", harness.new_id(), expect=REFUSED)
        self.assertIn("not_found", run.stderr)
        self.assertEqual(run.stdout, "")

    def test_no_server_is_3_with_a_hint(self):
        run = pawl("jobs", "list", "--url", f"http://127.0.0.1:{harness.free_port()}")
        self.assertEqual(run.returncode, NO_SERVER)
        self.assertIn("pawl serve", run.stderr)


class QueuesAndCron(WithServer):
    def test_queues(self):
        self.push("a.b", "--queue", "cli-q")
        self.assertIn("paused", self.pawl("queues", "pause", "cli-q").stdout)
        self.assertRegex(self.pawl("queues", "list").stdout, r"(?m)^cli-q +paused")
        self.assertIn("running", self.pawl("queues", "resume", "cli-q").stdout)
        self.assertRegex(self.pawl("queues", "stats", "cli-q").stdout, r"(?m)^available +1$")
        self.assertIn("1 jobs removed", self.pawl("queues", "purge", "cli-q", "--yes").stdout)
        self.assertRegex(self.pawl("queues", "stats", "cli-q").stdout, r"(?m)^available +0$")

    def test_cron(self):
        self.pawl("cron", "put", "cli-nightly", "0 3 * * *", "report.nightly", "--queue", "cli-c", "--timezone", "Europe/Vienna")
        self.assertRegex(self.pawl("cron", "list").stdout, r"cli-nightly +0 3 \* \* \* +Europe/Vienna")
        self.pawl("cron", "trigger", "cli-nightly")
        self.assertEqual(len(self.json("jobs", "list", "--queue", "cli-c")["jobs"]), 1)
        self.assertIn("paused", self.pawl("cron", "pause", "cli-nightly").stdout)
        self.pawl("cron", "resume", "cli-nightly")
        self.pawl("cron", "delete", "cli-nightly")
        self.pawl("cron", "delete", "cli-nightly", expect=REFUSED)
        self.pawl("cron", "put", "cli-bad", "99 25 32 13 8", "a.b", expect=REFUSED)

    def test_dead_letter(self):
        job = self.push("a.dies", "--queue", "cli-d", "--attempts", "1", "--dead-letter")
        self.pawl("worker", "--queue", "cli-d", "--exec", "exit 1", "--once", expect=REFUSED)
        self.assertIn(job["id"], self.pawl("dead-letter", "list").stdout)
        self.assertIn("available", self.pawl("dead-letter", "retry", job["id"]).stdout)
        self.pawl("worker", "--queue", "cli-d", "--exec", "exit 1", "--once", expect=REFUSED)
        self.pawl("dead-letter", "delete", job["id"])
        self.pawl("dead-letter", "retry", job["id"], expect=REFUSED)


class Worker(WithServer):
    def test_results_failures_and_environment(self):
        good = self.push("w.good", "--queue", "cli-w", "--args", "[20]")
        plain = self.push("w.plain", "--queue", "cli-w")
        bad = self.push("w.bad", "--queue", "cli-w", "--attempts", "1")
        script = ('case $PAWL_JOB_TYPE in w.good) grep -o "\\[20\\]";; w.plain) echo "not json";;'
                  ' *) echo "it broke" >&2; exit 7;; esac')
        run = self.pawl("worker", "--queue", "cli-w", "--exec", script, "--once", "--concurrency", "2", expect=REFUSED)
        self.assertEqual(run.stdout.count("completed"), 2)
        self.assertEqual(self.json("jobs", "get", good["id"])["job"]["result"], [20])
        self.assertEqual(self.json("jobs", "get", plain["id"])["job"]["result"], "not json")
        failed = self.json("jobs", "get", bad["id"])["job"]
        self.assertEqual(failed["state"], "discarded")
        self.assertEqual(failed["error"]["code"], "exit_7")
        self.assertIn("it broke", failed["error"]["message"])
        self.assertEqual(self.json("jobs", "retry", bad["id"])["job"]["state"], "available")
        self.pawl("worker", "--queue", "cli-w", "--exec", "exit 7", "--once", expect=REFUSED)
        self.pawl("jobs", "wait", good["id"])
        self.pawl("jobs", "wait", bad["id"], expect=REFUSED)
        self.pawl("jobs", "wait", self.push("w.never", "--queue", "cli-never")["id"], "--limit", "50ms", expect=REFUSED)

    def test_sigterm_finishes_what_it_has(self):
        with tempfile.TemporaryDirectory() as directory:
            started, go = os.path.join(directory, "started"), os.path.join(directory, "go")
            os.mkfifo(go)
            job = self.push("w.slow", "--queue", "cli-term")
            worker = subprocess.Popen([PAWL, "worker", "--queue", "cli-term", "--url", self.url, "--exec",
                                       f"touch {started}; read line < {go}; echo '{{\"done\":true}}'"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            try:
                until(lambda: os.path.exists(started), "the command runs")
                worker.send_signal(signal.SIGTERM)
                with open(go, "w", encoding="ascii") as pipe:
                    pipe.write("now\n")
                out, err = worker.communicate(timeout=DEADLINE_S)
            finally:
                worker.kill()
            self.assertEqual(worker.returncode, DONE, err)
            self.assertIn("completed", out)
            self.assertEqual(self.json("jobs", "get", job["id"])["job"]["result"], {"done": True})

    def test_workers_and_events_are_listed(self):
        self.push("w.seen", "--queue", "cli-seen")
        self.pawl("worker", "--queue", "cli-seen", "--exec", "true", "--once", "--id", "cli-worker")
        self.assertIn("cli-worker", self.pawl("workers", "list").stdout)
        seen = until(lambda: [e for e in self.json("events", "--queue", "cli-seen", "--types", "job.completed")["events"]], "the event")
        self.assertEqual(seen[0]["type"], "job.completed")


class Data(unittest.TestCase):
    """keys, backup, restore and verify, with and without a server."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)
        self.url = f"http://127.0.0.1:{self.server.port}"

    def pawl(self, *words, expect=DONE, **more):
        run = pawl(*words, **more)
        self.assertEqual(run.returncode, expect, f"pawl {' '.join(words)}\n{run.stdout}{run.stderr}")
        return run

    def test_keys_offline_then_online(self):
        admin = self.pawl("keys", "create", "me", "--data", self.server.data).stdout.strip()
        self.assertRegex(admin, r"^pawl_\w+_\w+$")
        self.assertNotIn(admin, self.pawl("keys", "list", "--data", self.server.data, "--json").stdout)
        self.server.start()
        self.pawl("keys", "list", "--data", self.server.data, expect=REFUSED)  # the server holds it
        refused = self.pawl("jobs", "list", url=self.url, expect=REFUSED)
        self.assertIn("--key", refused.stderr)
        made = json.loads(self.pawl("keys", "create", "reader", "--scope", "read", "--key", admin, "--json", url=self.url).stdout)
        self.pawl("jobs", "list", url=self.url, environment={"PAWL_API_KEY": made["key"]})
        self.pawl("jobs", "push", "a.b", "--key", made["key"], url=self.url, expect=REFUSED)
        self.assertIn("reader", self.pawl("keys", "list", "--key", admin, url=self.url).stdout)
        self.pawl("keys", "revoke", made["id"], "--key", admin, url=self.url)
        self.pawl("jobs", "list", "--key", made["key"], url=self.url, expect=REFUSED)
        self.pawl("keys", "create", "x", "--scope", "everything", "--key", admin, url=self.url, expect=REFUSED)

    def test_backup_restore_verify_round_trip(self):
        self.server.start()
        client = self.server.client()
        ids = [client.push(queue="kept", args=[n]).body["job"]["id"] for n in range(50)]
        client.close()
        self.assertIn("server", self.pawl("verify", "--data", self.server.data, expect=REFUSED).stderr)
        live = os.path.join(self.server.directory, "live.db")
        self.pawl("backup", live, "--data", self.server.data)  # beside the server
        self.assertEqual(self.server.stop(), 0)
        copy = os.path.join(self.server.directory, "copy.db")
        self.pawl("backup", copy, "--data", self.server.data)
        self.pawl("restore", live, "--data", os.path.join(self.server.directory, "from-live"))
        alive = json.loads(self.pawl("verify", "--data", os.path.join(self.server.directory, "from-live"), "--json").stdout)
        self.assertTrue(alive["good"])
        self.pawl("backup", copy, "--data", self.server.data, expect=REFUSED)  # never over another
        report = json.loads(self.pawl("verify", "--data", self.server.data, "--json").stdout)
        self.assertTrue(report["good"])
        restored = os.path.join(self.server.directory, "restored")
        self.pawl("restore", copy, "--data", self.server.data, expect=REFUSED)  # not empty
        self.pawl("restore", copy, "--data", restored)
        again = json.loads(self.pawl("verify", "--data", restored, "--json").stdout)
        self.assertEqual((again["good"], again["digest"]), (True, report["digest"]))
        self.server.data = restored
        self.server.start()
        client = self.server.client()
        self.assertEqual([client.job(i).body["job"]["args"] for i in ids], [[n] for n in range(50)])
        client.close()

    def test_restore_refuses_what_is_no_backup(self):
        junk = os.path.join(self.server.directory, "junk")
        with open(junk, "wb") as file:
            file.write(b"SQLite format 3\0" + b"junk" * 1000)
        target = os.path.join(self.server.directory, "target")
        self.pawl("restore", junk, "--data", target, expect=REFUSED)
        self.assertFalse(os.path.exists(target), "a failed restore leaves nothing")
        self.pawl("restore", os.path.join(self.server.directory, "none"), "--data", target, expect=REFUSED)
        self.pawl("verify", "--data", target, expect=REFUSED)
        self.assertFalse(os.path.exists(target), "verify must not make a directory")


class Program(unittest.TestCase):
    def test_completions_are_valid_scripts(self):
        for shell in ("bash", "zsh", "fish"):
            run = pawl("completion", shell)
            self.assertEqual(run.returncode, DONE)
            for word in ("jobs", "dead-letter", "serve"):
                self.assertIn(word, run.stdout)
        script = pawl("completion", "bash").stdout
        self.assertEqual(subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True).stderr, "")
        asked = script + ("\nCOMP_WORDS=(pawl jobs pu); COMP_CWORD=2; _pawl; echo ${COMPREPLY[@]}"
                          "\nCOMP_WORDS=(pawl serve --log-format j); COMP_CWORD=3; _pawl; echo ${COMPREPLY[@]}"
                          "\nCOMP_WORDS=(pawl jobs push --qu); COMP_CWORD=3; _pawl; echo ${COMPREPLY[@]}")
        offered = subprocess.run(["bash"], input=asked, text=True, capture_output=True).stdout
        self.assertEqual(offered.split(), ["push", "json", "--queue"])
        self.assertEqual(pawl("completion", "tcsh").returncode, USAGE)

    def test_version_and_help(self):
        self.assertRegex(pawl("version").stdout, r"^pawl \d+\.\d+\.\d+$")
        for words in (("--help",), ("serve", "--help"), ("jobs", "push", "--help"), ("worker", "--help")):
            run = pawl(*words)
            self.assertEqual(run.returncode, DONE)
            self.assertGreater(len(run.stdout), 200)

    def test_configuration_mistakes_stop_the_server_before_it_starts(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "pawl.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"data: {directory}/data\nlisten: 127.0.0.1:0\nretentoin:\n  finished_age: 1d\n")
            run = pawl("serve", "--config", path)
            self.assertEqual(run.returncode, USAGE)
            self.assertIn(f"{path}:4: unknown setting", run.stderr)
            self.assertFalse(os.path.exists(f"{directory}/data"))
        self.assertEqual(pawl("serve", "--io-threads", "none").returncode, USAGE)
        self.assertEqual(pawl("serve", environment={"PAWL_STORE": "stone"}).returncode, USAGE)


if __name__ == "__main__":
    unittest.main()
