"""Reading: traces, causes, the summary, instances as runs, clocks of test worlds, effects that the server does itself."""
import unittest

from harness import Server, until
from world_bytes import b64, dec, enc, pawl_public_key, sha
from world_case import NOW, SEED, Program, WorldCase, grant, ref, schema, variant
from world_modules import LOOP, TRAP, effect, emit, play, step_output

CHARGE = effect("pay.charge", {"n": 1})
DONE = step_output({"last": b"done"}, status="completed")
ASKS = step_output({"last": b"asks"}, effects=[CHARGE])


class Traces(WorldCase):
    def test_all_that_came_of_an_event_is_one_chain(self):
        """R-9.1"""
        program = Program(keyed=True)
        world = self.make(program)
        world.adapter()
        seq = world.go(ASKS, id_="o-1")["seq"]
        world.go(id_="other")
        intent, = world.intents(seq)
        settled = world.settle(intent, step_output({"last": b""}, events=[emit("t/Go@1", {"id": "next", "out": play(DONE)})], status="completed"))["seq"]
        for query in ({"seq": seq}, {"schema": "t/Go@1", "correlate_by": "id", "value": "o-1"}):
            trace = world.get("/trace", **query)
            self.assertEqual(trace["root"], {"seq": seq, "n": 0})
            chain = [(one["seq"], one["kind"]) for one in trace["chain"]]
            self.assertEqual(chain, [(seq, kind) for kind in ("domain_event", "step", "cap_decision", "policy_decision", "effect_intent")] +
                             [(settled, kind) for kind in ("effect_receipt", "step", "domain_event", "step")])
            self.assertEqual([one["route"] for one in trace["chain"] if one["kind"] == "step"], ["subscription", "continuation", "subscription"])
            self.assertEqual((trace["live_wait"], trace["terminal_state"]), ([], "completed"))

    def test_terminal_states(self):
        world = self.make(Program(keyed=True))
        for id_, given, state in (("w", {"output": ASKS}, "waiting_receipt"), ("r", {}, "waiting_event"), ("c", {"output": DONE}, "completed"),
                                  ("f", {"mode": TRAP}, "failed")):
            trace = world.get("/trace", seq=world.go(id_=id_, **given)["seq"])
            self.assertEqual(trace["terminal_state"], state)
            self.assertEqual([one["effect_kind"] for one in trace["live_wait"]], ["pay.charge"] if id_ == "w" else [])

    def test_diagnoses(self):
        """R-3.10.2"""
        def cause(program, more=None, **given):
            world = self.make(program)
            world.adapter()
            seq = world.go(**given)["seq"]
            if more:
                more(world, world.intents(seq)[0])
            reply = world.get("/trace/diagnose", run_id=world.instance()["run_id"])
            records = {(one.seq, one.n) for one in world.journal()}
            self.assertTrue(all((one["seq"], one["n"]) in records for one in reply["evidence"]))
            return reply["cause"]
        self.assertEqual(cause(Program().policy(), output=ASKS), "policy_denied")
        self.assertEqual(cause(Program().grants(grant(expiry_ns=1)), output=ASKS), "capability_denied")
        self.assertEqual(cause(Program(), mode=TRAP), "trap")
        self.assertEqual(cause(Program(), mode=LOOP), "fuel_exceeded")
        self.assertEqual(cause(Program(), output=step_output({"other": 1})), "step_failed")
        self.assertEqual(cause(Program(), output=ASKS), "waiting_receipt")
        self.assertEqual(cause(Program()), "waiting_event")
        self.assertEqual(cause(Program(), output=DONE), "completed")
        self.assertEqual(cause(Program(), lambda world, intent: world.post("/receipts", world.receipt_body(intent, b"\xff")), output=ASKS), "receipt_fault")
        for status in ("error", "timeout"):
            def settle(world, intent, status=status):
                world.settle(intent, payload=enc({"code": "x", "message": "y"}), status=status)
            self.assertEqual(cause(Program(), settle, output=ASKS), "adapter_" + status)

    def test_the_summary_counts(self):
        world = self.make(Program(keyed=True))
        world.adapter()
        first, = world.intents(world.go(ASKS, id_="a")["seq"])
        second, = world.intents(world.go(ASKS, id_="b")["seq"])
        world.settle(first, DONE)
        world.go(mode=TRAP, id_="f")
        summary = world.get("/trace-summary")
        totals = summary["totals"]
        self.assertEqual((totals["steps"], totals["step_failures"]), (3, 1))
        self.assertEqual(totals["effects"], {"intents": 2, "receipts": {"ok": 1, "error": 0, "timeout": 0}, "faults": 0})
        self.assertEqual((totals["policy_decisions"], totals["cap_decisions"]), ({"allow": 2, "deny": 0}, {"allow": 2, "deny": 0}))
        self.assertEqual(totals["workflows"], {"total": 3, "running": 0, "waiting": 1, "completed": 1, "failed": 1, "inflight_intents": 1})
        self.assertEqual(summary["runtime_wait"], {"pending_receipts": 1, "queued_effects": 1})
        self.assertEqual(summary["strict_quiescence"], {"non_terminal_instances": 1, "inflight_intents": 1, "queued_work": 1})
        self.assertEqual(summary["continuations"], [{"run_id": world.instance(key="b")["run_id"], "module": "t/m@1", "key": "b", "intent_hash": second,
                                                     "effect_kind": "pay.charge", "emitted_at_seq": 3}])

    def test_the_journal_is_paged_and_filtered(self):
        world = self.make(Program(keyed=True))
        for at in range(5):
            world.go(ASKS, id_=f"k{at}")
        everything = world.journal()
        self.assertEqual(world.journal(kinds="step,effect_intent"), [one for one in everything if one.kind in ("step", "effect_intent")])
        self.assertEqual(world.journal(4), [one for one in everything if one.seq >= 4])
        pages, cursor = [], None
        while True:
            page = world.get("/journal", limit=7, cursor=cursor)
            self.assertEqual(page["head"], world.head())
            pages += [(one["seq"], one["n"]) for one in page["entries"]]
            cursor = page.get("next_cursor")
            if not cursor:
                break
        self.assertEqual(pages, [(one.seq, one.n) for one in everything])
        for path in ("/journal?limit=0", "/journal?limit=x", "/journal?cursor=nonsense"):
            self.assertIn(self.client.get(f"/v1/worlds/{world.name}{path}").status, (400, 422), path)


    def test_every_list_is_paged(self):
        world = self.make(Program(keyed=True))
        for at in range(5):
            world.adapter(f"adapter-{at}")
            world.go(ASKS, id_=f"k{at}")
            world.post("/gov/propose", Program(memory_pages=3, keyed=True).body(), 201)
        for path, name in (("/instances", "instances"), ("/effects", "effects"), ("/gov/list", "proposals"), ("/adapters", "adapters"), ("/defs", "defs")):
            whole, pages, cursor = world.get(path)[name], [], None
            self.assertGreaterEqual(len(whole), 5, path)
            while True:
                page = world.get(path, limit=2, cursor=cursor)
                self.assertLessEqual(len(page[name]), 2, path)
                pages += page[name]
                cursor = page.get("next_cursor")
                if not cursor:
                    break
                self.assertRegex(cursor, r"^[\w.-]+$", "clients put it into a query as it is")
            self.assertEqual(pages, whole, path)
            for bad in ("limit=0", "limit=x", "cursor=*"):
                self.assertIn(self.client.get(f"/v1/worlds/{world.name}{path}?{bad}").status, (400, 422), (path, bad))


