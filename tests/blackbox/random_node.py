#!/usr/bin/env python3
"""Stands in for `pawl`: a cluster of three nodes that looks like one server, each request going to a node at random.

    random_node.py serve --listen 127.0.0.1:8080 --data DIR [FLAG …]     three nodes and a proxy before them
    random_node.py …                                                     any other command: pawl itself

So every suite that starts servers runs through a random node:

    PAWL=tests/blackbox/random_node.py python3 -m unittest discover -s tests/blackbox -p test_lifecycle.py
    run.py --suites … --spawn 'tests/blackbox/random_node.py serve --listen 127.0.0.1:{port} --data {dir}'

Settings, from the environment: PAWL_RANDOM_NODE_PAWL the program (build/pawl), _DATABASE a URL of a PostgreSQL server in
which each data directory gets a database of its own (else each gets a server), _NODES (3), _PARTITIONS (6). All nodes end
with this process, however it ends; after kill -9 another start on the same directory goes on with the same database.
"""
import asyncio
import hashlib
import http.client
import json
import os
import random
import re
import signal
import subprocess
import sys
import urllib.parse

from harness import LIBC, PR_SET_PDEATHSIG, free_port, until

HERE = os.path.dirname(os.path.abspath(__file__))
PAWL = os.path.abspath(os.environ.get("PAWL_RANDOM_NODE_PAWL", os.path.join(HERE, "../../build/pawl")))
NODES = int(os.environ.get("PAWL_RANDOM_NODE_NODES", "3"))
PARTITIONS = os.environ.get("PAWL_RANDOM_NODE_PARTITIONS", "6")

HEAD_BYTES_MAX = 1 << 20


def dies_with_this_process():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


# --- the proxy

