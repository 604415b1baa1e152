"""Hostile clients: slow, many, huge, half open, and without a key. See hostile_attacks.py."""
import gzip
import json
import socket
import struct

from attack import generator


@generator
def slow_heads(a):
    sockets = [a.socket() for _ in range(150)]
    head = a.head("GET", "/health", x="y" * 4_000)
    for at in range(len(head)):
        for one in sockets:
            try:
                one.send(head[at:at + 1])
            except OSError:
                pass
        if not a.goes_on():
            return
        a.idle(0.1)


@generator
def slow_bodies(a):
    sockets = [a.socket() for _ in range(100)]
    for one in sockets:
        one.sendall(a.head("POST", "/ojs/v1/jobs", key=a.rng.choice((a.write_key, "", "wrong")), Content_Length=9_000_000, Content_Type="application/json"))
    while a.goes_on():
        for one in sockets:
            try:
                one.send(b"x" * a.rng.choice((1, 1000)))
            except OSError:
                pass
        a.idle(0.05)


@generator
def idle_crowd(a):
    for _ in range(900):
        try:
            a.socket()
        except OSError:
            a.answers["refused"] += 1
    a.idle(a.left())


@generator
def half_open(a):
    while a.goes_on():
        one = a.socket()
        try:
            one.sendall(a.head("POST", "/ojs/v1/jobs", Content_Length=100) + b"{")
            if a.rng.random() < 0.5:
                one.shutdown(socket.SHUT_WR)
            else:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                one.close()
        except OSError:
            pass
        a.idle(0.003)


@generator
def pipelines_nobody_reads(a):
    sockets = [a.socket() for _ in range(20)]
    burst = a.head("GET", a.rng.choice(("/metrics", "/ojs/v1/jobs?limit=1000", "/v1/runs?limit=100"))) * 200
    for one in sockets:
        one.settimeout(0.01)
    while a.goes_on():
        for one in sockets:
            try:
                one.send(burst)
            except OSError:
                pass
        a.idle(0.02)


@generator
def keyless_bodies(a):
    body = b"x" * 65_536
    sockets = [a.socket() for _ in range(30)]
    for one in sockets:
        one.settimeout(0.01)
        one.sendall(a.head("POST", "/ojs/v1/jobs", key=a.rng.choice(("", "wrong")), Content_Length=60_000_000, Content_Type="application/json"))
    while a.goes_on():
        for one in sockets:
            try:
                one.send(body)
            except OSError:
                pass
    a.answers["sent"] += 1


@generator
def gzip_bombs(a):
    bomb = gzip.compress(b'{"type":"t","args":["' + b" " * 60_000_000 + b'"]}', 9)
    while a.goes_on():
        for key in ("", a.write_key, "wrong"):
            a.send("POST", a.rng.choice(("/ojs/v1/jobs", "/v1/runs", "/v1/definitions/validate")), raw=bomb, key=key, headers={"Content-Encoding": "gzip"})


@generator
def chunks(a):
    while a.goes_on():
        one = a.socket()
        one.settimeout(0.5)
        try:
            one.sendall(a.head("POST", "/ojs/v1/jobs", Transfer_Encoding="chunked", Content_Type="application/json"))
            one.sendall(b"1;" + b"e" * 3_000 + b"\r\n{\r\n" + b"1\r\n \r\n" * 50_000 + b"0\r\n\r\n")
            a.answers[one.recv(12).decode("latin-1")] += 1
        except OSError:
            pass
        one.close()


@generator
def wrong_heads(a):
    while a.goes_on():
        head = a.rng.choice((b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
                             a.head("GET", "/health", **{f"h{i}": "v" for i in range(5_000)}), a.head("POST", "/ojs/v1/jobs", Content_Length="5, 6"),
                             a.head("POST", "/v1/runs", Content_Length=5, Transfer_Encoding="chunked") + b"0\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
                             a.head("POST", "/v1/runs", Content_Length=9_000_000, Expect="100-continue"), a.head("GET", "/health", Cookie="c" * 60_000),
                             a.head("GET", "/health", Host="evil"), a.head("GET", "/ojs/v1/events?stream=true", Last_Event_ID="9" * 400)))
        one = a.socket()
        one.settimeout(0.3)
        try:
            one.sendall(head)
            a.answers[one.recv(12)[9:].decode("latin-1")] += 1
        except OSError:
            pass
        one.close()


@generator
def parked_fetches(a):
    body = json.dumps({"queues": ["nothing"], "wait_ms": 60_000}).encode()
    for i in range(400):
        one = a.socket()
        path = "/ojs/v1/workers/fetch" if i % 2 else "/ojs/v1/events?stream=true"
        one.sendall(a.head("POST", path, Content_Length=len(body), Content_Type="application/json") + body if i % 2 else a.head("GET", path))
    while a.goes_on():
        a.send("POST", "/ojs/v1/jobs/batch", {"jobs": [{"type": "t", "args": [], "options": {"queue": "hostile"}}] * 100})


@generator
def calls_without_a_key(a):
    while a.goes_on():
        for _ in range(20):
            a.send(a.rng.choice(("GET", "POST", "DELETE")), a.rng.choice(("/v1/runs", "/ojs/v1/jobs", "/v1/secrets/x", "/metrics")), {"x": "y" * 50_000}, key=a.rng.choice(("", "wrong")))
        a.hang_up()
