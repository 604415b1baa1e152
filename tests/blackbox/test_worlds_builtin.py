"""What the server does itself for a world: timers, blobs, requests, jobs, runs; secrets; who may take a kind over."""
import hashlib
import json
import unittest

from harness import until
from stand_in import Answer, StandIn
from world_bytes import Ed25519Signer, b64, dec, enc, sha, signed, unb64
from world_case import ARMS, NOW, SEED, Program, WorldCase, grant, record, ref, variant
from world_modules import effect, step_output

KINDS = ["timer.set", "blob.put", "blob.get", "http.request", "job.run", "run.start", "pay.charge"]
GRANTS = {"timer": "sys/Timer@1", "blob": "sys/Blob@1", "http": "sys/HttpOut@1", "job": "sys/Job@1", "run": "sys/Run@1"}
HALF_MIB = 512 * 1024


def builtin(arms=None, **caps):
    """One puppet that may ask for everything; `caps`: params of a built-in grant."""
    program = Program(effects=KINDS)
    program.node("t/Input@1")["type"] = variant(Go=ref("t/Go@1"), **(arms or {"Receipt": ref(ARMS["Receipt"]), "Denied": ref(ARMS["Denied"])}))
    return program.grants(grant(), *(grant(name, cap, caps.get(name)) for name, cap in GRANTS.items()))


def timer(at_ns, key=None):
    return effect("timer.set", {"deliver_at_ns": at_ns, "key": key})


def request(url, method="GET", headers=None, body=None, timeout_ms=None):
    return effect("http.request", {"method": method, "url": url, "headers": headers, "body": body, "timeout_ms": timeout_ms})


def job(queue, args="[1]", options=None):
    return effect("job.run", {"type": "mail.send", "args_json": args, "queue": queue, "options_json": options})


def run_start(definition, inputs=None, version=None):
    return effect("run.start", {"definition": definition, "version": version, "inputs_json": inputs})


class BuiltinCase(WorldCase):
    def ask(self, world, *effects):
        return world.intents(world.go(step_output({"last": b""}, effects=list(effects)))["seq"])

    def receipt(self, world, intent):
        """(status, payload) once the intent is settled."""
        settled, = until(lambda: [one for one in world.effects(state="settled") if one["intent_hash"] == intent], "a receipt")
        found = world.find(settled["receipt"]["seq"], "effect_receipt")[0]
        self.assertEqual(found["adapter_id"], "pawl")
        return found["status"], dec(found["payload"])

    def outcome(self, world, asked):
        return self.receipt(world, self.ask(world, asked)[0])

    def code(self, world, asked):
        status, payload = self.outcome(world, asked)
        self.assertEqual(sorted(payload), ["code", "message"])
        return status, payload["code"]

    def deny_code(self, world, asked):
        """Of the capability's decision; None: allowed."""
        seq = world.go(step_output({"last": b""}, effects=[asked]))["seq"]
        return (world.find(seq, "cap_decision")[0]["deny"] or {}).get("code")

    def delivered(self, world):
        """The value that the last step was given."""
        return dec(dec(world.state()["last"])["event"]["value"])


