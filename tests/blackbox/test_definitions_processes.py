"""Commands of shell.exec and the directories of runs, when the server is killed: no command survives it, and no
directory stays for ever."""
import os
import signal
import unittest

from definition_case import DefinitionCase, pause
from harness import Server, until

FAMILY = "echo $$ > first; sleep 3600 & echo $! > second; wait"


def is_gone(pid):
    """Dead; whether the machine's init has collected it is not the server's affair."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += [int(child) for child in file.read().split()]
    return found


class KilledServer(DefinitionCase):
    shared = False

    def family(self):
        """Starts a command with a child of its own, for an hour; the numbers of both."""
        before = set(self.directories())
        self.start({"id": "long", "action": "shell.exec", "params": {"command": FAMILY, "shell": True, "timeout": "1h"}},
                   wait=None)

        def numbers():
            found = []
            for directory in set(self.directories()) - before:
                for name in ("first", "second"):
                    path = os.path.join(self.server.data, "work", directory, name)
                    with open(path, encoding="ascii") if os.path.exists(path) else open(os.devnull, encoding="ascii") as file:
                        text = file.read()
                    if text.endswith("\n"):
                        found.append(int(text))
            return found if len(found) == 2 else None
        return until(numbers, "the command and its child run")

    def directories(self):
        work = os.path.join(self.server.data, "work")
        return [name for name in os.listdir(work) if name != ".gone"] if os.path.isdir(work) else []

    def test_commands_and_their_children_die_with_the_server(self):
        family = self.family()
        everybody = set(family) | set(children(self.server.process.pid))
        self.assertFalse([pid for pid in everybody if is_gone(pid)])
        self.server.kill()
        for pid in everybody:
            until(lambda: is_gone(pid), f"{pid} of {everybody} is gone")

    def test_who_watches_may_be_killed_too(self):
        first = self.family()
        watch, = set(children(self.server.process.pid)) - set(first)
        os.kill(watch, signal.SIGKILL)
        until(lambda: is_gone(watch), "the watch is gone")
        second = self.family()  # and with it comes another watch
        self.assertFalse([pid for pid in first + second if is_gone(pid)])
        self.server.kill()
        for pid in first + second:
            until(lambda: is_gone(pid), f"{pid} is gone")

    def test_a_server_that_ends_in_good_order_leaves_nobody(self):
        everybody = set(self.family()) | set(children(self.server.process.pid))
        self.server.stop()
        for pid in everybody:
            until(lambda: is_gone(pid), f"{pid} of {everybody} is gone")

    def test_a_limit_that_strikes_fails_the_step(self):
        server = Server(args=("--actions-shell-enabled", "--actions-shell-file-size", "4096")).start()
        self.addCleanup(server.close)
        self.client.close()
        self.client = server.client()
        self.addCleanup(self.client.close)
        run = self.start({"id": "large", "action": "shell.exec", "params": {
            "command": "head", "args": ["-c", "5000", "/dev/zero"]}},
            {"id": "file", "action": "shell.exec", "depends_on": ["large"],
             "params": {"command": "head -c 5000 /dev/zero > large", "shell": True}})
        self.assertEqual(self.outline(run), {"large": "completed", "file": "failed"})
        self.assertIn("past 4096 bytes (actions.shell.file_size)", str(run["steps"]["file"]["error"]))

    def test_directories_without_a_run_are_swept_at_the_start(self):
        write = {"id": "write", "action": "fs.write", "params": {"path": "f", "content": "kept"}}
        self.start(write, pause("wait", "1h", depends_on=["write"]), wait=None)
        kept, = until(self.directories, "the run has a directory")
        self.server.kill()
        self.client.close()
        work = os.path.join(self.server.data, "work")
        left = "0190f5fe-7c00-7a00-8000-0123456789ab"
        for path in (os.path.join(work, left, "sub"), os.path.join(work, "mine"), os.path.join(self.server.directory, "outside")):
            os.makedirs(path)
        os.symlink(os.path.join(self.server.directory, "outside"), os.path.join(work, left, "sub", "link"))
        self.server.start()
        until(lambda: left not in self.directories(), "what was left is gone")
        until(lambda: not os.listdir(os.path.join(work, ".gone")), "all of it")
        self.assertEqual(set(self.directories()), {kept, "mine"})
        self.assertTrue(os.path.isdir(os.path.join(self.server.directory, "outside")))


class Retention(DefinitionCase):
    arguments = ("--retention-finished-age", "1ms")

    def test_a_directory_goes_with_its_run(self):
        run = self.start({"id": "write", "action": "fs.write", "params": {"path": "f", "content": "x"}}, wait=None)
        until(lambda: self.client.get(f"/v1/runs/{run['id']}").status == 404, "the run is forgotten")
        work = os.path.join(self.server.data, "work")
        until(lambda: os.listdir(work) == [".gone"] and not os.listdir(os.path.join(work, ".gone")), "its directory too")


if __name__ == "__main__":
    unittest.main()
