"""What makes a program invalid: every code, with the JSON pointer of its place, all at once."""
import copy
import http.client
import json
import select
import unittest

from world_bytes import H, sha
from world_case import (BYTES, NAT, TEXT, Program, WorldCase, cap_def, effect_def, grant, of, option, policy, pure, record, ref, schema,
                        subscription, variant, workflow)
from world_modules import puppet, slow_to_compile

ZERO = "sha256:" + "0" * 64
OTHER = "sha256:" + "ab" * 32


def edited(change, program=None):
    """A program after change(manifest, nodes by name)."""
    program = program or Program()
    change(program.manifest, {node["name"]: node for node in program.nodes})
    return program


class Manifest(WorldCase):
    def one(self, program, code, path):
        """The program is invalid, and this is among the faults."""
        self.assertIn((code, path), self.faults_of(program))

    def index(self, program, name):
        return next(at for at, node in enumerate(program.nodes) if node["name"] == name)

    def at(self, program, name, path=""):
        return f"/nodes/{self.index(program, name)}{path}"

    def test_a_valid_program_has_no_faults(self):
        for program in (Program(), Program(keyed=True), Program(arms=("Receipt", "Rejected", "Denied"), context=True)):
            self.assertEqual(self.faults_of(program), set())
        reply = self.client.post("/v1/worlds/none/manifest/validate", Program().body()).body
        self.assertRegex(reply["manifest_hash"], "^sha256:[0-9a-f]{64}$")
        self.assertEqual(reply["warnings"], [])

    def test_validating_makes_no_world(self):
        self.faults_of(Program())
        self.assertEqual(self.client.get("/v1/worlds/none").status, 404)

    def test_an_invalid_program_is_refused_with_all_its_faults(self):
        program = edited(lambda manifest, nodes: (manifest.update(air_version="2", triggers=[]),
                                                  nodes["t/m@1"]["abi"]["workflow"].update(state="t/None@1")))
        wanted = {("air_version", "/manifest/air_version"), ("field.unknown", "/manifest/triggers"),
                  ("ref.unknown", self.at(program, "t/m@1", "/abi/workflow/state"))}
        self.assertEqual(self.faults_of(program), wanted)
        reply = self.client.post("/v1/worlds", {"name": "invalid", **program.body()})
        self.assertEqual((reply.status, reply.body["error"]["code"]), (422, "manifest.invalid"))
        faults = reply.body["error"]["details"]["validation_errors"]
        self.assertEqual({(one["code"], one["path"]) for one in faults}, wanted)
        self.assertTrue(all(one["message"] for one in faults))
        self.assertEqual(self.client.get("/v1/worlds/invalid").status, 404)

    def test_unknown_members_of_the_body(self):
        body = {"name": "unknown", **Program().body()}
        for more in ({"foo": 1}, {"test": {"now_ns": 1, "seed": "s", "foo": 1}}):
            self.assertEqual(self.client.post("/v1/worlds", {**body, **more}).status, 422, more)
        reply = self.client.post("/v1/worlds?lenient=true", {**body, "foo": 1})
        self.assertEqual([(one["path"], one["code"]) for one in reply.body["warnings"]], [("/foo", "field.unknown")])
        world = "/v1/worlds/unknown"
        step = {"module": "t/m@1", "event": {"schema": "t/Go@1", "value": {"id": "a", "out": ""}}, "foo": 1}
        self.assertEqual(self.client.post(world + "/step-test", step).status, 422)
        self.assertEqual(self.client.post(world + "/step-test?lenient=true", step).status, 200)
        self.assertEqual(self.client.post(world + "/snapshot", {"foo": 1}).status, 422)

    def test_the_version_is_exactly_one(self):
        for version in ("2", 1, "1.0"):
            with self.subTest(version):
                self.one(edited(lambda manifest, _, version=version: manifest.update(air_version=version)), "air_version", "/manifest/air_version")
        program = Program()
        del program.manifest["air_version"]
        self.assertTrue({code for code, _ in self.faults_of(program)} & {"air_version", "field.missing"})

    def test_unknown_members(self):
        for member in ("triggers", "plans", "spare"):
            self.one(edited(lambda manifest, _, member=member: manifest.update({member: []})), "field.unknown", "/manifest/" + member)
        program = edited(lambda _, nodes: nodes["t/m@1"].update(spare=1))
        self.one(program, "field.unknown", self.at(program, "t/m@1", "/spare"))

    def test_unknown_kinds(self):
        program = Program().add({"$kind": "defplan", "name": "t/plan@1"})
        self.one(program, "kind.unknown", self.at(program, "t/plan@1", "/$kind"))
        program = edited(lambda _, nodes: nodes["t/m@1"].update(module_kind="reducer"))
        self.one(program, "kind.unknown", self.at(program, "t/m@1", "/module_kind"))

    def test_names(self):
        for name, code in (("noslash@1", "name.invalid"), ("T/x@1", "name.invalid"), ("t/X@0", "name.invalid"), ("t/X", "name.invalid"),
                           ("t/X@01", "name.invalid"), ("sys/Mine@1", "name.reserved")):
            program = Program().add(schema(name, NAT))
            with self.subTest(name):
                self.one(program, code, self.at(program, name, "/name"))
        program = Program()
        program.nodes.append(schema("t/Go@1", NAT))
        self.one(program, "name.duplicate", f"/nodes/{len(program.nodes) - 1}/name")

    def test_references(self):
        def module(member, value):
            return lambda _, nodes: nodes["t/m@1"]["abi"]["workflow"].update({member: value})
        for change, where in ((module("state", "t/None@1"), "/abi/workflow/state"), (module("event", "t/None@1"), "/abi/workflow/event")):
            program = edited(change)
            self.one(program, "ref.unknown", self.at(program, "t/m@1", where))
        program = edited(lambda manifest, _: manifest["routing"].update(subscriptions=[subscription(event="t/None@1")]))
        self.one(program, "ref.unknown", "/manifest/routing/subscriptions/0/event")
        program = edited(lambda manifest, _: manifest["routing"].update(subscriptions=[subscription(module="t/none@1")]))
        self.one(program, "ref.unknown", "/manifest/routing/subscriptions/0/module")
        self.one(edited(lambda manifest, _: manifest["defaults"].update(policy="t/none@1")), "ref.unknown", "/manifest/defaults/policy")

    def test_required_members(self):
        program = edited(lambda _, nodes: nodes["t/m@1"]["abi"]["workflow"].pop("state"))
        self.one(program, "field.missing", self.at(program, "t/m@1", "/abi/workflow/state"))
        for member in ("event", "module"):
            program = edited(lambda manifest, _, member=member: manifest["routing"]["subscriptions"][0].pop(member))
            self.one(program, "field.missing", "/manifest/routing/subscriptions/0/" + member)

    def test_hashes(self):
        good = H(schema("t/Go@1", record(id=TEXT, out=BYTES)))
        lists = [schema_hash for schema_hash in (good, ZERO, None)]
        for given in lists:
            entries = [{"name": node["name"], **({"hash": given} if given and node["name"] == "t/Go@1" else {})}
                       for node in Program().nodes if node["$kind"] == "defschema"]
            self.assertEqual(self.faults_of(edited(lambda manifest, _, entries=entries: manifest.update(schemas=entries))), set(), given)
        entries = [{"name": node["name"], **({"hash": OTHER} if node["name"] == "t/Go@1" else {})}
                   for node in Program().nodes if node["$kind"] == "defschema"]
        at = next(at for at, one in enumerate(entries) if one["name"] == "t/Go@1")
        self.one(edited(lambda manifest, _: manifest.update(schemas=entries)), "hash.mismatch", f"/manifest/schemas/{at}/hash")

    def test_types(self):
        for type_ in (of("float"), {"nat": {}, "int": {}}, {}, "nat", option(of("option", NAT)), option(of("unit")), record(**{"1a": NAT}),
                      variant(**{"a b": NAT}), of("map", {"key": BYTES, "value": NAT}), of("map", {"key": record(), "value": NAT})):
            with self.subTest(type_):
                program = Program().add(schema("t/Bad@1", type_))
                self.assertTrue(any(code == "type.invalid" and path.startswith(self.at(program, "t/Bad@1", "/type"))
                                    for code, path in self.faults_of(program)), self.faults_of(program))
        program = Program().add(schema("t/A@1", record(b=ref("t/B@1"))), schema("t/B@1", of("list", ref("t/A@1"))))
        self.assertIn("type.invalid", {code for code, _ in self.faults_of(program)}, "recursion")
        program = Program().add(schema("t/Bad@1", ref("t/None@1")))
        self.assertIn("ref.unknown", {code for code, _ in self.faults_of(program)})

    def test_pure_modules_have_no_workflow_abi(self):
        """R-3.1.2"""
        node = pure("t/p@1")
        node["abi"] = {"workflow": {"state": "t/State@1", "event": "t/Input@1"}}
        self.assertIn("abi.mismatch", {code for code, _ in self.faults_of(Program().add(node))})
        node = pure("t/p@1")
        node["abi"]["pure"]["effects_emitted"] = ["pay.charge"]
        self.assertTrue({code for code, _ in self.faults_of(Program().add(node))} & {"abi.mismatch", "field.unknown"})
        node = workflow("t/w@1", wasm=puppet(pure=True))
        node["abi"] = {"pure": {"input": "t/Any@1", "output": "t/Any@1"}}
        self.assertIn("abi.mismatch", {code for code, _ in self.faults_of(Program().add(node))})


