"""Checks a finished run against its definition: the right branch, every guard, every iteration.

It reads the canonical definition and the run as the API shows it, evaluates each expression itself
(cel_reader) over the outputs that were recorded, and lists the differences. It uses nothing of the engine's own
evaluation.
"""
import json
import re

from cel_reader import CelError, Unreadable, evaluate, member

OVER = {"completed", "failed", "skipped"}
TEMPLATE = re.compile(r"\$\{\{(.*?)\}\}", re.S)
CUT_OFF = {"upstream_failed", "run_failed", "cancelled", "step_failed", "race_lost"}


def sub_lists(step):
    """The lists inside a step, whatever its type."""
    config = step.get("config") or {}
    branches = config.get("branches") or []
    found = list(branches.values()) if isinstance(branches, dict) else list(branches)
    for name in ("default", "body"):
        if config.get(name):
            found.append(config[name])
    if step["type"] in ("sequence", "sequential") and config.get("steps"):
        found.append(config["steps"])
    return found


def every_step(steps):
    for step in steps:
        yield step
        for inner in sub_lists(step):
            yield from every_step(inner)


class Oracle:
    """One run's judge. `answers`: the choice given to each decision, by step path."""

    def __init__(self, definition, run, answers=None, requests=None):
        self.definition, self.run = definition, run
        self.records = run["steps"]
        self.answers = answers or {}
        self.requests = requests  # what the stand-ins saw, or None
        self.faults = []
        self.visited = set()

    def judge(self):
        self._list(self.definition["steps"], "", {})
        outcome = self.run["status"]
        for hook, when in (("on_complete", "completed"), ("on_error", "failed")):
            steps = self.definition.get(hook)
            if not isinstance(steps, list):
                continue
            if outcome == when:
                self._list(steps, hook + ".", {})
            elif any(path.startswith(hook + ".") for path in self.records):
                self._fault(hook, f"ran although the run {outcome}")
        for path, record in self.records.items():
            if record["status"] not in OVER:
                self._fault(path, f"is {record['status']} in a run that is {outcome}")
            if path not in self.visited and ".compensate." not in path:
                self._fault(path, "should not be there")
        return self.faults

    def judge_outcome(self):
        """A run fails only for a step that says so itself: an assertion, or workflow.fail."""
        faults = []
        for step in every_step(self.definition["steps"]):
            allowed = str(step.get("action", "")).startswith("assert.") or step.get("action") == "workflow.fail" \
                or (step.get("params") or {}).get("fail_on_error_status") is True if step["type"] in (
                    "action", "capability") else bool(sub_lists(step))
            for path, record in self.records.items():
                if path.split(".")[-1] == step["id"] and record["status"] == "failed" and not allowed:
                    faults.append(f"{path} failed: {record.get('error')}")
        failed = [path for path, record in self.records.items() if record["status"] == "failed"]
        if self.run["status"] not in ("completed", "failed") or (self.run["status"] == "failed" and not failed):
            faults.append(f"the run is {self.run['status']}: {self.run.get('error')}")
        return faults

    def _fault(self, path, what):
        self.faults.append(f"{path}: {what}")

    # --- names

    def _names(self, scope, more):
        """What an expression in this list sees: its own list first, then those around it."""
        steps = {}
        for path, record in self.records.items():  # full dotted ids
            if "output" in record:
                steps[path] = record["output"]
        for prefix in self._outward(scope):
            for path, record in self.records.items():
                local = path[len(prefix):]
                if path.startswith(prefix) and "." not in local and "output" in record:
                    steps.setdefault(local, record["output"])
        return {"steps": steps, "inputs": self.run["inputs"], "context": self.run.get("context", {}),
                "workflow": {"run_id": self.run["id"]}, **more}

    @staticmethod
    def _outward(scope):
        """The prefix of this list, then of each list around it: a.true.b.iter_0. → a.true. → (root)."""
        yield scope
        parts = scope.rstrip(".").split(".") if scope else []
        while len(parts) >= 2:
            parts = parts[:-2]
            yield ".".join(parts) + "." if parts else ""

    def _value(self, text, scope, more):
        return evaluate(text, self._names(scope, more))

    def filled(self, tree, scope, more):
        """A tree with its templates filled in, by this module's own reading of them."""
        if isinstance(tree, dict):
            return {key: self.filled(value, scope, more) for key, value in tree.items()}
        if isinstance(tree, list):
            return [self.filled(value, scope, more) for value in tree]
        if not isinstance(tree, str) or "${{" not in tree:
            return tree
        names = self._names(scope, more)
        whole = TEMPLATE.fullmatch(tree.strip())
        if whole and tree.strip().count("${{") == 1:
            return self._reference(whole.group(1), names)
        return TEMPLATE.sub(lambda m: self._text(self._reference(m.group(1), names)), tree)

    @staticmethod
    def _text(value):
        if isinstance(value, str):
            return value
        if isinstance(value, float) and value == int(value):
            return str(int(value))
        return json.dumps(value, separators=(",", ":"))

    @staticmethod
    def _reference(text, names):
        parts = text.strip().split(".")
        try:
            if parts[0] == "steps" and len(parts) > 2 and parts[2] == "output":
                del parts[2]
            value = names
            for part in parts:
                value = member(value, part)
            return value
        except CelError:
            return evaluate(text, names)

    # --- lists

    def _list(self, steps, scope, more):
        fallbacks = {(step.get("on_error") or {}).get("fallback_step") for step in steps
                     if isinstance(step.get("on_error"), dict)}
        for step in steps:
            path = scope + step["id"]
            record = self.records.get(path)
            if record is None:
                self._fault(path, "is missing")
                continue
            self.visited.add(path)
            if step["id"] in fallbacks and record["status"] == "skipped":
                continue
            self._step(step, path, record, scope, more)

    def _step(self, step, path, record, scope, more):
        reason = record.get("reason")
        if record["status"] == "skipped" and reason in CUT_OFF | {"on_failure", "decision_cancelled"}:
            self._visit_inside(path)
            return
        try:
            guard = self._value(step["condition"], scope, more) if step.get("condition") else True
        except (Unreadable, CelError):
            guard = None
        if guard is False and (record["status"], reason) != ("skipped", "condition"):
            self._fault(path, f"its guard is false, yet it is {record['status']} ({reason})")
        if guard is True and reason == "condition":
            self._fault(path, "was skipped although its guard holds")
        if record["status"] == "skipped":
            return
        if record["status"] == "failed":
            self._visit_inside(path)
            return
        judge = getattr(self, "_" + step["type"], None)
        if "ignored_error" in record:
            self._visit_inside(path)
        elif judge is not None:
            judge(step, path, record, scope, more)
        elif "output" not in record:
            self._fault(path, "completed without an output")

    def _visit_inside(self, path):
        """Whatever is inside a step that did not complete may be there."""
        self.visited.update(each for each in self.records if each.startswith(path + "."))

    # --- types

    def _condition(self, step, path, record, scope, more):
        config = step["config"]
        try:
            value = self._value(config["expression"], scope, more)
        except (Unreadable, CelError) as error:
            return self._fault(path, f"its expression cannot be checked: {error!r}")
        key = {True: "true", False: "false", None: "null"}.get(value) if not isinstance(value, str) else value
        key = key or json.dumps(value)
        branches = config.get("branches") or {}
        chosen = branches.get(key)
        if chosen is None and "default" in config:
            key, chosen = "default", config["default"]
        if record["output"].get("branch") != key:
            self._fault(path, f"took branch {record['output'].get('branch')!r}, not {key!r}")
        if chosen is None and record["output"].get("skipped") is not True:
            self._fault(path, "no branch fits, yet it does not say skipped")
        self._list(chosen or [], f"{path}.{key}.", more)

    def _loop(self, step, path, record, scope, more):
        config = step["config"]
        body, count = config["body"], record["output"]["iterations"]
        if len(record["output"]["results"]) != count:
            self._fault(path, f"{count} iterations, {len(record['output']['results'])} results")
        mode, bound = config.get("mode", "for_each"), config.get("max_iter") or 10**9
        items = [None] * count
        if mode == "for_each":
            over = config["over"]
            items = over if not isinstance(over, str) else self.filled(over, scope, more) \
                if "${{" in over else self._value(over, scope, more)
            if isinstance(items, dict):
                items = [{"key": key, "value": value} for key, value in items.items()]
            if count != min(len(items), bound):
                self._fault(path, f"{count} iterations over {len(items)} items, at most {bound}")
        else:
            self._goes_on(config, path, count, bound, scope, more)
        for index in range(count):
            inner = {**more, "iter": {"item": items[index], "index": index}}
            inner["loop"] = inner["iter"]
            self._list(body, f"{path}.iter_{index}.", inner)

    _map = _loop

    def _goes_on(self, config, path, count, bound, scope, more):
        """Every iteration there is was asked for, and none is missing."""
        is_while = config["mode"] == "while"
        if count > bound:
            return self._fault(path, f"{count} iterations, at most {bound}")
        for index in range(0 if is_while else 1, count + 1):
            inner = f"{path}.iter_{index - 1}." if index else scope
            number = index if is_while else index - 1
            try:
                holds = evaluate(config["condition"], self._names(inner, {**more, "iter": {"index": number}}))
            except (Unreadable, CelError):
                return None
            goes_on = holds is is_while and index < bound
            if goes_on != (index < count):
                return self._fault(path, f"{count} iterations, but after {index} it {'goes on' if goes_on else 'ends'}")
        return None

    def _parallel(self, step, path, record, scope, more):
        config = step["config"]
        race = config.get("mode") == "race"
        for index, branch in enumerate(config["branches"]):
            prefix = f"{path}.branch_{index}."
            if not race or index == record["output"]["winner"]:
                self._list(branch, prefix, more)
                continue
            self._visit_inside(prefix.rstrip("."))
            for each, lost in self.records.items():
                if each.startswith(prefix) and (lost["status"], lost.get("reason")) != ("skipped", "race_lost") \
                        and lost["status"] != "completed":
                    self._fault(each, f"lost the race and is {lost['status']} ({lost.get('reason')})")
        if not race and len(record["output"]["branches"]) != len(config["branches"]):
            self._fault(path, "has not one output per branch")

    def _sequence(self, step, path, record, scope, more):
        self._list(step["config"]["steps"], path + ".seq.", more)

    _sequential = _sequence

    def _reasoning(self, step, path, record, scope, more):
        wanted = self.answers.get(path)
        if wanted is not None and record["output"]["choice"] != wanted:
            self._fault(path, f"was answered {wanted!r}, and has {record['output']['choice']!r}")
        if record["output"]["resolved_by"] == "system":
            self._fault(path, "was resolved by its clock")

    def _decision(self, step, path, record, scope, more):
        config = step["config"]
        if "options" in config:
            return self._reasoning(step, path, record, scope, more)
        if "branches" in config:
            return self._condition(step, path, record, scope, more)
        holds = self._value(config.get("expression") or config.get("condition"), scope, more)
        if record["output"] != {"result": holds}:
            self._fault(path, f"gave {record['output']}, not {holds}")
        return None

    def _action(self, step, path, record, scope, more):
        output = record.get("output")
        if output is None:
            return self._fault(path, "completed without an output")
        if step["action"].startswith("http.") and self.requests is not None:
            self._request(step, path, record, scope, more)
        return None

    _capability = _action

    def _request(self, step, path, record, scope, more):
        """Exactly one request with this attempt's key, and what it carried."""
        key = f"{self.run['id']}/{path}/{record['attempts']}"
        seen = [each for each in self.requests if each.key == key]
        if not seen:
            return self._fault(path, f"no request carried the key {key}")
        try:
            wanted = self.filled(step["params"].get("body"), scope, more)
        except (Unreadable, CelError):
            return None
        if wanted is not None and seen[0].body != wanted:
            self._fault(path, f"sent {seen[0].body!r}, not {wanted!r}")
        return None


def judge_events(run, events, kills=0):
    """What the history must say whatever the definition: one end per step, in order, without a gap."""
    faults, started, ended = [], {}, {}
    last = 0
    for event in events:
        if event["seq"] <= last:
            faults.append(f"event {event['seq']} after {last}")
        last = event["seq"]
        step = event.get("step_id")
        if event["type"] == "step_started":
            started[step] = started.get(step, 0) + 1
        if event["type"] in ("step_completed", "step_failed"):
            ended[step] = ended.get(step, 0) + 1
            if ended[step] > started.get(step, 0):
                faults.append(f"{step} ended more often than it began")
    for step, times in ended.items():
        if times > 1:
            faults.append(f"{step} ended {times} times")
    for step, record in run["steps"].items():
        if record["status"] == "completed" and ended.get(step, 0) != 1:
            faults.append(f"{step} completed with {ended.get(step, 0)} such events")
    kinds = [event["type"] for event in events]
    if kinds.count("workflow_started") != 1:
        faults.append(f"{kinds.count('workflow_started')} times workflow_started")
    end = "workflow_" + run["status"]
    if kinds.count(end) != 1:
        faults.append(f"{kinds.count(end)} times {end}")
    return faults
