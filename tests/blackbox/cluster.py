"""Several nodes over one PostgreSQL, each a real process: start, kill -9, stop and go on, cut off, and a client that
calls any of them as a sensible client does.

The database is a private one with fsync on (postgres_database). Nodes know each other by the address of a Gate, a TCP
proxy of a node's own: it lets the other nodes through, or cuts them off; clients go to the node itself.
"""
import os
import random
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
import unittest

from harness import DEADLINE_S, Client, Server, TimedOut, free_port, until
from postgres_database import Database, postgres_programs


def needs_postgres():
    """Skips the tests of a module where PostgreSQL's server is missing."""
    if postgres_programs() is None:
        raise unittest.SkipTest("there is no PostgreSQL server here; `tools/setup test` installs one")


class Gate:
    """Listens where a node is advertised and passes connections on to it, until it is closed: then the ones at hand are
    reset and new ones refused ("refuse"), or nothing moves any more ("hang"), as behind a firewall."""

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", free_port()), backlog=64)
        self.port = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs, self._mode, self._closing = set(), None, False
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def cut(self, mode="refuse"):
        with self._lock:
            self._mode = mode
            pairs, self._pairs = self._pairs, set()
        for pair in pairs:
            if mode == "refuse":
                self._reset(pair)
            else:
                pair[0].shutdown(socket.SHUT_RD)  # wakes the thread, which holds the sockets from then on

    def mend(self):
        with self._lock:
            self._mode = None

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with self._lock:
            mode = self._mode
        if mode == "hang":
            return self._hold((client,))
        if mode == "refuse":
            return self._reset((client,))
        try:
            server = socket.create_connection(("127.0.0.1", self._target), timeout=DEADLINE_S)
        except OSError:
            return self._reset((client,))
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        pair = (client, server)
        with self._lock:
            self._pairs.add(pair)
        self._move(pair)
        with self._lock:
            self._pairs.discard(pair)
            hang = self._mode == "hang"
        return self._hold(pair) if hang else self._reset(pair)

    def _move(self, pair):
        client, server = pair
        other = {client: server, server: client}
        try:
            while True:
                for one in select.select(pair, [], [], 1)[0]:
                    data = one.recv(1 << 16)
                    if not data or self._mode is not None:
                        return
                    other[one].settimeout(DEADLINE_S)
                    other[one].sendall(data)
        except (OSError, ValueError):
            pass

    def _hold(self, sockets):
        never = threading.Event()
        while self._mode == "hang" and not self._closing:
            never.wait(0.05)
        self._reset(sockets)

    @staticmethod
    def _reset(sockets):
        for one in sockets:
            try:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            one.close()

    def close(self):
        self._closing = True
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        self.cut()


class Node(Server):
    """One node. Its data directory outlives every kill."""

    def __init__(self, cluster, name, args):
        super().__init__(args)
        self.name, self.gate, self.frozen = name, None, False
        self._args += ["--store", cluster.database.url(), "--cluster-key", cluster.database.key(), "--node", name]
        if cluster.gated:
            self.gate = Gate(self.port)
            self._args += ["--advertise", self.gate.url()]

    def freeze(self):
        """SIGSTOP, and returns when all its threads stand still."""
        self.frozen = True
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)
        self.frozen = False

    def kill(self):
        super().kill()
        self.frozen = False

    def reachable(self):
        return self.alive() and not self.frozen

    def close(self):
        if self.gate is not None:
            self.gate.close()
        if self.frozen and self.alive():
            self.thaw()
        super().close()


