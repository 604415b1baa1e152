"""Tests of the oracle: runs with one error each, which it must report."""
import copy
import unittest

from cel_reader import CelError, Unreadable, evaluate
from definition_oracle import Oracle, judge_events

DEFINITION = {"steps": [
    {"id": "pick", "type": "condition", "config": {"expression": "inputs.n > 1", "branches": {
        "true": [{"id": "big", "type": "action", "action": "workflow.log", "params": {}}],
        "false": [{"id": "small", "type": "action", "action": "workflow.log", "params": {}}]}}},
    {"id": "guarded", "type": "action", "action": "workflow.log", "params": {}, "condition": "inputs.n == 7"},
    {"id": "loop", "type": "loop", "config": {"mode": "for_each", "over": "inputs.l", "body": [
        {"id": "each", "type": "action", "action": "workflow.log", "params": {}}]}},
    {"id": "race", "type": "parallel", "config": {"mode": "race", "branches": [
        [{"id": "a", "type": "action", "action": "workflow.log", "params": {}}],
        [{"id": "b", "type": "action", "action": "workflow.log", "params": {}}]]}}],
    "on_complete": [{"id": "hook", "type": "action", "action": "workflow.log", "params": {}}]}


def done(output=True):
    return {"status": "completed", "output": output}


RUN = {"id": "r", "status": "completed", "inputs": {"n": 2, "l": [1, 2]}, "steps": {
    "pick": done({"branch": "true", "output": True}), "pick.true.big": done(),
    "guarded": {"status": "skipped", "reason": "condition"},
    "loop": done({"iterations": 2, "results": [1, 1]}), "loop.iter_0.each": done(), "loop.iter_1.each": done(),
    "race": done({"mode": "race", "winner": 0}), "race.branch_0.a": done(),
    "race.branch_1.b": {"status": "skipped", "reason": "race_lost"}, "on_complete.hook": done()}}


class Judged(unittest.TestCase):
    def faults(self, change):
        run = copy.deepcopy(RUN)
        change(run, run["steps"])
        return Oracle(DEFINITION, run).judge()

    def test_a_run_that_went_right_has_no_fault(self):
        self.assertEqual(self.faults(lambda run, steps: None), [])

    def test_every_wrong_turn_is_found(self):
        wrong = {
            "the other branch": lambda run, steps: run["inputs"].update(n=1),
            "a guard that was not honoured": lambda run, steps: steps.update(guarded=done()),
            "a guard that holds": lambda run, steps: run["inputs"].update(n=7),
            "an iteration too few": lambda run, steps: run["inputs"]["l"].append(3),
            "an iteration without its step": lambda run, steps: steps.pop("loop.iter_1.each"),
            "a step left pending": lambda run, steps: steps["pick.true.big"].update(status="pending"),
            "a step of the branch that was not taken": lambda run, steps: steps.update({"pick.false.small": done()}),
            "a loser that failed": lambda run, steps: steps["race.branch_1.b"].update(status="failed", reason=None),
            "a hook that did not run": lambda run, steps: steps.pop("on_complete.hook"),
            "a step without an output": lambda run, steps: steps["race.branch_0.a"].pop("output")}
        for what, change in wrong.items():
            self.assertNotEqual(self.faults(change), [], what)

    def test_a_history_with_two_ends_is_found(self):
        def event(seq, type, step=None):
            return {"seq": seq, "type": type, **({"step_id": step} if step else {})}
        run = {"status": "completed", "steps": {"a": done()}}
        right = [event(1, "workflow_started"), event(2, "step_started", "a"), event(3, "step_completed", "a"),
                 event(4, "workflow_completed")]
        self.assertEqual(judge_events(run, right), [])
        for wrong in (right[:2] + right[3:], right[:3] + [event(5, "step_completed", "a")] + right[3:],
                      right + [event(9, "workflow_completed")], right[1:], right[::-1]):
            self.assertNotEqual(judge_events(run, wrong), [])


class Cel(unittest.TestCase):
    NAMES = {"inputs": {"n": 2, "s": "abc", "l": ["a", "b"], "o": {"k": None}}, "steps": {"a-b": {"x": 1.0}}}

    def test_expressions_are_read_as_cel_reads_them(self):
        for text, value in (("inputs.n + 1 == 3 && !false", True), ("inputs.missing == 1 || true", True),
                            ("false && inputs.missing", False), ("steps['a-b'].x == 1", True), ("7 / 2", 3),
                            ("inputs.l.exists(x, x == 'b')", True), ("inputs.l.all(x, inputs.s.contains(x))", True),
                            ("has(inputs.o.k) ? 'y' : 'n'", "y"), ("has(inputs.o.z)", False), ("size(inputs.l) >= 2", True),
                            ("!(inputs.s in ['x', 'abc'])", False), ("${{ inputs.n * -2 }}", -4), ("1 == true", False)):
            self.assertEqual(evaluate(text, self.NAMES), value, text)

    def test_what_is_wrong_or_unknown_is_said(self):
        for text in ("inputs.missing", "inputs.n + 'a'", "1 / 0"):
            self.assertRaises(CelError, evaluate, text, self.NAMES)
        for text in ("a b", "f(1)", "{'a': 1}", "1 +"):
            self.assertRaises(Unreadable, evaluate, text, self.NAMES)
