"""Values of worlds: one encoding for each, whatever the spelling; every other spelling refused."""
import unittest

from world_bytes import Ed25519Signer, H, HmacSigner, b64, dec, enc, event_hash, grant_hash, idempotency_key, intent_hash, sha, signed, unb64
from world_case import BOOL, BYTES, INT, NAT, TEXT, UNIT, Program, WorldCase, of, option, record, ref, schema, variant

PAID = variant(Paid=record(cents=NAT), Open=UNIT)
# name: type, sugar, encoding, first 16 digits of its hash
VECTORS = {
    "V1": (NAT, 500, "1901f4", "b5b9dab597342990"),
    "V2": (INT, -2**63, "3b7fffffffffffffff", "67e32b647dedafb4"),
    "V3": (record(bb=option(TEXT), a=NAT, c=BOOL), {"c": True, "a": 1}, "a36161016163f5626262f6", "b78fa14a43d3ae53"),
    "V4": (PAID, {"Paid": {"cents": 4200}}, "a264247461676450616964662476616c7565a16563656e7473191068", "47f48f63ac09301e"),
    "V5": (PAID, {"Open": None}, "a16424746167644f70656e", "bd0acd729a8cf173"),
    "V6": (of("set", TEXT), ["b", "aa", "b", "a"], "8361616162626161", "6edbccc499169775"),
    "V7": (of("map", {"key": NAT, "value": TEXT}), [[256, "y"], [3, "x"]], "a20361781901006179", "ef6c68d9f861fbb7"),
    "V8": (of("map", {"key": TEXT, "value": INT}), {"bb": -1, "c": 24}, "a26163181862626220", "d752343d4c665ef4"),
    "V9": (BYTES, "AAEC/w==", "44000102ff", "a5c9ae78b0488e28"),
    "V10": (of("list", variant(D=of("dec128"))), [{"D": "-12.50"}], "81a264247461676144662476616c7565662d31322e3530", "7bf873db999b766b"),
    "V11": (record(t=of("time"), d=of("duration")), {"t": 1700000000000000000, "d": -1500000000},
            "a261643a59682eff61741b17979cfe362a0000", "2988b4a6a12e3d49"),
}
UUID = "01890a5d-ac96-774b-bcce-b302099a8057"

# type, spellings of one value
ALIKE = [
    (PAID, [{"Paid": {"cents": 7}}, {"$tag": "Paid", "$value": {"cents": 7}}, {"$value": {"cents": 7}, "$tag": "Paid"}]),
    (PAID, [{"Open": None}, {"$tag": "Open"}, {"$tag": "Open", "$value": None}]),
    (record(a=option(NAT), b=NAT), [{"b": 1}, {"a": None, "b": 1}, {"b": 1, "a": None}]),
    (of("set", NAT), [[1, 2, 3], [3, 2, 1, 1], [2, 3, 1]]),
    (of("map", {"key": TEXT, "value": NAT}), [{"a": 1, "b": 2}, {"b": 2, "a": 1}, [["b", 2], ["a", 1]]]),
    (of("map", {"key": NAT, "value": NAT}), [[[1, 1], [2, 2]], [[2, 2], [1, 1]]]),
    (of("uuid"), [UUID, UUID.upper()]),
]
HEX = "sha256:" + "ab" * 32
# type, values that are none of it
WRONG = [
    (NAT, [-1, 2**64, 1.0, 1.5, "1", True, None, [], {}]),
    (INT, [2**63, -2**63 - 1, 1.0, "1", False]),
    (BOOL, [0, 1, "true", None]),
    (TEXT, [1, None, True, ["a"]]),
    (BYTES, ["AA", "AB==", "A===", "AAEC_w==", "AA==\n", 1, [0], "é"]),
    (UNIT, [{}, 0, "", False]),
    (of("time"), [-1, 2**63, 1.0, "2023-01-01T00:00:00Z"]),
    (of("duration"), [2**63, 0.5]),
    (of("hash"), ["ab" * 32, HEX.upper(), HEX[:-1], HEX + "0", 1]),
    (of("uuid"), [UUID[:-1], UUID.replace("-", ""), 1]),
    (of("dec128"), [1, 1.5, "01", "-0", "1.", ".5", "+1", "1e3", " 1", "1" * 35, "NaN", "٣"]),
    (record(a=NAT), [{}, {"a": 1, "b": 1}, {"a": None}, [], 1, None]),
    (PAID, [{"cents": 7}, {"Paid": {"cents": 7}, "Open": None}, {"Gone": 1}, {"$tag": "Paid"}, {"$tag": "Gone"}, {}, "Open",
            {"$tag": "Open", "$value": 1}, {"$tag": "Open", "more": 1}]),
    (of("list", NAT), [{}, [1, "2"], None]),
    (of("map", {"key": TEXT, "value": NAT}), [[["a", 1], ["a", 2]], [["a"]], {"a": "b"}, [1]]),
    (of("map", {"key": NAT, "value": NAT}), [{"x": 1}, [[-1, 1]]]),
]
# type, CBOR in hex that is refused
WRONG_CBOR = [
    (NAT, ["", "00 00", "20", "f6", "6131", "f5", "fb3ff0000000000000", "f93c00", "c100", "d9d9f700", "1b", "f7", "e0", "f820"]),
    (TEXT, ["4161", "61ff", "7f61616161ff", "62", "00"]),
    (BYTES, ["6161", "5f4100ff", "80"]),
    (record(a=NAT), ["a0", "a2616101616101", "a2616101616202", "bf616101ff", "a1416101", "81 00", "a10001"]),
    (of("list", NAT), ["9f00ff", "81", "a0", "8120"]),
    (option(TEXT), ["f7", "01"]),
]