class Cluster:
    """Nodes n1, n2, … over one database; made and started by the thread that outlives them. Looks like a Server to
    those who only want a client()."""

    def __init__(self, nodes=3, partitions=6, args=(), database=None, gated=False):
        self.database = database or Database()
        self._own_database = database is None
        self.partitions, self.gated, self._node_args = partitions, gated, list(args)
        self.headers = {}
        if "--api-key" in self._node_args:
            self.headers["Authorization"] = f"Bearer {self._node_args[self._node_args.index('--api-key') + 1]}"
        self.work_root = tempfile.mkdtemp(prefix="pawl-cluster-work-")
        self.nodes = []
        for number in range(nodes):
            self.add(f"n{number + 1}")

    def add(self, name):
        node = Node(self, name, [*self._node_args, "--partitions", str(self.partitions), "--work-root", self.work_root])
        self.nodes.append(node)
        return node

    def start(self):
        for node in self.nodes:
            node.spawn()
        for node in self.nodes:
            node.await_ready()
        self.await_served()
        return self

    def up(self):
        return [node for node in self.nodes if node.reachable()]

    def alive(self):
        return bool(self.up())

    def view(self, node=None):
        """What a node tells of the cluster; None if it does not answer."""
        client = (node or random.choice(self.up())).client(headers=self.headers)
        try:
            reply = client.get("/v1/cluster", timeout_s=5)
            return reply.body if reply.status == 200 else None
        except Client.FAILURES:
            return None
        finally:
            client.close()

    def owners(self, node=None):
        """partition → owner that serves it, as a node tells."""
        view = self.view(node)
        return {one["id"]: one["owner"] for one in view["partitions"] if one["state"] == "serving"} if view else {}

    def await_served(self, deadline_s=DEADLINE_S):
        """Until nodes that can be reached serve all partitions, and each of these nodes says so."""
        def served():
            names = {node.name for node in self.up()}
            return all(len(owners) == self.partitions and set(owners.values()) <= names
                       for owners in (self.owners(node) for node in self.up()))
        until(served, "every partition served", deadline_s)

    def await_balanced(self):
        """Until each node has its share."""
        share = -(-self.partitions // len(self.up()))

        def balanced():
            owners = list(self.owners().values())
            return len(owners) == self.partitions and all(owners.count(node.name) <= share for node in self.up())
        until(balanced, "a balance")

    def node(self, name):
        return next(node for node in self.nodes if node.name == name)

    def client(self, **more):
        return AnyNode(self, **{"headers": self.headers, **more})

    def close(self):
        for node in self.nodes:
            node.close()
        if self._own_database:
            self.database.close()
        shutil.rmtree(self.work_root, ignore_errors=True)


class AnyNode(Client):
    """A client that calls a node at random, each time another one.

    With `retries` it calls again as sensible clients do: a refused connection and partition_unavailable have done
    nothing; all else is repeated only if it is a GET or has an Idempotency-Key. Without, it takes what it gets.
    """

    def __init__(self, cluster, headers=None, retries=True, rng=random, patience_s=DEADLINE_S):
        super().__init__(None, headers)
        self._cluster, self._retries, self._rng, self._patience_s = cluster, retries, rng, patience_s
        self._clients = {}
        self.retried = 0
        self.node = None  # that was called last
        self.sent_s = 0   # when that was

    def call(self, method, path, body=None, headers=None, raw=None, timeout_s=DEADLINE_S):
        safe = method in ("GET", "HEAD") or any(name.lower() == "idempotency-key" for name in headers or {})
        end, never = time.monotonic() + self._patience_s, threading.Event()
        while True:
            failure = reply = None
            self.sent_s = time.monotonic()
            try:
                reply = self._one().call(method, path, body, headers, raw, timeout_s)
            except ConnectionRefusedError as refused:
                failure = refused
            except self.FAILURES as unknown:
                if not (self._retries and safe):
                    raise
                failure = unknown
            if reply is not None and not (reply.status == 503 and (safe or code_of(reply) == "partition_unavailable")):
                return reply
            if not self._retries or time.monotonic() > end:
                if failure is not None:
                    raise failure
                return reply
            self.retried += 1
            never.wait(self._rng.uniform(0.02, 0.1))

    def _one(self):
        nodes = self._cluster.up()
        if not nodes:
            raise ConnectionRefusedError("no node is up")
        self.node = self._rng.choice(nodes)
        if self.node.port not in self._clients:
            self._clients[self.node.port] = Client(self.node.port, self.headers)
        client = self._clients[self.node.port]
        kept = client._connection
        if kept is not None and kept.sock is not None and select.select([kept.sock], [], [], 0)[0]:
            client.close()  # the node has closed it: nothing was sent on it yet
        return client

    def close(self):
        for client in self._clients.values():
            client.close()


def code_of(reply):
    error = reply.body.get("error") if isinstance(reply.body, dict) else None
    return error.get("code") if isinstance(error, dict) else error
