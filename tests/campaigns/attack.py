"""Shared by the generators of a hostile campaign: their list, and their helpers."""
import base64
import collections
import http.client
import json
import random
import socket
import threading
import time

GENERATORS = {}


def generator(function):
    GENERATORS[function.__name__] = function
    return function


class Attack:
    """One generator's means: its random numbers, its connections, and how long it has."""

    def __init__(self, port, write_key, read_key, seed, seconds, name):
        self.port, self.write_key, self.read_key = port, write_key, read_key
        self.rng = random.Random(f"{seed}/{name}")
        self.end = time.monotonic() + seconds
        self.answers = collections.Counter()
        self.never = threading.Event()
        self.connection, self.open = None, []

    def left(self):
        return self.end - time.monotonic()

    def goes_on(self):
        return self.left() > 0

    def idle(self, seconds):
        self.never.wait(max(0, min(seconds, self.left())))

    def text(self, size):
        """So many letters: all the same, or such as no compression makes less of."""
        if self.rng.random() < 0.5:
            return "x" * size
        return base64.b64encode(self.rng.randbytes(size * 3 // 4 + 3)).decode()[:size]

    def send(self, method, path, body=None, key=None, headers=None, raw=None):
        """One call with a write key (or another; "" for none). The body of the answer, or None."""
        key = self.write_key if key is None else key
        sent = {"Content-Type": "application/json", **({"Authorization": "Bearer " + key} if key else {}), **(headers or {})}
        data = raw if raw is not None else None if body is None else json.dumps(body)
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=max(0.2, self.left() + 0.2))
        try:
            self.connection.request(method, path, data, sent)
            reply = self.connection.getresponse()
            text = reply.read()
            self.answers[str(reply.status)] += 1
            if reply.will_close:
                self.hang_up()
            return json.loads(text) if text[:1] == b"{" else None
        except (OSError, http.client.HTTPException, ValueError) as failure:
            self.answers[type(failure).__name__] += 1
            self.hang_up()
            return None

    def hang_up(self):
        if self.connection is not None:
            self.connection.close()
        self.connection = None

    def begin(self, *steps, inputs=None, query="?lenient=true", **definition):
        """Starts a run of an inline definition."""
        reply = self.send("POST", "/v1/runs" + query, {"definition": {"steps": list(steps), **definition}, "inputs": inputs or {}})
        return (reply or {}).get("run", reply or {}).get("id", "none")

    def socket(self):
        one = socket.create_connection(("127.0.0.1", self.port), timeout=5)
        self.open.append(one)
        return one

    def head(self, method, path, key=None, **headers):
        """A request's head, as it goes over the wire."""
        key = self.write_key if key is None else key
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        lines += [f"Authorization: Bearer {key}"] if key else []
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode()
