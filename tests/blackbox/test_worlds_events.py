"""Events: routing, keys, frames, stamps, cascades, and what a step may not do."""
import threading
import unittest

from harness import join_all
from world_bytes import b64, dec, enc, event_hash, sha, step_entropy, test_entropy, unb64
from world_case import NAT, NOW, SEED, TEXT, Program, WorldCase, effect_def, option, pure, record, ref, schema, subscription, variant, workflow
from world_modules import BAD_POINTER, LOOP, RECURSE, TRAP, effect, emit, play, play_grow, pure_output, step_output

DONE = step_output({"last": b"done"}, status="completed")


def two(first="t/m@1", second="t/n@1"):
    """Two modules that take the same event, in this order."""
    program = Program().add(workflow("t/n@1", effects=["pay.charge"]))
    return program.subscribe(subscription(module=first), subscription(module=second))


class Frames(WorldCase):
    def test_one_event_one_frame(self):
        """R-4.1: the records are exactly those of the contract."""
        program = Program()
        world = self.make(program)
        output = step_output({"last": b"x"})
        reply = world.go(output)
        value = world.go_value(output)
        self.assertEqual((reply["seq"], reply["duplicate"]), (2, False))
        self.assertEqual(reply["event_hash"], event_hash("t/Go@1", value))
        self.assertEqual([(one["module"], one["key"], one["outcome"]) for one in reply["deliveries"]], [("t/m@1", None, "stepped")])
        manifest = world.manifest_hash()
        stamp = {"now_ns": NOW, "logical_now_ns": NOW, "entropy": test_entropy(SEED, 2), "manifest_hash": manifest}
        event, step = world.frame(2)
        self.assertEqual((event.kind, event.value), ("domain_event", {
            "schema": "t/Go@1", "value": value, "key": None, "event_hash": event_hash("t/Go@1", value), "client_id": None,
            "cause": None, "stamp": stamp}))
        self.assertEqual((step.kind, step.value), ("step", {
            "module": "t/m@1", "key": None, "ordinal": 0, "cause": [2, 0], "route": "subscription", "status": "running",
            "state_hash": sha(enc({"last": b"x"})), "module_version": sha(program.code_of())}))
        self.assertEqual(world.state(), {"last": b"x"})
        world.check_replays()

    def test_an_event_that_nobody_takes_is_kept(self):
        """R-4.2, R-1.2"""
        world = self.make(Program().add(schema("t/Lone@1", NAT)))
        reply = world.event("t/Lone@1", 7)
        self.assertEqual(reply["deliveries"], [])
        self.assertEqual(world.kinds(reply["seq"]), ["domain_event"])

    def test_deliveries_in_the_order_of_the_manifest(self):
        """R-6.2, R-6.3: each once, and a failing one does not stop the next."""
        for order in (("t/m@1", "t/n@1"), ("t/n@1", "t/m@1")):
            world = self.make(two(*order))
            self.assertEqual([one["module"] for one in world.go()["deliveries"]], list(order))
        world = self.make(two())
        reply = world.go(mode=TRAP)
        self.assertEqual([one["outcome"] for one in reply["deliveries"]], ["failed", "failed"])
        self.assertEqual(world.kinds(reply["seq"]), ["domain_event", "step_failed", "step_failed"])
        self.assertEqual([one["outcome"] for one in world.go()["deliveries"]], ["skipped", "skipped"])

    def test_the_module_sees_what_the_contract_says(self):
        """R-5.2, R-5.3: wrapped in its arm, with the context, and nothing else."""
        world = self.make(Program(context=True))
        reply = world.event("t/Go@1", {"id": "a", "out": b64(b"nothing to play")})
        seen = dec(world.state()["last"])
        go = {"id": "a", "out": b"nothing to play"}
        event = {"schema": "t/Input@1", "value": enc({"$tag": "Go", "$value": go})}
        ctx = {"now_ns": NOW, "logical_now_ns": NOW, "journal_height": reply["seq"], "entropy": test_entropy(SEED, 2),
               "event_hash": event_hash("t/Go@1", enc(go)), "manifest_hash": world.manifest_hash(), "workflow": "t/m@1",
               "key": None, "cell_mode": False}
        self.assertEqual({**seen, "ctx": dec(seen["ctx"])}, {"version": 1, "state": None, "event": event, "ctx": ctx})
        world.event("t/Go@1", {"id": "b", "out": ""})
        self.assertEqual(dec(world.state()["last"])["state"], enc({"last": enc({**seen})}))
        plain = self.make(Program(keyed=True))
        plain.event("t/Go@1", {"id": "k", "out": ""})
        seen = dec(plain.state(key="k")["last"])
        self.assertEqual(sorted(seen), ["event", "state", "version"])
        self.assertEqual(seen["event"].get("key"), enc("k"))

    def test_every_shape_of_step_gives_the_same(self):
        hashes = set()
        for abi in ("packed", "pair", "return pointer"):
            world = self.make(Program(abi=abi, initialise=True))
            world.go(step_output({"last": b"same"}))
            hashes.add(world.instance()["state_hash"])
        self.assertEqual(hashes, {sha(enc({"last": b"same"}))})


