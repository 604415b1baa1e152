"""cluster: three nodes over one PostgreSQL under a mixed load, and everything that can happen to them: nodes killed,
nodes stopped until others took over and then going on, the database restarted or its sessions ended, links cut, nodes
drained.

Clients call any node, each time another one. At the end everything acknowledged is there, callbacks came once, and no job
was with two workers while both had a lease.
"""
import collections
import json
import random
import threading
import time

from load import LEASE_MS, SERVE_ARGS, Load, LoadThread, options
from cluster import Cluster, code_of
from crash_campaigns import Campaign
from harness import Client, new_id, until
from stand_in import StandIn

# Of 20 rounds. 200 rounds are 100 kills, 30 zombies and 20 restarts of the database.
FAULTS = ["kill"] * 10 + ["zombie"] * 3 + ["database"] * 2 + ["sessions"] * 2 + ["cut"] * 2 + ["drain"]
UNIQUE_MAX = 50


class Keyed(LoadThread):
    """Pushes with an Idempotency-Key, once more through another node, and jobs of which one at a time may exist."""

    def round(self, client):
        key = {"Idempotency-Key": new_id(self.rng)}
        body = {"type": "work", "args": [self.name, self.rng.randrange(1 << 30)], "options": options()}
        replies = [client.post("/ojs/v1/jobs", body, headers=key, timeout_s=self.load.timeout_s) for _ in range(2)]
        made = {reply.body["id"] for reply in replies if reply.status in (200, 201)}
        if len(made) > 1:
            self.book.violation(f"one Idempotency-Key made {made}")
        for job_id in made:
            self.book.note(lambda job_id=job_id: self.book.jobs.update({job_id: body["args"]}))
        self.unique(client)

    def unique(self, client):
        body = {"type": "unique", "args": [self.rng.randrange(UNIQUE_MAX)],
                "options": options(unique={"keys": ["type", "args"], "on_conflict": "reject"})}
        reply = self.ask(client, "POST", "/ojs/v1/jobs", body, (201,), known=(409,))
        if reply is not None:
            self.book.note(lambda: self.book.jobs.update({reply.body["id"]: body["args"]}))


class Leases:
    """Which jobs were given out when. A lease that the server counts from its own decision ends no earlier than counted
    from the request for it; the next one begins no later than its answer came."""

    def __init__(self, book):
        self._book, self._lock, self._until = book, threading.Lock(), {}

    def given(self, job_id, asked_s, answered_s):
        with self._lock:
            live_until = self._until.get(job_id, 0)
            if answered_s < live_until and job_id not in self._book.completed:
                self._book.violation(f"{job_id} was given out twice within one lease, "
                                     f"{live_until - answered_s:.2f} s before its end")
            self._until[job_id] = asked_s + LEASE_MS / 1000

    def given_back(self, job_id):
        with self._lock:
            self._until.pop(job_id, None)


class Worker(LoadThread):
    """Fetches through one node, acknowledges through another; now and then it gives a job back."""

    def round(self, client):
        request = {"queues": ["campaign", "witness"], "count": 5, "worker_id": self.name, "wait_ms": 100,
                   "visibility_timeout_ms": LEASE_MS}
        reply = client.post("/ojs/v1/workers/fetch", request, timeout_s=self.load.timeout_s)
        if reply.status != 200:
            return self.book.refused(reply)
        for job in reply.body["jobs"]:
            self.load.leases.given(job["id"], client.sent_s, time.monotonic())
            self.book.delivered(job)
        for job in reply.body["jobs"]:
            self.end(client, job)
        return None

    def end(self, client, job):
        if self.rng.random() < 0.05 and job["type"] == "work":
            body = {"job_id": job["id"], "worker_id": self.name,
                    "error": {"code": "again", "message": "given back", "retryable": True}}
            self.load.leases.given_back(job["id"])  # also if the answer is lost: it may have happened
            self.ask(client, "POST", "/ojs/v1/workers/nack", body, (200,), known=(404, 409))
            return
        body = {"job_id": job["id"], "worker_id": self.name, "result": {"by": self.name}}
        if self.ask(client, "POST", "/ojs/v1/workers/ack", body, (200,), known=(404, 409)) is not None:
            self.book.acked(job["id"], self.name)


