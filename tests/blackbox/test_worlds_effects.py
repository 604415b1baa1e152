"""Effects: the gate, their identities, leases, signed receipts, what a receipt does, and what a bad one does."""
import json
import socket
import threading
import unittest

from harness import DEADLINE_S, encode, new_id, read_reply, until
from world_bytes import Ed25519Signer, HmacSigner, b64, dec, enc, grant_hash, idempotency_key, intent_hash, sha, signed, test_entropy, unb64
from world_case import BYTES, NAT, NOW, SEED, Program, WorldCase, cap_def, grant, option, pure, record, subscription, workflow
from world_modules import effect, play, pure_output, step_output

CHARGE = effect("pay.charge", {"n": 1})
PARAMS = enc({"n": 1})


def asks(*effects, last=b"", **more):
    return step_output({"last": last}, effects=list(effects) or [CHARGE], **more)


class Gate(WorldCase):
    def test_the_records_of_an_effect(self):
        """R-3.1.1, R-4.5, and every identity computed again"""
        world = self.make(Program(keyed=True))
        seq = world.go(asks(CHARGE), id_="k")["seq"]
        key = idempotency_key("t/m@1", enc("k"), "pay.charge", PARAMS, seq, 0, 0)
        intent = intent_hash("pay.charge", PARAMS, "pay", key)
        records = [(one.kind, one.value) for one in world.frame(seq)][2:]
        self.assertEqual(records, [
            ("cap_decision", {"intent_hash": intent, "stage": "enqueue", "effect_kind": "pay.charge", "cap_name": "pay", "cap_type": "pay",
                              "grant_hash": grant_hash("t/Pay@1", "pay", enc({})), "enforcer_module": "sys/CapAllowAll@1",
                              "decision": "allow", "deny": None, "expiry_ns": None, "logical_now_ns": NOW}),
            ("policy_decision", {"intent_hash": intent, "policy_name": "allow_all", "rule_index": None, "decision": "allow"}),
            ("effect_intent", {"intent_hash": intent, "kind": "pay.charge", "cap_name": "pay", "params": PARAMS, "params_hash": sha(PARAMS),
                               "idempotency_key": key, "requested_key": None,
                               "origin": {"kind": "workflow", "name": "t/m@1", "instance_key": enc("k"), "emitted_at_seq": seq,
                                          "ordinal": 0, "effect_index": 0}})])
        self.assertEqual(world.find(seq, "step")[0]["status"], "waiting")
        listed, = world.effects()
        self.assertEqual((listed["intent_hash"], listed["kind"], listed["params"], listed["params_b64"], listed["params_hash"], listed["cap_name"],
                          listed["idempotency_key"], listed["state"]),
                         (intent, "pay.charge", {"n": 1}, b64(PARAMS), sha(PARAMS), "pay", key.hex(), "queued"))
        self.assertEqual(world.instance(key="k")["inflight"],
                         [{"intent_hash": intent, "effect_kind": "pay.charge", "params_hash": sha(PARAMS), "emitted_at_seq": seq}])
        world.check_replays()

    def test_params_are_canonical_whatever_the_module_wrote(self):
        """R-3.2.2"""
        program = Program().add()
        program.node("t/ChargeParams@1")["type"] = record(n=NAT, s={"set": NAT}, o=option(NAT))
        world = self.make(program)
        spellings = [enc({"n": 1, "s": [1, 2], "o": None}), enc({"n": 1, "s": [2, 1, 1]}),
                     bytes.fromhex("a3 6173 83020101 616f f6 616e 1801".replace(" ", ""))]
        seq = world.go(asks(*(effect("pay.charge", one) for one in spellings)))["seq"]
        intents = world.find(seq, "effect_intent")
        self.assertEqual({one["params"] for one in intents}, {spellings[0]})
        self.assertEqual(len({one["intent_hash"] for one in intents}), 3)

    def test_equal_effects_are_different_intents(self):
        """R-3.1.5, R-3.3.2"""
        world = self.make(Program(keyed=True))
        key = bytes(32)
        hashes = []
        for id_ in ("a", "b", "a"):
            seq = world.go(asks(*[effect("pay.charge", {"n": 1}, idempotency_key=key)] * 2), id_=id_)["seq"]
            for at, one in enumerate(world.find(seq, "effect_intent")):
                derived = idempotency_key("t/m@1", enc(id_), "pay.charge", PARAMS, seq, 0, at, requested=key)
                self.assertEqual((one["idempotency_key"], one["requested_key"]), (derived, key))
                self.assertEqual(one["intent_hash"], intent_hash("pay.charge", PARAMS, "pay", derived))
                hashes.append(one["intent_hash"])
        self.assertEqual(len(set(hashes)), 6)
        world.adapter()
        leased = world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["pay.charge"]})["effects"]
        self.assertEqual({one["idempotency_key"] for one in leased}, {key.hex()}, "the one that the module gave")
        self.assertEqual([one["intent_hash"] for one in leased], hashes)

    def test_sixty_four_effects_in_a_step(self):
        world = self.make()
        seq = world.go(asks(*(effect("pay.charge", {"n": at}) for at in range(64))))["seq"]
        intents = world.find(seq, "effect_intent")
        self.assertEqual([dec(one["params"])["n"] for one in intents], list(range(64)))
        self.assertEqual([one["origin"]["effect_index"] for one in intents], list(range(64)))

    def test_the_order_of_the_gate(self):
        """R-3.1.4: an undeclared kind is neither judged by a capability nor by a policy."""
        program = Program(effects=[]).grants().policy(({}, "deny"))
        world = self.make(program)
        seq = world.go(asks())["seq"]
        self.assertEqual(world.kinds(seq), ["domain_event", "step_failed"])
        self.assertEqual(world.find(seq, "step_failed")[0]["code"], "step.undeclared_effect")
        world = self.make(Program().grants().policy(({}, "deny")))
        self.assertEqual(world.find(world.go(asks())["seq"], "step_failed")[0]["code"], "cap.missing_binding")

    def denied(self, program, code, cap=None, policy_index=False):
        """The step fails with this code; the decisions stay."""
        world = self.make(program)
        seq = world.go(asks())["seq"]
        kinds = world.kinds(seq)
        self.assertEqual(kinds[-1], "step_failed")
        self.assertNotIn("effect_intent", kinds)
        self.assertEqual(world.find(seq, "step_failed")[0]["code"], code)
        decision, = world.find(seq, "cap_decision")
        self.assertEqual(decision["deny"] and decision["deny"]["code"], cap)
        if policy_index is False:
            self.assertEqual(world.find(seq, "policy_decision"), [])
        else:
            judged, = world.find(seq, "policy_decision")
            self.assertEqual((judged["policy_name"], judged["rule_index"], judged["decision"]), ("t/policy@1", policy_index, "deny"))
        world.check_replays()

    def test_policy(self):
        """First match; none: deny. R-4.5, R-3.9.1"""
        self.denied(Program().policy(), "policy.denied", policy_index=None)
        self.denied(Program().policy(({"origin_kind": "system"}, "allow")), "policy.denied", policy_index=None)
        self.denied(Program().policy(({"effect_kind": "timer.set"}, "allow"), ({"cap_name": "pay"}, "deny"), ({}, "allow")), "policy.denied", policy_index=1)
        for when in ({"effect_kind": "pay.charge"}, {"cap_name": "pay"}, {"cap_type": "pay"}, {"origin_kind": "workflow"}, {"origin_name": "t/m@1"}, {}):
            world = self.make(Program().policy((when, "allow"), ({}, "deny")))
            judged, = world.find(world.go(asks())["seq"], "policy_decision")
            self.assertEqual((judged["rule_index"], judged["decision"]), (0, "allow"), when)

    def test_expiry(self):
        self.denied(Program().grants(grant(expiry_ns=NOW)), "cap.denied", cap="expired")
        world = self.make(Program().grants(grant(expiry_ns=NOW + 1)))
        self.assertEqual(world.find(world.go(asks())["seq"], "cap_decision")[0]["expiry_ns"], NOW + 1)

    def test_the_type_of_the_capability(self):
        program = Program(slots={"till": "till"}).add(cap_def("t/Till@1", "till")).grants(grant(), grant("till", "t/Till@1"))
        program.manifest["module_bindings"] = {"t/m@1": {"slots": {"till": "till"}}}
        world = self.make(program)
        seq = world.go(asks(effect("pay.charge", {"n": 1}, cap_slot="till")))["seq"]
        self.assertEqual(world.find(seq, "cap_decision")[0]["deny"]["code"], "cap_type_mismatch")
        self.assertEqual(world.find(seq, "step_failed")[0]["code"], "cap.denied")

    def test_slots(self):
        """R-5.5, R-5.6"""
        two = (grant(), grant("other"))
        world = self.make(Program().grants(*two))
        self.assertEqual(world.find(world.go(asks())["seq"], "step_failed")[0]["code"], "cap.missing_binding", "two grants of the type")
        program = Program(slots={"till": "pay", "default": "pay"}).grants(*two)
        program.manifest["module_bindings"] = {"t/m@1": {"slots": {"till": "other", "default": "pay"}}}
        world = self.make(program)
        seq = world.go(asks(effect("pay.charge", {"n": 1}, cap_slot="till"), CHARGE))["seq"]
        self.assertEqual([one["cap_name"] for one in world.find(seq, "cap_decision")], ["other", "pay"])

    def enforced(self, verdict):
        program = Program().add(pure("t/enforcer@1", "sys/CapCheckInput@1", "sys/CapCheckOutput@1"))
        program.replace(cap_def(type_=record(verdict=BYTES), enforcer="t/enforcer@1"))
        return program.grants(grant(params={"verdict": b64(play(pure_output(verdict)))}))

    def test_an_enforcer_decides(self):
        world = self.make(self.enforced({"constraints_ok": True}))
        decision, = world.find(world.go(asks())["seq"], "cap_decision")
        self.assertEqual((decision["decision"], decision["enforcer_module"]), ("allow", "t/enforcer@1"))
        self.denied(self.enforced({"constraints_ok": False, "deny": {"code": "too_much", "message": "m"}}), "cap.denied", cap="too_much")
        self.denied(self.enforced({"constraints_ok": False}), "cap.denied", cap="constraint")
        self.denied(self.enforced({"nonsense": 1}), "cap.denied", cap="enforcer_failed")

    def test_a_denial_is_delivered_to_a_module_with_an_arm_for_it(self):
        """D2"""
        world = self.make(Program(arms=("Receipt", "Denied")).policy())
        seq = world.go(asks(last=b"kept"))["seq"]
        kinds = world.kinds(seq)
        self.assertEqual(kinds, ["domain_event", "step", "cap_decision", "policy_decision", "step"])
        second = world.find(seq, "step")[1]
        self.assertEqual((second["route"], second["ordinal"]), ("continuation", 1))
        seen = dec(world.state()["last"])
        self.assertEqual(dec(seen["state"]), {"last": b"kept"})
        value = dec(seen["event"]["value"])
        self.assertEqual(value["$tag"], "Denied")
        denied = value["$value"]
        self.assertEqual({**denied, "message": ""}, {
            "origin_module_id": "t/m@1", "origin_instance_key": None, "effect_kind": "pay.charge", "params_hash": sha(PARAMS), "effect_index": 0,
            "stage": "policy", "code": "policy.denied", "message": "", "emitted_at_seq": seq})
        world.check_replays()

    def test_nobody_else_makes_intents_of_a_module(self):
        world = self.make()
        world.call("POST", "/effects", {"kind": "pay.charge"}, status=405)

    def test_effects_of_the_operator(self):
        """R-3.9.2"""
        world = self.make(Program().policy(({"origin_kind": "system"}, "allow")))
        reply = world.post("/system/effects", {"kind": "pay.charge", "params": {"n": 1}, "cap": "pay"}, status=201)
        intent, = world.find(reply["seq"], "effect_intent")
        self.assertEqual((intent["intent_hash"], intent["origin"]["kind"], intent["origin"]["name"], intent["origin"]["instance_key"]),
                         (reply["intent_hash"], "system", "system", None))
        denied = self.make(Program().policy(({"origin_kind": "workflow"}, "allow")))
        with denied.nothing_changes():
            denied.refused(403, "policy.denied", "POST", "/system/effects", {"kind": "pay.charge", "params": {"n": 1}, "cap": "pay"})

    def test_a_leased_effect_of_the_operator_does_not_keep_the_world(self):
        """Applying a program was allowed then, removing the world was not."""
        world = self.make()
        world.adapter()
        world.post("/system/effects", {"kind": "pay.charge", "params": {"n": 1}, "cap": "pay"}, status=201)
        world.refused(409, "world.busy", "DELETE", "")
        world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["pay.charge"], "lease_ms": 600_000})
        self.assertEqual(set(world.get("/trace-summary")["strict_quiescence"].values()), {0})
        world.call("DELETE", "")

    def test_the_key_alone_finds_the_instances_of_every_module(self):
        world = self.make(Program(keyed=True))
        world.go(asks(), id_="a")
        world.go(asks(), id_="b")
        shown, = world.effects(key="b")
        self.assertEqual(dec(unb64(shown["origin"]["instance_key"])), "b")
        self.assertEqual([one["key"] for one in world.instances(key="b")], ["b"])
        self.assertEqual((world.effects(key="c"), world.instances(key="c")), ([], []))

    def test_text_keys_are_bare_in_queries(self):
        world = self.make(Program(keyed=True))
        for key in ("", '"q"', "7"):
            world.go(asks(), id_=key)
            self.assertEqual(world.get("/state/t/m@1", key=key)["meta"]["status"], "waiting", key)
        self.assertEqual([one["key"] for one in world.instances(module="t/m@1", key='"q"')], ['"q"'])