class Modules(WorldCase):
    index, at = Manifest.index, Manifest.at

    def faults_of_code(self, code):
        program = Program(wasm=code)
        return {(code, path[len("/nodes/9"):]) for code, path in self.faults_of(program)}

    def test_every_shape_of_step_is_taken(self):
        for abi in ("packed", "pair", "return pointer"):
            self.assertEqual(self.faults_of(Program(abi=abi)), set(), abi)

    def test_code_that_is_none(self):
        simd = b"\xfd\x0c" + bytes(16) + b"\x1a"  # v128.const, drop
        for code in (b"", b"\0asm", b"\0asm\x01\0\0\0", b"not wasm at all", puppet()[:-1], puppet(extra=simd), puppet(extra=b"\x1a")):
            with self.subTest(code[:20]):
                codes = {one for one, _ in self.faults_of_code(code)}
                self.assertTrue(codes & {"module.invalid", "module.exports"}, codes)

    def test_exports(self):
        for missing in ("memory", "alloc", "step"):
            self.assertEqual({one for one, _ in self.faults_of_code(puppet(without=(missing,)))}, {"module.exports"}, missing)
        self.assertEqual({one for one, _ in self.faults_of_code(puppet(entry="run"))}, {"module.exports"}, "step of a workflow")
        self.assertEqual({code for code, _ in self.faults_of(Program().add(pure("t/p@1", entry="step")))}, {"module.exports"})

    def test_nothing_can_be_imported(self):
        self.assertEqual({one for one, _ in self.faults_of_code(puppet(imports=True))}, {"module.imports"})

    def test_memory(self):
        self.assertEqual({one for one, _ in self.faults_of_code(puppet(memory_pages=257))}, {"module.memory"})
        self.assertEqual(self.faults_of_code(puppet(memory_pages=256)), set())
        self.assertEqual(self.faults_of(Program(memory_pages=257).limits(memory_pages=300)), set())

    def test_code_by_hash_needs_the_blob(self):
        world = self.make()
        code = puppet(memory_pages=3)
        program = Program()
        module = program.node("t/m@1")
        del module["wasm_b64"]
        module["wasm_hash"] = sha(code)
        path = f"/v1/worlds/{world.name}/manifest/validate"
        self.assertFalse(self.client.post(path, program.body()).body["valid"])
        world.call("POST", "/blobs", raw=code, status=201)
        reply = self.client.post(path, program.body()).body
        self.assertTrue(reply["valid"], reply)

    def test_large_code_is_refused(self):
        data = puppet()
        custom = b"\x00" + b"\x84\x80\x80\x04" + b"\x03big" + bytes(8 * 1024 * 1024)  # a custom section of 8 MiB + 4
        codes = {one for one, _ in self.faults_of_code(data + custom)}
        self.assertEqual(codes, {"module.invalid"})

    def test_large_code_in_a_blob_is_refused_as_code(self):
        world = self.make()
        code = puppet() + b"\x00" + b"\x84\x80\x80\x04" + b"\x03big" + bytes(8 * 1024 * 1024)
        world.call("POST", "/blobs", raw=code, status=201)
        program = Program()
        module = program.node("t/m@1")
        del module["wasm_b64"]
        module["wasm_hash"] = sha(code)
        reply = self.client.post(f"/v1/worlds/{world.name}/manifest/validate", program.body()).body
        self.assertEqual([(one["path"], one["code"]) for one in reply["errors"]],
                         [(self.at(program, "t/m@1", "/wasm_hash"), "module.invalid")])
        world.call("POST", "/blobs", raw=bytes(16 * 1024 * 1024 + 1), status=413)


