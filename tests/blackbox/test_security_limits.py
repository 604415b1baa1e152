"""Every limit of the server, and every request that two parsers could read in two ways, as tables.

A refused request must have no effect, and nothing hidden inside it may be taken for a separate request: each hidden
request would push a job into the queue "smuggled".
"""
import gzip
import json
import socket
import threading
import unittest

from harness import DEADLINE_S, SANITIZED, Server, encode, read_reply

PUSH = b'{"type":"a.b","args":[],"options":{"queue":"smuggled"}}'
HIDDEN = (b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(PUSH)) + PUSH
POST = b"POST /ojs/v1/jobs/batch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


class Raw(unittest.TestCase):
    arguments = ()

    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=cls.arguments)
        cls.addClassCleanup(cls.server.close)
        cls.server.start()


class Smuggling(Raw):
    def tearDown(self):
        client = self.server.client()
        self.assertEqual(client.fetch(["smuggled"]).body["jobs"], [], "a hidden request was taken for one")
        client.close()

    # What is behind the head is the hidden request, so that whoever misreads the framing runs it.
    REFUSED = {
        "length and chunked": (b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "chunked and length": (b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", b"0\r\n\r\n" + HIDDEN),
        "chunked, and a length of 0": (b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "two lengths": (b"Content-Length: 0\r\nContent-Length: 200\r\n", HIDDEN),
        "the same length twice": (b"Content-Length: 0\r\nContent-Length: 0\r\n", HIDDEN),
        "a list of lengths": (b"Content-Length: 0, 0\r\n", HIDDEN),
        "length with plus": (b"Content-Length: +0\r\n", HIDDEN),
        "length with minus": (b"Content-Length: -0\r\n", HIDDEN),
        "length in hex": (b"Content-Length: 0x0\r\n", HIDDEN),
        "length with a blank inside": (b"Content-Length: 0 0\r\n", HIDDEN),
        "length that is empty": (b"Content-Length: \r\n", HIDDEN),
        "length that wraps": (b"Content-Length: 18446744073709551616\r\n", HIDDEN),
        "length in other digits": ("Content-Length: ٠\r\n".encode(), HIDDEN),
        "coding twice": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "coding in a list": (b"Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n" + HIDDEN),
        "identity first": (b"Transfer-Encoding: identity, chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "identity": (b"Transfer-Encoding: identity\r\n", HIDDEN),
        "xchunked": (b"Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "quoted": (b'Transfer-Encoding: "chunked"\r\n', b"0\r\n\r\n" + HIDDEN),
        "with a vertical tab": (b"Transfer-Encoding: \x0bchunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "with a NUL": (b"Transfer-Encoding: chunked\x00\r\n", b"0\r\n\r\n" + HIDDEN),
        "blank before the colon": (b"Transfer-Encoding : chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "tab before the colon": (b"Content-Length\t: 0\r\n", HIDDEN),
        "folded": (b"X-A: b\r\n Transfer-Encoding: chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "folded with a tab": (b"X-A: b\r\n\tContent-Length: 0\r\n", HIDDEN),
        "folded coding": (b"Transfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n" + HIDDEN),
        "folded at once": (b" X-A: b\r\n", HIDDEN),
        "bare LF": (b"X-A: b\nContent-Length: 0\r\n", HIDDEN),
        "bare LF at the end": (b"Content-Length: 0\r\n\n", HIDDEN),
        "bare CR": (b"X-A: b\rContent-Length: 0\r\n", HIDDEN),
        "CR CR LF": (b"X-A: b\r\r\n", HIDDEN),
        "NUL in a name": (b"X\x00A: b\r\n", HIDDEN),
        "no name": (b": b\r\n", HIDDEN),
        "no colon": (b"X-A b\r\n", HIDDEN),
        "two hosts": (b"Host: localhost2\r\n", HIDDEN),
        "bytes above ASCII in a name": ("X-é: b\r\n".encode(), HIDDEN),
        "upgrade in a coding": (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", b"0\r\n\r\n" + HIDDEN),
    }

    def test_heads_that_can_be_read_in_two_ways(self):
        for name, (head, rest) in self.REFUSED.items():
            with self.subTest(name):
                statuses = self.server.raw(POST + head + b"\r\n" + rest)
                self.assertTrue(len(statuses) == 1 and statuses[0] in (400, 413, 501), statuses)

    CHUNKED = {
        "size in blanks": b" 0\r\n\r\n", "size with minus": b"-1\r\n", "size with 0x": b"0x0\r\n\r\n", "size empty": b"\r\n\r\n",
        "size wraps": b"10000000000000000\r\n", "size of seventeen digits": b"00000000000000001\r\nx\r\n0\r\n\r\n",
        "bare LF after the size": b"0\n\r\n", "bare LF after the data": b"1\r\nx\n0\r\n\r\n", "data too long": b"1\r\nxy\r\n0\r\n\r\n",
        "data too short": b"3\r\nx\r\n0\r\n\r\n", "bare CR after the size": b"1\rx\r\n0\r\n\r\n", "size in other digits": "٠\r\n\r\n".encode(),
        "trailer folded": b"0\r\nX: a\r\n b\r\n\r\n", "trailer without colon": b"0\r\nnonsense\r\n\r\n", "bare LF as the end": b"0\r\n\n",
        "trailer with bare LF": b"0\r\nX: a\n\r\n", "NUL in the extension": b"0;\x00\r\n\r\n", "LF in the extension": b"0;a\nb\r\n\r\n",
        "CR in the extension": b"0;a\rb\r\n\r\n",
    }

    def test_chunks_that_can_be_read_in_two_ways(self):
        for name, body in self.CHUNKED.items():
            with self.subTest(name):
                statuses = self.server.raw(POST + b"Transfer-Encoding: chunked\r\n\r\n" + body + HIDDEN)
                self.assertEqual(statuses, [400], name)

    def test_request_lines(self):
        for name, line in {"bare LF": b"GET /health HTTP/1.1\nHost: localhost\n\n", "tab": b"GET\t/health\tHTTP/1.1\r\nHost: localhost\r\n\r\n",
                           "two blanks": b"GET  /health HTTP/1.1\r\nHost: localhost\r\n\r\n", "blank behind": b"GET /health HTTP/1.1 \r\nHost: localhost\r\n\r\n",
                           "blank in the target": b"GET /hea lth HTTP/1.1\r\nHost: localhost\r\n\r\n", "no version": b"GET /health\r\nHost: localhost\r\n\r\n",
                           "lower case": b"GET /health http/1.1\r\nHost: localhost\r\n\r\n", "version 1.10": b"GET /health HTTP/1.10\r\nHost: localhost\r\n\r\n",
                           "version 01.1": b"GET /health HTTP/01.1\r\nHost: localhost\r\n\r\n", "NUL": b"GET /hea\x00lth HTTP/1.1\r\nHost: localhost\r\n\r\n",
                           "no target": b"GET HTTP/1.1\r\nHost: localhost\r\n\r\n", "0.9": b"GET /\r\n\r\n", "no host": b"GET /health HTTP/1.1\r\n\r\n",
                           "empty lines": b"\r\n\r\n\r\n" + GET + b"\r\n", "blank first": b" GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
                           "a head of a head": b"GET /health HTTP/1.1\r\nHost: localhost\r\n\x00\r\n\r\n"}.items():
            with self.subTest(name):
                statuses = self.server.raw(line + HIDDEN)
                self.assertTrue(len(statuses) == 1 and statuses[0] in (400, 505), statuses)

    def test_what_is_clear_is_taken_as_it_is(self):
        """The other side: what a strict reader and a lenient one agree about is served, pipelined or not."""
        for name, data in {"blanks around a value": GET + b"X-A: \t b \t \r\n\r\n", "chunked in capitals": GET + b"Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
                           "trailer": GET + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(b"x") + b"0\r\nX-T: 1\r\n\r\n",
                           "extension": GET + b'Transfer-Encoding: chunked\r\n\r\n1;a="b"\r\nx\r\n0\r\n\r\n',
                           "absolute form": b"GET http://x/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "one empty line before": b"\r\n" + GET + b"\r\n",
                           "body of a GET": GET + b"Content-Length: %d\r\n\r\n" % len(HIDDEN) + HIDDEN}.items():
            with self.subTest(name):
                self.assertEqual(self.server.raw(data + GET + b"\r\n"), [200, 200])

    def test_a_refusal_ends_the_connection(self):
        for head in (b"Content-Length: 5x\r\n", b"X-A b\r\n"):
            self.assertEqual(len(self.server.raw(GET + b"\r\n" + POST + head + b"\r\n" + HIDDEN * 3)), 2)


class Limits(Raw):
    arguments = ("--limits-body-bytes", "64KiB", "--limits-connections", "40")

    def test_each_limit_on_both_sides(self):
        post = b"POST /v1/definitions/validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        body = json.dumps({"definition": {"name": "x" * 1000, "steps": [{"id": "a", "action": "jq", "params": {"expression": ".", "data": "y" * 60000}}]}}).encode()
        long = body + b" " * (65536 - len(body))
        bomb = gzip.compress(bytes(50_000_000))
        coded = b"Content-Encoding: gzip\r\n"
        for name, fine, too_much, status in (
            ("header count", GET + b"X: y\r\n" * 99 + b"\r\n", GET + b"X: y\r\n" * 100 + b"\r\n", 431),
            ("header bytes", GET + b"X: " + b"y" * 30_000 + b"\r\n\r\n", GET + b"X: " + b"y" * 33_000 + b"\r\n\r\n", 431),
            ("target", b"GET /health?" + b"y" * 8000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"GET /health?" + b"y" * 8200 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
            ("body", post + b"Content-Length: %d\r\n\r\n" % len(long) + long, post + b"Content-Length: %d\r\n\r\n" % (len(long) + 1) + long + b" ", 413),
            ("chunked body", post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(long[:999]) + chunk(long[999:]) + b"0\r\n\r\n",
             post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(long) + chunk(b" ") + b"0\r\n\r\n", 413),
            ("inflated body", post + coded + b"Content-Length: %d\r\n\r\n" % len(gzip.compress(long, mtime=0)) + gzip.compress(long, mtime=0),
             post + coded + b"Content-Length: %d\r\n\r\n" % len(bomb) + bomb, 413),
        ):
            with self.subTest(name):
                self.assertEqual(self.server.raw(fine), [200])
                self.assertEqual(self.server.raw(too_much), [status])

    def test_one_byte_chunks_are_only_slow(self):
        data = GET + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(b" ") * 60_000 + b"0\r\n\r\n"
        self.assertEqual(self.server.raw(data), [200])

    def test_promises_of_large_bodies_cost_nothing(self):
        """Forty clients that announce the largest body and send none of it."""
        before = self.server.rss_kb()
        waiting = []
        try:
            for _ in range(30):
                connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)
                waiting.append(connection)
                connection.sendall(POST + b"Content-Length: 65536\r\n\r\n[")
            self.assertEqual(self.server.raw(GET + b"\r\n"), [200])
            if not SANITIZED:
                self.assertLess(self.server.rss_kb() - before, 40_000)
        finally:
            for connection in waiting:
                connection.close()

    def test_more_pipelined_requests_than_are_read_at_once(self):
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as connection:
            count = 5000
            writer = threading.Thread(target=connection.sendall, args=((GET + b"\r\n") * count,), daemon=True)
            writer.start()
            with connection.makefile("rb") as stream:
                self.assertEqual({read_reply(stream)[0] for _ in range(count)}, {200})
            writer.join()

    def test_a_parked_request_stops_the_pipeline_not_the_server(self):
        body = json.dumps({"queues": ["never"], "wait_ms": 60000}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as connection:
            connection.sendall(encode("POST", "/ojs/v1/workers/fetch", body) * 200)
            self.assertEqual(self.server.raw(GET + b"\r\n"), [200])

    def test_connections_beyond_the_limit_are_told(self):
        held = []
        try:
            refused = None
            while refused is None and len(held) < 200:
                connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)
                held.append(connection)
                connection.sendall(GET + b"\r\n")
                with connection.makefile("rb") as stream:
                    status, closing = read_reply(stream)
                if status != 200:
                    refused = (status, closing)
            self.assertEqual(refused, (503, True))
            self.assertLessEqual(len(held), 41)
        finally:
            for connection in held:
                connection.close()
        self.server_answers()

    def server_answers(self):
        while True:  # the closed ones are counted until the server has seen it
            if self.server.raw(GET + b"\r\n") == [200]:
                return


if __name__ == "__main__":
    unittest.main()
