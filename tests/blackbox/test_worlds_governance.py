"""Changes of programs: proposals, shadow runs, the gate of an apply."""
import unittest

from world_bytes import b64, dec, enc, sha
from world_case import NAT, Program, WorldCase, grant, policy, record, schema, workflow
from world_modules import TRAP, effect, play, step_output

CHARGE = effect("pay.charge", {"n": 1})
DONE = step_output({"last": b"done"}, status="completed")


def event(output, id_="a"):
    return {"schema": "t/Go@1", "value": {"id": id_, "out": b64(play(output))}}


class Governance(WorldCase):
    def propose(self, world, program, status=201, **more):
        return world.post("/gov/propose", {**program.body(), **more}, status)["proposal"]

    def verb(self, world, name, proposal, status=200, **more):
        return world.post(f"/gov/{name}", {"proposal_id": proposal["proposal_id"], **more}, status)

    def approved(self, world, program, **more):
        proposal = self.propose(world, program, **more)
        self.verb(world, "shadow", proposal)
        self.verb(world, "approve", proposal)
        return proposal

    def other(self, **more):
        """Another program for the same world: its module has other code."""
        return Program(memory_pages=3, **more)

    def refused(self, world, name, proposal, status, code):
        with world.nothing_changes():
            world.refused(status, code, "POST", f"/gov/{name}", {"proposal_id": proposal["proposal_id"]})


class Lifecycle(Governance):
    def test_from_proposal_to_program(self):
        world = self.make()
        live = world.manifest_hash()
        proposal = self.propose(world, self.other(), description="more memory")
        self.assertEqual({**proposal, "manifest_hash": ""}, {"proposal_id": "p2", "state": "submitted", "manifest_hash": "", "base": live,
                                                             "description": "more memory"})
        self.verb(world, "shadow", proposal)
        self.assertEqual(self.verb(world, "approve", proposal)["proposal"]["state"], "approved")
        applied = self.verb(world, "apply", proposal)
        self.assertEqual(applied["manifest_hash"], proposal["manifest_hash"])
        self.assertEqual(world.manifest_hash(), proposal["manifest_hash"])
        listed, = world.get("/gov/list")["proposals"]
        self.assertEqual((listed["proposal_id"], listed["state"]), ("p2", "applied"))
        world.check_replays()

    def test_each_verb_is_a_frame(self):
        """R-3.9.3"""
        world = self.make()
        live = world.manifest_hash()
        proposal = self.propose(world, self.other())
        self.assertIsNone(proposal["description"])
        report_of = lambda seq: world.find(seq, "governance")[0]["report"]  # noqa: E731
        self.verb(world, "shadow", proposal)
        self.verb(world, "approve", proposal)
        seq = self.verb(world, "apply", proposal)["seq"]
        self.assertEqual(seq, 5)
        for at, verb, action in ((2, "propose", "proposed"), (3, "shadow", "shadow_report"), (4, "approve", "approved"), (5, "apply", "applied")):
            intent, record_ = world.frame(at)[:2]
            self.assertEqual((intent.kind, intent.value["kind"], intent.value["cap_name"]), ("effect_intent", "governance." + verb, ""))
            self.assertEqual(dec(intent.value["params"]), {"proposal_id": "p2", "manifest_hash": proposal["manifest_hash"]})
            self.assertEqual((intent.value["origin"]["kind"], intent.value["origin"]["name"]), ("governance", verb))
            self.assertEqual(record_.kind, "governance")
            self.assertEqual({**record_.value, "report": None}, {"action": action, "proposal_id": "p2", "manifest_hash": proposal["manifest_hash"],
                                                                 "base": live, "report": None})
        self.assertIsNone(report_of(2))
        self.assertEqual(self.client.get(f"/v1/worlds/{world.name}/blobs/{report_of(3)}").status, 200)
        self.assertEqual(world.kinds(5), ["effect_intent", "governance", "manifest"])
        self.assertEqual(world.effects(), [], "settled at once")

    def test_no_step_out_of_order(self):
        """R-3.8.7"""
        world = self.make()
        proposal = self.propose(world, self.other())
        self.refused(world, "approve", proposal, 409, "gov.state")
        self.refused(world, "apply", proposal, 409, "gov.state")
        self.verb(world, "shadow", proposal)
        self.refused(world, "apply", proposal, 409, "gov.state")
        self.verb(world, "shadow", proposal)
        self.verb(world, "approve", proposal)
        self.refused(world, "shadow", proposal, 409, "gov.state")
        self.verb(world, "apply", proposal)
        for verb in ("apply", "reject", "approve", "shadow"):
            self.refused(world, verb, proposal, 409, "gov.state")
        self.refused(world, "approve", {"proposal_id": "p99"}, 404, "gov.unknown_proposal")
        rejected = self.propose(world, Program())
        self.verb(world, "reject", rejected)
        for verb in ("shadow", "approve", "apply"):
            self.refused(world, verb, rejected, 409, "gov.state")

    def test_the_same_program_twice_is_two_proposals_and_the_second_is_stale(self):
        world = self.make()
        first, second = self.approved(world, self.other()), self.approved(world, self.other())
        self.assertNotEqual(first["proposal_id"], second["proposal_id"])
        self.assertEqual(first["manifest_hash"], second["manifest_hash"])
        self.verb(world, "apply", first)
        self.refused(world, "apply", second, 409, "gov.stale_base")
        with world.nothing_changes():
            world.refused(409, "gov.stale_base", "POST", "/gov/propose", {**Program().body(), "base": first["base"]})

    def test_an_invalid_candidate_is_refused(self):
        world = self.make()
        bad = self.other()
        bad.manifest["air_version"] = "2"
        with world.nothing_changes():
            for path, more in (("/gov/propose", {}), ("/gov/apply", {"direct": True})):
                error = world.refused(422, "manifest.invalid", "POST", path, {**bad.body(), **more})
                self.assertEqual(error["details"]["validation_errors"][0]["path"], "/manifest/air_version")

    def test_a_policy_can_forbid_it(self):
        world = self.make(Program().policy(({"origin_kind": "governance"}, "deny"), ({}, "allow")))
        with world.nothing_changes():
            world.refused(403, "policy.denied", "POST", "/gov/propose", self.other().body())
            world.refused(403, "policy.denied", "POST", "/gov/apply", {"direct": True, **self.other().body()})
        open_ = self.make(Program().policy(({}, "deny")))
        self.propose(open_, self.other())  # a rule without origin_kind never means governance


