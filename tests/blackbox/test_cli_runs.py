"""pawl workflows … and pawl runs …: the real binary against a real server."""
import json
import os
import tempfile
import unittest

import test_cli
from test_cli import REFUSED, USAGE

CHAIN = {"type": "chain", "name": "order", "steps": [
    {"type": "order.reserve", "args": [1], "options": {"queue": "nobody"}},
    {"type": "group", "jobs": [{"type": "item.pack", "args": [1]}]}]}


class Runs(test_cli.WithServer):
    def create(self, definition=CHAIN):
        with tempfile.TemporaryDirectory() as place:
            path = os.path.join(place, "flow.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(definition, file)
            return self.json("workflows", "create", path)["id"]

    def test_what_is_created_is_listed_and_says_what_it_waits_for(self):
        run = self.create()
        self.assertIn(run, self.pawl("workflows", "list", "--state", "running").stdout)
        self.assertIn(run, self.pawl("runs", "list", "--kind", "chain").stdout)
        self.assertRegex(self.pawl("workflows", "get", run).stdout, r"1 +group +waiting")
        self.assertRegex(self.pawl("runs", "get", run).stdout, r"0 +order.reserve +scheduled")
        told = self.pawl("runs", "explain", run).stdout
        self.assertIn('0: waits for a worker on queue "nobody"', told)
        self.assertIn("next: 1 group, after 0", told)
        self.assertIn("workflow.created", self.pawl("runs", "events", run).stdout)
        job = self.json("runs", "get", run)["run"]["steps"]["0"]["job_id"]
        self.assertIn("waits for a worker", self.pawl("jobs", "explain", job).stdout)

    def test_cancel_and_retry_say_when_they_cannot(self):
        run = self.create()
        self.assertIn("cancelled", self.pawl("runs", "cancel", run, "--reason", "no stock").stdout)
        told = self.pawl("runs", "explain", run).stdout
        self.assertRegex(told, r"ended_at +20")
        self.assertRegex(told, r"reason +no stock")
        self.assertIn("conflict", self.pawl("workflows", "cancel", run, expect=REFUSED).stderr)
        self.assertIn("conflict", self.pawl("runs", "retry", run, expect=REFUSED).stderr)
        self.assertIn("workflow.cancelled", self.pawl("runs", "events", run).stdout)

    def test_refusals(self):
        self.pawl("runs", "get", "nobody", expect=REFUSED)
        self.pawl("runs", "explain", "nobody", expect=REFUSED)
        self.pawl("runs", "cancel", "nobody", expect=REFUSED)
        self.pawl("runs", "events", "nobody", expect=REFUSED)
        self.pawl("workflows", "create", "/nowhere/flow.json", expect=USAGE)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("{")
            file.flush()
            self.pawl("workflows", "create", file.name, expect=USAGE)
            file.write('"type":"chain","steps":[]}')
            file.flush()
            refused = self.pawl("workflows", "create", file.name, expect=REFUSED)
            self.assertIn("steps", refused.stderr)


if __name__ == "__main__":
    unittest.main()