class ClusterLoad(Load):
    def __init__(self, cluster, stand_in, seed):
        super().__init__(cluster, stand_in, seed, takers=0, timeout_s=8)
        self.leases = Leases(self.book)
        self.producers.append(Keyed(self, 0))
        self.consumers += [Worker(self, number) for number in range(4)]

    def idle(self, client):
        """The counts of the whole cluster; a partition without an owner is told as 503."""
        reply = client.get("/v1/system")
        if reply.status != 200:
            return False
        jobs = reply.body["jobs"]
        return not any(jobs.get(state) for state in ("available", "active", "pending", "scheduled", "retryable"))


class Witness(threading.Thread):
    """A client that repeats nothing, while a node hands over: every failed request counts."""

    def __init__(self, cluster, nodes):
        super().__init__(daemon=True)
        self._nodes, self._ending = nodes, threading.Event()
        self.calls, self.failed = 0, []
        self.start()

    def run(self):
        clients = [Client(node.port) for node in self._nodes]
        while not self._ending.is_set():
            client = random.choice(clients)
            try:
                reply = client.push("work", ["witness"], queue="witness")
                good = reply.status == 201
                if good:
                    reply = client.job(reply.body["id"])
                    good = reply.status == 200
                self.calls += 1
                if not good:
                    self.failed.append((reply.status, code_of(reply)))
            except Client.FAILURES as failure:
                self.failed.append(repr(failure))
        for client in clients:
            client.close()

    def end(self):
        self._ending.set()
        self.join()
        return self


