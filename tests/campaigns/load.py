"""A mixed load from several client threads, and a record of what the server acknowledged.

Single jobs and lists of them, chains and batches with callbacks, runs of definitions whose steps count
their executions at a stand-in, decisions and signals. A thread that loses its connection continues with the next server
process; its open request then counts as unknown, never as acknowledged.
"""
import collections
import os
import random
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blackbox"))
from harness import Client, TimedOut, new_id, until  # noqa: E402

LEASE_MS = 2000
QUEUE = "campaign"
ROLES = ("on_complete", "on_success", "on_failure")
REFUSALS = (429, 503)


def options(**more):
    return {"queue": QUEUE, "retry": {"max_attempts": 1000}, "visibility_timeout_ms": LEASE_MS, **more}


class Book:
    """Everything that the server said yes to. Thread: any."""

    def __init__(self):
        self._lock = threading.Lock()
        self.jobs = {}         # acknowledged push: id → args
        self.completed = {}    # acknowledged ack: id → worker
        self.flows = {}        # acknowledged workflow: tag → (id, kind)
        self.callbacks = collections.defaultdict(set)  # (tag, role) → ids of the jobs that ran it
        self.runs = {}         # acknowledged run: id → definition
        self.signalled = set()
        self.decided = set()
        self.refusals = collections.Counter()  # error code → how often
        self.violations = []
        self.operations = 0

    def note(self, change=None):
        with self._lock:
            if change is not None:
                change()
            self.operations += 1

    def refused(self, reply):
        code = ((reply.body or {}).get("error") or {}).get("code", "?")
        with self._lock:
            self.refusals[code] += 1

    def violation(self, text):
        with self._lock:
            self.violations.append(text)

    def delivered(self, job):
        with self._lock:
            if job["id"] in self.completed:
                self.violations.append(f"{job['id']} was delivered after its completion was acknowledged")
            if job["type"].startswith("callback."):
                self.callbacks[(job["args"][0], job["type"][len("callback."):])].add(job["id"])

    def acked(self, job_id, worker):
        with self._lock:
            if job_id in self.completed:
                self.violations.append(f"{job_id} was acknowledged to {self.completed[job_id]} and to {worker}")
            self.completed[job_id] = worker
            self.operations += 1

    def acknowledged(self):
        return len(self.jobs) + len(self.flows) + len(self.runs) + len(self.completed)


class LoadThread(threading.Thread):
    def __init__(self, load, number):
        super().__init__(daemon=True, name=f"{type(self).__name__.lower()}-{number}")
        self.load, self.book = load, load.book
        self.rng = random.Random(f"{load.seed}/{self.name}")
        self.failure = None

    def run(self):
        client = self.load.server.client()
        while not self.load.stopping(self).is_set():
            try:
                self.round(client)
            except Client.FAILURES:
                self.load.stopping(self).wait(0.01)
            except Exception as failure:  # Load.finish() raises it
                self.failure = failure
                break
        client.close()

    def ask(self, client, method, path, body, good, known=()):
        """The reply if it was a yes; None if it was refused for now, or with a status that is known."""
        reply = client.call(method, path, body, timeout_s=self.load.timeout_s)
        if reply.status in good:
            return reply
        if reply.status in REFUSALS:
            self.book.refused(reply)
            self.load.stopping(self).wait(0.02)
        elif reply.status not in known:
            raise AssertionError(f"{method} {path} got {reply.status}: {reply.raw[:300]!r}")
        return None


class Pusher(LoadThread):
    def round(self, client):
        count = 10 if self.rng.random() < 0.1 else 1
        padding = "x" * self.rng.randrange(self.load.padding)
        jobs = {new_id(self.rng): [self.name, self.rng.randrange(1 << 30), padding] for _ in range(count)}
        bodies = [{"id": job_id, "type": "work", "args": args, "options": options()} for job_id, args in jobs.items()]
        if count == 1:
            reply = self.ask(client, "POST", "/ojs/v1/jobs", bodies[0], (201,))
        else:
            reply = self.ask(client, "POST", "/ojs/v1/jobs/batch", {"jobs": bodies}, (201,))
        if reply is not None:
            self.book.note(lambda: self.book.jobs.update(jobs))


class Composer(LoadThread):
    """Chains of three and batches of four, each with a tag that its callbacks carry."""

    def round(self, client):
        tag = new_id(self.rng)
        work = {"type": "work", "args": [tag], "options": options()}
        kind = self.rng.choice(("chain", "batch"))
        if kind == "chain":
            body = {"type": "chain", "steps": [work] * 3}
        else:
            body = {"type": "batch", "jobs": [work] * 4, "callbacks": {
                role: {"type": f"callback.{role}", "args": [tag], "options": options()} for role in ROLES}}
        reply = self.ask(client, "POST", "/ojs/v1/workflows", body, (201,))
        if reply is not None:
            flow = reply.body["workflow"]["id"]
            self.book.note(lambda: self.book.flows.update({tag: (flow, kind)}))