class Leases(WorldCase):
    def test_a_lease_is_exclusive_and_runs_out(self):
        world = self.make()
        world.adapter()
        intent = world.intents(world.go(asks())["seq"])[0]
        body = {"adapter_id": "stripe", "kinds": ["pay.charge"], "lease_ms": 300}
        leased = world.post("/effects/lease", body)["effects"]
        self.assertEqual([one["intent_hash"] for one in leased], [intent])
        self.assertIn("lease_until", leased[0])
        self.assertEqual(world.post("/effects/lease", body)["effects"], [])
        shown, = world.effects(state="inflight")
        self.assertEqual((shown["intent_hash"], shown["lease"]["adapter_id"]), (intent, "stripe"))
        again = until(lambda: world.post("/effects/lease", body)["effects"], "the lease to end")
        self.assertEqual(again[0]["idempotency_key"], leased[0]["idempotency_key"])

    def test_who_may_lease_what(self):
        world = self.make()
        world.go(asks())
        world.refused(403, "adapter.unknown", "POST", "/effects/lease", {"adapter_id": "nobody", "kinds": ["pay.charge"]})
        world.adapter("other", kinds=["mail.send"])
        self.assertEqual(world.post("/effects/lease", {"adapter_id": "other", "kinds": ["mail.send"]})["effects"], [])
        listed = {one["id"]: one for one in world.get("/adapters")["adapters"]}
        self.assertEqual(listed["other"]["kinds"], ["mail.send"])
        self.assertIn("pawl", listed)
        self.assertNotIn("secret", str(listed))
        world.call("DELETE", "/adapters/other")
        self.assertNotIn("other", {one["id"] for one in world.get("/adapters")["adapters"]})

    def test_a_settled_effect_is_never_leased_and_a_restart_ends_leases(self):
        world = self.make()
        world.adapter()
        first, second = world.intents(world.go(asks(CHARGE, CHARGE))["seq"])
        world.settle(first)
        body = {"adapter_id": "stripe", "kinds": ["pay.charge"], "lease_ms": 60_000}
        self.assertEqual([one["intent_hash"] for one in world.post("/effects/lease", body)["effects"]], [second])
        self.restart()
        self.assertEqual([one["intent_hash"] for one in world.post("/effects/lease", body)["effects"]], [second])
        settled, = world.effects(state="settled")
        self.assertEqual((settled["intent_hash"], settled["receipt"]["status"], settled["receipt"]["adapter_id"]), (first, "ok", "stripe"))

    def test_an_adapter_waits_for_effects(self):
        world = self.make()
        world.adapter()
        leased = []

        def adapter():
            client = self.server.client()
            body = {"adapter_id": "stripe", "kinds": ["pay.charge"], "wait_ms": 20_000}
            leased.extend(client.post(f"/v1/worlds/{world.name}/effects/lease", body).body["effects"])
            client.close()
        thread = threading.Thread(target=adapter)
        thread.start()
        intent = world.intents(world.go(asks())["seq"])[0]
        thread.join(DEADLINE_S)
        self.assertEqual([one["intent_hash"] for one in leased], [intent])