class ClusterCampaign(Campaign):
    def __init__(self, name, seed):
        self.name = name
        self.rng = random.Random(seed)
        self.stand_in = StandIn()
        self.server = self.cluster = Cluster(args=SERVE_ARGS, gated=True)
        self.load = ClusterLoad(self.cluster, self.stand_in, seed)
        self.counts = collections.Counter()
        self.told = 0  # violations
        self.pauses_ms = collections.defaultdict(list)  # by fault: until every partition was served again
        self.drain_calls, self.drain_failures = 0, []

    # --- faults

    def round(self, fault):
        self.load.until_operations(self.rng.randint(1, 300))
        recent = list(self.load.book.jobs)[-20:] + list(self.load.book.completed)[-20:]
        begin = time.monotonic()
        getattr(self, fault)()
        self.counts[fault] += 1
        self.load.check_jobs(recent, ended=False)
        self.load.check_threads()
        print(f"  round {sum(self.counts.values())}: {fault}, {time.monotonic() - begin:.1f} s, "
              f"{self.load.book.operations} operations, {len(self.load.book.violations)} violations", flush=True)
        for violation in self.load.book.violations[self.told:]:
            print("    " + violation, flush=True)
            self.told += 1

    def victim(self):
        """Mostly one that serves something."""
        owners = set(self.cluster.owners().values())
        serving = [node for node in self.cluster.nodes if node.name in owners]
        return self.rng.choice(serving if serving and self.rng.random() < 0.9 else self.cluster.nodes)

    def await_answers(self, fault, begin):
        """Until a read from each partition is answered: nothing waits for an owner any more."""
        for partition in range(self.cluster.partitions):
            probe = new_id(self.rng)[:-4] + f"{partition:04x}"
            client = self.cluster.client()
            until(lambda: client.job(probe).status == 404, f"partition {partition} after {fault}")
            client.close()
        self.pauses_ms[fault].append((time.monotonic() - begin) * 1000)

    def kill(self):
        node = self.victim()
        begin = time.monotonic()
        node.kill()
        self.await_answers("kill", begin)
        node.start()

    def zombie(self):
        """What waits in its sockets while it stands still is answered as of now, or not."""
        node = self.victim()
        others = self.cluster.client()
        made = others.push("work", ["seen by a zombie"], queue="zombies").body["id"]
        node.freeze()
        begin = time.monotonic()
        answers = {}
        asking = [threading.Thread(target=self.ask_later, args=(node, method, path, body, answers), daemon=True)
                  for method, path, body in (("GET", f"/ojs/v1/jobs/{made}", None),
                                             ("POST", "/ojs/v1/jobs", {"type": "work", "args": ["late"],
                                                                       "options": {"queue": "witness"}}))]
        for thread in asking:
            thread.start()
        self.await_answers("zombie", begin)
        cancelled = others.cancel(made)
        node.thaw()
        for thread in asking:
            thread.join(60)
        status, text = answers.get("GET", (None, b""))
        if cancelled.status == 200 and status == 200 and json.loads(text)["job"]["state"] != "cancelled":
            self.load.book.violation(f"a zombie told of a former state: {text[:200]!r}")
        status, text = answers.get("POST", (None, b""))
        if status == 201 and others.job(json.loads(text)["id"]).status != 200:
            self.load.book.violation(f"a zombie acknowledged what is not there: {text[:200]!r}")
        others.close()
        if not node.alive():
            self.counts["zombies that ended"] += 1
            node.start()

    @staticmethod
    def ask_later(node, method, path, body, answers):
        client = node.client()
        try:
            reply = client.call(method, path, body, timeout_s=60)
            answers[method] = (reply.status, reply.raw)
        except Client.FAILURES:
            pass
        client.close()

    def database(self):
        begin = time.monotonic()
        self.rng.choice((self.cluster.database.stop, self.cluster.database.crash))()
        self.cluster.database.start()
        self.await_answers("database", begin)

    def sessions(self):
        begin = time.monotonic()
        self.cluster.database.end_sessions(self.rng.choice(("pawl/%", f"pawl/{self.victim().name}/%")))
        self.await_answers("sessions", begin)

    def cut(self):
        """The others cannot call it; it can call them."""
        node = self.victim()
        begin = time.monotonic()
        node.gate.cut(self.rng.choice(("refuse", "hang")))
        self.load.until_operations(self.rng.randint(1, 200), deadline_s=self.rng.uniform(1, 8))
        node.gate.mend()
        self.await_answers("cut", begin)

    def drain(self):
        node = self.victim()
        rest = [other for other in self.cluster.nodes if other is not node]
        witnesses = [Witness(self.cluster, rest) for _ in range(2)] + [Witness(self.cluster, self.cluster.nodes)]
        begin = time.monotonic()
        client = self.cluster.client()
        reply = client.post(f"/v1/cluster/nodes/{node.name}/drain")
        if reply.status not in (200, 202):
            self.load.book.violation(f"drain got {reply.status} {reply.raw[:200]!r}")
        until(lambda: node.name not in self.cluster.owners(rest[0]).values() or None, "an empty node", 60)
        self.pauses_ms["drain"].append((time.monotonic() - begin) * 1000)
        self.take_in(witnesses.pop())
        code = node.stop()
        if code != 0:
            self.load.book.violation(f"a drained node ended with {code}")
        for witness in witnesses:
            self.take_in(witness)
        node.start()
        client.post(f"/v1/cluster/nodes/{node.name}/undrain")
        client.close()

    def take_in(self, witness):
        witness.end()
        self.drain_calls += witness.calls
        self.drain_failures += witness.failed

    # --- the verdict

    def verdict(self, cycles, what="rounds", more=""):
        self.cluster.await_served()
        self.load.drain()
        found = self.load.check()
        book = self.load.book
        if self.drain_failures:
            book.violation(f"{len(self.drain_failures)} requests failed while a node was drained, "
                           f"such as {collections.Counter(map(str, self.drain_failures)).most_common(3)}")
        print(f"{self.name}: {cycles} {what} ({', '.join(f'{n} {fault}' for fault, n in self.counts.items())}), "
              f"{len(book.jobs) + len(book.completed):,} pushes and acks acknowledged, "
              f"{found['jobs lost']} lost, {len(book.flows):,} workflows, {found['workflows lost']} lost, "
              f"{found['callbacks doubled']} callbacks doubled, {found['callbacks lost']} lost, "
              f"{len(book.runs):,} runs, {found['runs lost']} lost, {len(book.decided):,} decisions, "
              f"{self.load.repeated_steps()} steps repeated; {self.drain_calls} calls during drains, "
              f"{len(self.drain_failures)} failed; refusals {dict(book.refusals)}", flush=True)
        for fault, times in self.pauses_ms.items():
            times.sort()
            print(f"  every partition answers after {fault}: p50 {times[len(times) // 2]:.0f} ms, "
                  f"p99 {times[len(times) * 99 // 100]:.0f} ms, max {times[-1]:.0f} ms, of {len(times)}")
        for violation in book.violations[:40]:
            print("  violation: " + violation)
        return len(book.violations)


def cluster(cycles, seed):
    campaign = ClusterCampaign("cluster", seed)
    try:
        campaign.begin()
        faults = []
        for _ in range(cycles):
            faults = faults or campaign.rng.sample(FAULTS, len(FAULTS))
            campaign.round(faults.pop())
        return campaign.verdict(cycles)
    finally:
        campaign.close()