class Effects(WorldCase):
    one, index, at = Manifest.one, Manifest.index, Manifest.at

    def test_unknown_effects_and_caps(self):
        program = Program(effects=["pay.charge", "pay.none"])
        self.one(program, "effect.unknown", self.at(program, "t/m@1", "/abi/workflow/effects_emitted/1"))
        self.one(Program().grants(grant(cap="t/None@1")), "cap.unknown", "/manifest/defaults/cap_grants/0/cap")

    def test_built_in_effects_are_known(self):
        kinds = ["timer.set", "blob.put", "blob.get", "http.request", "job.run", "run.start"]
        caps = ["sys/Timer@1", "sys/Blob@1", "sys/HttpOut@1", "sys/Job@1", "sys/Run@1"]
        program = Program(effects=kinds).grants(*(grant(f"g{at}", cap) for at, cap in enumerate(caps)))
        self.assertEqual(self.faults_of(program), set())

    def test_grants(self):
        self.one(Program().grants(grant(), grant()), "grant.duplicate", "/manifest/defaults/cap_grants/1/name")
        faults = self.faults_of(Program().grants(grant(params={"spare": 1})))
        self.assertTrue(any(code == "grant.invalid_params" and path.startswith("/manifest/defaults/cap_grants/0/params") for code, path in faults), faults)
        self.assertIn("name.invalid", {code for code, _ in self.faults_of(Program().grants(grant("0pay")))})

    def bound(self, slots, bindings, *grants):
        program = Program(slots=slots).grants(*(grants or [grant()]))
        program.manifest["module_bindings"] = {"t/m@1": {"slots": bindings}}
        return program

    def test_slots(self):
        self.assertEqual(self.faults_of(self.bound({"till": "pay"}, {"till": "pay"})), set())
        self.one(self.bound({"till": "pay"}, {"till": "none"}), "grant.unknown", "/manifest/module_bindings/t~1m@1/slots/till")
        self.one(self.bound({"till": "pay"}, {"drawer": "pay"}), "slot.unknown", "/manifest/module_bindings/t~1m@1/slots/drawer")
        self.one(self.bound({"till": "timer"}, {"till": "pay"}), "slot.type_mismatch", "/manifest/module_bindings/t~1m@1/slots/till")

    def test_policies(self):
        for when, decision in (({"origin_kind": "plan"}, "allow"), ({"origin_kind": "reducer"}, "deny"), ({}, "maybe"), ({"origin_kind": 1}, "allow")):
            with self.subTest((when, decision)):
                program = Program().add(policy((when, decision)))
                faults = self.faults_of(program)
                self.assertTrue(any(code == "policy.invalid" and path.startswith(self.at(program, "t/policy@1")) for code, path in faults), faults)
        for kind in ("workflow", "system", "governance"):
            self.assertEqual(self.faults_of(Program().add(policy(({"origin_kind": kind}, "deny")))), set())

    def test_limits(self):
        self.assertEqual(self.faults_of(Program().limits(fuel=10**9, memory_pages=4096)), set())
        for limits in ({"fuel": 10**9 + 1}, {"memory_pages": 4097}, {"fuel": 0}, {"fuel": "1"}):
            (name, _), = limits.items()
            self.one(Program().limits(**limits), "limit.invalid", "/manifest/limits/" + name)

    def test_a_schema_of_an_effect_must_exist(self):
        program = Program().replace(effect_def(params="t/None@1"))
        self.one(program, "ref.unknown", self.at(program, "t/Charge@1", "/params_schema"))
        program = Program().replace(cap_def(enforcer="t/none@1"))
        self.one(program, "ref.unknown", self.at(program, "t/Pay@1", "/enforcer/module"))


