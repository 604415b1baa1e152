"""Base of tests of further Open Job Spec endpoints: a server, its calls, and subscribers to its events."""
import json
import socket
import threading
import unittest

from harness import DEADLINE_S, Server, new_id

OJS = "/ojs/v1"


class Events(threading.Thread):
    """A subscriber: collects (name, data, id) until the server ends the stream or close() is called."""

    def __init__(self, port, path, headers=()):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Accept: text/event-stream", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.stream = self.socket.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        self.headers = {}
        for line in iter(self.stream.readline, b"\r\n"):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()
        self.events, self.ended = [], False
        self.start()

    def chunks(self):
        if "content-length" in self.headers:
            yield self.stream.read(int(self.headers["content-length"]))
            return
        if self.headers.get("transfer-encoding") != "chunked":
            return
        while size := int(self.stream.readline() or b"0", 16):
            yield self.stream.read(size)
            self.stream.readline()

    def run(self):
        text = b""
        try:
            for chunk in self.chunks():
                text += chunk
                while b"\n\n" in text:
                    block, text = text.split(b"\n\n", 1)
                    self.take(block.decode())
            self.ended = True
        except OSError:
            pass

    def take(self, block):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if "data" in fields:
            self.events.append((fields["event"], json.loads(fields["data"]), fields["id"]))

    def names(self):
        return [name for name, _, _ in self.events]

    def close(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended already
        self.join()
        self.stream.close()
        self.socket.close()


class Endpoints(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=cls.arguments)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)
        self.queue = "q-" + new_id()[-12:]

    def push(self, **more):
        return self.client.push(queue=self.queue, **more).body["job"]["id"]

    def work(self, result=None):
        job = self.client.fetch([self.queue], worker_id="w").body["jobs"][0]["id"]
        self.client.ack(job, result=result)
        return job

    def break_one(self):
        job = self.client.fetch([self.queue]).body["jobs"][0]["id"]
        self.client.nack(job, error={"code": "no", "message": "no", "retryable": False})
        return job

    def patch(self, path, body, **more):
        return self.client.call("PATCH", OJS + path, body=body, **more)

    def subscribe(self, path, **more):
        events = Events(self.server.port, OJS + path, **more)
        self.addCleanup(events.close)
        return events

    def refused(self, reply, status, words=""):
        self.assertEqual(reply.status, status, reply.raw)
        self.assertIn(words, reply.body["error"]["message"])