class Runs(WorldCase):
    def test_an_instance_is_a_run(self):
        world = self.make(Program(keyed=True))
        world.go(ASKS, id_="o-1")
        instance = world.instance(key="o-1")
        run = self.client.get(f"/v1/runs/{instance['run_id']}").body["run"]
        self.assertEqual((run["kind"], run["world"], run["key"], run["definition"], run["version"], run["status"], run["output"]),
                         ("module", world.name, "o-1", "t/m@1", instance["module_version"], "active", {"last": b64(b"asks")}))
        self.assertIn(run["id"], [one["id"] for one in self.client.get(f"/v1/runs?world={world.name}").body["runs"]])
        why = self.client.get(f"/v1/runs/{run['id']}/explain").body["waiting_for"]
        self.assertEqual([(one["step_id"], one["reason"], one["detail"]["kind"], one["detail"]["state"]) for one in why],
                         [(instance["inflight"][0]["intent_hash"], "effect", "pay.charge", "queued")])
        early = self.make(now_ns=0)
        early.go(ASKS)
        why = self.client.get(f"/v1/runs/{early.instance()['run_id']}/explain").body["waiting_for"]
        self.assertEqual(why[0]["since"], "1970-01-01T00:00:00.000Z")
        for verb in ("pause", "resume", "retry"):
            reply = self.client.post(f"/v1/runs/{run['id']}/{verb}")
            self.assertEqual((reply.status, reply.body["error"]["code"]), (409, "run.unsupported"), verb)

    def test_the_events_of_a_run_are_its_records(self):
        """Its steps with their decisions and intents, receipts, denials; not those of its neighbour in the same frame."""
        world = self.make(Program(keyed=True))
        world.adapter()
        neighbour = emit("t/Go@1", {"id": "b", "out": play(ASKS)})
        first = world.go(step_output({"last": b""}, effects=[CHARGE], events=[neighbour]), id_="a")["seq"]
        intent = world.intents(first)[0]
        settled = world.settle(intent, DONE)["seq"]
        run = world.instance(key="a")["run_id"]
        events = self.client.get(f"/v1/runs/{run}/events").body["events"]
        self.assertEqual([(one["seq"], one["type"]) for one in events],
                         [(first, kind) for kind in ("step", "cap_decision", "policy_decision", "effect_intent")] +
                         [(settled, kind) for kind in ("effect_receipt", "step")])
        only = self.client.get(f"/v1/runs/{run}/events?types=step,effect_receipt").body["events"]
        self.assertEqual([one["type"] for one in only], ["step", "effect_receipt", "step"])
        page = self.client.get(f"/v1/runs/{run}/events?limit=1").body
        self.assertEqual([one["seq"] for one in page["events"]], [first] * 4, "frames are not torn")
        rest = self.client.get(f"/v1/runs/{run}/events?cursor={page['next_cursor']}").body
        self.assertEqual(page["events"] + rest["events"], events)
        self.assertEqual(self.client.get(f"/v1/runs/{run}/events?after=x").status, 400)

        denied = self.make(Program().policy())
        seq = denied.go(ASKS)["seq"]
        events = self.client.get(f"/v1/runs/{denied.instance()['run_id']}/events").body["events"]
        self.assertEqual([(one["seq"], one["type"]) for one in events],
                         [(seq, kind) for kind in ("cap_decision", "policy_decision", "step_failed")])

    def test_a_cancelled_instance_drops_its_intents(self):
        world = self.make(Program(keyed=True))
        world.adapter()
        intent, = world.intents(world.go(ASKS, id_="o-1")["seq"])
        run = world.instance(key="o-1")["run_id"]
        self.assertEqual(self.client.post(f"/v1/runs/{run}/cancel").status, 200)
        instance = world.instance(key="o-1")
        self.assertEqual((instance["status"], instance["error"]["code"], instance["inflight"]), ("failed", "terminated", []))
        record_, = [one for one in world.journal() if one.kind == "instance"]
        self.assertEqual((record_.value["action"], record_.value["dropped"], record_.value["key"]), ("terminated", 1, enc("o-1")))
        with world.nothing_changes():
            world.settle(intent, outcome="duplicate")
        world.check_replays()

    def test_a_failed_instance_is_given_the_same_input_again(self):
        world = self.make(Program(keyed=True).limits(fuel=2_000_000))
        world.go(mode=LOOP, id_="o-1")
        run = world.instance(key="o-1")["run_id"]
        self.assertEqual(self.client.post(f"/v1/runs/{run}/retry").status, 200)
        frame = world.frame(world.head())
        self.assertEqual([one.kind for one in frame], ["instance", "step_failed"])
        self.assertEqual((frame[0].value["action"], frame[1].value["cause"], frame[1].value["code"]),
                         ("retried", [frame[0].seq, 0], "step.fuel_exceeded"))
        world.check_replays()


