"""Requests from hostile clients.

Each must get a clear refusal or a closed connection. The server must stay up, stay small, and keep serving all others;
of the 5xx only 503 (busy) is allowed, any other is our bug.
"""
import json
import os
import random
import socket
import threading
import unittest

from harness import DEADLINE_S, SANITIZED, Pipeline, Server, encode, join_all, new_id, until

REQUESTS = int(os.environ.get("PAWL_HOSTILE_REQUESTS", "30000"))
SEED = int(os.environ.get("PAWL_HOSTILE_SEED", "1"))
CONNECTIONS = 6
RSS_KB_MAX = 512 * 1024

VALUES = [
    None, True, False, 0, -1, 1 << 31, 1 << 63, -(1 << 63) - 1, 10**40, 1e308, -0.0, 1e-320, "", " ", "\x00", "a" * 5000,
    "../../etc/passwd", "' OR 1=1 --", "\ud800", "\u202e", "💥", "9999-99-99T99:99:99Z", "+P99999999999999Y", "PT-1S",
    "2024-02-30T00:00:00Z", [], {}, [[]], [None] * 100, {"": ""}, {"a": {"a": {"a": {}}}}, "*/0 * * * *", "${{ x }}",
]
TEXTS = [b"NaN", b"Infinity", b"-", b"1e999999", b"0x10", b"01", b"'x'", b'"\\ud800"', b'"\\u00"', b'"\x01"', b'"\xff"',
         b"[" * 3000, b'{"a":' * 3000, b"/**/", b"", b",", b"1" * 3000]


def templates():
    """A good request for each way in; every hostile one is a damaged copy."""
    options = {"queue": "hostile", "priority": 1, "timeout_ms": 1000, "delay_until": "+PT1H", "tags": ["a"],
               "retry": {"max_attempts": 3, "initial_interval": "PT1S", "backoff_coefficient": 2.0, "jitter": True,
                         "non_retryable_errors": ["a.*"], "on_exhaustion": "discard"},
               "unique": {"keys": ["type", "args"], "period": "PT1H", "on_conflict": "ignore"}}
    job = {"type": "hostile.job", "args": [1, {"a": "b"}], "meta": {"k": "v"}, "options": options}
    some = new_id(random.Random(SEED))
    return [
        ("POST", "/ojs/v1/jobs", job),
        ("POST", "/ojs/v1/jobs/batch", {"jobs": [job, job]}),
        ("POST", "/ojs/v1/workers/fetch", {"queues": ["hostile"], "count": 1, "worker_id": "w", "visibility_timeout_ms": 1000}),
        ("POST", "/ojs/v1/workers/ack", {"job_id": some, "result": {"a": 1}, "worker_id": "w"}),
        ("POST", "/ojs/v1/workers/ack", {"acks": [{"job_id": some, "result": 1}], "fetch": {"queues": ["hostile"], "count": 2}}),
        ("POST", "/ojs/v1/workers/nack", {"job_id": some, "error": {"code": "c", "message": "m", "details": {}}, "requeue": False}),
        ("POST", "/ojs/v1/workers/heartbeat", {"worker_id": "w", "active_jobs": [some], "visibility_timeout_ms": 1000}),
        ("POST", "/ojs/v1/cron", {"name": "h", "expression": "0 0 1 1 *", "timezone": "UTC", "overlap_policy": "skip",
                                  "job_template": {"type": "hostile.job", "args": [], "options": options}}),
        ("PUT", f"/ojs/v1/jobs/{some}/progress", {"progress": 0.5}),
        ("PUT", f"/ojs/v1/jobs/{some}/checkpoint", {"state": {"a": 1}}),
        ("POST", "/ojs/v1/queues/hostile/resume", {}),
        ("GET", "/ojs/v1/events?types=job.enqueued&queues=hostile&limit=5", None),
        ("GET", "/ojs/v1/dead-letter?queue=hostile&limit=5", None),
        ("GET", f"/ojs/v1/jobs/{some}", None),
    ]