class WaitsEnd(WorldCase):
    shared = False

    def waiting(self, world):
        """A connection on which a lease call waits for a minute."""
        body = json.dumps({"adapter_id": "stripe", "kinds": ["pay.charge"], "wait_ms": 60_000}).encode()
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S)
        self.addCleanup(connection.close)
        connection.sendall(encode("POST", f"/v1/worlds/{world.name}/effects/lease", body))
        world.get()  # calls of one world are decided in the order in which they come
        return connection

    def status(self, connection):
        with connection.makefile("rb") as stream:
            return read_reply(stream)[0]

    def test_with_the_server(self):
        """A stop took as long as it may wait for requests, and then cut the adapter off."""
        world = self.make()
        world.adapter()
        connection = self.waiting(world)
        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(self.status(connection), 200)

    def test_with_the_world(self):
        world = self.make()
        world.adapter()
        connection = self.waiting(world)
        world.call("DELETE", "?force=true")
        self.assertEqual(self.status(connection), 404)

    def test_with_the_client(self):
        """Effects were leased to an adapter that had gone, and nobody got them before the lease ran out."""
        world = self.make()
        world.adapter()
        self.waiting(world).close()
        client = self.waiting(world)
        intents = world.intents(world.go(asks(CHARGE))["seq"])
        self.assertEqual(self.status(client), 200)
        self.assertEqual([one["intent_hash"] for one in world.effects(state="inflight")], intents)