class Timers(BuiltinCase):
    def test_they_fire_by_deadline_and_hash_and_are_signed(self):
        world = self.make(builtin())
        self.ask(world, timer(NOW + 500, "a"), timer(NOW + 300), timer(NOW + 300, "b"), timer(NOW + 2_000))
        order = sorted((one["params"]["deliver_at_ns"], one["intent_hash"], one["params"]["key"]) for one in world.effects())
        self.assertEqual(world.post("/clock", {"now_ns": NOW + 1_000}), {"now_ns": NOW + 1_000, "fired": 3})
        own = Ed25519Signer(hashlib.sha256(b"pawl-adapter/" + SEED.encode()).digest())
        for seq, (at_ns, intent, key) in enumerate(order[:3], start=3):
            frame = world.frame(seq)
            self.assertEqual([one.kind for one in frame], ["effect_receipt", "step"])
            given = frame[0].value
            self.assertEqual((given["intent_hash"], dec(given["payload"])), (intent, {"delivered_at_ns": at_ns, "key": key}))
            self.assertEqual((given["stamp"]["now_ns"], given["stamp"]["logical_now_ns"]), (at_ns, at_ns))
            self.assertEqual(given["signature"], own.sign(signed(world.id, intent, "pawl", "ok", given["payload"], None)))
        self.assertEqual([one["state"] for one in world.effects()], ["queued"])
        world.check_replays()

    def test_one_that_a_timer_sets_fires_too(self):
        """The clock goes past both; sixty stay in order."""
        world = self.make(builtin())
        self.ask(world, *(timer(NOW + 10 * n) for n in range(60, 0, -1)))
        self.assertEqual(world.post("/clock", {"now_ns": NOW + 10_000})["fired"], 60)
        stamps = [one.value["stamp"]["now_ns"] for one in world.journal(3, kinds="effect_receipt")]
        self.assertEqual(stamps, sorted(stamps))

    def test_the_clock(self):
        world = self.make(builtin())
        self.assertEqual(world.post("/clock", {"now_ns": NOW})["fired"], 0)
        for body in ({"now_ns": NOW - 1}, {}, {"now_ns": str(NOW)}, {"now_ns": 2**63}, {"now_ns": NOW, "more": 1}):
            world.post("/clock", body, 422)
        self.make(builtin(), test=False).refused(409, "world.not_test", "POST", "/clock", {"now_ns": NOW})

    def test_the_old_receipt_only_without_the_envelope(self):
        """R-3.4.8, T06"""
        old = {"Fired": ref("sys/TimerFired@1")}
        world = self.make(builtin(old))
        intent, = self.ask(world, timer(NOW + 1, "k"))
        world.post("/clock", {"now_ns": NOW + 5})
        self.assertEqual(self.delivered(world), {"$tag": "Fired", "$value": {
            "intent_id": intent, "status": "ok", "requested": {"deliver_at_ns": NOW + 1, "key": "k"}, "receipt": {"delivered_at_ns": NOW + 1, "key": "k"}}})
        both = self.make(builtin({**old, "Receipt": ref(ARMS["Receipt"])}))
        self.ask(both, timer(NOW + 1))
        both.post("/clock", {"now_ns": NOW + 5})
        self.assertEqual(self.delivered(both)["$tag"], "Receipt")

    def test_nobody_else_settles_or_leases_one(self):
        world = self.make(builtin())
        world.adapter()
        intent, = self.ask(world, timer(NOW + 1))
        body = world.receipt_body(intent, enc({"delivered_at_ns": 1, "key": None}))
        world.refused(403, "receipt.kind_not_allowed", "POST", "/receipts", body)
        self.assertEqual(world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["timer.set"]}), {"effects": []})
        world.call("PUT", "/adapters/timers", {"algorithm": "hmac-sha256", "secret": b64(b"x" * 16), "kinds": ["timer.set"]}, 422)


class Blobs(BuiltinCase):
    def test_put_and_get(self):
        """T07"""
        world = self.make(builtin())
        self.assertEqual(self.outcome(world, effect("blob.put", {"bytes": b"abc"})), ("ok", {"blob_ref": sha(b"abc"), "size": 3}))
        self.assertEqual(self.client.get(f"/v1/worlds/{world.name}/blobs/{sha(b'abc')}").raw, b"abc")
        self.assertEqual(self.outcome(world, effect("blob.get", {"blob_ref": sha(b"abc")})), ("ok", {"bytes": b"abc", "size": 3}))
        self.assertEqual(self.code(world, effect("blob.get", {"blob_ref": sha(b"none")})), ("error", "blob.not_found"))
        elsewhere = self.make(builtin())
        self.assertEqual(self.code(elsewhere, effect("blob.get", {"blob_ref": sha(b"abc")})), ("error", "blob.not_found"))

    def test_they_are_settled_behind_the_frame_that_asks_in_order(self):
        """The place of their receipts was a matter of time, and a blob that the same step had put was not found."""
        world = self.make(builtin())
        asked = world.go(step_output({"last": b""}, effects=[effect("blob.put", {"bytes": b"new"}), effect("blob.get", {"blob_ref": sha(b"new")})]))["seq"]
        after = world.go(step_output({"last": b""}))["seq"]
        self.assertEqual(after, asked + 3)
        found = [world.find(seq, "effect_receipt")[0] for seq in (asked + 1, asked + 2)]
        self.assertEqual([one["intent_hash"] for one in found], world.intents(asked))
        self.assertEqual([dec(one["payload"]) for one in found], [{"blob_ref": sha(b"new"), "size": 3}, {"bytes": b"new", "size": 3}])
        world.check_replays()

    def test_the_old_results(self):
        world = self.make(builtin({"Put": ref("sys/BlobPutResult@1"), "Got": ref("sys/BlobGetResult@1")}))
        for asked, tag, params, result in (("blob.put", "Put", {"bytes": b"q"}, {"blob_ref": sha(b"q"), "size": 1}),
                                           ("blob.get", "Got", {"blob_ref": sha(b"q")}, {"bytes": b"q", "size": 1})):
            intent, = self.ask(world, effect(asked, params))
            self.receipt(world, intent)
            self.assertEqual(self.delivered(world), {"$tag": tag, "$value": {
                "intent_id": intent, "status": "ok", "requested": params, "receipt": result}})

    def test_an_adapter_takes_the_kind_over_and_gives_it_back(self):
        world = self.make(builtin())
        world.adapter("mine", kinds=["blob.put"])
        world.adapter("plain")
        first, second = self.ask(world, effect("blob.put", {"bytes": b"1"}), effect("blob.put", {"bytes": b"2"}))
        self.assertEqual(world.post("/effects/lease", {"adapter_id": "plain", "kinds": ["blob.put"]}), {"effects": []})
        self.restart()
        leased = world.post("/effects/lease", {"adapter_id": "mine", "kinds": ["blob.put"], "limit": 1})["effects"]
        self.assertEqual([one["intent_hash"] for one in leased], [first])
        body = world.receipt_body(first, enc({"blob_ref": sha(b"1"), "size": 1}), adapter="plain")
        world.refused(403, "receipt.kind_not_allowed", "POST", "/receipts", body)
        world.settle(first, payload=enc({"blob_ref": sha(b"1"), "size": 1}), adapter="mine")
        world.call("DELETE", "/adapters/mine")
        self.assertEqual(self.receipt(world, second), ("ok", {"blob_ref": sha(b"2"), "size": 1}))

    def test_the_next_world_of_the_name_has_no_adapters(self):
        """Its built-in kinds waited for ever for an adapter of the world that was deleted."""
        world = self.make(builtin(), name="again")
        world.adapter("mine", kinds=["blob.put"])
        world.call("DELETE", "?force=true")
        world = self.make(builtin(), name="again")
        self.assertEqual(self.outcome(world, effect("blob.put", {"bytes": b"x"}))[0], "ok")