class Keys(WorldCase):
    def test_each_key_is_an_instance(self):
        world = self.make(Program(keyed=True))
        for id_ in ("a", "b", "a"):
            world.go(step_output({"last": id_.encode()}), id_=id_)
        self.assertEqual({one["key"]: one["last_seq"] for one in world.instances()}, {"a": 4, "b": 3})
        self.assertEqual(world.state(key="b"), {"last": b"b"})
        self.assertEqual(world.instance(key="a")["key_b64"], b64(enc("a")))
        self.assertEqual(world.find(3, "step")[0]["key"], enc("b"))
        self.assertEqual(world.state(key="c", status=404)["error"]["code"], "state.unknown")
        world.check_replays()

    def test_instances_are_listed_by_their_status(self):
        world = self.make(Program(keyed=True))
        world.go(step_output({"last": b""}), id_="a")
        world.go(step_output({"last": b""}, status="completed"), id_="b")
        for status, keys in (("running", ["a"]), ("completed", ["b"]), ("failed", [])):
            listed = world.call("GET", f"/instances?status={status}")["instances"]
            self.assertEqual([one["key"] for one in listed], keys, status)
        world.call("GET", "/instances?status=asleep", status=400)

    def test_an_explicit_key_must_be_that_of_the_event(self):
        world = self.make(Program(keyed=True))
        reply = world.go(id_="a", key="a")
        self.assertEqual(world.find(reply["seq"], "domain_event")[0]["key"], enc("a"))
        self.assertNotEqual(reply["event_hash"], world.go(id_="a")["event_hash"])
        with world.nothing_changes():
            body = {"schema": "t/Go@1", "value": {"id": "a", "out": ""}, "key": "b"}
            world.refused(422, "event.key_mismatch", "POST", "/events", body)

    def test_a_key_inside_of_an_arm(self):
        program = Program().add(schema("t/Keyed@1", variant(Go=ref("t/Go@1"), Other=record(id=TEXT))))
        program.add(workflow("t/k@1", event="t/Keyed@1", key="t/Key@1")).subscribe(subscription("t/Keyed@1", "t/k@1", key_field="$value.id"))
        world = self.make(program)
        for value in ({"Go": {"id": "a", "out": b64(play(step_output({"last": b""})))}}, {"Other": {"id": "b"}}):
            world.event("t/Keyed@1", value)
        self.assertEqual({one["key"] for one in world.instances()}, {"a", "b"})

    def test_an_arm_without_the_key_is_refused(self):
        program = Program().add(schema("t/Keyed@1", variant(Go=ref("t/Go@1"), Other=record(n=NAT))))
        program.add(workflow("t/k@1", event="t/Keyed@1", key="t/Key@1")).subscribe(subscription("t/Keyed@1", "t/k@1", key_field="$value.id"))
        world = self.make(program)
        with world.nothing_changes():
            world.refused(422, "event.key_missing", "POST", "/events", {"schema": "t/Keyed@1", "value": {"Other": {"n": 1}}})

    def test_bursts_of_many_clients_keep_the_order_of_their_seqs(self):
        """R-10.4"""
        world = self.make(Program(keyed=True))

        def burst(number):
            client = self.server.client()
            try:
                for at in range(10):
                    text = f"{number}-{at}".encode()
                    reply = client.post(f"/v1/worlds/{world.name}/events", {
                        "schema": "t/Go@1", "value": {"id": "k", "out": b64(play(step_output({"last": text})))}})
                    assert reply.status == 200, reply.raw
            finally:
                client.close()
        threads = [threading.Thread(target=burst, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        join_all(threads)
        steps = [one for one in world.journal() if one.kind == "step"]
        self.assertEqual([one.seq for one in steps], list(range(2, 82)))
        self.assertEqual(world.instance(key="k")["state_hash"], steps[-1].value["state_hash"])
        world.check_replays()


class Ids(WorldCase):
    def test_the_same_client_id_is_taken_once(self):
        """R-9.4"""
        world = self.make()
        first = world.go(client_id="c1")
        with world.nothing_changes():
            again = world.go(client_id="c1")
        self.assertEqual({**again, "duplicate": False, "deliveries": []}, {**first, "deliveries": []})
        self.assertTrue(again["duplicate"])
        with world.nothing_changes():
            value = {"id": "other", "out": ""}
            world.refused(422, "event.client_id_reused", "POST", "/events", {"schema": "t/Go@1", "value": value, "client_id": "c1"})
        self.assertEqual(world.find(first["seq"], "domain_event")[0]["client_id"], "c1")

    def test_unknown_and_reserved_schemas(self):
        """R-3.3.4"""
        world = self.make()
        with world.nothing_changes():
            world.refused(422, "event.unknown_schema", "POST", "/events", {"schema": "t/None@1", "value": {}})
            world.refused(422, "event.reserved_schema", "POST", "/events", {"schema": "sys/TimerFired@1", "value": {}})
            envelope = {"origin_module_id": "t/m@1", "intent_id": sha(b""), "effect_kind": "pay.charge", "params_hash": sha(b""),
                        "receipt_payload": "", "status": "ok", "emitted_at_seq": 1, "adapter_id": "a", "signature": ""}
            for schema_, value in (("t/Input@1", {"Receipt": envelope}), ("sys/EffectReceiptEnvelope@1", envelope)):
                world.refused(422, "event.reserved_schema", "POST", "/events", {"schema": schema_, "value": value})


class Cascades(WorldCase):
    def chain(self):
        """t/m@1 emits t/Next@1, which t/n@1 takes."""
        program = Program(context=True).add(schema("t/Next@1", record(out={"bytes": {}})))
        program.add(schema("t/NextInput@1", variant(Next=ref("t/Next@1"), Receipt=ref("sys/EffectReceiptEnvelope@1"))))
        program.add(workflow("t/n@1", event="t/NextInput@1", context=True, effects=["pay.charge"]))
        return program.subscribe(subscription(), subscription("t/Next@1", "t/n@1"))

    def test_an_emitted_event_is_routed_in_the_same_frame(self):
        """T03, R-4.4, D4"""
        world = self.make(self.chain())
        inner = {"out": b"echo, please"}
        output = step_output({"last": b"m"}, events=[emit("t/Next@1", inner)])
        reply = world.go(output)
        self.assertEqual([one["module"] for one in reply["deliveries"]], ["t/m@1"], "of the event itself")
        seq = reply["seq"]
        self.assertEqual(world.kinds(seq), ["domain_event", "step", "domain_event", "step"])
        emitted = world.find(seq, "domain_event")[1]
        self.assertEqual(emitted, {"schema": "t/Next@1", "value": enc(inner), "key": None, "client_id": None,
                                   "event_hash": event_hash("t/Next@1", enc(inner)), "cause": [seq, 1], "stamp": None})
        step = world.find(seq, "step")[1]
        self.assertEqual((step["module"], step["ordinal"], step["cause"]), ("t/n@1", 1, [seq, 2]))
        ctx = dec(dec(world.state("t/n@1")["last"])["ctx"])
        self.assertEqual(ctx["entropy"], step_entropy(test_entropy(SEED, seq), 1))
        self.assertEqual((ctx["journal_height"], ctx["now_ns"]), (seq, NOW))
        self.assertEqual(ctx["event_hash"], event_hash("t/Next@1", enc(inner)))
        world.check_replays()

    def test_bad_events_fail_the_step_that_emitted_them(self):
        cases = [(emit("t/None@1", {}), "event.invalid"), (emit("t/Next@1", {"spare": 1}), "event.invalid"),
                 (emit("t/Next@1", b"\xff"), "event.invalid"), (emit("sys/TimerFired@1", {}), "event.reserved_schema")]
        for event, code in cases:
            with self.subTest(code=code, event=event):
                world = self.make(self.chain())
                reply = world.go(step_output({"last": b"m"}, events=[event]))
                self.assertEqual(reply["deliveries"][0]["outcome"], "failed")
                self.assertEqual(world.kinds(reply["seq"]), ["domain_event", "step_failed"])
                self.assertEqual(world.find(reply["seq"], "step_failed")[0]["code"], code)

    def test_a_cascade_ends_after_a_thousand_steps(self):
        world = self.make()
        inner = {"id": "a", "out": b""}
        for _ in range(6):  # every event makes four: 5461 steps if nobody stopped it
            inner = {"id": "a", "out": play(step_output({"last": b""}, events=[emit("t/Go@1", inner)] * 4))}
        reply = world.event("t/Go@1", {"id": "a", "out": b64(inner["out"])})
        records = world.frame(reply["seq"])
        self.assertEqual(sum(1 for one in records if one.kind == "step"), 1000)
        skipped = [one.value for one in records if one.kind == "delivery_skipped"]
        self.assertTrue(skipped)
        self.assertEqual({one["code"] for one in skipped}, {"step.cascade_limit"})
        world.check_replays()


class Failures(WorldCase):
    def fails(self, world, code, **given):
        """An event whose step fails with this code: no state, nothing emitted, the same in a replay."""
        before = world.state() if world.instances() else None
        reply = world.go(**given)
        self.assertEqual(reply["deliveries"][0]["outcome"], "failed")
        self.assertEqual(world.kinds(reply["seq"]), ["domain_event", "step_failed"])
        failed = world.find(reply["seq"], "step_failed")[0]
        self.assertEqual(failed["code"], code)
        self.assertEqual((failed["module"], failed["ordinal"], failed["cause"], failed["route"]), ("t/m@1", 0, [reply["seq"], 0], "subscription"))
        instance = world.instance()
        self.assertEqual((instance["status"], instance["error"]["code"], instance["error"]["seq"]), ("failed", code, reply["seq"]))
        if before is not None:
            self.assertEqual(world.state(), before)
        world.check_replays()
        return failed

    def test_codes(self):
        many = [effect("pay.charge", {"n": at}) for at in range(65)]
        cases = [
            ("step.trap", {"mode": TRAP}), ("step.trap", {"mode": RECURSE}), ("step.fuel_exceeded", {"mode": LOOP}),
            ("step.output_invalid", {"mode": BAD_POINTER}),
            ("step.output_invalid", {"raw": play(b"\xff")}), ("step.output_invalid", {"raw": play(b"")}),
            ("step.output_invalid", {"output": {**step_output({"last": b""}), "spare": 1}}),
            ("step.output_invalid", {"output": [1]}),
            ("step.output_invalid", {"output": {**step_output({"last": b""}), "status": "running"}}),
            ("step.output_invalid", {"raw": play(enc(step_output({"last": b""})) + b"\x00")}),
            ("step.state_invalid", {"output": step_output({"other": 1})}),
            ("step.state_invalid", {"output": {"state": b"\xff"}}),
            ("step.undeclared_effect", {"output": step_output({"last": b""}, effects=[effect("pay.refund", {"n": 1})])}),
            ("effect.invalid_params", {"output": step_output({"last": b""}, effects=[effect("pay.charge", {"n": -1})])}),
            ("effect.invalid_params", {"output": step_output({"last": b""}, effects=[effect("pay.charge", b"\xff")])}),
            ("effect.invalid_key", {"output": step_output({"last": b""}, effects=[effect("pay.charge", {"n": 1}, idempotency_key=b"short")])}),
            ("cap.missing_binding", {"output": step_output({"last": b""}, effects=[effect("pay.charge", {"n": 1}, cap_slot="none")])}),
            ("step.output_limit", {"output": step_output({"last": b""}, effects=many)}),
            ("step.output_limit", {"output": step_output({"last": b""}, events=[emit("t/Go@1", {"id": "a", "out": b""})] * 257)}),
        ]
        for code, given in cases:
            with self.subTest(code=code, given=str(given)[:100]):
                world = self.make()
                world.go(step_output({"last": b"before"}))
                self.fails(world, code, **given)

    def test_a_failure_keeps_none_of_what_came_before_it_in_the_step(self):
        """R-3.1.5"""
        world = self.make()
        good = [effect("pay.charge", {"n": at}) for at in range(3)]
        self.fails(world, "effect.invalid_params", output=step_output({"last": b""}, effects=[*good, effect("pay.charge", {})]))
        self.assertEqual(world.effects(), [])

    def test_too_large_an_output(self):
        world = self.make()
        world.go(step_output({"last": bytes(700_000)}))
        reply = world.event("t/Go@1", {"id": "a", "out": b64(bytes(500_000))})  # the echo of both is more than 1 MiB
        self.assertEqual(world.find(reply["seq"], "step_failed")[0]["code"], "step.output_limit")
        self.assertEqual(world.state(), {"last": bytes(700_000)})

    def test_output_that_grows_in_its_canonical_form(self):
        """Absent fields become null: 64 KB of empty records, of 200 optional fields each, are 80 MB in the journal."""
        wide = schema("t/Wide@1", {"list": record(**{f"field_{at}": option(NAT) for at in range(200)})})
        short = [{}] * 4000
        for output in (step_output({"last": b""}, events=[emit("t/Wide@1", short)] * 16),
                       step_output({"last": b""}, effects=[effect("wide.send", short)] * 16)):
            program = Program(effects=["wide.send"]).add(
                wide, effect_def("t/Send@1", "wide.send", "t/Wide@1", "t/Any@1"))
            world = self.make(program)
            self.fails(world, "step.output_limit", output=output)
        world = self.make(Program(state="t/Wide@1").add(wide))
        world.go({"state": enc([{}] * 100)})
        self.assertEqual(world.instance()["status"], "running")
        self.fails(world, "step.output_limit", output={"state": enc(short)})

    def test_events_that_reach_too_many_subscribers(self):
        """Every delivery that is not stepped is a record: 256 events to 400 subscribers, in each step, made frames that no store took."""
        program = Program().add(schema("t/Wide@1", NAT), workflow("t/deaf@1", "t/Wide@1"))
        program.subscribe(subscription(), *[subscription("t/Wide@1", "t/deaf@1")] * 400)
        world = self.make(program)
        self.fails(world, "step.output_limit", output=step_output({"last": b""}, events=[emit("t/Wide@1", 1)] * 256))

    def test_memory_does_not_grow_past_its_limit(self):
        world = self.make(Program().limits(memory_pages=8))
        grown, refused = step_output({"last": b"grown"}), step_output({"last": b"refused"})
        world.go(raw=play_grow(2, grown, refused))
        self.assertEqual(world.state(), {"last": b"grown"})
        world.go(raw=play_grow(10, grown, refused))
        self.assertEqual(world.state(), {"last": b"refused"})

    def test_a_failed_instance_skips_later_events(self):
        """D7"""
        world = self.make()
        world.go(mode=TRAP)
        reply = world.go()
        self.assertEqual(reply["deliveries"][0]["outcome"], "skipped")
        event, skipped = world.frame(reply["seq"])
        self.assertEqual((skipped.kind, skipped.value), ("delivery_skipped", {
            "module": "t/m@1", "key": None, "cause": [reply["seq"], 0], "code": "instance.failed"}))
        world.check_replays()

    def test_words_of_the_module_about_its_end(self):
        """D1"""
        world = self.make(Program(keyed=True))
        world.go(step_output({"last": b"x"}, status="failed", error="no money"), id_="f")
        failed = world.instance(key="f")
        self.assertEqual((failed["status"], failed["error"]["code"], failed["error"]["detail"]), ("failed", "module.failed", "no money"))
        self.assertEqual(world.state(key="f"), {"last": b"x"})
        world.go(DONE, id_="c")
        self.assertEqual(world.instance(key="c")["status"], "completed")
        self.assertEqual(world.go(id_="c")["deliveries"][0]["outcome"], "stepped")
        self.assertEqual(world.instance(key="c")["status"], "running")
        world.go(step_output(None), id_="g")
        self.assertEqual(world.instance(key="g")["status"], "completed")
        world.state(key="g", status=404)
        world.event("t/Go@1", {"id": "g", "out": ""})
        self.assertIsNone(dec(world.state(key="g")["last"])["state"], "a fresh one")
        world.check_replays()


class StepTest(WorldCase):
    def test_it_gives_what_the_live_step_gives_and_journals_nothing(self):
        """R-4.3, R-10.1"""
        world = self.make()
        output = step_output({"last": b"x"}, effects=[effect("pay.charge", {"n": 7})], events=[emit("t/Go@1", {"id": "e", "out": b""})])
        event = {"schema": "t/Go@1", "value": {"id": "a", "out": b64(play(output))}}
        with world.nothing_changes():
            replies = [world.post("/step-test", {"module": "t/m@1", "state": None, "event": event}) for _ in range(2)]
        self.assertEqual(replies[0], replies[1])
        reply = replies[0]
        self.assertEqual((reply["state"], unb64(reply["state_b64"]), reply["error"]), ({"last": b64(b"x")}, enc({"last": b"x"}), None))
        self.assertEqual([(one["kind"], one["params"], one["params_hash"], one["cap_slot"]) for one in reply["effects"]],
                         [("pay.charge", {"n": 7}, sha(enc({"n": 7})), None)])
        self.assertEqual([(one["schema"], one["value"]) for one in reply["domain_events"]], [("t/Go@1", {"id": "e", "out": ""})])
        self.assertGreater(reply["fuel"], 0)
        body = {"module": "t/m@1", "state_b64": reply["state_b64"], "event": {"schema": "t/Go@1", "value_b64": b64(world.go_value(output))}}
        self.assertEqual(world.post("/step-test", body)["state"], reply["state"])

    def test_failures(self):
        world = self.make()
        for mode, code in ((TRAP, "step.trap"), (LOOP, "step.fuel_exceeded")):
            event = {"schema": "t/Go@1", "value": {"id": "a", "out": b64(play(b"", mode))}}
            reply = world.post("/step-test", {"module": "t/m@1", "state": None, "event": event})
            self.assertEqual(reply["failed"]["code"], code)
            self.assertGreater(reply["fuel"], 0)

    def test_pure_modules(self):
        """R-3.1.2"""
        world = self.make(Program().add(pure("t/p@1", context=True)))
        reply = world.post("/step-test", {"module": "t/p@1", "input": {"last": b64(play(pure_output({"last": b"y"})))}})
        self.assertEqual((reply["output"], reply["output_b64"]), ({"last": b64(b"y")}, b64(enc({"last": b"y"}))))
        echo = world.post("/step-test", {"module": "t/p@1", "input_b64": b64(enc({"last": b""}))})
        seen = dec(unb64(echo["output"]["last"]))
        self.assertEqual(sorted(seen), ["ctx", "input", "version"])
        self.assertEqual(sorted(dec(seen["ctx"])), ["journal_height", "logical_now_ns", "manifest_hash", "module"])
        shaped = {"last": b64(play(step_output({"last": b""}, effects=[effect("pay.charge", {"n": 1})])))}
        self.assertEqual(world.post("/step-test", {"module": "t/p@1", "input": shaped})["failed"]["code"], "pure.output_invalid")
        for mode, code in ((TRAP, "pure.trap"), (LOOP, "pure.fuel_exceeded")):
            body = {"module": "t/p@1", "input": {"last": b64(play(b"", mode))}}
            self.assertEqual(world.post("/step-test", body)["failed"]["code"], code)


if __name__ == "__main__":
    unittest.main()