class Apply(Governance):
    def blockers(self, world, body):
        with world.nothing_changes():
            return world.refused(409, "apply.blocked", "POST", "/gov/apply", body)["details"]["blockers"]

    def test_a_running_instance_blocks(self):
        """R-3.7.1, R-3.7.4"""
        world = self.make()
        world.go()
        proposal = self.approved(world, self.other())
        blockers = self.blockers(world, {"proposal_id": proposal["proposal_id"]})
        instance = world.instance()
        self.assertEqual(blockers["non_terminal_instances"], [{"run_id": instance["run_id"], "module": "t/m@1", "key": None, "status": "running"}])
        self.assertEqual((blockers["inflight_intents"], blockers["queued_work"]), ([], 0))
        self.blockers(world, {"direct": True, **self.other().body()})
        world.go(DONE)
        self.verb(world, "apply", proposal)

    def test_open_effects_block_and_the_late_receipt_steps_the_old_module(self):
        """R-3.7.2, R-3.7.3, R-3.11.2, R-10.5"""
        world = self.make()
        world.adapter()
        intent = world.intents(world.go(step_output({"last": b""}, effects=[CHARGE]))["seq"])[0]
        proposal = self.approved(world, self.other())
        body = {"proposal_id": proposal["proposal_id"]}
        blockers = self.blockers(world, body)
        self.assertEqual([(one["intent_hash"], one["effect_kind"], one["run_id"]) for one in blockers["inflight_intents"]],
                         [(intent, "pay.charge", world.instance()["run_id"])])
        self.assertEqual(blockers["queued_work"], 1)
        quiet = world.get("/trace-summary")["strict_quiescence"]
        self.assertEqual(quiet, {"non_terminal_instances": 1, "inflight_intents": 1, "queued_work": 1})
        world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["pay.charge"]})
        self.assertEqual(self.blockers(world, body)["queued_work"], 0)
        self.restart()
        old = world.instance()["module_version"]
        world.settle(intent, DONE)
        self.assertEqual(world.instance()["module_version"], old)
        self.verb(world, "apply", proposal)
        self.assertEqual(world.instance()["module_version"], old, "until the next step")
        world.go(DONE)
        self.assertEqual(world.instance()["module_version"], sha(self.other().code_of()))
        with world.nothing_changes():
            world.settle(intent, outcome="duplicate")
        world.check_replays()

    def test_states_stay(self):
        world = self.make(Program(keyed=True))
        world.go(DONE, id_="k")
        world.go(mode=TRAP, id_="f")
        states = world.digest()
        reply = world.post("/gov/apply", {"direct": True, **self.other(keyed=True).body()})
        after = world.digest()
        self.assertEqual((after["state_root"], after["instances_root"]), (states["state_root"], states["instances_root"]))
        self.assertEqual(after["manifest_hash"], reply["manifest_hash"])
        self.assertEqual(world.find(reply["seq"], "governance")[0]["proposal_id"], None)
        self.assertEqual(world.instance(key="f")["status"], "failed")
        world.check_replays()

    def test_a_state_can_be_read_without_its_module(self):
        world = self.make(Program(keyed=True))
        world.go(DONE, id_="k")
        state = world.get("/state/t/m@1", key="k")
        body = Program().body()
        body["nodes"] = [node for node in body["nodes"] if node["name"] != "t/m@1"]
        body["manifest"]["routing"]["subscriptions"] = []
        body["manifest"].pop("module_bindings", None)
        world.post("/gov/apply", {"direct": True, **body})
        again = world.get("/state/t/m@1", key="k")
        self.assertEqual((again["state_b64"], again["state_hash"]), (state["state_b64"], state["state_hash"]))

    def test_events_of_a_shadow_are_read_like_events(self):
        world = self.make()
        proposal = world.post("/gov/propose", self.other().body(), status=201)["proposal"]["proposal_id"]
        good = {"schema": "t/Go@1", "value": {"id": "a", "out": ""}}
        for more in ({"zz": 1}, {"lens": "foo"}, {"value_b64": "AA=="}):
            world.post("/gov/shadow", {"proposal_id": proposal, "events": [{**good, **more}]}, status=422)

    def test_removed_subscriptions_stop_events(self):
        world = self.make()
        reply = world.post("/gov/apply", {"direct": True, **Program().subscribe().body()})
        self.assertEqual(world.go()["deliveries"], [])
        self.assertGreater(world.head(), reply["seq"])

    def test_rebinding_changes_the_next_decision(self):
        """R-5.6"""
        def program(bound):
            made = Program(slots={"default": "pay"}).grants(grant(), grant("other"))
            made.manifest["module_bindings"] = {"t/m@1": {"slots": {"default": bound}}}
            return made
        world = self.make(program("pay"))
        world.adapter()
        for bound in ("pay", "other"):
            if bound == "other":
                world.post("/gov/apply", {"direct": True, **program(bound).body()})
            seq = world.go(step_output({"last": b""}, effects=[CHARGE]))["seq"]
            self.assertEqual(world.find(seq, "cap_decision")[0]["cap_name"], bound)
            world.settle(world.intents(seq)[0], DONE)


