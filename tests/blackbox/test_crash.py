"""kill -9 under load, again and again, on one data directory.

The clients record their requests and what was acknowledged. After every restart the server must agree with these
records: nothing acknowledged is lost (I1), nothing happens without a request, a batch is there completely or not at all
(D2), and no job is given to a second worker during a lease (I6).

PAWL_CRASH_CYCLES and PAWL_CRASH_SEED change how long and which run; the seed is printed on failure.
"""
import os
import random
import threading
import unittest

from harness import Client, Server, join_all, new_id, until

CYCLES = int(os.environ.get("PAWL_CRASH_CYCLES", "8"))
SEED = int(os.environ.get("PAWL_CRASH_SEED", str(random.randrange(1 << 32))))
QUEUES = ["crash-a", "crash-b"]
LEASE_MS = 3600_000  # longer than any run: within this test a lease never expires by itself
FETCH_COUNT = 4
BATCH = 10


class Book:
    """What the clients know. Every method is safe from any thread."""

    def __init__(self):
        self._lock = threading.Lock()
        self.pushed = {}      # id -> args, acknowledged with 201
        self.unsure = {}      # id -> args, sent, no reply seen
        self.batches = []     # (ids, acknowledged)
        self.settled = {}     # id -> state the server acknowledged: completed, discarded, cancelled
        self.attempted = {}   # id -> states that were asked for, with or without a reply
        self.held = {}        # id -> worker that holds it
        self.lost_fetches = 0
        self.violations = []
        self.acknowledged = 0
        self._kill_at, self._kill = None, threading.Event()

    def arm(self, operations):
        """kill_now() is set once this many more operations have been acknowledged."""
        with self._lock:
            self._kill_at = self.acknowledged + operations
            self._kill.clear()

    def kill_now(self):
        return self._kill

    def _count(self):
        self.acknowledged += 1
        if self._kill_at is not None and self.acknowledged >= self._kill_at:
            self._kill.set()

    def push_sent(self, jobs):
        with self._lock:
            self.unsure.update(jobs)

    def push_acknowledged(self, jobs):
        with self._lock:
            self.pushed.update(jobs)
            for job_id in jobs:
                self.unsure.pop(job_id, None)
            self._count()

    def batch(self, ids, acknowledged):
        with self._lock:
            self.batches.append((ids, acknowledged))

    def delivered(self, job, worker):
        with self._lock:
            job_id = job["id"]
            if job_id in self.held:
                self.violations.append(f"{job_id} given to {worker} while {self.held[job_id]} holds it")
            # A cancel that was answered first may overtake the reply of the fetch it beat.
            if self.settled.get(job_id, "cancelled") != "cancelled":
                self.violations.append(f"{job_id} delivered after it was {self.settled[job_id]}")
            if job_id not in self.pushed and job_id not in self.unsure:
                self.violations.append(f"{job_id} was never pushed")
            self.held[job_id] = worker
            self._count()

    def fetch_lost(self):
        with self._lock:
            self.lost_fetches += 1

    def asking(self, job_id, state):
        """Before the request: from here on the server may have done it."""
        with self._lock:
            self.attempted.setdefault(job_id, set()).add(state)
            if state == "requeued":
                self.held.pop(job_id, None)

    def done(self, job_id, state):
        with self._lock:
            if state != "requeued":
                self.settled[job_id] = state
                self.held.pop(job_id, None)
            self._count()

    def refused(self, job_id, state, reply):
        with self._lock:
            # A cancel may win against the worker; nothing else may take a held job away.
            if "cancelled" not in self.attempted.get(job_id, ()) and state != "cancelled":
                self.violations.append(f"{state} of held {job_id} got {reply.status}: {reply.raw[:200]!r}")

    def snapshot(self):
        with self._lock:
            return dict(self.pushed), dict(self.unsure), dict(self.settled), {k: set(v) for k, v in self.attempted.items()}