class Routing(WorldCase):
    one = Manifest.one
    KEY = "/manifest/routing/subscriptions/0/key_field"

    def test_an_event_is_the_modules_own_or_one_of_its_arms(self):
        """R-5.2"""
        program = Program().add(schema("t/Other@1", record(id=TEXT)))
        self.one(program.subscribe(subscription(event="t/Other@1")), "routing.event_mismatch", "/manifest/routing/subscriptions/0/event")
        self.assertEqual(self.faults_of(Program().subscribe(subscription(event="t/Input@1"))), set())
        self.assertEqual(self.faults_of(Program().subscribe(subscription(event="t/Go@1"))), set())

    def test_key_fields(self):
        """R-6.1"""
        keyed = lambda **more: Program(keyed=True).subscribe(subscription(**more))  # noqa: E731
        self.assertIn("routing.key_field", {code for code, _ in self.faults_of(keyed())}, "a keyed module needs one")
        self.one(Program().subscribe(subscription(key_field="id")), "routing.key_field", self.KEY)
        self.one(keyed(key_field="none"), "routing.key_field", self.KEY)
        self.one(keyed(key_field="out"), "routing.key_field", self.KEY)
        self.one(keyed(key_field="$value.id"), "routing.key_field", self.KEY)
        self.assertEqual(self.faults_of(keyed(event="t/Input@1", key_field="$value.id")), set())
        self.one(keyed(event="t/Input@1", key_field="$value.none"), "routing.key_field", self.KEY)

    def test_old_names_become_new_ones_with_a_warning(self):
        """R-6.4, R-11.1"""
        new = Program()
        old = copy.deepcopy(new)
        old.manifest["routing"] = {"events": [{"event": "t/Go@1", "reducer": "t/m@1"}]}
        replies = [self.client.post("/v1/worlds/none/manifest/validate", program.body()).body for program in (new, old)]
        self.assertEqual(replies[0]["manifest_hash"], replies[1]["manifest_hash"])
        self.assertTrue(replies[1]["warnings"])
        world = self.make(old)
        text = str(world.get("/manifest"))
        self.assertNotIn("reducer", text)
        self.assertIn("subscriptions", text)


