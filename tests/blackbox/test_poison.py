"""Data that once failed a check of the server: each fails only its own run, job or request, and the same process serves
the next one."""
import json
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from harness import OJS_TYPE, Server, until


def definition(*steps, **more):
    return {"name": "poison", "version": "1.0", "steps": list(steps), **more}


def nested(depth, inside="x"):
    value = inside
    for _ in range(depth):
        value = [value]
    return value


class Receiver:
    """Keeps the bodies of what is posted to it."""

    def __init__(self):
        received = self.received = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                received.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class PoisonTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=["--actions-http-allow-private", "--webhooks-allow-private"]).start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def setUp(self):
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def tearDown(self):
        self.assertTrue(self.server.alive(), self.server.log_tail())
        self.assertEqual(self.client.get("/health").status, 200)

    def start(self, text, inputs=None):
        reply = self.client.post("/v1/runs", {"definition": text, "inputs": inputs or {}})
        self.assertEqual(reply.status, 201, reply.raw[:2000])
        return reply.body["run"]["id"]

    def end_of(self, run):
        def look():
            body = self.client.get(f"/v1/runs/{run}").body["run"]
            return body if body["status"] in ("completed", "failed", "cancelled") else None
        return until(look, f"the end of {run}")

    def test_a_method_longer_than_libcurl_takes(self):
        step = {"id": "call", "action": "http.request",
                "params": {"url": "http://127.0.0.1:9/", "method": "${{ inputs.m }}"}}
        ended = self.end_of(self.start(definition(step), {"m": "A" * 8_000_001}))
        self.assertEqual((ended["status"], ended["error"]["code"]), ("failed", "VALIDATION_ERROR"))
        self.assertIn("64 letters", ended["error"]["message"])

    def test_everything_else_that_is_given_to_libcurl(self):
        long = "A" * 8_000_001
        for params in ({"url": "http://127.0.0.1:9/${{ inputs.m }}"},
                       {"url": "http://127.0.0.1:9/", "headers": {"X-Long": "${{ inputs.m }}"}},
                       {"url": "http://127.0.0.1:9/", "headers": {"${{ inputs.m }}": "x"}},
                       {"url": "http://127.0.0.1:9/", "query": {"q": "${{ inputs.m }}"}},
                       {"url": "http://127.0.0.1:9/", "auth": {"type": "bearer", "token": "${{ inputs.m }}"}},
                       {"url": "http://127.0.0.1:9/",
                        "auth": {"type": "basic", "username": "${{ inputs.m }}", "password": "x"}}):
            with self.subTest(params=params):
                step = {"id": "call", "action": "http.get", "params": params}
                ended = self.end_of(self.start(definition(step), {"m": long}))
                self.assertEqual(ended["status"], "failed")

    def test_a_loop_over_what_nests_deeper_than_json_is_read(self):
        loop = {"id": "each", "type": "loop",
                "config": {"mode": "for_each", "over": "${{ [[[[[[inputs.x]]]]]] }}",
                           "body": [{"id": "say", "action": "workflow.log", "params": {"message": "hi"}}]}}
        ended = self.end_of(self.start(definition(loop), {"x": nested(60)}))
        self.assertIn(ended["status"], ("failed", "completed"))

    def test_seconds_that_are_no_time(self):
        for seconds in ("1e300", "-1e300", "9.3e15"):
            with self.subTest(seconds=seconds):
                step = {"id": "rest", "type": "wait", "config": {"duration": "${{ inputs.s }}"}}
                ended = self.end_of(self.start(definition(step), {"s": json.loads(seconds)}))
                self.assertEqual(ended["status"], "failed")

    def chain(self, *steps):
        reply = self.client.post("/ojs/v1/workflows", {"type": "chain", "steps": list(steps)})
        self.assertEqual(reply.status, 201, reply.raw[:2000])
        return (reply.body.get("workflow") or reply.body)["id"]

    def ack_raw(self, queue, result):
        job = until(lambda: (self.client.fetch([queue]).body or {}).get("jobs"), "a job")[0]
        body = '{"job_id": "%s", "result": %s}' % (job["id"], result)
        reply = self.client.post("/ojs/v1/workers/ack", raw=body.encode(), headers={"Content-Type": OJS_TYPE})
        self.assertEqual(reply.status, 200, reply.raw[:2000])

    def test_a_guard_over_a_result_that_no_double_holds(self):
        options = {"options": {"queue": "huge"}}
        run = self.chain({"type": "a", "args": [], **options},
                         {"type": "b", "args": [], "when": "results[0] == 1", **options})
        self.ack_raw("huge", "1e999")
        ended = until(lambda: (lambda b: b if b["state"] != "running" else None)(
            (lambda r: r.body.get("workflow") or r.body)(self.client.get(f"/ojs/v1/workflows/{run}"))), "its end")
        self.assertIn(ended["state"], ("failed", "completed", "cancelled"))

    def test_a_webhook_for_an_event_that_nests_deep(self):
        receiver = Receiver()
        self.addCleanup(receiver.close)
        hook = self.client.post("/ojs/v1/webhooks/subscriptions",
                                {"url": f"http://127.0.0.1:{receiver.server.server_port}/", "events": ["job.completed"],
                                 "queues": ["deep"]})
        if hook.status == 404:
            hook = self.client.post("/ojs/v1/webhooks",
                                    {"url": f"http://127.0.0.1:{receiver.server.server_port}/",
                                     "events": ["job.completed"], "queues": ["deep"]})
        self.assertEqual(hook.status, 201, hook.raw[:2000])
        self.assertEqual(self.client.push("deep", queue="deep").status, 201)
        self.ack_raw("deep", json.dumps(nested(62)))
        until(lambda: receiver.received, "the delivery")
        self.assertIn("job.completed", receiver.received[0].decode())


if __name__ == "__main__":
    unittest.main()