class LoadThread(threading.Thread):
    """Runs rounds until stopped. A lost connection is the point of the test; all else is a failure."""

    def __init__(self, name, server, book, seed):
        super().__init__(name=name, daemon=True)
        self.server, self.book = server, book
        self.rng = random.Random(f"{seed}/{name}")
        self.failure = None
        self.stopping = threading.Event()

    def run(self):
        client = self.server.client()
        while not self.stopping.is_set():
            try:
                self.round(client)
            except Client.FAILURES:
                if not self.server.alive():
                    break
            except Exception as failure:  # join_all() raises it in the test
                self.failure = failure
                break
        client.close()


class Pusher(LoadThread):
    def round(self, client):
        size = BATCH if self.rng.random() < 0.2 else 1
        queue = self.rng.choice(QUEUES)
        jobs = {new_id(self.rng): [self.name, self.rng.randrange(1 << 30), "x" * self.rng.randrange(200)]
                for _ in range(size)}
        bodies = [{"id": job_id, "type": "crash.work", "args": args,
                   "options": {"queue": queue, "retry": {"max_attempts": 1000}}} for job_id, args in jobs.items()]
        self.book.push_sent(jobs)
        acknowledged = False
        try:
            if size == 1:
                reply = client.post("/ojs/v1/jobs", bodies[0])
            else:
                reply = client.post("/ojs/v1/jobs/batch", {"jobs": bodies})
            acknowledged = reply.status == 201
            if not acknowledged and reply.status not in (429, 503):
                raise AssertionError(f"push got {reply.status}: {reply.raw[:300]!r}")
        finally:
            if size > 1:
                self.book.batch(list(jobs), acknowledged)
        if acknowledged:
            self.book.push_acknowledged(jobs)
            if size == 1 and self.rng.random() < 0.1:
                settle(self.book, next(iter(jobs)), "cancelled", lambda job_id: client.cancel(job_id))


class Taker(LoadThread):
    def round(self, client):
        request = {"queues": QUEUES, "count": FETCH_COUNT, "worker_id": self.name,
                   "visibility_timeout_ms": LEASE_MS, "wait_ms": 100}
        try:
            reply = client.post("/ojs/v1/workers/fetch", request)
        except Client.FAILURES:
            self.book.fetch_lost()
            raise
        if reply.status != 200:
            raise AssertionError(f"fetch got {reply.status}: {reply.raw[:300]!r}")
        for job in reply.body["jobs"]:
            self.book.delivered(job, self.name)
        for job in reply.body["jobs"]:
            self.finish(client, job["id"])

    def finish(self, client, job_id):
        dice = self.rng.random()
        if dice < 0.8:
            settle(self.book, job_id, "completed",
                   lambda j: client.ack(j, worker_id=self.name, result={"by": self.name}))
        elif dice < 0.9:
            error = {"code": "bad", "message": "gives up", "retryable": False}
            settle(self.book, job_id, "discarded", lambda j: client.nack(j, error, worker_id=self.name))
        else:
            settle(self.book, job_id, "requeued", lambda j: client.nack(j, requeue=True, worker_id=self.name))


def settle(book, job_id, state, request):
    book.asking(job_id, state)
    reply = request(job_id)
    if reply.status == 200:
        # Who finishes a job that was cancelled meanwhile is told so, and is not refused.
        cancelled = (reply.body or {}).get("state") == "cancelled"
        book.done(job_id, "cancelled" if cancelled else state)
    elif reply.status in (404, 409):
        book.refused(job_id, state, reply)
    elif reply.status not in (429, 503):
        raise AssertionError(f"{state} got {reply.status}: {reply.raw[:300]!r}")