CODES = set("""air_version field.unknown field.missing kind.unknown name.invalid name.reserved name.duplicate ref.unknown hash.mismatch
    type.invalid abi.mismatch module.invalid module.imports module.exports module.memory effect.unknown cap.unknown grant.unknown
    grant.duplicate grant.invalid_params slot.unknown slot.type_mismatch routing.event_mismatch routing.key_field policy.invalid
    limit.invalid""".split())
ODD_VALUES = (5, "", [], {}, True, "x", -1, 2**64, [None], {"a": 1}, "a/B@1", "sys/TimerFired@1", ["x", "x"], 1.5)


def places(value, path=()):
    """The paths of all values inside this one."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, member in inner:
        yield (*path, name)
        yield from places(member, (*path, name))


def put(body, path, value):
    for name in path[:-1]:
        body = body[name]
    body[path[-1]] = value


def points_into(body, pointer):
    """Whether a JSON pointer leads to a value of the body, or to a member that an object of it lacks."""
    names = [name.replace("~1", "/").replace("~0", "~") for name in pointer.split("/")[1:]]
    for at, name in enumerate(names):
        if isinstance(body, list) and name.isdigit() and int(name) < len(body):
            body = body[int(name)]
        elif isinstance(body, dict) and (name in body or at + 1 == len(names)):
            body = body.get(name)
        else:
            return False
    return True


class Mutations(WorldCase):
    def test_every_fault_has_a_code_of_the_contract_and_points_into_the_body(self):
        """Whatever stands in a program instead of what belongs there."""
        whole = Program(keyed=True, slots={"pay": "pay"}).policy(({"effect_kind": "pay.charge", "origin_kind": "workflow"}, "allow")).limits(fuel=5)
        whole.manifest["module_bindings"] = {"t/m@1": {"slots": {"pay": "pay"}}}
        whole.add(pure("t/p@1"), cap_def("t/Other@1", "other", enforcer="t/p@1"))
        self.assertEqual({path for code, path in self.faults_of(whole)}, {"/nodes/12/enforcer/module"})
        for path in places(whole.body()):
            for odd in ODD_VALUES:
                body = copy.deepcopy(whole.body())
                put(body, path, odd)
                with self.subTest(path=path, odd=odd):
                    self.check_faults(body)

    def check_faults(self, body):
        reply = self.client.post("/v1/worlds/none/manifest/validate", body)
        self.assertEqual(reply.status, 200, reply.raw[:500])
        faults = [(one["code"], one["path"]) for one in reply.body["errors"]]
        self.assertEqual(reply.body["valid"], not faults)
        for code, path in faults:
            self.assertIn(code, CODES)
            self.assertTrue(points_into(body, path), path)
        told = [one for one in faults if one[0] != "module.exports"]  # of which there is one for each export
        self.assertEqual(len(told), len(set(told)), told)


class Worlds(WorldCase):
    def test_names_ids_and_lists(self):
        for name in ("", "A", "1a", "a_b", "a" * 64, "-a"):
            reply = self.client.post("/v1/worlds", {"name": name, **Program().body()})
            self.assertIn(reply.status, (400, 422), name)
        world = self.make()
        self.assertEqual((world.created["name"], world.created["status"], world.created["height"]), (world.name, "open", 1))
        reply = self.client.post("/v1/worlds", {"name": world.name, **Program().body()})
        self.assertEqual((reply.status, reply.body["error"]["code"]), (409, "world.exists"))
        self.assertIn(world.name, [one["name"] for one in self.client.get("/v1/worlds?limit=1000").body["worlds"]])
        self.assertEqual(world.get()["id"], world.id)
        self.assertEqual(self.client.get("/v1/worlds/none").status, 404)

    def test_an_id_stands_for_one_world(self):
        """Items are kept by id: a second world of the same id would write over the first."""
        world = self.make()
        world.go()
        before = world.digest()
        body = {"name": "usurper", "id": world.id, **Program().body()}
        reply = self.client.post("/v1/worlds", body)
        self.assertEqual((reply.status, reply.body["error"]["code"]), (409, "world.exists"))
        self.assertEqual(self.client.get("/v1/worlds/usurper").status, 404)
        self.assertEqual(world.digest(), before)
        world.check_replays()
        world.call("DELETE", "?force=true")
        body["id"] = world.id.upper()
        reply = self.client.post("/v1/worlds", body)
        self.assertEqual(reply.status, 201, "the id is free again")
        self.assertEqual(reply.body["world"]["id"], world.id)
        self.client.delete("/v1/worlds/usurper?force=true")

    def test_only_quiet_worlds_are_deleted_without_force(self):
        world = self.make()
        world.go()
        world.refused(409, "world.busy", "DELETE", "")
        world.call("DELETE", "?force=true")
        self.assertEqual(self.client.get(f"/v1/worlds/{world.name}").status, 404)
        self.make(name=world.name).call("DELETE", "")

    def test_builtins_are_not_listed(self):
        names = [one["name"] for one in self.make().get("/defs", limit=1000)["defs"]]
        self.assertFalse([name for name in names if name.startswith("sys/")])


class Compiling(WorldCase):
    arguments = ("--worlds-threads", "1")

    def test_a_slow_compiler_holds_up_no_world(self):
        """Code is judged beside the worlds' threads: when the event is answered, the compiler is still at work."""
        world = self.make(Program(keyed=True))
        world.go()
        validation = http.client.HTTPConnection("127.0.0.1", self.server.port)
        self.addCleanup(validation.close)
        slow = Program(wasm=slow_to_compile(500)).body()
        validation.request("POST", "/v1/worlds/none/manifest/validate", json.dumps(slow), {"Content-Type": "application/json"})
        world.go(id_="b")
        self.assertEqual(select.select([validation.sock], [], [], 0)[0], [], "the validation was answered first")
        reply = json.loads(validation.getresponse().read())
        self.assertIn("module.exports", {one["code"] for one in reply["errors"]})


if __name__ == "__main__":
    unittest.main()
