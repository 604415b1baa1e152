"""Base of the tests of worlds: programs of puppets, and a world seen only through its public API."""
import collections
import json
import unittest

from harness import Server, new_id
from world_bytes import H, HmacSigner, b64, dec, enc, json_value, sha, signed, unb64
from world_modules import play, puppet, step_output

NOW = 1_700_000_000_000_000_000
SEED = "seed"
Record = collections.namedtuple("Record", "seq n kind value")


# --- types and nodes

def of(name, arg=None):
    return {name: {} if arg is None else arg}


NAT, INT, TEXT, BYTES, BOOL, UNIT = of("nat"), of("int"), of("text"), of("bytes"), of("bool"), of("unit")


def record(**fields):
    return {"record": fields}


def variant(**arms):
    return {"variant": arms}


def option(type_):
    return {"option": type_}


def ref(name):
    return {"ref": name}


def schema(name, type_):
    return {"$kind": "defschema", "name": name, "type": type_}


def workflow(name="t/m@1", event="t/Input@1", state="t/State@1", key=None, context=False, effects=None, slots=None, wasm=None, **wasm_options):
    abi = {"state": state, "event": event}
    if context:
        abi["context"] = "sys/WorkflowContext@1"
    if effects is not None:
        abi["effects_emitted"] = list(effects)
    if slots is not None:
        abi["cap_slots"] = slots
    node = {"$kind": "defmodule", "name": name, "module_kind": "workflow",
            "wasm_b64": b64(puppet(**wasm_options) if wasm is None else wasm), "abi": {"workflow": abi}}
    if key:
        node["key_schema"] = key
    return node


def pure(name, input_="t/Any@1", output="t/Any@1", context=False, **wasm_options):
    abi = {"input": input_, "output": output}
    if context:
        abi["context"] = "sys/PureContext@1"
    return {"$kind": "defmodule", "name": name, "module_kind": "pure", "wasm_b64": b64(puppet(pure=True, **wasm_options)),
            "abi": {"pure": abi}}


def effect_def(name="t/Charge@1", kind="pay.charge", params="t/ChargeParams@1", receipt="t/ChargeReceipt@1", cap_type="pay", scope="both"):
    return {"$kind": "defeffect", "name": name, "kind": kind, "params_schema": params, "receipt_schema": receipt,
            "cap_type": cap_type, "origin_scope": scope}


def cap_def(name="t/Pay@1", cap_type="pay", type_=None, enforcer=None):
    node = {"$kind": "defcap", "name": name, "cap_type": cap_type, "schema": type_ or record()}
    if enforcer:
        node["enforcer"] = {"module": enforcer}
    return node


def policy(*rules, name="t/policy@1"):
    """Rules are (when, decision)."""
    return {"$kind": "defpolicy", "name": name, "rules": [{"when": when, "decision": decision} for when, decision in rules]}


def grant(name="pay", cap="t/Pay@1", params=None, **more):
    return {"name": name, "cap": cap, "params": params or {}, **more}


def subscription(event="t/Go@1", module="t/m@1", **more):
    return {"event": event, "module": module, **more}


ARMS = {"Receipt": "sys/EffectReceiptEnvelope@1", "Rejected": "sys/EffectReceiptRejected@1", "Denied": "sys/EffectDenied@1"}