class Receipts(WorldCase):
    def waiting(self, program=None, signer=None, **given):
        """A world with one open intent, and its hash."""
        world = self.make(program or Program())
        world.adapter(signer=signer)
        return world, world.intents(world.go(asks(), **given)["seq"])[0]

    def test_the_frame_of_a_receipt(self):
        """R-3.4, R-4.7: the envelope is what the journal says."""
        world, intent = self.waiting(Program(keyed=True), id_="k")
        payload = enc({"out": b"echo, please"})
        body = world.receipt_body(intent, payload, cost_cents=5)
        reply = world.post("/receipts", body)
        self.assertEqual((reply["outcome"], reply["seq"]), ("settled", 3))
        receipt, step = world.frame(3)
        stamp = {"now_ns": NOW, "logical_now_ns": NOW, "entropy": test_entropy(SEED, 3), "manifest_hash": world.manifest_hash()}
        self.assertEqual((receipt.kind, receipt.value), ("effect_receipt", {
            "intent_hash": intent, "adapter_id": "stripe", "status": "ok", "payload": payload, "payload_hash": sha(payload),
            "cost_cents": 5, "signature": unb64(body["sig"]), "stamp": stamp}))
        self.assertEqual((step.value["route"], step.value["cause"], step.value["key"]), ("continuation", [3, 0], enc("k")))
        event = dec(world.state(key="k")["last"])["event"]
        self.assertEqual(event["schema"], "t/Input@1")
        self.assertEqual(dec(event["value"]), {"$tag": "Receipt", "$value": {
            "origin_module_id": "t/m@1", "origin_instance_key": enc("k"), "intent_id": intent, "effect_kind": "pay.charge",
            "params_hash": sha(PARAMS), "receipt_payload": payload, "status": "ok", "emitted_at_seq": 2, "adapter_id": "stripe",
            "cost_cents": 5, "signature": unb64(body["sig"])}})
        self.assertEqual((world.effects(), world.instance(key="k")["inflight"], world.instance(key="k")["status"]), ([], [], "running"))
        world.check_replays()

    def test_both_kinds_of_signature(self):
        for signer in (HmacSigner(b"another secret of 24 bytes"), Ed25519Signer()):
            world, intent = self.waiting(signer=signer)
            world.settle(intent, signer=signer)

    def test_a_payload_in_json_is_signed_as_cbor(self):
        world, intent = self.waiting()
        self.assertEqual(world.post("/receipts", world.receipt_body(intent, {"out": b64(b"x")}))["outcome"], "settled")
        self.assertEqual(world.find(3, "effect_receipt")[0]["payload"], enc({"out": b"x"}))

    def test_a_payload_has_a_bound(self):
        world, intent = self.waiting()
        with world.nothing_changes():
            world.call("POST", "/receipts", world.receipt_body(intent, bytes(16 * 2**20 + 1)), status=413)

    def test_payloads_are_canonical(self):
        """R-3.2.3"""
        program = Program()
        program.node("t/ChargeReceipt@1")["type"] = record(out=BYTES, n=NAT)
        world, intent = self.waiting(program)
        world.settle(intent, payload=bytes.fromhex("a2616e18016 36f75744178".replace(" ", "")))
        self.assertEqual(world.find(3, "effect_receipt")[0]["payload"], enc({"out": b"x", "n": 1}))

    def test_bad_signatures_settle_nothing(self):
        """R-4.6"""
        world, intent = self.waiting()
        good = world.receipt_body(intent, enc({"out": b"x"}))
        payload = enc({"out": b"x"})
        elsewhere = world.receipt_body(intent, payload, world_id=new_id())
        prefixed = HmacSigner().sign(bytes.fromhex("d9d9f7") + signed(world.id, intent, "stripe", "ok", payload))
        with world.nothing_changes():
            for change in ({"sig": b64(bytes(32))}, {"sig": b64(b"s")}, {"status": "error"}, {"payload_b64": b64(enc({"out": b"y"}))}, {"cost_cents": 1},
                           {"sig": elsewhere["sig"]}, {"sig": b64(prefixed)}, {"adapter_id": "nobody"},
                           {"sig": world.receipt_body(intent, payload, signer=HmacSigner(b"x" * 16))["sig"]}):
                with self.subTest(change):
                    world.refused(403, "receipt.bad_signature", "POST", "/receipts", {**good, **change})
            unsigned = {name: value for name, value in good.items() if name != "sig"}
            world.refused(403, "receipt.bad_signature", "POST", "/receipts", unsigned)
        self.assertEqual(len(world.effects()), 1)
        self.assertEqual(world.post("/receipts", good)["outcome"], "settled")

    def test_the_order_of_the_checks(self):
        world, intent = self.waiting()
        good = world.receipt_body(intent, enc({"out": b"x"}))
        with world.nothing_changes():
            for change in ({"status": "done"}, {"status": None}, {"intent_hash": 1}):
                world.call("POST", "/receipts", {**good, **change}, status=422)
            world.refused(404, "receipt.unknown_intent", "POST", "/receipts", {**good, "intent_hash": sha(b"none"), "sig": b64(b"s")})
            world.adapter("mail", HmacSigner(b"m" * 16), kinds=["mail.send"])
            other = world.receipt_body(intent, enc({"out": b"x"}), adapter="mail", signer=HmacSigner(b"m" * 16))
            world.refused(403, "receipt.kind_not_allowed", "POST", "/receipts", other)

    def test_a_second_receipt_does_nothing(self):
        """R-9.4, T06"""
        world, intent = self.waiting()
        world.settle(intent)
        with world.nothing_changes():
            reply = world.settle(intent, outcome="duplicate")
            self.assertIsNone(reply["seq"])
        self.restart()
        with world.nothing_changes():
            world.settle(intent, outcome="duplicate")

    def test_errors_and_timeouts(self):
        """R-10.2, D6: they fit the receipt's schema, or say code and message."""
        for status in ("error", "timeout"):
            for payload in ({"code": "card_declined", "message": "no"}, {"out": b"x"}):
                world, intent = self.waiting()
                world.settle(intent, payload=enc(payload), status=status)
                envelope = dec(dec(world.state()["last"])["event"]["value"])["$value"]
                self.assertEqual((envelope["status"], dec(envelope["receipt_payload"])), (status, payload))
        world, intent = self.waiting()
        self.assertEqual(world.post("/receipts", world.receipt_body(intent, enc({"code": "x", "message": "y"})))["outcome"], "instance_failed", "an ok of this shape")

    def test_a_receipt_reaches_its_origin_only(self):
        """R-3.3.1, R-3.3.3, T09"""
        program = Program(keyed=True).add(workflow("t/n@1", key="t/Key@1", effects=["pay.charge"]))
        program.subscribe(subscription(key_field="id"), subscription(module="t/n@1", key_field="id"))
        world = self.make(program)
        world.adapter()
        intents = {}
        for id_ in ("a", "b"):
            seq = world.go(asks(), id_=id_)["seq"]
            for one in world.find(seq, "effect_intent"):
                intents[one["origin"]["name"], id_] = one["intent_hash"]
        self.assertEqual(len(set(intents.values())), 4)
        world.settle(intents["t/n@1", "b"], step_output({"last": b"got it"}))
        self.assertEqual({(one["module"], one["key"]): one["status"] for one in world.instances()},
                         {("t/m@1", "a"): "waiting", ("t/m@1", "b"): "waiting", ("t/n@1", "a"): "waiting", ("t/n@1", "b"): "running"})
        self.assertEqual(world.state("t/n@1", "b"), {"last": b"got it"})
        world.check_replays()


