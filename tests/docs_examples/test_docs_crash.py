"""The documented outputs also hold when the server is killed repeatedly during the runs.

Every example that runs is started on one server, which is killed with -9 at random moments; a client starts, answers
and signals until each run has its documented outcome.
"""
import random
import unittest

import test_docs_examples as plain  # first: it says where the harness is
from harness import Client, Server, until
from services import Services

KILLS = 12
# How far somebody got by the time somebody else asked is for a clock to say, not for a document.
TIMED = ("docs/cookbook/poll-until-ready.yaml", "/broken", "/slow")


def runnable(example):
    says = (example.inputs, example.output, example.status, example.error)
    settled = any(value is not None for value in says) or example.steps
    # A job whose worker lost its lease to three crashes has failed, as its retry policy says.
    return settled and not example.work and not example.invalid and not example.is_settings and not any(mark in example.where + example.text for mark in TIMED)


class OverCrashes(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = Server(args=plain.FLAGS).start()
        self.addCleanup(self.server.close)
        plain.SERVICES = Services()
        self.addCleanup(plain.SERVICES.close)
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def call(self, method, path, body=None, key=None):
        """Until there is an answer: a server that dies is started again by the one who killed it."""
        def answer():
            try:
                return self.client.call(method, path, body, {"Idempotency-Key": key} if key else {})
            except Client.FAILURES:
                return None
        return until(answer, f"{method} {path}")

    def test_outcomes_are_the_same(self):
        ready = [example for example in plain.ALL if runnable(example)]
        self.assertGreater(len(ready), 25)
        names = [example.name or f"crash-{number}" for number, example in enumerate(ready)]
        for name, example in zip(names, ready):
            self.assertEqual(self.call("POST", "/v1/definitions", {"name": name, "definition": example.text}).status, 201)
        left = {}
        chance = random.Random(7)
        for number, (name, example) in enumerate(zip(names, ready)):
            body = {"definition": name, "inputs": plain.with_services(example.inputs or {})}
            run = self.call("POST", "/v1/runs", body, key=f"start-{number}").body["run"]["id"]
            left[run] = (example, list(example.signals), dict(example.decide))
            if chance.random() < KILLS / len(ready):
                self.crash()
        for _ in range(KILLS):
            self.look_at(left)
            self.crash()
        try:
            until(lambda: self.look_at(left), "every run to end")
        finally:
            self.assertEqual({example.where: self.waits(run) for run, (example, _, _) in left.items()}, {})

    def waits(self, run_id):
        explained = self.call("GET", f"/v1/runs/{run_id}/explain").body
        return [explained["status"]] + [f"{wait['step_id']}: {wait['detail']}" for wait in explained["waiting_for"]]

    def crash(self):
        self.server.kill()
        self.server.start()

    def look_at(self, left):
        """Moves every run that waits for somebody; judges and forgets those that came where they should."""
        for run_id, (example, signals, answers) in list(left.items()):
            run = self.call("GET", f"/v1/runs/{run_id}").body["run"]
            for question in run["pending_decisions"]:
                if question["step_id"] in answers:
                    self.call("POST", f"/v1/decisions/{question['id']}", {"choice": answers[question["step_id"]]})
            if run["status"] == "suspended" and signals:
                self.call("POST", f"/v1/runs/{run_id}/signals", signals[0], key=f"{run_id}-{len(signals)}")
                signals.pop(0)
            if run["status"] in ("completed", "failed", "cancelled"):
                self.judge(run, example)
                del left[run_id]
        return not left

    def judge(self, run, example):
        with self.subTest(example.where):
            self.assertEqual(run["status"], example.status or "completed", run)
            self.assertEqual(run.get("error", {}).get("code"), example.error, run)
            for step, wanted in example.steps.items():
                self.assertTrue(plain.holds(wanted, run["steps"].get(step)), f"{step}: {run['steps'].get(step)} has not {wanted}")
            if example.output is not None:
                self.assertEqual(run["output"], example.output, run)


if __name__ == "__main__":
    unittest.main()