class Program:
    """A manifest and nodes that are valid: one puppet t/m@1 that takes t/Go@1 {id, out} and may emit pay.charge {n}."""

    def __init__(self, arms=("Receipt",), keyed=False, **module):
        self.nodes = [
            schema("t/Key@1", TEXT), schema("t/Any@1", record(last=BYTES)), schema("t/State@1", record(last=BYTES)),
            schema("t/Go@1", record(id=TEXT, out=BYTES)),
            schema("t/Input@1", variant(Go=ref("t/Go@1"), **{arm: ref(ARMS[arm]) for arm in arms})),
            schema("t/ChargeParams@1", record(n=NAT)), schema("t/ChargeReceipt@1", record(out=BYTES)),
            effect_def(), cap_def(),
            workflow(key="t/Key@1" if keyed else None, **{"effects": ["pay.charge"], **module})]
        key = {"key_field": "id"} if keyed else {}
        self.manifest = {"air_version": "1", "defaults": {"cap_grants": [grant()]},
                         "routing": {"subscriptions": [subscription(**key)]}}

    def add(self, *nodes):
        self.nodes += nodes
        return self

    def replace(self, node):
        self.nodes = [one for one in self.nodes if one["name"] != node["name"]] + [node]
        return self

    def node(self, name):
        return next(one for one in self.nodes if one["name"] == name)

    def subscribe(self, *subscriptions):
        self.manifest["routing"]["subscriptions"] = list(subscriptions)
        return self

    def grants(self, *grants):
        self.manifest["defaults"]["cap_grants"] = list(grants)
        return self

    def policy(self, *rules):
        self.manifest["defaults"]["policy"] = "t/policy@1"
        return self.add(policy(*rules))

    def limits(self, **limits):
        self.manifest["limits"] = limits
        return self

    def body(self):
        return {"manifest": self.manifest, "nodes": self.nodes}

    def code_of(self, name="t/m@1"):
        return unb64(self.node(name)["wasm_b64"])


class World:
    """A world on a server: calls by their names in the contract, replies checked."""

    def __init__(self, case, name, world, seed):
        self.case, self.name, self.id, self.seed, self.created = case, name, world["id"], seed, world

    def call(self, method, path, body=None, status=200, **more):
        reply = self.case.client.call(method, f"/v1/worlds/{self.name}{path}", body, **more)
        self.case.assertEqual(reply.status, status, f"{method} {path}: {reply.raw[:2000]!r}")
        return reply.body

    def get(self, path="", status=200, **query):
        from urllib.parse import urlencode
        query = {key.rstrip("_"): value for key, value in query.items() if value is not None}
        return self.call("GET", path + ("?" + urlencode(query) if query else ""), status=status)

    def post(self, path, body=None, status=200):
        return self.call("POST", path, {} if body is None else body, status)

    def refused(self, status, code, method, path, body=None):
        """The error of a call that must be refused with this status and code."""
        error = self.call(method, path, body, status)["error"]
        self.case.assertEqual(error["code"], code, error)
        return error

    # --- inputs
    def event(self, schema_, value, status=200, **more):
        return self.post("/events", {"schema": schema_, "value": value, **more}, status)

    def go(self, output=None, id_="a", mode=None, raw=None, **more):
        """Makes the puppet return this step output; the reply of the event."""
        out = raw if raw is not None else play(step_output({"last": b""}) if output is None else output) if mode is None else play(b"", mode)
        return self.event("t/Go@1", {"id": id_, "out": b64(out)}, **more)

    def go_value(self, output, id_="a"):
        """The canonical value of that event."""
        return enc({"id": id_, "out": play(output)})

    def adapter(self, name="stripe", signer=None, **more):
        signer = signer or HmacSigner()
        self.call("PUT", f"/adapters/{name}", {**signer.registration(), **more})
        return signer

    def receipt_body(self, intent, payload, status="ok", adapter="stripe", signer=None, cost_cents=None, world_id=None):
        """`payload`: bytes, sent as payload_b64, or JSON."""
        data = payload if isinstance(payload, bytes) else enc(payload)
        sig = (signer or HmacSigner()).sign(signed(world_id or self.id, intent, adapter, status, data, cost_cents))
        body = {"intent_hash": intent, "adapter_id": adapter, "status": status, "sig": b64(sig)}
        body.update({"payload_b64": b64(data)} if isinstance(payload, bytes) else {"payload": payload})
        if cost_cents is not None:
            body["cost_cents"] = cost_cents
        return body

    def settle(self, intent, output=None, outcome="settled", **more):
        """An ok receipt whose payload makes the puppet return this step output."""
        payload = more.pop("payload", None)
        if payload is None:
            payload = enc({"out": play(step_output({"last": b""}) if output is None else output)})
        reply = self.post("/receipts", self.receipt_body(intent, payload, **more))
        self.case.assertEqual(reply["outcome"], outcome, reply)
        return reply

    # --- reading
    def journal(self, from_=1, kinds=None):
        """All records from a seq on; each JSON is checked against its bytes."""
        records, cursor, query = [], None, {"from": from_, "kinds": kinds, "limit": 1000}
        while True:
            page = self.get("/journal", **{**query, "cursor": cursor})
            for entry in page["entries"]:
                value = dec(unb64(entry["record_b64"]))
                self.case.assertEqual(entry["record"], json_value(value), entry["kind"])
                records.append(Record(entry["seq"], entry["n"], entry["kind"], value))
            cursor = page.get("next_cursor")
            if not cursor:
                return records

    def frame(self, seq):
        records = [one for one in self.journal(seq) if one.seq == seq]
        self.case.assertEqual([one.n for one in records], list(range(len(records))))
        return records

    def kinds(self, seq):
        return [one.kind for one in self.frame(seq)]

    def find(self, seq, kind):
        return [one.value for one in self.frame(seq) if one.kind == kind]

    def intents(self, seq):
        return [one["intent_hash"] for one in self.find(seq, "effect_intent")]

    def instances(self, **filters):
        return self.get("/instances", **filters)["instances"]

    def instance(self, module="t/m@1", key=None):
        found = self.instances(module=module, key=key)
        self.case.assertEqual(len(found), 1, found)
        return found[0]

    def effects(self, **filters):
        return self.get("/effects", **filters)["effects"]

    def state(self, module="t/m@1", key=None, status=200):
        from urllib.parse import quote
        reply = self.get("/state/" + quote(module, safe=""), status=status, key=key)
        if status != 200:
            return reply
        data = unb64(reply["state_b64"])
        self.case.assertEqual(reply["state_hash"], sha(data))
        return dec(data)

    def digest(self):
        return self.get("/digest")

    def head(self):
        return self.digest()["height"]

    def manifest_hash(self):
        return self.get("/manifest")["manifest_hash"]

    def nothing_changes(self):
        return NothingChanges(self)

    def check_replays(self):
        """What is on disk gives the world as it is, from the beginning and from the last snapshot."""
        live = self.digest()
        replayed = self.post("/replay", {"from": "genesis"})
        self.case.assertEqual({key: replayed[key] for key in live}, live)
        return replayed


