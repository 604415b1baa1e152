"""What capacity.py asks of real servers: loads, and what they cost in CPU time, bytes and counts.

Nothing here is a time of the wall clock, except the duration of a commit, so a busy machine changes little. A load is a
function that drives a server with 64 connections, one request each at a time, and tells what it did; `Meter` reads
what that cost: CPU from /proc/PID/stat (the nodes, and PostgreSQL with all its processes, apart), bytes of the journal,
of the database's log and tables, commits, and rows written. Each reading waits until no row is left to write.
"""
import collections
import http.server
import json
import os
import re
import shutil
import signal
import socket
import socketserver
import sqlite3
import subprocess
import tempfile
import threading
import time
import urllib.parse

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CONNECTIONS = 64
LENGTH = re.compile(rb"[Cc]ontent-[Ll]ength: (\d+)")
SMALL = {"user": 4711, "mail": "someone@example.com"}  # the arguments of the other benchmarks' jobs
WORKER = "capacity"


# --- clients

class Peer:
    """A connection with one request under way."""

    def __init__(self, port):
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method, path, body=None):
        data = b"" if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        head = (f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(data)}\r\n\r\n")
        self._socket.sendall(head.encode() + data)

    def receive(self):
        read = b""
        while (end := read.find(b"\r\n\r\n")) < 0:
            read += self._more()
        head, size = read[:end], int(LENGTH.search(read[:end + 2]).group(1))
        parts, missing = [read[end + 4:]], size - (len(read) - end - 4)
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        body = b"".join(parts)
        if not head.startswith(b"HTTP/1.1 20"):
            raise SystemExit(f"{head.decode()}\n{body[:500].decode()}")
        return body

    def _more(self):
        data = self._socket.recv(1 << 18)
        if not data:
            raise SystemExit("the server closed a connection")
        return data

    def call(self, method, path, body=None):
        self.send(method, path, body)
        return self.receive()

    def close(self):
        self._socket.close()


class Clients:
    """Connections to the nodes in turn."""

    def __init__(self, nodes, connections=CONNECTIONS):
        self.names = [nodes[i % len(nodes)].name for i in range(connections)]
        self.peers = [Peer(nodes[i % len(nodes)].port) for i in range(connections)]

    def round(self, calls):
        """One call on each connection, all under way at once; their answers."""
        calls = list(calls)
        for peer, call in zip(self.peers, calls):
            peer.send(*call)
        return [peer.receive() for peer, _ in zip(self.peers, calls)]

    def all(self, calls):
        """All calls, a round after the other; their answers."""
        calls, answers = list(calls), []
        for begin in range(0, len(calls), len(self.peers)):
            answers += self.round(calls[begin:begin + len(self.peers)])
        return answers

    def close(self):
        for peer in self.peers:
            peer.close()