class Requests(BuiltinCase):
    arguments = ("--actions-http-allow-hosts", "127.0.0.1")

    def setUp(self):
        super().setUp()
        self.service = StandIn(self.answer)
        self.addCleanup(self.service.close)
        self.url = f"http://127.0.0.1:{self.service.port}"

    @staticmethod
    def answer(asked):
        if asked.path.startswith("/size/"):
            return Answer(200, "x" * int(asked.path[6:]))
        if asked.path == "/latin":
            return Answer(200, "hello", (("X-Answer", "caf\xe9"),))
        return Answer(404 if asked.path == "/missing" else 200, "hello", (("X-Answer", "yes"),))

    def test_any_answer_is_ok(self):
        """T69"""
        world = self.make(builtin())
        literal = {"$tag": "literal", "$value": "v"}
        intent, = self.ask(world, request(self.url + "/a?b=1", "POST", {"X-Asked": literal}, b"body"))
        status, answer = self.receipt(world, intent)
        self.assertEqual((status, answer["status"], answer["headers"]["x-answer"]), ("ok", 200, "yes"))
        seen, = self.service.requests
        self.assertEqual((seen.method, seen.path, seen.headers["X-Asked"]), ("POST", "/a?b=1", "v"))
        key = next(one for one in world.effects(state="settled"))["idempotency_key"]
        self.assertEqual(seen.key, key)
        self.assertEqual(self.outcome(world, request(self.url + "/missing"))[1]["status"], 404)
        status, answer = self.outcome(world, request(self.url + "/latin"))
        self.assertEqual((status, answer["headers"]["x-answer"]), ("ok", "caf\ufffd"))

    def test_what_makes_it_an_error(self):
        world = self.make(builtin())
        inside = self.outcome(world, request(f"{self.url}/size/{HALF_MIB - 2}"))[1]
        self.assertLessEqual(len(inside["body"]), HALF_MIB)
        self.assertEqual(self.code(world, request(f"{self.url}/size/{HALF_MIB + 1}")), ("error", "http.too_large"))
        self.assertEqual(self.code(world, request("http://10.0.0.1/", timeout_ms=2_000)), ("error", "PERMISSION_DENIED"))
        for url in ("file:///etc/passwd", "not a url", ""):
            self.assertEqual(self.code(world, request(url)), ("error", "http.failed"))

    def test_the_capability_bounds_it(self):
        """T29"""
        for params, url, code in (({"hosts": ["a.test"]}, self.url, "constraint"), ({"hosts": ["a.test"]}, "http://a.test@127.0.0.1/", "constraint"),
                                  ({"hosts": ["a.test"]}, "http://a.test.b.test/", "constraint"), ({"schemes": ["https"]}, self.url, "constraint"),
                                  ({"methods": ["POST"]}, self.url, "constraint"), ({"hosts": []}, self.url, "constraint"),
                                  ({"hosts": ["127.0.0.1"], "schemes": ["http"], "methods": ["GET"]}, self.url, None)):
            with self.subTest(params=params, url=url):
                self.assertEqual(self.deny_code(self.make(builtin(http=params)), request(url)), code)

    def secretive(self, name, allowed, digest=None, **more):
        """A world whose pay.charge and http.request may name the secret key@1."""
        program = builtin()
        node = {"$kind": "defsecret", "name": "key@1", "binding_id": name, "allowed_caps": allowed}
        if digest:
            node["expected_digest"] = digest
        program.node("t/ChargeParams@1")["type"] = record(token=ref("sys/TextOrSecretRef@1"))
        return self.make(program.add(node), **more)

    SECRET = {"$tag": "secret", "$value": {"alias": "key", "version": 1}}

    def put_secret(self, name, value):
        self.client.call("PUT", f"/v1/secrets/{name}", {"value": value})

    def test_a_secret_is_seen_by_the_adapter_only(self):
        """T35"""
        value = "t0p-" + hashlib.sha256(self.id().encode()).hexdigest()
        self.put_secret("SEEN", value)
        world = self.secretive("SEEN", ["http", "pay"], sha(value.encode()))
        world.adapter()
        asked = request(self.url, headers={"Authorization": self.SECRET})
        self.assertEqual(self.outcome(world, asked)[0], "ok")
        self.assertEqual(self.service.requests[-1].headers["Authorization"], value)
        intent, = self.ask(world, effect("pay.charge", {"token": self.SECRET}))
        leased, = world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["pay.charge"]})["effects"]
        given = {"token": {"$tag": "literal", "$value": value}}
        self.assertEqual((leased["params"], dec(unb64(leased["params_b64"]))), (given, given))
        self.assertEqual(leased["params_hash"], sha(enc({"token": self.SECRET})))
        world.post("/snapshot", status=201)
        for path in ("/journal?limit=1000", "/effects", "/effects?state=settled", "/instances", "/manifest", "/defs"):
            raw = self.client.get(f"/v1/worlds/{world.name}{path}").raw
            self.assertNotIn(value.encode(), raw, path)
            self.assertNotIn(b64(value.encode()).rstrip("=").encode(), raw, path)

    def test_a_secret_that_cannot_be_had(self):
        self.put_secret("HELD", "value")
        asked = request(self.url, headers={"Authorization": self.SECRET})
        self.assertEqual(self.code(self.secretive("NEVER_SET", ["http"]), asked)[0], "error")
        self.assertEqual(self.code(self.secretive("HELD", ["http"], sha(b"another")), asked)[0], "error")
        self.assertEqual(self.deny_code(self.secretive("HELD", ["pay"]), asked), "secret_not_allowed")
        self.assertEqual(self.service.requests, [])

    def test_an_effect_waits_for_its_secret(self):
        """Its lease was held, for an hour if the adapter asked so, although nobody had got the effect."""
        world = self.secretive("LATE", ["pay"])
        world.adapter()
        intent, = self.ask(world, effect("pay.charge", {"token": self.SECRET}))
        body = {"adapter_id": "stripe", "kinds": ["pay.charge"], "lease_ms": 3_600_000}
        self.assertEqual(world.post("/effects/lease", body), {"effects": []})
        self.put_secret("LATE", "now")
        leased = until(lambda: world.post("/effects/lease", {**body, "wait_ms": 5_000})["effects"], "the effect")
        self.assertEqual((leased[0]["intent_hash"], leased[0]["params"]["token"]["$value"]), (intent, "now"))