class NothingChanges:
    """with world.nothing_changes(): … : the journal does not grow and the digest stays."""

    def __init__(self, world):
        self.world = world

    def __enter__(self):
        self.before = self.world.digest()

    def __exit__(self, kind, *_):
        if kind is None:
            self.world.case.assertEqual(self.world.digest(), self.before)


class WorldCase(unittest.TestCase):
    arguments = ()
    shared = True  # one server for all tests of the class
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=cls.arguments).start() if cls.shared else None

    @classmethod
    def tearDownClass(cls):
        if cls.shared:
            cls.server.close()

    def setUp(self):
        if not self.shared:
            self.server = Server(args=self.arguments).start()
            self.addCleanup(self.server.close)
        self.client = self.server.client()
        self.addCleanup(lambda: self.client.close())

    def restart(self):
        """kill -9, and start on the same data."""
        self.server.kill()
        self.client.close()
        self.server.start()

    def make(self, program=None, name=None, test=True, id_=None, seed=SEED, now_ns=NOW):
        """A world of this program; a test world with a clock at NOW."""
        name = name or "w-" + new_id().replace("-", "")
        body = {"name": name, "id": id_ or new_id(), **(program or Program()).body()}
        if test:
            body["test"] = {"now_ns": now_ns, "seed": seed}
        reply = self.client.post("/v1/worlds", body)
        self.assertEqual(reply.status, 201, reply.raw[:4000])
        return World(self, name, reply.body["world"], seed)

    def faults_of(self, program):
        """{(code, path)} that make the program invalid."""
        body = program.body() if isinstance(program, Program) else program
        reply = self.client.post("/v1/worlds/none/manifest/validate", body)
        self.assertEqual(reply.status, 200, reply.raw[:2000])
        self.assertEqual(reply.body["valid"], not reply.body["errors"])
        return {(one["code"], one["path"]) for one in reply.body["errors"]}


def hash_of_node(node):
    """Of a node without code to be filled in."""
    return H(json.loads(json.dumps(node)))