class Starter(LoadThread):
    def round(self, client):
        run = f"run-{new_id(self.rng)}"
        name = self.rng.choice(("counts", "asks"))
        body = {"definition": name, "id": run, "inputs": {"url": self.load.stand_in.url("/" + run)}}
        if self.ask(client, "POST", "/v1/runs", body, (200, 201, 202), known=(404,)) is not None:
            self.book.note(lambda: self.book.runs.update({run: name}))
        self.load.stopping(self).wait(0.02)


class Answerer(LoadThread):
    """Decides what is asked and sends the signal that runs wait for."""

    def round(self, client):
        waiting = [r for r, name in list(self.book.runs.items()) if name == "asks" and r not in self.book.signalled]
        for run in waiting[:20]:
            # 409: the run has ended, so a signal whose answer was lost has come.
            if self.ask(client, "POST", f"/v1/runs/{run}/signals", {"type": "go", "payload": {}},
                        (200, 202, 409)) is not None:
                self.book.note(lambda run=run: self.book.signalled.add(run))
        reply = self.ask(client, "GET", "/v1/decisions?status=pending&limit=50", None, (200,))
        for decision in (reply.body["decisions"] if reply is not None else []):
            found = self.ask(client, "POST", f"/v1/decisions/{decision['id']}", {"choice": "yes"}, (200,),
                             known=(404, 409))
            if found is not None:
                self.book.note(lambda decision=decision: self.book.decided.add(decision["id"]))
        if not waiting:
            self.load.stopping(self).wait(0.02)


class Taker(LoadThread):
    def round(self, client):
        request = {"queues": [QUEUE], "count": 5, "worker_id": self.name, "wait_ms": 100,
                   "visibility_timeout_ms": LEASE_MS}
        reply = self.ask(client, "POST", "/ojs/v1/workers/fetch", request, (200,))
        jobs = reply.body["jobs"] if reply is not None else []
        for job in jobs:
            self.book.delivered(job)
        for job in jobs:
            body = {"job_id": job["id"], "worker_id": self.name, "result": {"by": self.name}}
            if self.ask(client, "POST", "/ojs/v1/workers/ack", body, (200,), known=(404, 409)) is not None:
                self.book.acked(job["id"], self.name)


def definitions():
    post = {"action": "http.post", "params": {"url": "${{ inputs.url }}", "body": {"run": "campaign"}},
            "retry": {"max": 1000, "delay": "50ms", "max_delay": "200ms"}}
    counts = [{"id": f"s{i}", **post, **({"depends_on": [f"s{i - 1}"]} if i else {})} for i in range(3)]
    asks = [{"id": "s0", **post},
            {"id": "choice", "type": "reasoning", "depends_on": ["s0"],
             "config": {"prompt_context": "Go on?", "options": ["yes", "no"], "timeout": "2h", "fallback": "no"}},
            {"id": "hold", "type": "wait", "depends_on": ["choice"], "config": {"signal": "go", "timeout": "2h"}},
            {"id": "s1", "depends_on": ["hold"], **post}]
    return [{"name": "counts", "steps": counts}, {"name": "asks", "steps": asks}]


SERVE_ARGS = ["--actions-http-allow-private"]


