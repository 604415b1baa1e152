"""sigstop, two_servers and upgrade: stopped processes, a second server on the same data, and a newer server on older
data."""
import collections
import glob
import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from crash_campaigns import Campaign
from harness import PAWL, until
from load import LEASE_MS
from servers import CampaignServer

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.join(HERE, "..", "golden")


class WorkerProcess:
    """A worker in a process of its own, which can be stopped while it holds jobs."""

    def __init__(self, port, name):
        self.name = name
        self.process = subprocess.Popen([sys.executable, os.path.join(HERE, "worker_process.py"), str(port), name],
                                        stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.split())

    def close(self):
        self.process.kill()
        self.process.wait()


class StoppedWorkers:
    """What worker processes were given and what they were allowed to acknowledge."""

    def __init__(self, server, book):
        self.book = book
        self.workers = [WorkerProcess(server.port, f"process-{i}") for i in range(2)]
        self.holds = {worker.name: None for worker in self.workers}
        self.took = collections.defaultdict(list)  # job → workers, in turn
        self.refused = 0

    def read(self):
        for worker in self.workers:
            while not worker.lines.empty():
                what, job_id, *status = worker.lines.get()
                if what == "took":
                    self.took[job_id].append(worker.name)
                    self.holds[worker.name] = job_id
                elif status == ["200"]:
                    self.book.acked(job_id, worker.name)
                else:
                    self.refused += 1

    def stop_one_past_its_lease(self, client, rng):
        """Its job is given to the other one, and its own acknowledgement comes too late."""
        stopped = rng.choice(self.workers)
        other = next(w for w in self.workers if w is not stopped)
        client.push("slow", [rng.random()], queue="stopped",
                    options={"retry": {"max_attempts": 1000}, "visibility_timeout_ms": LEASE_MS})
        client.push("slow", [rng.random()], queue="stopped",
                    options={"retry": {"max_attempts": 1000}, "visibility_timeout_ms": LEASE_MS})
        self.read()
        stopped.process.send_signal(signal.SIGSTOP)
        end = time.monotonic() + LEASE_MS / 1000 * 1.5
        until(lambda: self.read() or time.monotonic() > end, "the lease to run out")
        stopped.process.send_signal(signal.SIGCONT)
        return other

    def close(self):
        for worker in self.workers:
            worker.close()


def sigstop(cycles, seed):
    campaign = Campaign("sigstop", seed)
    workers = None
    try:
        campaign.begin()
        workers = StoppedWorkers(campaign.server, campaign.load.book)
        client = campaign.server.client()
        for cycle in range(cycles):
            campaign.load.until_operations(50)
            if cycle % 2:
                workers.stop_one_past_its_lease(client, campaign.rng)
                continue
            campaign.server.process.send_signal(signal.SIGSTOP)
            end = time.monotonic() + LEASE_MS / 1000 * 1.25
            until(lambda: time.monotonic() > end, "the leases to run out")
            campaign.server.process.send_signal(signal.SIGCONT)
        until(lambda: workers.read() or client.get("/ojs/v1/queues/stopped/stats").status in (200, 404), "the server")
        campaign.load.stop_producing()
        end = time.monotonic() + 60
        while not campaign.load.idle(client) and time.monotonic() < end:
            until(lambda: workers.read() or True)
        workers.read()
        client.close()
        return campaign.verdict(cycles, "stops past the leases", f"{workers.refused} late acks refused; ")
    finally:
        if workers is not None:
            workers.close()
        campaign.close()


def two_servers(cycles, seed):
    """A second server on the same directory is refused and does no harm."""
    campaign = Campaign("two_servers", seed)
    refused = 0
    try:
        campaign.begin()
        for _ in range(cycles):
            campaign.load.until_operations(20)
            second = subprocess.run([PAWL, "serve", "--listen", "127.0.0.1:0", "--data", campaign.server.data],
                                    capture_output=True, text=True, timeout=60, check=False)
            pid = str(campaign.server.process.pid)
            if second.returncode != 1 or pid not in second.stderr or "in use" not in second.stderr.lower():
                campaign.load.book.violation(f"the second server: exit {second.returncode}, {second.stderr[:300]!r}")
            else:
                refused += 1
        return campaign.verdict(cycles, "second servers", f"{refused} refused with exit code 1 and the first one's pid; ")
    finally:
        campaign.close()


def write_golden(directory, journal):
    """A database as the embedded store lays it out, with nothing in it but an old journal."""
    os.makedirs(directory)
    with open(journal, encoding="ascii") as lines:
        records = [bytes.fromhex(line) for line in lines.read().split()]
    db = sqlite3.connect(os.path.join(directory, "pawl.db"))
    db.executescript("""
        PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA application_id = 0x5061776c;
        CREATE TABLE meta(name TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
        CREATE TABLE kv(space INTEGER NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
                        PRIMARY KEY (space, key)) WITHOUT ROWID;
        CREATE TABLE journal(number INTEGER PRIMARY KEY, record BLOB NOT NULL);
        INSERT INTO meta(name, value) VALUES ('schema', 1);""")
    db.executemany("INSERT INTO journal(number, record) VALUES (?, ?)", enumerate(records, 1))
    db.commit()
    db.close()
    return len(records)


def upgrade(cycles, seed):
    """Every journal that an older version left is started on, worked on, killed, and verified."""
    journals = sorted(glob.glob(os.path.join(GOLDEN, "*.journal")))
    records, violations = 0, []
    for journal in journals:
        server = CampaignServer()
        try:
            records += write_golden(server.data, journal)
            work_on(server, os.path.basename(journal), violations)
        except AssertionError as failure:
            violations.append(f"{os.path.basename(journal)}: {failure}")
        finally:
            server.close()
    print(f"upgrade: {len(journals)} golden journals, {records} records, each started, worked on, killed, started "
          f"again and verified, {len(violations)} failed", flush=True)
    for violation in violations:
        print("  violation: " + violation)
    return len(violations) if journals else 1


def work_on(server, name, violations):
    server.start()
    client = server.client()
    pushed = client.push("work", [name], queue="upgraded")
    taken = client.fetch(["upgraded"], worker_id="upgrade").body["jobs"]
    acked = client.ack(taken[0]["id"], worker_id="upgrade") if taken else None
    if pushed.status != 201 or acked is None or acked.status != 200:
        violations.append(f"{name}: push {pushed.status}, ack {acked and acked.status}")
    for path in ("/ojs/v1/queues", "/ojs/v1/workflows", "/v1/runs", "/ojs/v1/events?limit=1000", "/v1/system"):
        reply = client.get(path)
        if reply.status != 200:
            violations.append(f"{name}: GET {path} got {reply.status} {reply.raw[:200]!r}")
    client.close()
    server.kill()
    server.start()
    job_id = pushed.body["job"]["id"]
    client = server.client()
    state = client.job(job_id).body["job"]["state"]
    client.close()
    if state != "completed":
        violations.append(f"{name}: the job is {state} after a kill")
    if server.stop() != 0:
        violations.append(f"{name}: it does not stop cleanly")
    verified = subprocess.run([PAWL, "verify", "--data", server.data], capture_output=True, text=True, check=False)
    if verified.returncode != 0:
        violations.append(f"{name}: verify says {verified.stdout}{verified.stderr}")