class Faults(WorldCase):
    def waiting(self, arms, count=2):
        world = self.make(Program(arms=arms, keyed=True))
        world.adapter()
        return world, world.intents(world.go(asks(*[CHARGE] * count), id_="k")["seq"])

    def test_with_an_arm_the_module_is_told(self):
        """R-3.5.2"""
        world, (intent, other) = self.waiting(("Receipt", "Rejected"))
        bad = enc({"spare": 1})
        reply = world.post("/receipts", world.receipt_body(intent, bad))
        self.assertEqual(reply["outcome"], "rejected")
        fault, = world.find(reply["seq"], "receipt_fault")
        self.assertEqual(fault, {"intent_hash": intent, "code": "receipt.invalid_payload", "delivered_rejected": True, "workflow_failed": False, "dropped": 0})
        value = dec(dec(world.state(key="k")["last"])["event"]["value"])
        self.assertEqual(value["$tag"], "Rejected")
        self.assertEqual({**value["$value"], "error_message": ""}, {
            "origin_module_id": "t/m@1", "origin_instance_key": enc("k"), "intent_id": intent, "effect_kind": "pay.charge", "params_hash": sha(PARAMS),
            "adapter_id": "stripe", "status": "ok", "error_code": "receipt.invalid_payload", "error_message": "", "payload_hash": sha(bad),
            "payload_size": len(bad), "emitted_at_seq": 2})
        self.assertEqual([one["intent_hash"] for one in world.effects()], [other])
        self.assertEqual(world.instance(key="k")["status"], "waiting")
        with world.nothing_changes():
            world.settle(intent, outcome="duplicate")
        world.check_replays()

    def test_without_an_arm_the_instance_fails(self):
        """R-3.5.1, R-3.5.3"""
        for bad in (b"\xff", b"", enc({"out": "text"}), enc({"out": b""}) + b"\x00", bytes.fromhex("bf636f757440ff")):
            with self.subTest(bad):
                world, (intent, other) = self.waiting(("Receipt",))
                world.go(asks(), id_="other")
                reply = world.post("/receipts", world.receipt_body(intent, bad))
                self.assertEqual(reply["outcome"], "instance_failed")
                fault, = world.find(reply["seq"], "receipt_fault")
                self.assertEqual(fault, {"intent_hash": intent, "code": "receipt.invalid_payload", "delivered_rejected": False,
                                         "workflow_failed": True, "dropped": 1})
                instance = world.instance(key="k")
                self.assertEqual((instance["status"], instance["inflight"], instance["error"]["code"]), ("failed", [], "receipt.invalid_payload"))
                with world.nothing_changes():
                    world.settle(other, outcome="duplicate")
                self.assertEqual(world.instance(key="other")["status"], "waiting")
                world.check_replays()

    def test_nobody_to_deliver_it_to(self):
        world, (intent, _) = self.waiting(())
        reply = world.post("/receipts", world.receipt_body(intent, enc({"out": b"x"})))
        self.assertEqual(reply["outcome"], "instance_failed")
        self.assertEqual(world.find(reply["seq"], "receipt_fault")[0]["code"], "receipt.delivery_failed")
        self.assertEqual(world.instance(key="k")["error"]["code"], "receipt.delivery_failed")

    def test_a_receipt_for_a_failed_instance_settles(self):
        world, (intent, other) = self.waiting(("Receipt",))
        world.settle(intent, step_output({"last": b""}, status="failed", error="enough"))
        self.assertEqual([one["intent_hash"] for one in world.effects()], [other], "its open intents stay open")
        reply = world.settle(other)
        self.assertEqual(world.kinds(reply["seq"]), ["effect_receipt", "delivery_skipped"])
        self.assertEqual(world.find(reply["seq"], "delivery_skipped")[0]["code"], "instance.failed")
        world.check_replays()


if __name__ == "__main__":
    unittest.main()