def places(value, path=()):
    """Every path into a JSON value."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    elif isinstance(value, list):
        for index in range(len(value)):
            yield from places(value[index], path + (index,))


def damaged(rng, value):
    """A copy of value with one place replaced, removed or added to."""
    value = json.loads(json.dumps(value))
    path = rng.choice([p for p in places(value) if p] or [()])
    if not path:
        return rng.choice(VALUES)
    parent = value
    for key in path[:-1]:
        parent = parent[key]
    dice = rng.random()
    if dice < 0.7:
        parent[path[-1]] = rng.choice(VALUES)
    elif dice < 0.85:
        del parent[path[-1]]
    elif isinstance(parent, dict):
        parent[rng.choice(["", "__proto__", "a" * 300, "\x00", "x"])] = rng.choice(VALUES)
    return value


def damaged_bytes(rng, data):
    dice = rng.random()
    if dice < 0.4 and data:
        at = rng.randrange(len(data))
        return data[:at] + bytes([rng.randrange(256)]) + data[at + 1:]
    if dice < 0.7 and data:
        return data[:rng.randrange(len(data))]
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(TEXTS) + data[at:]


def damaged_path(rng, path):
    # Only octets that can stand in a request line: a broken line is the other test's subject.
    extra = rng.choice(["%00", "%2e%2e%2f", "%ff", "/", "//", "?", "&limit=-1", "?limit=99999999999999999999", "%", "%zz",
                        "?cursor=AAAA", "a" * 2000, "/..", ";x", "?limit=", "&types=" + "," * 500])
    at = rng.randrange(1, len(path) + 1)
    return path[:at] + extra + path[at:]


def hostile_request(rng, ways):
    method, path, body = rng.choice(ways)
    data = b"" if body is None else json.dumps(body).encode()
    headers = []
    dice = rng.random()
    if dice < 0.6 and body is not None:
        data = json.dumps(damaged(rng, body)).encode()
    elif dice < 0.8 and body is not None:
        data = damaged_bytes(rng, data)
    elif dice < 0.95:
        path = damaged_path(rng, path)
    else:
        method = rng.choice(["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "POST"])
        headers = [rng.choice(["Content-Type: text/plain", "OJS-Version: 9", "Accept: nothing", "Idempotency-Key: " + "k" * 3000,
                               "Authorization: Bearer", "X-Request-Id: " + "r" * 3000, "Last-Event-ID: -1"])]
    return encode(method, path, data, headers)


class HostileThread(threading.Thread):
    def __init__(self, port, seed, requests):
        super().__init__(daemon=True)
        self._port, self._rng, self._left = port, random.Random(seed), requests
        self.bad, self.answered, self.failure = [], 0, None

    def run(self):
        pipeline, ways = Pipeline(self._port), templates()
        try:
            while self._left > 0:
                burst = [hostile_request(self._rng, ways) for _ in range(min(40, self._left))]
                statuses = pipeline.statuses(burst)
                # A closed connection is an answer to the request after the last reply.
                self._left -= max(len(statuses), 1)
                self.answered += len(statuses)
                self.bad += [(s, burst[n][:2000]) for n, s in enumerate(statuses) if s >= 500 and s != 503]
        except Exception as failure:  # the test raises it
            self.failure = failure
        pipeline.close()


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def tearDown(self):
        """Whatever a test did: the server is there, small, and serves a normal client."""
        self.assertTrue(self.server.alive(), "the server died:\n" + self.server.log_tail())
        client = self.server.client()
        queue = "after-" + self.id().rsplit(".", 1)[-1].replace("_", "-")
        job = client.push(queue=queue).body["job"]
        self.assertEqual([j["id"] for j in client.fetch([queue]).body["jobs"]], [job["id"]])
        self.assertEqual(client.ack(job["id"]).status, 200)
        client.close()
        if not SANITIZED:
            self.assertLess(self.server.rss_kb("VmHWM"), RSS_KB_MAX)

    def test_damaged_requests(self):
        threads = [HostileThread(self.server.port, f"{SEED}/{n}", REQUESTS // CONNECTIONS) for n in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        join_all(threads)
        self.assertEqual([bad for thread in threads for bad in thread.bad][:3], [])
        self.assertGreater(sum(thread.answered for thread in threads), REQUESTS // 2)

    def test_broken_http_is_refused(self):
        post = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\n"
        chunked = post + b"Transfer-Encoding: chunked\r\n\r\n"
        good = b'{"type":"a.b","args":[],"options":{"queue":"broken-http"}}'
        for name, data in {
            "empty line only": b"\r\n\r\n",
            "no method": b" / HTTP/1.1\r\n\r\n",
            "binary": bytes(range(256)) * 4,
            "tls hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200,
            "http/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "http/9": b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
            "long line": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "long header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
            "many headers": b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 100_000 + b"\r\n",
            "nul in header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: a\x00b\r\n\r\n",
            "header without colon": b"GET / HTTP/1.1\r\nHost: localhost\r\nnonsense\r\n\r\n",
            "space before colon": b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
            "negative length": post + b"Content-Length: -1\r\n\r\n",
            "length with text": post + b"Content-Length: 5x\r\n\r\nhello",
            "length overflows": post + b"Content-Length: 99999999999999999999\r\n\r\n",
            "two lengths": post + b"Content-Length: 57\r\nContent-Length: 5\r\n\r\n" + good,
            "length and chunked": post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "unknown coding": post + b"Transfer-Encoding: gzip\r\n\r\nxx",
            "bad chunk size": chunked + b"zz\r\nhello\r\n0\r\n\r\n",
            "huge chunk size": chunked + b"ffffffffffffffff\r\nhello\r\n0\r\n\r\n",
            "chunk too long": chunked + b"2\r\nhello\r\n0\r\n\r\n",
            "chunk extension flood": chunked + b"1;" + b"a" * 1_000_000 + b"\r\nx\r\n0\r\n\r\n",
        }.items():
            with self.subTest(name):
                statuses = self.server.raw(data)
                self.assertTrue(all(400 <= s < 500 or s in (501, 503, 505) for s in statuses), statuses)
        client = self.server.client()
        self.assertEqual(client.fetch(["broken-http"]).body["jobs"], [])
        client.close()

    def test_cut_off_requests_do_nothing(self):
        whole = encode("POST", "/ojs/v1/jobs", b'{"type":"a.b","args":[],"options":{"queue":"cut-off"}}')
        for length in range(0, len(whole), 3):
            statuses = self.server.raw(whole[:length])
            self.assertTrue(all(400 <= s < 500 for s in statuses), (length, statuses))
        client = self.server.client()
        self.assertEqual(client.fetch(["cut-off"]).body["jobs"], [])
        client.close()

    def test_pipelined_requests_are_answered_in_order(self):
        known = self.server.client().push(queue="pipelined").body["job"]["id"]
        requests = [encode("GET", f"/ojs/v1/jobs/{known if n % 2 else new_id()}") for n in range(200)]
        self.assertEqual(Pipeline(self.server.port).statuses(requests), [404, 200] * 100)

    def test_oversized_bodies_are_refused(self):
        declared = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (1 << 40)
        self.assertEqual(self.server.raw(declared + b"[" * 100_000, half_close=False), [413])
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        head = b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        past_64_mib = chunk * 1025
        self.assertIn(self.server.raw(head + past_64_mib, half_close=False), ([413], []))  # [] when the reset overtakes it

    def test_long_names_never_reach_a_row(self):
        """A name longer than a row's key may be must be refused at the door: once journaled, it could never be flushed."""
        client = self.server.client()
        long, job = "n" * 5000, {"type": "hostile.job", "args": []}
        calls = [
            ("POST", "/ojs/v1/jobs", job, {"Idempotency-Key": long}),
            ("POST", "/ojs/v1/jobs?pad=" + long, job, {"Idempotency-Key": "k" * 200}),
            ("POST", "/ojs/v1/jobs", {**job, "type": long}, {}),
            ("POST", "/ojs/v1/jobs", {**job, "options": {"queue": long}}, {}),
            ("POST", "/ojs/v1/jobs", {**job, "options": {"rate_limit": {"key": long, "concurrency": 1}}}, {}),
            ("POST", "/ojs/v1/jobs", job, {"X-OJS-Tenant": long}),
            ("POST", "/ojs/v1/workflows", {"type": "chain", "id": long, "name": long, "steps": [job]}, {}),
            ("POST", "/ojs/v1/cron", {"name": long, "expression": "0 0 1 1 *", "job_template": job}, {}),
            ("POST", f"/ojs/v1/queues/{long}/pause", {}, {}),
            ("PUT", f"/ojs/v1/admin/queues/{long}/config", {"backpressure": {"max_depth": 5}}, {}),
            ("PUT", f"/ojs/v1/admin/schemas/{long}/1", {"schema": {"type": "array"}}, {}),
            ("PUT", f"/ojs/v1/admin/pools/{long}", {"strategy": "weighted", "queues": {}}, {}),
            ("PUT", f"/ojs/v1/rate-limits/{long}", {"concurrency": 5}, {}),
        ]
        for method, path, body, headers in calls:
            status = client.call(method, path, body=body, headers=headers).status
            self.assertTrue(status in (201, 400, 404, 413, 414, 422), f"{status} for {method} {path[:60]}")
        client.close()
        # Stopping writes every row; a name that does not fit would show now, or at the next start.
        self.assertEqual(self.server.stop(), 0, self.server.log_tail())
        self.server.start()

    def test_a_megabyte_of_arguments_is_fine(self):
        client = self.server.client()
        args = ["x" * 1000] * 1000
        job = client.push(args=args, queue="megabyte").body["job"]
        self.assertEqual(client.fetch(["megabyte"]).body["jobs"][0]["args"], args)
        self.assertEqual(client.ack(job["id"], result=args).status, 200)
        self.assertEqual(client.job(job["id"]).body["job"]["result"], args)
        client.close()

    def test_deep_nesting_is_refused(self):
        client = self.server.client()
        for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
            depth = 100_000
            deep = b'{"type":"a.b","args":[' + opening * depth + b"1" + closing * depth + b"]}"
            self.assertIn(client.post("/ojs/v1/jobs", raw=deep).status, (400, 413, 422))
        client.close()

    def test_slow_clients_do_not_stop_the_others(self):
        slow = []
        try:
            for n in range(300):
                connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)
                connection.sendall(b"POST /ojs/v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"[:20 + n % 60])
                slow.append(connection)
            client = self.server.client()
            for _ in range(50):
                self.assertEqual(client.push(queue="beside-slow").status, 201)
            client.close()
        finally:
            for connection in slow:
                connection.close()

    def test_a_job_survives_the_fetches_of_the_dead(self):
        body = json.dumps({"queues": ["of-the-dead"], "wait_ms": 60000}).encode()
        for _ in range(200):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as connection:
                connection.sendall(encode("POST", "/ojs/v1/workers/fetch", body))
        client = self.server.client()
        options = {"visibility_timeout_ms": 500, "retry": {"max_attempts": 1000}}
        job = client.push(queue="of-the-dead", options=options).body["job"]
        got = until(lambda: client.fetch(["of-the-dead"], wait_ms=1000).body["jobs"], "a living worker gets the job")
        self.assertEqual([j["id"] for j in got], [job["id"]])
        client.close()


if __name__ == "__main__":
    unittest.main()