class BuiltIn(WorldCase):
    """Effects that the server does itself."""

    def program(self, *kinds, caps=(), arms=None):
        program = Program(effects=kinds, keyed=False)
        if arms:
            program.replace(schema("t/Input@1", variant(Go=ref("t/Go@1"), **{arm: ref(f"sys/{arm}@1") for arm in arms})))
        return program.grants(*caps)

    def last(self, world):
        """(tag, value) of the event that the module saw last."""
        value = dec(dec(world.state()["last"])["event"]["value"])
        return value["$tag"], value["$value"]

    def test_timers_fire_by_deadline(self):
        """T06, R-9.5"""
        program = self.program("timer.set", caps=[grant("timer", "sys/Timer@1")], arms=["TimerFired"])
        world = self.make(program)
        late, soon = ({"deliver_at_ns": NOW + after, "key": key} for after, key in ((2000, "late"), (1000, None)))
        seq = world.go(step_output({"last": b""}, effects=[effect("timer.set", late), effect("timer.set", soon)]))["seq"]
        intents = world.intents(seq)
        self.assertEqual([one["state"] for one in world.effects()], ["queued", "queued"])
        self.assertEqual(world.post("/clock", {"now_ns": NOW + 999}), {"now_ns": NOW + 999, "fired": 0})
        self.restart()
        self.assertEqual(world.post("/clock", {"now_ns": NOW + 5000})["fired"], 2)
        receipts = [one for one in world.journal() if one.kind == "effect_receipt"]
        self.assertEqual([one.value["intent_hash"] for one in receipts], [intents[1], intents[0]])
        self.assertEqual([one.value["stamp"]["now_ns"] for one in receipts], [NOW + 1000, NOW + 2000])
        self.assertEqual([dec(one.value["payload"]) for one in receipts],
                         [{"delivered_at_ns": NOW + 1000, "key": None}, {"delivered_at_ns": NOW + 2000, "key": "late"}])
        self.assertEqual({one.value["adapter_id"] for one in receipts}, {"pawl"})
        self.assertEqual(self.last(world), ("TimerFired", {"intent_id": intents[0], "status": "ok", "requested": late,
                                                           "receipt": {"delivered_at_ns": NOW + 2000, "key": "late"}}))
        self.assertEqual(self.client.post(f"/v1/worlds/{world.name}/clock", {"now_ns": NOW}).status, 422)
        keys = {one["id"]: one for one in world.get("/adapters")["adapters"]}
        self.assertEqual(keys["pawl"]["public_key"], b64(pawl_public_key(SEED)))
        world.check_replays()

    def test_a_real_timer_fires(self):
        program = self.program("timer.set", caps=[grant("timer", "sys/Timer@1")], arms=["TimerFired"])
        world = self.make(program, test=False)
        world.go(step_output({"last": b""}, effects=[effect("timer.set", {"deliver_at_ns": 1})]))
        until(lambda: not world.effects(), "the timer to fire")
        self.assertEqual(self.last(world)[0], "TimerFired")
        world.refused(409, "world.not_test", "POST", "/clock", {"now_ns": NOW})

    def test_the_envelope_wins_over_the_old_arm(self):
        """R-3.4.8"""
        program = self.program("timer.set", caps=[grant("timer", "sys/Timer@1")], arms=["TimerFired", "EffectReceiptEnvelope"])
        world = self.make(program)
        world.go(step_output({"last": b""}, effects=[effect("timer.set", {"deliver_at_ns": NOW + 1})]))
        world.post("/clock", {"now_ns": NOW + 1})
        self.assertEqual(self.last(world)[0], "EffectReceiptEnvelope")

    def test_blobs(self):
        """T07"""
        program = self.program("blob.put", "blob.get", caps=[grant("blob", "sys/Blob@1")], arms=["BlobPutResult", "BlobGetResult", "EffectReceiptRejected"])
        world = self.make(program)
        data = b"bytes of a blob"
        world.go(step_output({"last": b""}, effects=[effect("blob.put", {"bytes": data})]))
        until(lambda: not world.effects(), "the blob to be kept")
        tag, value = self.last(world)
        self.assertEqual((tag, value["receipt"]), ("BlobPutResult", {"blob_ref": sha(data), "size": len(data)}))
        self.assertEqual(self.client.get(f"/v1/worlds/{world.name}/blobs/{sha(data)}").raw, data)
        world.go(step_output({"last": b""}, effects=[effect("blob.get", {"blob_ref": sha(data)})]))
        until(lambda: not world.effects(), "the blob to be read")
        tag, value = self.last(world)
        self.assertEqual((tag, value["receipt"]), ("BlobGetResult", {"bytes": data, "size": len(data)}))
        world.check_replays()

    def test_an_absent_blob_is_an_error(self):
        world = self.make(self.program("blob.get", caps=[grant("blob", "sys/Blob@1")], arms=["EffectReceiptEnvelope"]))
        world.go(step_output({"last": b""}, effects=[effect("blob.get", {"blob_ref": sha(b"none")})]))
        until(lambda: not world.effects(), "an answer")
        tag, value = self.last(world)
        self.assertEqual((tag, value["status"], dec(value["receipt_payload"])["code"]), ("EffectReceiptEnvelope", "error", "blob.not_found"))

    def test_a_job(self):
        world = self.make(self.program("job.run", caps=[grant("job", "sys/Job@1")], arms=["EffectReceiptEnvelope"]), test=False)
        params = {"type": "test.echo", "args_json": "[1,2]", "queue": "of-worlds"}
        world.go(step_output({"last": b""}, effects=[effect("job.run", params)]))
        jobs = until(lambda: self.client.fetch(["of-worlds"]).body["jobs"], "the job")
        self.assertEqual((jobs[0]["type"], jobs[0]["args"]), ("test.echo", [1, 2]))
        self.client.ack(jobs[0]["id"], result={"done": True})
        until(lambda: not world.effects(), "the receipt")
        _, value = self.last(world)
        payload = dec(value["receipt_payload"])
        self.assertEqual((value["status"], payload["job_id"]), ("ok", jobs[0]["id"]))
        self.assertEqual(payload["result_json"].replace(" ", ""), '{"done":true}')
        world.check_replays()

    def test_equal_worlds_have_jobs_of_their_own(self):
        """Test worlds of one seed and one script have equal intents; they shared one job."""
        program = self.program("job.run", caps=[grant("job", "sys/Job@1")], arms=["EffectReceiptEnvelope"])
        worlds = [self.make(program) for _ in range(2)]
        for world in worlds:
            world.go(step_output({"last": b""}, effects=[effect("job.run", {"type": "test.echo", "args_json": "[]", "queue": "of-twins"})]))
        self.assertEqual(len({world.effects()[0]["intent_hash"] for world in worlds}), 1)
        jobs = []
        until(lambda: jobs.extend(self.client.fetch(["of-twins"], count=5).body["jobs"]) or len(jobs) == 2, "two jobs")
        for job in jobs:
            self.client.ack(job["id"], result=None)
        for world in worlds:
            until(lambda world=world: not world.effects(), "the receipt")
        self.assertEqual({dec(self.last(world)[1]["receipt_payload"])["job_id"] for world in worlds}, {job["id"] for job in jobs})

    def test_a_run(self):
        definition = {"name": "hello-of-worlds", "steps": [{"id": "say", "action": "workflow.log", "params": {"message": "hi"}}]}
        self.assertEqual(self.client.post("/v1/definitions", {"name": definition["name"], "definition": definition}).status, 201)
        world = self.make(self.program("run.start", caps=[grant("run", "sys/Run@1")], arms=["EffectReceiptEnvelope"]), test=False)
        world.go(step_output({"last": b""}, effects=[effect("run.start", {"definition": definition["name"], "inputs_json": "{}"})]))
        until(lambda: not world.effects(), "the run to end")
        _, value = self.last(world)
        payload = dec(value["receipt_payload"])
        self.assertEqual(value["status"], "ok")
        self.assertEqual(self.client.get(f"/v1/runs/{payload['run_id']}").body["run"]["status"], "completed")

    def test_http_is_bound_by_capability_and_policy(self):
        params = {"method": "GET", "url": "http://127.0.0.1:1/x"}
        caps = [grant("http", "sys/HttpOut@1", {"hosts": ["example.com"]})]
        world = self.make(self.program("http.request", caps=caps, arms=["EffectReceiptEnvelope"]))
        seq = world.go(step_output({"last": b""}, effects=[effect("http.request", params)]))["seq"]
        self.assertEqual(world.find(seq, "step_failed")[0]["code"], "cap.denied")
        world = self.make(self.program("http.request", caps=[grant("http", "sys/HttpOut@1")], arms=["EffectReceiptEnvelope"]))
        world.go(step_output({"last": b""}, effects=[effect("http.request", params)]))
        until(lambda: not world.effects(), "an answer")
        _, value = self.last(world)
        self.assertEqual((value["status"], dec(value["receipt_payload"])["code"]), ("error", "PERMISSION_DENIED"))


class Threads(unittest.TestCase):
    def test_the_number_of_threads_changes_nothing(self):
        """R-3.11.3"""
        digests = set()
        for threads in ("1", "4"):
            case = type("Case", (WorldCase,), {"arguments": ("--worlds-threads", threads), "runTest": lambda self: None})()
            case.server = Server(args=case.arguments).start()
            self.addCleanup(case.server.close)
            case.client = case.server.client()
            self.addCleanup(case.client.close)
            worlds = [case.make(Program(keyed=True, context=True), name=f"w{at}", id_=f"01890a5d-ac96-774b-bcce-b302099a805{at}") for at in range(4)]
            for at in range(12):
                for world in worlds:
                    world.event("t/Go@1", {"id": f"k{at % 3}", "out": ""})
            digests.add(str([world.digest() for world in worlds]))
        self.assertEqual(len(digests), 1)


if __name__ == "__main__":
    unittest.main()
