"""Clients that send much to compile: definitions full of regular expressions, long expressions, schemas.

They are refused by the counted cost of compiling, with the place; meanwhile all others are served, and a client with a
single definition does not wait behind one with many.
"""
import json
import select
import socket
import unittest

from harness import DEADLINE_S, Server

# Each takes milliseconds to compile; together they are far past what a definition may cost.
PATTERNS = ["[^x]{6%02d}" % (n % 100) for n in range(2000)]


def step(n, **more):
    return {"id": f"s{n}", "action": "workflow.log", "params": {"message": "m"}, **more}


def hostile():
    return {"name": "hostile", "steps": [step(n, condition=f"inputs.a.matches('{p}')") for n, p in enumerate(PATTERNS)]}


GOOD = {"name": "good", "steps": [step(0, condition="inputs.a == 1")]}


def request(path, body, key):
    data = json.dumps(body).encode()
    head = (f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: {len(data)}\r\n\r\n")
    return head.encode() + data


class Compiling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(["--api-key", "key-a", "--api-key", "key-b"]).start()
        cls.addClassCleanup(cls.server.close)

    def client(self, key):
        return self.server.client(headers={"Authorization": f"Bearer {key}"})

    def refused(self, path, body):
        reply = self.client("key-a").post(path, body)
        self.assertIn(reply.status, (200, 400, 413, 422), reply.raw[:300])
        self.assertNotEqual(reply.body.get("valid"), True)
        return reply.body

    def test_a_definition_is_refused_by_what_it_costs_with_the_place(self):
        faults = self.refused("/v1/definitions/validate", hostile())["errors"]
        fault = next(f for f in faults if f["code"] == "too_large")
        self.assertRegex(fault["path"], r"^steps\[\d+\]")
        schema = {"name": "s", "steps": [step(0)], "input_schema": {"allOf": [{"pattern": p} for p in PATTERNS[:900]]}}
        self.assertIn("too_large", [f["code"] for f in self.refused("/v1/definitions/validate", schema)["errors"]])

    def test_templates_count_whatever_they_begin_with(self):
        for message in ("${{ inputs.a.matches('%s') }}", "a match: ${{ inputs.a.matches('%s') }}"):
            steps = [{"id": f"s{n}", "action": "workflow.log", "params": {"message": message % p}} for n, p in enumerate(PATTERNS)]
            faults = self.refused("/v1/definitions/validate", {"name": "templates", "steps": steps})["errors"]
            self.assertEqual([f["code"] for f in faults], ["too_large"])

    def test_every_other_way_in_is_bounded_too(self):
        self.refused("/v1/definitions", hostile())
        self.refused("/v1/runs", {"definition": hostile()})
        self.refused("/ojs/v1/workflows", {"type": "chain", "steps": [
            {"type": "a", "args": [], "when": f"'a'.matches('{p}')"} for p in PATTERNS]})

    def test_others_are_served_while_a_flood_is_compiled(self):
        flood = []
        for _ in range(24):
            link = socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)
            self.addCleanup(link.close)
            link.sendall(request("/v1/definitions/validate", hostile(), "key-a"))
            flood.append(link)
        other = self.client("key-b")
        self.assertEqual(other.get("/health").status, 200)
        self.assertEqual(other.post("/ojs/v1/jobs", {"type": "a.b", "args": []}).status, 201)
        self.assertEqual(other.post("/v1/definitions/validate", GOOD).body["valid"], True)
        # The flood is compiled one by one: all this was answered before its last.
        self.assertLess(len(select.select(flood, [], [], 0)[0]), len(flood))
        for link in flood:
            self.assertIn(b" 200 ", link.recv(64))


if __name__ == "__main__":
    unittest.main()
