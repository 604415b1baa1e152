"""The tour for newcomers must print what it promises, exit 0, and leave no files or processes."""
import os
import re
import subprocess
import tempfile
import unittest

from harness import PAWL
from postgres_database import postgres_programs

DEADLINE_S = 120


def demo(*words, place):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    # Settings for another server must not reach this one.
    clean.update(TMPDIR=place, PAWL_LISTEN="nowhere:1", PAWL_API_KEY="another's")
    return subprocess.run([PAWL, "demo", *words], capture_output=True, text=True, timeout=DEADLINE_S,
                          env=clean, stdin=subprocess.DEVNULL)


class Demo(unittest.TestCase):
    def check(self, run, place):
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertRegex(run.stdout, r"jobs completed +48 of 48, 0 more than once")
        self.assertRegex(run.stdout, r"fan-ins \(groups and batches\) +6 of 6, 0 more than once")
        self.assertRegex(run.stdout, r"callbacks fired +6 of 6, 0 more than once")
        self.assertRegex(run.stdout, r"workflows completed +3 of 3, 0 more than once")
        self.assertIn("PASS", run.stdout)
        self.assertEqual(os.listdir(place), [])

    def test_runs_to_its_end(self):
        with tempfile.TemporaryDirectory() as place:
            run = demo(place=place)
            self.check(run, place)
            self.assertNotIn("kill -9", run.stdout)

    def test_a_killed_server_loses_nothing(self):
        with tempfile.TemporaryDirectory() as place:
            run = demo("crash", place=place)
            self.check(run, place)
            killed = re.search(r"kill -9 (\d+): (\d+) of 48 jobs were done", run.stdout)
            self.assertTrue(killed, run.stdout)
            self.assertLess(int(killed.group(2)), 48)
            again = re.search(r"server up again on the same data, pid (\d+): (\d+) events replayed", run.stdout)
            self.assertTrue(again, run.stdout)
            self.assertNotEqual(again.group(1), killed.group(1))
            self.assertGreater(int(again.group(2)), 0)

    @unittest.skipIf(postgres_programs() is None, "there is no PostgreSQL server here; `tools/setup test` installs one")
    def test_three_nodes_lose_nothing(self):
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)  # PostgreSQL's user must get there
            run = demo("cluster", place=place)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            for told in (r"kill -9 \d+: n2 is gone", "SIGSTOP: n3", "SIGCONT: n3", r"lost +0\n", r"doubled +0\n", "PASS"):
                self.assertRegex(run.stdout, told)
            pushed, completed = (re.search(what + r" +(\d+)\n", run.stdout).group(1) for what in ("jobs pushed", "jobs completed"))
            self.assertEqual(pushed, completed)
            self.assertGreater(int(pushed), 0)
            self.assertEqual(os.listdir(place), [])

    def test_an_unknown_tour_is_refused(self):
        with tempfile.TemporaryDirectory() as place:
            run = demo("slow", place=place)
            self.assertEqual(run.returncode, 2)
            self.assertIn("pawl demo crash", run.stderr)


if __name__ == "__main__":
    unittest.main()