class Work(BuiltinCase):
    def fetch(self, queue):
        return until(lambda: self.client.fetch([queue]).body["jobs"], f"a job in {queue}")[0]

    def test_how_a_job_ends(self):
        world = self.make(builtin())
        done, failed, cancelled = self.ask(world, job("done"), job("failed"), job("cancelled"))
        taken = self.fetch("done")
        self.assertEqual((taken["type"], taken["args"]), ("mail.send", [1]))
        self.client.ack(taken["id"], result={"a": 1.5})
        status, payload = self.receipt(world, done)
        self.assertEqual((status, payload["job_id"], json.loads(payload["result_json"])), ("ok", taken["id"], {"a": 1.5}))
        self.client.nack(self.fetch("failed")["id"], {"code": "x", "message": "boom", "retryable": False})
        self.assertEqual(self.receipt(world, failed)[1]["code"], "job.discarded")
        self.client.cancel(self.fetch("cancelled")["id"])
        self.assertEqual(self.receipt(world, cancelled)[1]["code"], "job.cancelled")
        self.assertEqual(self.code(world, job("none", args="no json")), ("error", "job.discarded"))

    def test_the_texts_of_a_job_bring_no_members_along(self):
        """A module that was granted one type and one queue got jobs of any type in any queue."""
        world = self.make(builtin(job={"types": ["mail.send"], "queues": ["granted"]}))
        for more in ({"args": '[],"type":"evil"'}, {"args": '[],"options":{"queue":"evil"}'}, {"args": "{}"}, {"args": "[] []"},
                     {"options": "[]"}, {"options": "7"}):
            with self.subTest(more):
                self.assertEqual(self.code(world, job("granted", **more)), ("error", "job.discarded"))
        for unreadable in ('{},"type":"evil"', '{"tags":["a"]} {}'):  # so the queue that they may name is not granted
            with self.subTest(unreadable):
                self.assertEqual(self.deny_code(world, job("granted", options=unreadable)), "constraint")
        self.assertEqual(self.client.fetch(["granted", "evil", "default"]).body["jobs"], [])

    def test_one_intent_makes_one_job(self):
        world = self.make(builtin())
        intent, = self.ask(world, job("once"))
        shown = until(lambda: [one for one in world.effects() if one["state"] == "inflight"], "the job")[0]
        self.assertNotIn("lease", shown)
        self.restart()
        taken = self.fetch("once")
        self.restart()
        self.assertEqual([one["state"] for one in world.effects()], ["inflight"])
        self.client.ack(taken["id"], result="R")
        self.assertEqual(self.receipt(world, intent), ("ok", {"job_id": taken["id"], "result_json": '"R"'}))
        self.assertEqual(self.client.fetch(["once"]).body["jobs"], [])

    def test_how_a_run_ends(self):
        world = self.make(builtin())
        define = lambda name, *steps: self.client.post("/v1/definitions", {"name": name, "definition": {"name": name, "steps": list(steps)}})
        define("good", {"id": "a", "action": "jq", "params": {"expression": ".x", "data": {"x": "${{ inputs.v }}"}}})
        define("bad", {"id": "a", "action": "assert.equals", "params": {"actual": 1, "expected": 2}})
        define("long", {"id": "a", "type": "wait", "config": {"duration": "1h"}})
        status, payload = self.outcome(world, run_start("good", '{"v":7}', "v1"))
        run = self.client.get("/v1/runs/" + payload["run_id"]).body["run"]
        self.assertEqual((status, run["inputs"], json.loads(payload["output_json"])), ("ok", {"v": 7}, run["output"]))
        for asked in (run_start("bad"), run_start("unknown"), run_start("good", "[1]"), run_start("good", version="v9")):
            self.assertEqual(self.code(world, asked), ("error", "run.failed"))
        intent, = self.ask(world, run_start("long"))
        found = until(lambda: self.client.get("/v1/runs?definition=long").body["runs"], "the run")
        self.client.post(f"/v1/runs/{found[0]['id']}/cancel", {})
        self.assertEqual(self.receipt(world, intent)[1]["code"], "run.cancelled")

    def test_they_belong_to_the_tenant_of_their_world(self):
        """They were nobody's, in the queues of clients without a tenant."""
        self.client.headers["X-OJS-Tenant"] = "acme"
        world = self.make(builtin())
        intent, = self.ask(world, job("tenants"))
        run, = self.ask(world, run_start("none"))
        self.assertEqual(self.receipt(world, run)[1]["code"], "run.failed")
        taken = self.fetch("tenants")
        self.assertEqual(taken["meta"]["tenant_id"], "acme")
        other = {"X-OJS-Tenant": "other"}
        self.assertEqual(self.client.get(f"/ojs/v1/jobs/{taken['id']}", headers=other).status, 404)
        self.client.ack(taken["id"], result=1)
        self.assertEqual(self.receipt(world, intent)[0], "ok")

    def test_their_capabilities(self):
        for caps, asked, code in (({"job": {"types": ["other"]}}, job("q"), "constraint"), ({"job": {"queues": ["other"]}}, job("q"), "constraint"),
                                  ({"job": {"types": ["mail.send"], "queues": ["q"]}}, job("q"), None),
                                  ({"run": {"definitions": ["other"]}}, run_start("d"), "constraint")):
            with self.subTest(caps):
                self.assertEqual(self.deny_code(self.make(builtin(**caps)), asked), code)


if __name__ == "__main__":
    unittest.main()