class Proxy:
    """Passes each request on as it is, and its answer as it is; a node that closes the connection in the middle does
    that to the client, too."""

    def __init__(self, ports, rng=random):
        self._ports, self._rng = ports, rng
        self._server = None

    async def listen(self, host, port):
        self._server = await asyncio.start_server(self._client, host, port, limit=HEAD_BYTES_MAX, backlog=1024)

    async def _client(self, reader, writer):
        nodes = {}
        try:
            while await self._request(reader, writer, nodes):
                pass
        except (OSError, EOFError, asyncio.LimitOverrunError):
            pass
        finally:
            for _, to in nodes.values():
                to.close()
            writer.close()

    async def _request(self, reader, writer, nodes):
        """One request and its answer; whether the connection stays."""
        head = await read_head(reader)
        if head is None:
            return False
        port = self._rng.choice(self._ports)
        if port in nodes and nodes[port][0].at_eof():
            nodes.pop(port)[1].close()
        if port not in nodes:
            nodes[port] = await asyncio.open_connection("127.0.0.1", port, limit=HEAD_BYTES_MAX)
        answer, to = nodes[port]
        to.write(head)
        sending = asyncio.ensure_future(self._send_body(head, reader, to))
        answering = asyncio.ensure_future(self._answer(head, answer, writer))
        await asyncio.wait({sending, answering}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done() and not answering.done():
            stays = await self._watch(reader, answering)
        else:
            stays = await answering
        if not sending.done():  # answered before all was sent: what follows is no request
            sending.cancel()
            return False
        sending.result()
        return stays

    @staticmethod
    async def _send_body(head, reader, to):
        async for part in body_of(head, reader):
            to.write(part)
            await to.drain()

    @staticmethod
    async def _watch(reader, answering):
        """The end of the answer, unless the client closes before: the node must see that."""
        while not answering.done():
            if reader.at_eof():
                answering.cancel()
                return False
            await asyncio.wait({answering}, timeout=0.05)
        return answering.result()

    @staticmethod
    async def _answer(head, answer, writer):
        while True:
            reply = await read_head(answer)
            if reply is None:
                return False
            writer.write(reply)
            status = int(reply.split(b" ", 2)[1])
            if status >= 200 or status == 101:
                break
        bodiless = head.startswith(b"HEAD ") or status in (204, 304)
        if not bodiless:
            async for part in body_of(reply, answer, until_end=True):
                writer.write(part)
                await writer.drain()
        await writer.drain()
        return header(reply, b"connection").lower() != b"close"


async def read_head(reader):
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None


def header(head, name):
    found = re.search(rb"\r\n" + name + rb":[ \t]*([^\r\n]*?)[ \t]*\r\n", head, re.IGNORECASE)
    return found.group(1) if found else b""


async def body_of(head, reader, until_end=False):
    """The bytes that follow a head, as they come."""
    if header(head, b"transfer-encoding").lower() == b"chunked":
        while True:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            yield line + await reader.readexactly(size + 2)
            if size == 0:
                return
    length = header(head, b"content-length")
    if length:
        left = int(length)
        while left > 0:
            part = await reader.read(min(left, 1 << 16))
            if not part:
                raise EOFError
            left -= len(part)
            yield part
    elif until_end:
        while part := await reader.read(1 << 16):
            yield part


# --- the nodes

class Nodes:
    def __init__(self, given):
        self.given = given
        self.address = self.take("--listen") or os.environ.get("PAWL_LISTEN") or "127.0.0.1:8080"
        self.data = os.path.abspath(self.take("--data") or "pawl-data")
        os.makedirs(self.data, exist_ok=True)
        self.partitions = self.take("--partitions") or PARTITIONS
        self.processes, self.ports = [], []

    def take(self, flag):
        """Removes a flag and returns its value."""
        for at, word in enumerate(self.given):
            if word == flag:
                value = self.given[at + 1]
                del self.given[at:at + 2]
                return value
            if word.startswith(flag + "="):
                del self.given[at]
                return word[len(flag) + 1:]
        return None

    def database(self):
        server = os.environ.get("PAWL_RANDOM_NODE_DATABASE")
        if server is None:
            return self.own_database()
        name = "pawl_" + hashlib.sha256(self.data.encode()).hexdigest()[:16]
        if not os.path.exists(os.path.join(self.data, "cluster.key")):  # the first start on this directory
            commands = [f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name}"]
            made = subprocess.run(["psql", "-XAtq", server, *(word for one in commands for word in ("-c", one))],
                                  capture_output=True, text=True, check=False)
            if made.returncode != 0:
                sys.exit(made.stderr)
        return urllib.parse.urlsplit(server)._replace(path="/" + name).geturl()

    def own_database(self):
        where = os.path.join(self.data, "postgres")
        self.processes.append(subprocess.Popen([os.path.join(HERE, "../../tools/postgres"), where], stdout=subprocess.DEVNULL,
                                               stderr=subprocess.DEVNULL, preexec_fn=dies_with_this_process))
        url = "postgresql://postgres@/postgres?host=" + urllib.parse.quote(where, safe="")

        def answers():
            if self.processes[0].poll() is not None:
                sys.exit("PostgreSQL ended; is it installed?")
            return subprocess.run(["psql", "-XAtq", url, "-c", "SELECT 1"], capture_output=True, check=False).returncode == 0
        until(answers, "PostgreSQL")
        return url

    def key(self):
        path = os.path.join(self.data, "cluster.key")
        if not os.path.exists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
                key.write(os.urandom(32))
        return path

    def await_former(self):
        """After kill -9 of this program its nodes die a moment later."""
        try:
            with open(os.path.join(self.data, "pids"), encoding="ascii") as pids:
                former = pids.read().split()
        except OSError:
            return
        until(lambda: not any(self.is_node(pid) for pid in former), "the end of former nodes")

    @staticmethod
    def is_node(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words:
                return b"--cluster-key" in words.read()
        except OSError:
            return False

    def start(self):
        self.await_former()
        database, key = self.database(), self.key()
        environment = {name: value for name, value in os.environ.items() if name not in ("PAWL_LISTEN", "PAWL_DATA", "PAWL_STORE")}
        nodes = []
        for number in range(NODES):
            self.ports.append(free_port())
            nodes.append(subprocess.Popen(
                [PAWL, "serve", "--listen", f"127.0.0.1:{self.ports[-1]}", "--data", os.path.join(self.data, f"node{number}"), "--work-root",
                 os.path.join(self.data, "work"), "--store", database, "--cluster-key", key, "--node", f"n{number}",
                 "--partitions", self.partitions, *self.given],
                stdout=subprocess.PIPE, env=environment, preexec_fn=dies_with_this_process))
        self.processes = nodes + self.processes
        with open(os.path.join(self.data, "pids"), "w", encoding="ascii") as pids:
            pids.write(" ".join(str(node.pid) for node in nodes))
        for node in nodes:
            line = node.stdout.readline().decode()
            found = re.search(r"listening on (https?)://\S*(.*)", line)
            if not found:
                sys.exit(node.wait() or 1)
        return found.groups()

    def await_served(self):
        """Until all nodes see all partitions served."""
        for port in self.ports:
            until(lambda: all(one["state"] == "serving" for one in self.partitions_at(port) or [{"state": None}]),
                  "every partition served")

    @staticmethod
    def partitions_at(port):
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/v1/cluster", headers={"Authorization": f"Bearer {os.environ.get('PAWL_API_KEY', '')}"})
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return json.loads(content)["partitions"] if reply.status == 200 else []

    def stop(self, number):
        """One after the other, as PostgreSQL goes last; the worst exit code."""
        codes = []
        for process in self.processes[:NODES]:
            process.send_signal(number)
        for process in self.processes[:NODES]:
            codes.append(process.wait())
        for process in self.processes[NODES:]:
            process.send_signal(signal.SIGINT)
            process.wait()
        return max(codes, key=abs)


async def serve(nodes, rest):
    host, _, port = nodes.address.rpartition(":")
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    proxy = Proxy(nodes.ports)
    await proxy.listen(host, int(port))
    print(f"pawl listening on http://{nodes.address}{rest}", flush=True)
    await ended.wait()
    code = await loop.run_in_executor(None, nodes.stop, signal.SIGTERM)
    os._exit(code if code >= 0 else 128 - code)


def main():
    if sys.argv[1:2] != ["serve"] or "--help" in sys.argv:
        os.execv(PAWL, [PAWL, *sys.argv[1:]])
    nodes = Nodes(sys.argv[2:])
    scheme, rest = nodes.start()
    if scheme != "http":
        sys.exit("random_node.py does not speak TLS")
    nodes.await_served()
    asyncio.run(serve(nodes, rest))


if __name__ == "__main__":
    main()