class Load:
    """Producers and takers over one server object, through however many of its processes."""

    def __init__(self, server, stand_in, seed, pushers=2, takers=3, runs=True, padding=200, timeout_s=30):
        self.server, self.stand_in, self.seed = server, stand_in, seed
        self.padding, self.timeout_s = padding, timeout_s
        self.book = Book()
        self._no_more = threading.Event()
        self._end = threading.Event()
        self.producers = [Pusher(self, i) for i in range(pushers)] + [Composer(self, 0)]
        if runs:
            self.producers.append(Starter(self, 0))
        self.consumers = [Taker(self, i) for i in range(takers)] + ([Answerer(self, 0)] if runs else [])

    def define(self):
        client = self.server.client()
        for definition in definitions():
            reply = client.post("/v1/definitions", definition)
            if reply.status not in (200, 201):
                raise AssertionError(f"definition refused: {reply.raw!r}")
        client.close()

    def start(self):
        for thread in self.producers + self.consumers:
            thread.start()
        return self

    def stopping(self, thread):
        return self._no_more if thread in self.producers else self._end

    def check_threads(self):
        for thread in self.producers + self.consumers:
            if thread.failure is not None:
                raise thread.failure

    def until_operations(self, more, deadline_s=30):
        """Waits until the server has said yes so many times more; a starved machine cuts it short."""
        target = self.book.operations + more
        try:
            until(lambda: self.book.operations >= target or self.check_threads(), "acknowledgements", deadline_s)
        except TimedOut:
            if not self.server.alive():
                raise

    def stop_producing(self):
        self._no_more.set()
        for thread in self.producers:
            thread.join(60)

    def finish(self):
        self._no_more.set()
        self._end.set()
        for thread in self.producers + self.consumers:
            thread.join(60)
        self.check_threads()

    # --- what must be true

    def drain(self, deadline_s=240):
        """The producers stop; everything acknowledged comes to its end."""
        self.stop_producing()
        client = self.server.client()
        left_flows, left_runs = dict(self.book.flows), dict(self.book.runs)

        def ended():
            self.check_threads()
            for tag, (flow, _) in list(left_flows.items())[:100]:
                reply = client.get(f"/ojs/v1/workflows/{flow}?limit=1")
                if reply.status == 404 or (reply.status == 200 and reply.body["workflow"]["state"] != "running"):
                    del left_flows[tag]
            for run in list(left_runs)[:100]:
                reply = client.get(f"/v1/runs/{run}")
                if reply.status == 404 or (reply.status == 200 and reply.body["run"]["status"] in (
                        "completed", "failed", "cancelled")):
                    del left_runs[run]
            if left_flows or left_runs:
                return False
            reply = client.get(f"/ojs/v1/queues/{QUEUE}/stats")
            return reply.status == 200 and self.idle(client)

        try:
            until(ended, "everything acknowledged to end", deadline_s)
        except TimedOut:
            self.book.violation(f"not ended: {len(left_flows)} workflows, {len(left_runs)} runs, "
                                f"such as {list(left_flows.values())[:2]} {list(left_runs)[:2]}")
        client.close()

    def idle(self, client):
        jobs = client.get("/v1/system").body["jobs"]
        return not any(jobs[state] for state in ("available", "active", "pending", "scheduled", "retryable")
                       if state in jobs)

    def check_jobs(self, ids, ended):
        """Acknowledged pushes and completions that are not there."""
        lost = 0
        client = self.server.client()
        for job_id in ids:
            done = job_id in self.book.completed  # before the reply: takers go on meanwhile
            reply = client.job(job_id)
            if reply.status != 200:
                lost += 1
                self.book.violation(f"acknowledged push {job_id} is lost: {reply.status}")
                continue
            job = reply.body["job"]
            if job_id in self.book.jobs and job["args"] != self.book.jobs[job_id]:
                self.book.violation(f"{job_id} has other arguments")
            if job["state"] != "completed" and (ended or done):
                lost += 1
                self.book.violation(f"{job_id} is {job['state']}, acknowledged {self.book.completed.get(job_id)}")
        client.close()
        return lost

    def check(self):
        """After drain(): counts of what was lost or doubled, with a violation for each."""
        found = collections.Counter()
        found["jobs lost"] = self.check_jobs(set(self.book.jobs) | set(self.book.completed), ended=True)
        client = self.server.client()
        for tag, (flow, kind) in self.book.flows.items():
            reply = client.get(f"/ojs/v1/workflows/{flow}?limit=1")
            state = reply.body["workflow"]["state"] if reply.status == 200 else reply.status
            if state != "completed":
                found["workflows lost"] += 1
                self.book.violation(f"{kind} {flow} is {state}")
            wanted = {"on_complete": 1, "on_success": 1, "on_failure": 0} if kind == "batch" else {}
            for role, times in wanted.items():
                ran = len(self.book.callbacks.get((tag, role), ()))
                if ran != times:
                    found["callbacks doubled" if ran > times else "callbacks lost"] += 1
                    self.book.violation(f"{role} of {flow} ran as {ran} jobs")
        for (tag, role), ids in list(self.book.callbacks.items()):
            if tag not in self.book.flows and len(ids) > 1:
                found["callbacks doubled"] += 1
                self.book.violation(f"{role} of an unacknowledged batch ran as {len(ids)} jobs")
        keys = collections.defaultdict(set)
        for request in self.stand_in.seen():
            keys[request.path.lstrip("/")].add(request.key)
        for run in self.book.runs:
            reply = client.get(f"/v1/runs/{run}")
            state = reply.body["run"]["status"] if reply.status == 200 else reply.status
            steps = {"counts": 3, "asks": 2}[self.book.runs[run]]
            if state != "completed":
                found["runs lost"] += 1
                self.book.violation(f"run {run} is {state}")
            elif len(keys[run]) < steps:
                found["runs lost"] += 1
                self.book.violation(f"run {run} completed without all of its steps")
        client.close()
        return found

    def repeated_steps(self):
        """Steps whose request came more than once: allowed, under the same key, after a crash."""
        return sum(1 for times in self.stand_in.keys().values() if times > 1)