class Crash(unittest.TestCase):
    def setUp(self):
        self.rng = random.Random(SEED)
        self.server = Server()
        self.addCleanup(self.server.close)
        self.book = Book()
        self.verified = set()

    def load_until_killed(self, operations):
        self.book.arm(operations)
        seed = self.rng.random()
        threads = [Pusher(f"push-{n}", self.server, self.book, seed) for n in range(3)]
        threads += [Taker(f"take-{n}", self.server, self.book, seed) for n in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: self.book.kill_now().is_set() or any(t.failure for t in threads) or not self.server.alive(),
              "enough operations are acknowledged")
        died = not self.server.alive()
        self.server.kill()
        for thread in threads:
            thread.stopping.set()
        join_all(threads)
        self.assertFalse(died, "the server died on its own:\n" + self.server.log_tail())

    def check(self, everything):
        """Compares the server's answers with the book."""
        self.assertEqual(self.book.violations, [], f"seed {SEED}")
        client = self.server.client()
        pushed, unsure, settled, attempted = self.book.snapshot()
        new = [job_id for job_id in pushed if job_id not in self.verified]
        old = self.rng.sample(sorted(self.verified), min(100, len(self.verified)))
        for job_id in pushed if everything else new + old:
            reply = client.job(job_id)
            self.assertEqual(reply.status, 200, f"seed {SEED}: acknowledged push {job_id} is lost: {reply.raw!r}")
            job = reply.body["job"]
            self.assertEqual(job["args"], pushed[job_id], f"seed {SEED}: {job_id}")
            self.check_state(job, settled.get(job_id), attempted.get(job_id, set()))
            if job_id in settled:
                self.verified.add(job_id)
        for job_id, args in unsure.items():
            reply = client.job(job_id)
            self.assertIn(reply.status, (200, 404))
            if reply.status == 200:
                self.assertEqual(reply.body["job"]["args"], args)
                self.check_state(reply.body["job"], settled.get(job_id), attempted.get(job_id, set()))
        for ids, acknowledged in self.book.batches:
            there = sum(client.job(job_id).status == 200 for job_id in ids)
            allowed = (len(ids),) if acknowledged else (0, len(ids))
            self.assertIn(there, allowed, f"seed {SEED}: {there} of a batch of {len(ids)}")
        if not everything:
            self.book.batches.clear()
        client.close()

    def check_state(self, job, settled, attempted):
        context = f"seed {SEED}: {job['id']} is {job['state']}, acknowledged {settled}, asked {sorted(attempted)}"
        if settled is not None:
            self.assertEqual(job["state"], settled, context)
        elif job["state"] in ("completed", "discarded", "cancelled"):
            self.assertIn(job["state"], attempted, context)
        else:
            self.assertIn(job["state"], ("available", "active"), context)
        if job["state"] == "completed":
            self.assertIn("by", job["result"], context)

    def drain(self):
        """Takes and acks what is still available; what stays active was leased by a lost fetch, or is
        held by a worker that died with the server, perhaps while it gave the job back."""
        client = self.server.client()
        while True:
            jobs = client.fetch(QUEUES, 500, worker_id="drain", visibility_timeout_ms=LEASE_MS).body["jobs"]
            if not jobs:
                break
            for job in jobs:
                self.book.delivered(job, "drain")
            for job in jobs:
                settle(self.book, job["id"], "completed",
                       lambda j: client.ack(j, worker_id="drain", result={"by": "drain"}))
        pushed, _, settled, attempted = self.book.snapshot()
        left = [job_id for job_id in pushed if job_id not in settled]
        states = {job_id: client.job(job_id).body["job"]["state"] for job_id in left}
        self.assertNotIn("available", states.values(), f"seed {SEED}: available, and nobody can fetch it")
        known = self.book.held.keys() | {job_id for job_id, asked in attempted.items() if "requeued" in asked}
        orphans = [job_id for job_id, state in states.items() if state == "active" and job_id not in known]
        self.assertLessEqual(len(orphans), self.book.lost_fetches * FETCH_COUNT,
                             f"seed {SEED}: leased to nobody: {orphans[:5]}")
        client.close()

    def test_nothing_acknowledged_is_lost(self):
        for cycle in range(CYCLES):
            self.server.start()
            if cycle:
                self.check(everything=False)
            # The first rounds die young: an almost empty journal is a case of its own.
            self.load_until_killed(self.rng.randint(1, 5) if cycle < 2 else self.rng.randint(50, 1500))
        self.server.start()
        self.check(everything=False)
        self.drain()
        self.check(everything=True)
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.check(everything=True)

    def test_killed_while_it_recovers(self):
        self.server.start()
        self.load_until_killed(1000)
        for _ in range(10):
            self.server.kill_while_starting(self.rng.random() * 0.1)
        self.server.start()
        self.check(everything=True)
        self.drain()
        self.check(everything=True)


if __name__ == "__main__":
    unittest.main()