class Responder:
    """A service that actions call: answers each GET with a small object."""

    def __init__(self):
        class Answer(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n"
                                 b'{"good": 1}')

            def log_message(self, *_):
                pass

        class Threads(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads, request_queue_size = True, 256

        self._server = Threads(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()


# --- servers

def cpu_seconds(pid):
    """CPU time of a process and its threads, from what the scheduler counts in nanoseconds: /proc/PID/stat has ticks."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as schedstat:
                total += int(schedstat.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass  # the thread has ended
    return total / 1e9


def cpu_seconds_of_ended_children(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Postgres:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="pawl-capacity-pg-")
        os.chmod(self.directory, 0o755)
        socket_directory = os.path.join(self.directory, "pg")
        self.url = "postgresql://postgres@/postgres?host=" + urllib.parse.quote(socket_directory, safe="")
        self.key = os.path.join(self.directory, "cluster.key")
        with open(os.open(self.key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
            key.write(os.urandom(32))
        self._process = subprocess.Popen([os.path.join(ROOT, "tools/postgres"), socket_directory, "max_wal_size=8GB",
                                          "shared_buffers=256MB", "shared_preload_libraries=pg_stat_statements"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: self.ask("SELECT 1") == "1", "PostgreSQL")
        self.ask("CREATE EXTENSION pg_stat_statements")

    def ask(self, sql):
        answer = subprocess.run(["psql", "-XAtq", self.url, "-c", sql], capture_output=True, text=True)
        return answer.stdout.strip() if answer.returncode == 0 else None

    def cpu(self):
        """Of the server and all its processes, ended ones too."""
        master = self._process.pid
        total = cpu_seconds(master) + cpu_seconds_of_ended_children(master)
        with open(f"/proc/{master}/task/{master}/children", encoding="ascii") as children:
            for child in children.read().split():
                try:
                    total += cpu_seconds(child)
                except (FileNotFoundError, ProcessLookupError):
                    pass  # it is among the ended ones at the next reading
        return total

    def close(self):
        self._process.send_signal(signal.SIGINT)
        self._process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Node:
    def __init__(self, pawl, data, name, arguments):
        self.name, self.port, self.data = name, free_port(), data
        self._log = open(os.path.join(data, name + ".log"), "ab")
        self.process = subprocess.Popen(
            [pawl, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", os.path.join(data, name),
             "--actions-http-allow-private", *arguments], stdout=subprocess.PIPE, stderr=self._log)
        self._peer = None

    def await_ready(self):
        if not self.process.stdout.readline():
            raise SystemExit(f"{self.name} did not start: see {self._log.name}")
        self._peer = Peer(self.port)

    def get(self, path):
        return self._peer.call("GET", path)

    def post(self, path, body):
        return self._peer.call("POST", path, body)

    def metrics(self):
        found = re.findall(r"^(\w+(?:\{[^}]*\})?) (\S+)$", self.get("/metrics").decode(), re.MULTILINE)
        return {name: float(value) for name, value in found}

    def stop(self):
        self._peer.close()
        self.process.terminate()
        self.process.wait()
        self._log.close()


class Servers:
    """Nodes over one store; `store` is sqlite, or postgres with a database of its own."""

    def __init__(self, pawl, store, partitions=1, nodes=1, arguments=()):
        self.store, self.partitions, self._pawl = store, partitions, pawl
        self.data = tempfile.mkdtemp(prefix="pawl-capacity-")
        self.postgres = Postgres() if store == "postgres" else None
        self.nodes = []
        self.start(nodes, arguments)

    def start(self, nodes=1, arguments=()):
        arguments = ["--partitions", str(self.partitions), *arguments]
        if self.postgres:
            arguments += ["--store", self.postgres.url, "--cluster-key", self.postgres.key]
        self.nodes = [Node(self._pawl, self.data, f"n{i + 1}",
                           arguments + (["--node", f"n{i + 1}"] if self.postgres else []))
                      for i in range(nodes)]
        for node in self.nodes:
            node.await_ready()
        share = -(-self.partitions // nodes)
        wait_until(lambda: all(len(self.owned(node)) <= share for node in self.nodes)
                   and sum(len(self.owned(node)) for node in self.nodes) == self.partitions, "a balance", 60)

    def cluster(self):
        return json.loads(self.nodes[0].get("/v1/cluster"))

    def owned(self, node):
        return [one["id"] for one in self.cluster()["partitions"]
                if one["state"] == "serving" and one["owner"] in (node.name, None if self.postgres is None else node.name)
                or self.postgres is None]

    def owner_of(self):
        """A function from an id to the name of the node that has its partition: the last 16 bits tell it."""
        owners = {one["id"]: one["owner"] for one in self.cluster()["partitions"]}
        return lambda identity: owners[int(identity[-4:], 16) % self.partitions]

    def stop_nodes(self):
        for node in self.nodes:
            node.stop()
        self.nodes = []

    def close(self):
        self.stop_nodes()
        if self.postgres:
            self.postgres.close()
        shutil.rmtree(self.data, ignore_errors=True)


def wait_until(is_so, what, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.1)


# --- readings

class Meter:
    """What a load cost. loaded() when its last answer is here: until then the server writes no rows (unless it owes more
    than a partition may); stop() waits for the rows. Each gives what was used since the reading before it."""

    def __init__(self, servers, idle=None):
        self._servers, self._idle = servers, idle or {}
        self._settle()
        self._before = self._bytes_and_counts()
        self._used, self._at = self._now(), time.monotonic()

    def loaded(self):
        return self._since_last()

    def stop(self):
        """And what the whole did to the store."""
        self._settle()
        part = self._since_last()
        after = self._bytes_and_counts()
        return part, {name: after[name] - self._before[name] for name in after}

    def _since_last(self):
        before, began = self._used, self._at
        self._used, self._at = self._now(), time.monotonic()
        seconds = self._at - began
        used = {name: self._used[name] - before[name] for name in before}
        for name, rate in self._idle.items():
            used[name] = max(0.0, used[name] - rate * seconds)
        return {**used, "seconds": seconds}

    def _now(self):
        now = self._cpu_now()
        if self._servers.partitions == 1:
            now["commits"] = self._servers.nodes[0].metrics()["pawl_store_commits_total"]
        return now

    def _cpu_now(self):
        now = {"server_s": sum(cpu_seconds(node.process.pid) for node in self._servers.nodes)}
        if self._servers.postgres:
            now["postgres_s"] = self._servers.postgres.cpu()
        return now

    def _settle(self):
        """Until rows are written: at once with one partition, which its metrics show; else until the log stands still."""
        if self._servers.partitions == 1:
            node = self._servers.nodes[0]
            wait_until(lambda: node.metrics()["pawl_entities_dirty"] == 0, "rows written", 120)
            return
        seen, still = None, 0
        while still < 3:
            time.sleep(0.5)
            now = self._servers.postgres.ask("SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables"
                                             " WHERE relname LIKE 'pawl_kv' OR relname LIKE 'pawl_journal%'")
            still, seen = (still + 1 if now == seen else 0), now

    def _bytes_and_counts(self):
        servers, counts = self._servers, {}
        if servers.partitions == 1:
            metrics = servers.nodes[0].metrics()
            counts["commits"] = metrics["pawl_store_commits_total"]
            counts["journal_bytes"] = metrics["pawl_store_journal_bytes_total"]
            counts["fsyncs"] = metrics["pawl_store_fsyncs_total"]
            counts["sync_s"] = metrics["pawl_store_fsync_seconds_total"]
        if servers.postgres:
            counts.update(self._of_database())
        return counts

    def _of_database(self):
        ask = self._servers.postgres.ask
        self._await_statistics()
        rows = [float(text) for text in ask(
            "SELECT pg_current_wal_lsn() - '0/0', pg_total_relation_size('pawl_kv'), pg_indexes_size('pawl_kv'),"
            " n_tup_ins, n_tup_upd, n_tup_del, n_tup_hot_upd,"
            " (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname ~ '^pawl_journal_\\d+$')"
            " FROM pg_stat_user_tables WHERE relname = 'pawl_kv'").split("|")]
        names = ("wal_bytes", "kv_bytes", "kv_index_bytes", "kv_inserts", "kv_updates", "kv_deletes", "kv_hot_updates",
                 "journal_disk_bytes")
        counts = dict(zip(names, rows))
        # A lookup of one key, for which an engine waits.
        counts["reads"] = float(ask("SELECT coalesce(sum(calls), 0) FROM pg_stat_statements"
                                    " WHERE query LIKE 'SELECT value FROM pawl_kv%'"))
        counts["dead_rows"] = counts["kv_deletes"] + counts["kv_updates"] - counts["kv_hot_updates"]
        counts["rows"] = counts["kv_inserts"] + counts["kv_updates"] + counts["kv_deletes"]
        if self._servers.partitions > 1:
            tables = ask("SELECT string_agg(format('SELECT count(*) n, coalesce(sum(length(record)), 0) b FROM %I', relname),"
                         " ' UNION ALL ') FROM pg_class WHERE relname ~ '^pawl_journal_\\d+$' AND relkind = 'r'")
            records = ask(f"SELECT sum(n), sum(b) FROM ({tables}) all_records")
            counts["commits"], counts["journal_bytes"] = (float(text) for text in records.split("|"))
        return counts


    def _await_statistics(self):
        """A session tells its statistics with a transaction that ends a second after the last time, or after ten seconds."""
        if self._servers.partitions > 1:
            return time.sleep(11)
        time.sleep(1.2)
        self._servers.nodes[0].post("/ojs/v1/jobs", {"type": "bench.nudge", "args": [], "options": {"queue": "nudge"}})
        return time.sleep(0.2)


# --- loads: each tells what it did, in units of the model

def job(payload_bytes=0):
    return {"type": "bench.noop", "args": [SMALL] + (["x" * payload_bytes] if payload_bytes else []),
            "options": {"queue": "bench"}}


def push(clients, requests, jobs_each, payload_bytes=0):
    body = json.dumps(job(payload_bytes) if jobs_each == 1 else {"jobs": [job(payload_bytes)] * jobs_each}).encode()
    path = "/ojs/v1/jobs" if jobs_each == 1 else "/ojs/v1/jobs/batch"
    clients.all([("POST", path, body)] * requests)
    return {"requests": requests, "pushed": requests * jobs_each,
            "payload_kib": requests * jobs_each * payload_bytes / 1024}


def fetch(clients, requests, jobs_each, ids):
    """Appends the ids of what it got to `ids`."""
    body = json.dumps({"queues": ["bench"], "count": jobs_each, "worker_id": WORKER}).encode()
    before = len(ids)
    for answer in clients.all([("POST", "/ojs/v1/workers/fetch", body)] * requests):
        ids += [one["id"] for one in json.loads(answer)["jobs"]]
    return {"requests": requests, "fetched": len(ids) - before}


def ack_one(identity, more=None):
    return {"job_id": identity, "result": {"ok": True}, **(more or {})}


def ack(clients, ids, jobs_each):
    calls = []
    for begin in range(0, len(ids), jobs_each):
        few = ids[begin:begin + jobs_each]
        body = ack_one(few[0]) if jobs_each == 1 else {"acks": [ack_one(one) for one in few]}
        calls.append(("POST", "/ojs/v1/workers/ack", {**body, "worker_id": WORKER}))
    clients.all(calls)
    return {"requests": len(calls), "acked": len(ids)}


def start_chains(clients, chains, steps):
    body = json.dumps({"type": "chain", "name": "bench", "steps": [job()] * steps}).encode()
    clients.all([("POST", "/ojs/v1/workflows", body)] * chains)
    return {"requests": chains, "chains": chains, "chain_jobs": chains * steps}


def work_chains(clients, steps, owner_of=None):
    """Until `steps` jobs are done: each worker acks what it has and fetches the next in the same call. With owner_of(id)
    it counts what its node had to pass on: acks of another node's jobs, and jobs that were fetched from there."""
    want = {"queues": ["bench"], "count": 1, "wait_ms": 0}
    held, done, requests, passed_on = [None] * len(clients.peers), 0, 0, 0
    while done < steps:
        calls = []
        for identity, name in zip(held, clients.names):
            if identity is not None and owner_of:
                passed_on += 2 * (owner_of(identity) != name)  # its fetch and its ack
            if identity is None:
                calls.append(("POST", "/ojs/v1/workers/fetch", {**want, "worker_id": WORKER}))
            else:
                calls.append(("POST", "/ojs/v1/workers/ack", {**ack_one(identity, {"fetch": want}), "worker_id": WORKER}))
                done += 1
        requests += len(calls)
        held = []
        for answer in clients.round(calls):
            got = json.loads(answer).get("jobs") or []
            held.append(got[0]["id"] if got else None)
    return {"requests": requests, "chain_steps": done, "passed_on": passed_on}


def put_definition(clients, name, steps, outside, url=None):
    """Steps one behind the other, `outside` of them calls of a service, spread evenly; the rest is computed."""
    listed = []
    for i in range(steps):
        calls = (i + 1) * outside // steps > i * outside // steps
        step = {"action": "http.get", "params": {"url": url}} if calls else {"action": "crypto.uuid"}
        listed.append({"id": f"s{i}", **step, **({"depends_on": [f"s{i - 1}"]} if i else {})})
    clients.all([("POST", "/v1/definitions", {"name": name, "definition": {"steps": listed}})])


def run_definitions(clients, name, runs, steps, outside):
    body = json.dumps({"definition": name, "wait": "60s"}).encode()
    for answer in clients.all([("POST", "/v1/runs", body)] * runs):
        if b'"status":"completed"' not in answer:
            raise SystemExit(f"a run did not complete: {answer[:1000]}")
    return {"requests": runs, "runs": runs, "steps_computed": runs * (steps - outside), "steps_outside": runs * outside}


def get_jobs(clients, ids):
    clients.all([("GET", "/ojs/v1/jobs/" + identity) for identity in ids])
    return {"requests": len(ids)}


def sqlite_sizes(directory):
    """Bytes of the file, of its records and of its rows, of a server that has ended."""
    path = os.path.join(directory, "pawl.db")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        records = database.execute("SELECT coalesce(sum(length(record)), 0) FROM journal").fetchone()[0]
        rows = database.execute("SELECT coalesce(sum(length(key) + length(value)), 0) FROM kv").fetchone()[0]
    return {"file": os.path.getsize(path), "records": records, "rows": rows}
