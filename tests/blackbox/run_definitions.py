#!/usr/bin/env python3
"""run_definitions.py [DIR …]: runs every definition found there on a real server, along every path.

Each definition gets its environment (definition_world), is run once per value to try, and every finished run is checked
against its text (definition_oracle). Then it is run again while the server
is killed in the middle: the outcome must be the same, what was seen completed must stay so, and no
action may run again once its end was visible.

--kills N    kills per definition (default 3); --all-kills: at every request and many moments of every variant
--only NAME  one definition; -v: one line per run
Its last line counts: N passed, N failed.
"""
import argparse
import json
import os
import random
import re
import sys
import tempfile
import threading
import time

from definition_oracle import Oracle, judge_events
from definition_world import World
from harness import Client, Server, TimedOut, Worker, join_all, new_id, until, work_directory

FINISHED = {"completed", "failed", "cancelled"}
RUN_DEADLINE_S = 40


def load(path):
    """(name, body to POST). YAML is sent as it is: the server reads it."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    name = os.path.splitext(os.path.basename(path))[0]
    if not path.endswith(".json"):
        return name, {"name": name, "definition": text}
    given = json.loads(text)
    body = {"name": name, "definition": given.get("definition", given)}
    if "definition" in given:
        body.update({key: given[key] for key in ("input_schema", "output_schema", "description") if key in given})
    return name, body


def queues_of(tree):
    """Every queue that jobs of this definition may land in."""
    found = {"default", "agents"}
    if isinstance(tree, dict):
        if isinstance(tree.get("queue"), str) and tree["queue"]:
            found.add(tree["queue"])
        for value in tree.values():
            found |= queues_of(value)
    elif isinstance(tree, list):
        for value in tree:
            found |= queues_of(value)
    return found


class Play:
    """One run: started, its questions answered, watched to its end, through any number of restarts."""

    def __init__(self, runner, world, name):
        self.server, self.world, self.name = runner.server, world, name
        self.id = new_id()
        self.answers, self.signalled = {}, set()
        self.seen_completed = {}  # step → output, as a reader saw it
        self.violations = []
        self.kills = 0
        self.client = Client(self.server.port)

    def start(self):
        self.world.prepare(work_directory(self.server.data, self.id))
        body = {"definition": self.world.definition, "id": self.id, "inputs": self.world.inputs(), "name": self.name}
        reply = self.client.post("/v1/runs?lenient=true", body)
        if reply.status != 201:
            raise AssertionError(f"not started: {reply.raw.decode()}")

    def run(self):
        reply = self.client.get(f"/v1/runs/{self.id}?limit=1000")
        if reply.status != 200:
            raise AssertionError(f"the run is gone: {reply.raw.decode()}")
        run = reply.body["run"]
        for path, output in self.seen_completed.items():
            record = run["steps"].get(path, {})
            if record.get("status") != "completed" or record.get("output") != output:
                self.violations.append(f"{path} was seen completed, and is {record.get('status')} now")
        for path, record in run["steps"].items():
            if record["status"] == "completed":
                self.seen_completed[path] = record.get("output")
        return run

    def answer(self, run):
        """Answers what is asked; a second answer to the same question would be a conflict."""
        for decision in run["pending_decisions"]:
            path = decision["step_id"]
            if path in self.answers:
                continue
            options = [option["id"] for option in decision["context"]["options"]]
            number = self.world.setting.get("choice", 0)
            choice = options[number % len(options)] if options else ("approve", "all is well")[number % 2]
            body = {"choice": choice, "reasoning": "tried", "data": {"by": "runner"}}
            if decision["context"].get("target_agent"):
                body["agent_id"] = decision["context"]["target_agent"]
            reply = self.client.post(f"/v1/decisions/{decision['id']}", body)
            if reply.status not in (200, 409):
                raise AssertionError(f"{path} not decided: {reply.raw.decode()}")
            self.answers[path] = choice
        for path, record in run["steps"].items():
            signal = (record.get("wait") or {}).get("signal")
            if not signal or path in self.signalled:
                continue
            self.client.post(f"/v1/runs/{self.id}/signals", {"type": signal, "step_id": path, "payload": {"n": 1}})
            self.signalled.add(path)

    def watch(self, until_s, stop=None):
        """The finished run, or None once `stop` is set or the time is up."""
        pause = 0.001
        while time.monotonic() < until_s and not (stop is not None and stop.is_set()):
            run = self.run()
            if run["status"] in FINISHED:
                return run
            self.answer(run)
            (stop or threading.Event()).wait(pause)
            pause = min(pause * 1.5, 0.03)
        return None

    def events(self):
        events, after = [], 0
        while True:
            reply = self.client.get(f"/v1/runs/{self.id}/events?limit=1000&after={after}")
            page = reply.body["events"]
            if not page:
                return events
            events += page
            after = page[-1]["seq"]

    def close(self):
        self.client.close()


class Runner:
    def __init__(self, args):
        self.args = args
        self.passed = self.failed = 0
        self.rng = random.Random(args.seed)
        self.server = None
        self.bin = None

    def run(self, paths):
        self.server = Server(args=["--actions-http-allow-private", "--actions-shell-enabled",
                                   "--actions-fs-writable", tempfile.gettempdir(),
                                   # a worker's reply that was lost with the server holds its job this long
                                   "--visibility-timeout", "2s"])
        self.bin = os.path.join(self.server.directory, "bin")
        os.makedirs(self.bin)
        self.server._environment["PATH"] = self.bin + os.pathsep + os.environ["PATH"]
        self.server.start()
        try:
            for path in paths:
                self.definition(path)
        finally:
            self.server.close()
        print(f"{self.passed} passed, {self.failed} failed")
        return self.failed == 0

    def case(self, what, faults):
        if not faults:
            self.passed += 1
            if self.args.verbose:
                print(f"ok    {what}", flush=True)
            return
        self.failed += 1
        print(f"FAIL  {what}", flush=True)
        for fault in faults[:12]:
            print(f"        {fault}", flush=True)

    # --- one definition

    def definition(self, path):
        name, body = load(path)
        client = self.server.client()
        reply = client.post("/v1/definitions", body)
        client.close()
        if reply.status != 201:
            return self.case(name, [f"not accepted: {reply.raw.decode()}"])
        canonical = self.server.client().get(f"/v1/definitions/{name}").body
        where = os.path.join(self.server.directory, name)
        os.makedirs(where)
        world = World(canonical["definition"], canonical.get("input_schema"), where)
        self.register_children(canonical["definition"])
        workers = [Worker(self.server, self.work, queues=sorted(queues_of(world.definition)), count=4)]
        try:
            played = []
            for variant in world.variants()[:self.args.variants]:
                run = self.variant(world, name, f"{name} ({self.said(world, variant)})", variant)
                if run is not None:
                    played.append((variant, run))
            if played:
                self.crashes(world, name, played)
        finally:
            join_all(workers)
            world.close()
        return None

    @staticmethod
    def said(world, variant):
        """A variant by what is not as usual in it."""
        return ", ".join(f"{k}={v!r}" for k, v in variant.items() if v != world.knobs[k][0]) or "as is"

    def register_children(self, definition):
        """Definitions that this one runs by name: two versions of something small."""
        text = json.dumps(definition)
        names = re.findall(r'"type": "subworkflow", "config": \{"definition": "([\w-]+)"', text)
        client = self.server.client()
        for name in set(names):
            for word in ("one", "two"):
                client.post("/v1/definitions", {"name": name, "definition": {
                    "steps": [{"id": "say", "action": "workflow.log", "params": {"message": word}}]}})
        client.close()

    @staticmethod
    def work(client, job):
        client.post("/ojs/v1/workers/ack", {"job_id": job["id"], "result": {"done": job["type"]}})

    def play(self, world, name, variant):
        world.setting = variant
        world.commands(self.bin)
        return Play(self, world, name)

    def variant(self, world, name, what, variant):
        play = self.play(world, name, variant)
        try:
            play.start()
            run = play.watch(time.monotonic() + RUN_DEADLINE_S)
            if run is None:
                run = play.run()
                self.case(what, [f"still {run['status']}: {run['current_steps']}"] + self.unfinished(run))
                return None
            self.case(what, self.faults(world, play, run))
            return run
        except (AssertionError, TimedOut) as failure:
            self.case(what, [str(failure)])
            return None
        finally:
            play.close()

    @staticmethod
    def unfinished(run):
        return [f"{path}: {r['status']} {r.get('error', '')}" for path, r in run["steps"].items()
                if r["status"] not in FINISHED | {"skipped"}]

    @staticmethod
    def faults(world, play, run):
        oracle = Oracle(world.definition, run, play.answers, world.stand_in.seen())
        faults = oracle.judge() + judge_events(run, play.events()) + play.violations
        faults += oracle.judge_outcome()
        mine = [r.key for r in world.stand_in.seen() if r.key and r.key.startswith(play.id)]
        if play.kills == 0:
            faults += [f"{key} was sent {mine.count(key)} times" for key in set(mine) if mine.count(key) > 1]
        return faults

    # --- crashes

    def crashes(self, world, name, played):
        if self.args.all_kills:
            for variant, base in played:
                took_s, requests = self.extent(world, base)
                points = [("after", took_s * i / 25) for i in range(26)]
                points += [(when, i) for i in range(requests) for when in ("request", "reply")]
                for point in points:
                    self.crash(world, name, variant, base, point)
            return
        for number in range(self.args.kills):
            variant, base = self.rng.choice(played)
            took_s, requests = self.extent(world, base)
            at_request = requests and number % 2 == 1
            self.crash(world, name, variant, base, ("request", self.rng.randrange(requests)) if at_request
                       else ("after", self.rng.uniform(0, took_s * 1.1)))

    def extent(self, world, base):
        """How long a run took, and how many requests it made."""
        requests = sum(1 for r in world.stand_in.seen() if r.key and r.key.startswith(base["id"]))
        return max(0.01, self.duration(base)), requests

    @staticmethod
    def duration(run):
        def ms(text):
            return int(text[11:13]) * 3_600_000 + int(text[14:16]) * 60_000 + int(text[17:19]) * 1000 + int(text[20:23])
        return (ms(run["completed_at"]) - ms(run["created_at"])) / 1000

    def crash(self, world, name, variant, base, point):
        moment = f"after {point[1] * 1000:.1f} ms" if point[0] == "after" else f"at {point[0]} {point[1]}"
        what = f"{name} ({self.said(world, variant)}; killed {moment})"
        play = self.play(world, name, variant)
        now = threading.Event()
        self.watch_requests(world, play, point, now)
        try:
            play.start()
            end_s = time.monotonic() + (point[1] if point[0] == "after" else RUN_DEADLINE_S)
            run = play.watch(end_s, now)
            self.server.kill()
            play.kills += 1
            play.close()
            self.restart()
            run = play.watch(time.monotonic() + RUN_DEADLINE_S)
            if run is None:
                run = play.run()
                return self.case(what, [f"still {run['status']}: {run['current_steps']}"] + self.unfinished(run))
            faults = self.faults(world, play, run)
            was, became = self.outline(world, base), self.outline(world, run)
            faults += [f"{path}: {was.get(path)} without a crash, {became.get(path)} with it"
                       for path in sorted(set(was) | set(became)) if was.get(path) != became.get(path)]
            return self.case(what, faults)
        except (AssertionError, TimedOut) as failure:
            return self.case(what, [str(failure)])
        finally:
            world.stand_in.answer_with(world._answer)
            play.close()
            if not self.server.alive():
                self.restart()

    def restart(self):
        """A command that was just being started may hold the directory's lock for a moment longer."""
        def up():
            try:
                return self.server.start()
            except AssertionError as failure:
                if "is in use by process" not in str(failure):
                    raise
                return None
        until(up, "the server is up again")

    @staticmethod
    def outline(world, run):
        """What must not depend on a crash: how everything ended. Who wins a race may."""
        races = [step["id"] for step in world.steps if (step.get("config") or {}).get("mode") == "race"]
        found = {path: (r["status"], r.get("reason"), r.get("choice")) for path, r in run["steps"].items()
                 if not any(part in races for part in path.split("."))}
        found["(run)"] = run["status"]
        return found

    @staticmethod
    def watch_requests(world, play, point, now):
        """Tells when to kill, and finds what is sent after its end was seen."""
        count = [0]
        lock = threading.Lock()

        def answer(request):
            if not request.key or not request.key.startswith(play.id):
                return world._answer(request)
            path = request.key.split("/", 1)[1].rsplit("/", 1)[0]
            with lock:
                number = count[0]
                count[0] += 1
                if path in play.seen_completed:
                    play.violations.append(f"{request.key} was sent after its end was seen")
            if point == ("request", number):
                now.set()
                until(lambda: play.kills > 0, "the kill")
            if point == ("reply", number):
                threading.Timer(0.002, now.set).start()
            return world._answer(request)
        world.stand_in.answer_with(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+")
    parser.add_argument("--only", action="append")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--all-kills", action="store_true")
    parser.add_argument("--variants", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    parser.add_argument("-v", "--verbose", action="store_true")
    args = parser.parse_args()
    paths = [os.path.join(where, name) for where in args.directories for name in sorted(os.listdir(where))
             if name.endswith((".json", ".yaml", ".yml")) and name != "index.json"]
    paths = [path for path in paths if not args.only or os.path.splitext(os.path.basename(path))[0] in args.only]
    print(f"seed {args.seed}")
    return 0 if Runner(args).run(paths) else 1


if __name__ == "__main__":
    sys.exit(main())
