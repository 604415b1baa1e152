"""The well-behaved client that a hostile campaign watches: a separate process, so that only the server and the machine
can delay it.

    python3 canary.py PORT KEY FILE

Three connections at a steady rate: push, fetch and ack of one job; a small definition run to its end; /health.
Each call is a line in FILE: `kind begin_s wait_ms what`, what being `ok`, `lost` (the connection broke) or what was
wrong with the answer. Times are CLOCK_MONOTONIC, which all processes share.
"""
import http.client
import json
import os
import socket
import sys
import threading
import time

CALL_S_MAX = 60
DEFINITION = {"name": "canary", "steps": [
    {"id": "add", "action": "expr.eval", "params": {"expression": "inputs.n + 1"}},
    {"id": "say", "action": "workflow.log", "depends_on": ["add"], "condition": "steps.add.result > 0",
     "params": {"message": "${{ steps.add.result }}"}}], "outputs": {"n": "steps.add.result"}}


class Refused(Exception):
    pass


class Voice(threading.Thread):
    """One connection, one kind of thing done again and again."""

    def __init__(self, port, key, book, every_s):
        super().__init__(daemon=True)
        self.port, self.book, self.every_s = port, book, every_s
        self.headers = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
        self.connection, self.number, self.pace = None, 0, threading.Event()

    def call(self, kind, method, path, body=None, good=(200, 201)):
        begin = time.monotonic()
        what, answer = "ok", None
        try:
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=CALL_S_MAX)
                self.connection.connect()
                self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
            reply = self.connection.getresponse()
            answer = json.loads(reply.read() or b"null")
            if reply.status not in good:
                code = ((answer or {}).get("error") or {}).get("code", "?") if isinstance(answer, dict) else "?"
                what = f"{reply.status}/{code}"
            if reply.will_close:
                self.hang_up()
        except (OSError, http.client.HTTPException, ValueError):
            what = "lost"
            self.hang_up()
        self.book(kind, begin, (time.monotonic() - begin) * 1000, what)
        if what != "ok":
            raise Refused(what)
        return answer

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def run(self):
        while True:
            self.number += 1
            begin = time.monotonic()
            try:
                self.once()
            except Refused:
                pass
            self.pace.wait(max(0.005, self.every_s - (time.monotonic() - begin)))


class Jobs(Voice):
    def once(self):
        self.call("push", "POST", "/ojs/v1/jobs", {"type": "canary", "args": [self.number],
                                                   "options": {"queue": "canary"}})
        jobs = self.call("fetch", "POST", "/ojs/v1/workers/fetch", {"queues": ["canary"], "count": 5, "worker_id": "canary"})
        for job in jobs["jobs"]:
            self.call("ack", "POST", "/ojs/v1/workers/ack", {"job_id": job["id"], "worker_id": "canary"})


class Runs(Voice):
    def once(self):
        begin = time.monotonic()
        reply = self.call("run", "POST", "/v1/runs", {"definition": "canary", "inputs": {"n": self.number}, "wait": "50s"})
        run = reply.get("run", reply)
        if (run["status"], run.get("output")) != ("completed", {"n": self.number + 1}):
            error = (run.get("error") or {}).get("code", "")
            self.book("run", begin, (time.monotonic() - begin) * 1000, f"{run['status']}/{error}")


class Health(Voice):
    def once(self):
        self.call("health", "GET", "/health")


def main():
    port, key, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    out = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def book(kind, begin, wait_ms, what):
        os.write(out, f"{kind} {begin:.6f} {wait_ms:.3f} {what}\n".encode())

    for voice in (Jobs(port, key, book, 0.04), Runs(port, key, book, 0.08), Health(port, key, book, 0.04)):
        voice.start()
    sys.stdin.read()  # until the campaign ends


if __name__ == "__main__":
    main()
