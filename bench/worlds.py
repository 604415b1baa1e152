#!/usr/bin/env python3
"""Module worlds under load: a counter with many instances, one event a request, fsync on.

worlds.py PAWL COUNTER_WASM [--events N] [--keys K] [--clients C] [--idle I] [--port P]

PAWL is the server's binary, COUNTER_WASM what `make test` leaves in build/worlds/counter.wasm. Prints events per second
and per server CPU-second (each event is one step), the latency of one event at a time beside that of one fdatasync, how
fast a replay decides the whole history again, and the memory of a server with I instances that nobody calls.
"""
import argparse
import base64
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

DEPTH = 16  # requests that a connection has under way
LENGTH = re.compile(rb"[Cc]ontent-[Ll]ength: (\d+)")


def program(wasm):
    with open(wasm, "rb") as code:
        module = {"$kind": "defmodule", "name": "bench/counter@1", "module_kind": "workflow", "key_schema": "bench/Id@1",
                  "wasm_b64": base64.b64encode(code.read()).decode(),
                  "abi": {"workflow": {"state": "bench/Count@1", "event": "bench/Tick@1"}}}
    nodes = [{"$kind": "defschema", "name": "bench/Tick@1", "type": {"record": {"id": {"text": {}}, "by": {"nat": {}}}}},
             {"$kind": "defschema", "name": "bench/Id@1", "type": {"text": {}}},
             {"$kind": "defschema", "name": "bench/Count@1", "type": {"nat": {}}}, module]
    route = {"event": "bench/Tick@1", "module": "bench/counter@1", "key_field": "id"}
    return {"name": "bench", "manifest": {"air_version": "1", "routing": {"subscriptions": [route]}}, "nodes": nodes}


def tick(key):
    return {"schema": "bench/Tick@1", "value": {"id": key, "by": 1}}


class Server:
    def __init__(self, pawl, port):
        self.port = port
        self.data = tempfile.mkdtemp(prefix="pawl-bench-")
        self.process = subprocess.Popen([pawl, "serve", "--listen", f"127.0.0.1:{port}", "--data", self.data],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.process.stdout.readline()  # the ready line

    def call(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        if reply.status not in (200, 201):
            raise SystemExit(f"{path}: {reply.status} {text[:500]}")
        return json.loads(text)

    def cpu(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mib(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.data)


def fdatasync_ms(directory):
    """The median of 300 appends of a page, each synced: what one commit costs at least."""
    took = []
    with open(os.path.join(directory, "probe"), "wb", buffering=0) as probe:
        for _ in range(300):
            probe.write(bytes(4096))
            begun = time.monotonic()
            os.fdatasync(probe.fileno())
            took.append(time.monotonic() - begun)
    return sorted(took)[150] * 1e3


def send(server, count, key_of):
    """One client: keeps DEPTH requests under way on one connection; key_of(n) is the instance of its nth event."""
    peer = socket.create_connection(("127.0.0.1", server.port))
    sent = answered = 0
    read = b""
    while answered < count:
        out = b""
        while sent < count and sent - answered < DEPTH:
            body = json.dumps(tick(key_of(sent))).encode()
            out += (b"POST /v1/worlds/bench/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\n\r\n" % len(body)) + body
            sent += 1
        if out:
            peer.sendall(out)
        read += peer.recv(1 << 16)
        while (head := read.find(b"\r\n\r\n")) >= 0:
            end = head + 4 + int(LENGTH.search(read[:head]).group(1))
            if len(read) < end:
                break
            if not read.startswith(b"HTTP/1.1 200"):
                raise SystemExit(read[:end].decode())
            read = read[end:]
            answered += 1


def load(server, clients, events, key_of):
    """Events of several clients at once; key_of(client, n) is the instance of a client's nth. Seconds and CPU-seconds."""
    threads = [threading.Thread(target=send, args=(server, events // clients, lambda n, c=c: key_of(c, n)))
               for c in range(clients)]
    cpu, begun = server.cpu(), time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.monotonic() - begun, server.cpu() - cpu


def measure_load(server, given):
    events = given.events // given.clients * given.clients
    took, used = load(server, given.clients, events, lambda c, n: f"k{(c * 7919 + n * 31) % given.keys}")
    print(f"{events} events, {given.keys} instances: {events / took:.0f}/s, {events / used:.0f} per server CPU-second, "
          f"{server.memory_mib()} MiB")


def measure_latency(server):
    waits = []
    for _ in range(300):
        begun = time.monotonic()
        server.call("/v1/worlds/bench/events", tick("k0"))
        waits.append(time.monotonic() - begun)
    print(f"one event at a time: p50 {sorted(waits)[150] * 1e3:.2f} ms; one fdatasync: p50 {fdatasync_ms(server.data):.2f} ms")


def measure_replay(server):
    begun, cpu = time.monotonic(), server.cpu()
    frames = server.call("/v1/worlds/bench/replay", {"from": "genesis"})["frames"]
    print(f"replay: {frames} frames, {frames / (time.monotonic() - begun):.0f}/s, "
          f"{frames / (server.cpu() - cpu):.0f} per server CPU-second")


def measure_idle(server, given):
    """Another server with as many instances, each called once; then nobody calls until the memory stands still."""
    if given.idle == 0:
        return
    empty = Server(given.pawl, given.port + 1)
    try:
        empty.call("/v1/worlds", program(given.wasm))
        count = given.idle // given.clients * given.clients
        took, used = load(empty, given.clients, count, lambda c, n: f"key-{c}-{n}")
        loaded = memory = empty.memory_mib()
        for _ in range(12):
            time.sleep(5)
            if memory == (now := empty.memory_mib()) and now < loaded:
                break
            memory = now
        print(f"{count} new instances: {count / used:.0f} per server CPU-second; idle: {memory} MiB")
    finally:
        empty.stop()


def main():
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("pawl")
    given.add_argument("wasm")
    given.add_argument("--events", type=int, default=20_000)
    given.add_argument("--keys", type=int, default=1_000)
    given.add_argument("--clients", type=int, default=16)
    given.add_argument("--idle", type=int, default=100_000)
    given.add_argument("--port", type=int, default=18_080)
    given = given.parse_args()
    server = Server(given.pawl, given.port)
    try:
        server.call("/v1/worlds", program(given.wasm))
        measure_load(server, given)
        measure_latency(server)
        measure_replay(server)
        measure_idle(server, given)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