class Oracle(unittest.TestCase):
    """The tests' own bytes are those of the contract."""

    def test_vectors_of_identities(self):
        params = enc({"amount_cents": 4200, "order_id": "o-1"})
        self.assertEqual(event_hash("com.acme/OrderEvent@1", params)[7:23], "ebf6893ed31a5af2")
        key = idempotency_key("com.acme/order_workflow@1", enc("o-1"), "payment.charge", params, 2, 0, 0)
        self.assertEqual(key.hex()[:16], "8317335a4736d728")
        intent = intent_hash("payment.charge", params, "cap_payments", key)
        self.assertEqual(intent, "sha256:e8dd8652afd952af344792d187233a8e181bba29a9ee26a7c25024580ac00f26")
        self.assertEqual(grant_hash("com.acme/Payments@1", "payments", enc({"max_cents": 10000}))[7:23], "b77c831925a29dc3")
        data = signed(UUID, intent, "stripe", "ok", enc({"charge_id": "ch_1"}))
        self.assertEqual(b64(HmacSigner().sign(data)), "6zeIkgLdBUK83qkxx8bzsL0gh0OOVA8KadEPXIrvOoQ=")
        self.assertEqual(H({"$kind": "defschema", "name": "com.acme/Tick@1", "type": record(n=NAT)})[7:23], "0d3924a36e75aa82")

    def test_ed25519_is_that_of_rfc_8032(self):
        signer = Ed25519Signer(bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"))
        self.assertEqual(signer.public.hex(), "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
        self.assertEqual(signer.sign(b"\x72").hex()[:32], "92a009a9f0d4cab8720e820b5f642540")

    def test_vectors_of_values(self):
        for name, (_, _, data, digest) in VECTORS.items():
            self.assertEqual(sha(bytes.fromhex(data))[7:23], digest, name)
            self.assertEqual(enc(dec(bytes.fromhex(data))), bytes.fromhex(data), name)


class Values(WorldCase):
    def world_of(self, types):
        """A world whose events t/T0@1, t/T1@1 … have these types; nobody subscribes to them."""
        return self.make(Program().add(*(schema(f"t/T{at}@1", type_) for at, type_ in enumerate(types))))

    def value_of(self, world, at, **given):
        reply = world.post("/events", {"schema": f"t/T{at}@1", **given})
        self.assertEqual(reply["deliveries"], [])
        event = world.find(reply["seq"], "domain_event")[0]
        self.assertEqual(reply["event_hash"], event_hash(f"t/T{at}@1", event["value"]))
        self.assertEqual(event["event_hash"], reply["event_hash"])
        return event["value"]

    def test_vectors(self):
        world = self.world_of([type_ for type_, *_ in VECTORS.values()])
        for at, (name, (_, sugar, data, _)) in enumerate(VECTORS.items()):
            with self.subTest(name):
                self.assertEqual(self.value_of(world, at, value=sugar).hex(), data)
                self.assertEqual(self.value_of(world, at, value_b64=b64(bytes.fromhex(data))).hex(), data)

    def test_integers_keep_all_their_digits(self):
        world = self.world_of([NAT, of("time")])
        self.assertEqual(dec(self.value_of(world, 0, value=2**64 - 1)), 2**64 - 1)
        self.assertEqual(dec(self.value_of(world, 1, value=2**63 - 1)), 2**63 - 1)

    def test_every_spelling_of_a_value_is_one_value(self):
        world = self.world_of([type_ for type_, _ in ALIKE])
        for at, (_, spellings) in enumerate(ALIKE):
            with self.subTest(spellings[0]):
                self.assertEqual(len({self.value_of(world, at, value=one) for one in spellings}), 1)

    def test_cbor_in_sugar_shapes_is_written_canonically(self):
        world = self.world_of([record(a=option(NAT), b=NAT), PAID, of("set", NAT), NAT])
        for at, given, wanted in ((0, "a16162 1801", {"a": None, "b": 1}), (0, "a2 6162 01 6161 02", {"a": 2, "b": 1}),
                                  (1, "a1 6450616964 a1 6563656e7473 07", {"$tag": "Paid", "$value": {"cents": 7}}),
                                  (1, "a1 644f70656e f6", {"$tag": "Open"}), (2, "83 03 01 01", [1, 3]), (3, "1b0000000000000001", 1)):
            with self.subTest(given):
                self.assertEqual(dec(self.value_of(world, at, value_b64=b64(bytes.fromhex(given)))), wanted)

    def test_tagged_values(self):
        types = [record(a=NAT, b=option(TEXT), c=PAID, d=of("set", INT), e=of("map", {"key": NAT, "value": BOOL}), f=UNIT, g=BYTES)]
        world = self.world_of(types)
        tagged = {"record": {"a": {"nat": 1}, "b": {"null": {}}, "c": {"variant": {"tag": "Paid", "value": {"record": {"cents": {"nat": 2}}}}},
                             "d": {"set": [{"int": 3}, {"int": -1}]}, "e": {"map": [{"key": {"nat": 9}, "value": {"bool": True}}]},
                             "f": {"unit": {}}, "g": {"bytes": "AAE="}}}
        sugar = {"a": 1, "c": {"Paid": {"cents": 2}}, "d": [-1, 3], "e": [[9, True]], "f": None, "g": "AAE="}
        self.assertEqual(self.value_of(world, 0, value=tagged, lens="tagged"), self.value_of(world, 0, value=sugar))
        world.refused(422, "event.invalid", "POST", "/events", {"schema": "t/T0@1", "value": sugar, "lens": "tagged"})
        world.refused(422, "event.invalid", "POST", "/events", {"schema": "t/T0@1", "value": tagged})

    def test_values_that_are_none_are_refused_and_change_nothing(self):
        world = self.world_of([type_ for type_, _ in WRONG])
        with world.nothing_changes():
            for at, (type_, values) in enumerate(WRONG):
                for value in values:
                    with self.subTest(type=type_, value=value):
                        world.refused(422, "event.invalid", "POST", "/events", {"schema": f"t/T{at}@1", "value": value})

    def test_cbor_that_is_not_clean_is_refused(self):
        world = self.world_of([type_ for type_, _ in WRONG_CBOR])
        with world.nothing_changes():
            for at, (type_, values) in enumerate(WRONG_CBOR):
                for value in values:
                    with self.subTest(type=type_, value=value):
                        world.refused(422, "event.invalid", "POST", "/events",
                                      {"schema": f"t/T{at}@1", "value_b64": b64(bytes.fromhex(value))})
            deep = bytes([0x81]) * 70 + b"\x00"
            world.refused(422, "event.invalid", "POST", "/events", {"schema": "t/T0@1", "value_b64": b64(deep)})

    def test_decimals_and_names_keep_their_spelling(self):
        world = self.world_of([of("dec128"), of("hash"), of("uuid")])
        for text in ("0", "1.50", "-12.500", "1" * 34):
            self.assertEqual(dec(self.value_of(world, 0, value=text)), text)
        self.assertEqual(dec(self.value_of(world, 1, value=HEX)), HEX)
        self.assertEqual(dec(self.value_of(world, 2, value=UUID.upper())), UUID)

    def test_large_values(self):
        world = self.world_of([TEXT])
        self.assertEqual(len(self.value_of(world, 0, value="x" * 900_000)), 900_005)
        with world.nothing_changes():
            world.call("POST", "/events", {"schema": "t/T0@1", "value": "x" * 1_100_000}, status=413)


class Blobs(WorldCase):
    def test_a_blob_is_named_by_its_bytes(self):
        world = self.make()
        data = bytes(range(256)) * 10
        made = world.call("POST", "/blobs", raw=data, status=201)
        self.assertEqual(made, {"blob_ref": sha(data), "size": len(data)})
        reply = self.client.get(f"/v1/worlds/{world.name}/blobs/{sha(data)}")
        self.assertEqual((reply.status, reply.raw), (200, data))
        self.assertEqual(self.client.get(f"/v1/worlds/{self.make().name}/blobs/{sha(data)}").status, 404)

    def test_code_is_a_blob(self):
        program = Program()
        world = self.make(program)
        code = program.code_of()
        self.assertEqual(self.client.get(f"/v1/worlds/{world.name}/blobs/{sha(code)}").raw, code)


class Nodes(WorldCase):
    def test_hashes_of_nodes_and_manifest(self):
        program = Program()
        world = self.make(program)
        defs = {one["name"]: one for one in world.get("/defs", limit=1000)["defs"]}
        self.assertEqual(set(defs), {node["name"] for node in program.nodes})
        for node in program.nodes:
            kept = defs[node["name"]]
            self.assertEqual(kept["kind"], node["$kind"])
            self.assertEqual(kept["hash"], H(kept["node"]), node["name"])
        module = defs["t/m@1"]["node"]
        self.assertEqual(module["wasm_hash"], sha(program.code_of()))
        self.assertNotIn("wasm_b64", module)
        self.assertEqual(defs["t/Go@1"]["hash"], H(program.node("t/Go@1")))
        manifest = world.get("/manifest")
        self.assertEqual(manifest["manifest_hash"], H(manifest["manifest"]))
        self.assertEqual(world.created["manifest_hash"], manifest["manifest_hash"])
        self.assertEqual(world.find(1, "manifest"), [{"manifest_hash": manifest["manifest_hash"]}])
        listed = {(one["name"], one["hash"]) for one in manifest["manifest"]["schemas"]}
        self.assertEqual(listed, {(one["name"], one["hash"]) for one in defs.values() if one["kind"] == "defschema"})

    def test_the_canonical_text_gives_the_same_hash(self):
        world = self.make()
        manifest = world.get("/manifest")
        nodes = [one["node"] for one in world.get("/defs", limit=1000)["defs"]]
        for node in nodes:
            if "wasm_hash" in node:
                node["wasm_b64"] = b64(self.client.get(f"/v1/worlds/{world.name}/blobs/{node.pop('wasm_hash')}").raw)
        reply = self.client.post("/v1/worlds/none/manifest/validate", {"manifest": manifest["manifest"], "nodes": nodes})
        self.assertEqual((reply.body["valid"], reply.body.get("manifest_hash")), (True, manifest["manifest_hash"]), reply.raw[:2000])


if __name__ == "__main__":
    unittest.main()