class Shadow(Governance):
    def test_a_shadow_run_reports_what_would_happen(self):
        """R-3.8.1 to R-3.8.6"""
        world = self.make(Program(keyed=True))
        world.adapter()
        open_intent = world.intents(world.go(step_output({"last": b"1"}, effects=[CHARGE]), id_="w")["seq"])[0]
        candidate = self.other(keyed=True).add(schema("t/New@1", NAT)).add(policy(({}, "allow"))).grants(grant(), grant("extra"))
        events = [event(step_output({"last": b"2"}, effects=[CHARGE, effect("pay.charge", {"n": 2})]), "a"), event(DONE, "b")]
        # two grants of the type: the default slot needs a binding
        candidate.manifest["module_bindings"] = {"t/m@1": {"slots": {"default": "pay"}}}
        candidate.node("t/m@1")["abi"]["workflow"]["cap_slots"] = {"default": "pay"}
        proposal = self.propose(world, candidate)
        before, head = world.digest(), world.head()
        report = self.verb(world, "shadow", proposal, events=events)["report"]
        self.assertEqual((report["manifest_hash"], report["base"], report["at_height"]), (proposal["manifest_hash"], proposal["base"], head))
        self.assertEqual([(one["kind"], one["cap_name"], one["params"], one["params_hash"], one["module"], one["key"], one["decision"])
                          for one in report["observed_effects"]],
                         [("pay.charge", "pay", {"n": n}, sha(enc({"n": n})), "t/m@1", "a", "allow") for n in (1, 2)])
        self.assertEqual([one["intent_hash"] for one in report["pending_receipts"] if one["key"] == "w"], [open_intent])
        self.assertEqual({one["key"]: one["status"] for one in report["instances"]}, {"w": "waiting", "a": "waiting", "b": "completed"})
        self.assertEqual(report["effect_allowlists"], [{"module": "t/m@1", "effects_emitted": ["pay.charge"]}])
        changes = {(one["name"], one["change"]) for one in report["deltas"]["defs"]}
        self.assertLessEqual({("t/New@1", "added"), ("t/m@1", "changed")}, changes)
        self.assertEqual(report["deltas"]["caps"], [{"name": "extra", "change": "added"}])
        self.assertEqual({one["key"]: (one["before"], one["after"]) for one in report["deltas"]["states"]},
                         {"a": (None, sha(enc({"last": b"2"}))), "b": (None, sha(enc({"last": b"done"})))})
        horizon = report["horizon"]
        self.assertEqual((horizon["inputs"], horizon["steps"], horizon["unmatched_receipts"], horizon["stopped_by"]), (2, 2, 0, "idle"))
        self.assertGreater(horizon["fuel"], 0)
        after = world.digest()
        self.assertEqual((after["state_root"], after["queue_root"]), (before["state_root"], before["queue_root"]))
        leased = world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["pay.charge"]})["effects"]
        self.assertEqual([one["intent_hash"] for one in leased], [open_intent], "nothing of the shadow run")
        kept = world.get("/gov/get", proposal_id=proposal["proposal_id"])
        self.assertEqual((kept["proposal"]["state"], kept["report"]), ("shadowed", report))
        world.check_replays()

    def test_intents_are_those_that_really_come(self):
        world = self.make()
        world.adapter()
        proposal = self.propose(world, self.other())
        output = step_output({"last": b""}, effects=[CHARGE])
        seen, = self.verb(world, "shadow", proposal, events=[event(output)])["report"]["observed_effects"]
        self.verb(world, "approve", proposal)
        # the shadow run was frame head+1 = 3 of its copy; the live one comes later, with its own seq
        seq = self.verb(world, "apply", proposal)["seq"]
        live = world.find(world.go(output)["seq"], "effect_intent")[0]
        self.assertEqual((seen["kind"], seen["params_hash"]), (live["kind"], live["params_hash"]))
        self.assertNotEqual(seen["intent_hash"], live["intent_hash"])
        self.assertEqual(seq, 5)

    def test_what_was_recorded_can_be_given_again(self):
        world = self.make(Program(keyed=True))
        world.adapter()
        intent = world.intents(world.go(step_output({"last": b"1"}, effects=[CHARGE]), id_="k")["seq"])[0]
        world.settle(intent, DONE)
        proposal = self.propose(world, self.other(keyed=True))
        report = self.verb(world, "shadow", proposal, from_seq=2)["report"]
        self.assertEqual((report["at_height"], report["horizon"]["inputs"], report["horizon"]["unmatched_receipts"]), (1, 2, 0))
        self.assertEqual([one["intent_hash"] for one in report["observed_effects"]], [intent], "the same seq, the same identity")
        self.assertEqual([(one["key"], one["status"]) for one in report["instances"]], [("k", "completed")])
        self.assertEqual(report["deltas"]["states"], [], "the state is the same in the end")

    def test_failures_and_bad_events(self):
        world = self.make()
        proposal = self.propose(world, self.other())
        bad = {"schema": "t/Go@1", "value": {"id": "a", "out": b64(play(b"", TRAP))}}
        report = self.verb(world, "shadow", proposal, events=[bad])["report"]
        self.assertEqual(report["failures"], [{"module": "t/m@1", "key": None, "code": "step.trap"}])
        with world.nothing_changes():
            world.refused(422, "event.invalid", "POST", "/gov/shadow", {"proposal_id": proposal["proposal_id"], "events": [{"schema": "t/Go@1", "value": 1}]})

    def test_it_ends(self):
        world = self.make()
        proposal = self.propose(world, self.other())
        report = self.verb(world, "shadow", proposal, events=[event(DONE)] * 5, max_steps=3)["report"]
        self.assertEqual((report["horizon"]["steps"], report["horizon"]["stopped_by"]), (3, "max_steps"))

    def test_no_old_words(self):
        """R-3.10.1"""
        world = self.make(Program().add(schema("t/Spare@1", record())).add(workflow("t/idle@1")))
        proposal = self.propose(world, self.other())
        self.verb(world, "shadow", proposal)
        text = str(world.get("/gov/get", proposal_id=proposal["proposal_id"])) + str(world.get("/gov/list")) + str(world.get("/trace-summary"))
        for word in ("plan_results", "pending_plan_receipts", "reducer"):
            self.assertNotIn(word, text)


if __name__ == "__main__":
    unittest.main()
