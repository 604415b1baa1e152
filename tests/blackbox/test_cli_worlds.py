"""`pawl worlds …` on a real server: a folder becomes a world, and everything about it is seen and done from the shell."""
import json
import os
import subprocess
import tempfile
import unittest

from test_cli import DONE, REFUSED, USAGE, WithServer, pawl
from harness import DEADLINE_S, PAWL, new_id, until
from world_bytes import b64
from world_case import Program
from world_modules import effect, play, puppet, step_output

ASKS = step_output({"last": b"asks"}, effects=[effect("pay.charge", {"n": 1})])
COMPLETED = step_output({"last": b"done"}, status="completed")


class Folder:
    """A world's folder: the manifest, a file for the module, one for the rest, and the code."""

    def __init__(self, case, **module):
        holder = tempfile.TemporaryDirectory()
        case.addCleanup(holder.cleanup)
        self.path = holder.name
        program = Program(keyed=True, **module)
        os.makedirs(os.path.join(self.path, "nodes", "modules"))
        code = dict(program.node("t/m@1"), wasm_file="m.wasm")
        del code["wasm_b64"]
        self.write("manifest.json", json.dumps(program.manifest))
        self.write("nodes/all.json", json.dumps([node for node in program.nodes if node["$kind"] != "defmodule"], indent=1))
        self.write("nodes/modules/m.json", json.dumps(code, indent=1))
        self.write("m.wasm", puppet(**module))

    def write(self, name, data):
        with open(os.path.join(self.path, name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())


class Worlds(WithServer):
    def world(self, *words, **module):
        name = "w-" + new_id().replace("-", "")
        folder = Folder(self, **module)
        self.pawl("worlds", "create", name, folder.path, *words)
        return name, folder

    def go(self, name, output, id_="o-1", *words, **more):
        value = json.dumps({"id": id_, "out": b64(play(output))})
        return self.json("worlds", "event", name, "t/Go@1", value, *words, **more)

    def key_file(self, data=b"0123456789abcdef\n"):
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(data)
        self.addCleanup(os.unlink, file.name)
        return file.name

    def test_a_folder_becomes_a_world_and_changes(self):
        name, folder = self.world()
        self.assertIn(name, self.pawl("worlds", "list").stdout)
        self.assertRegex(self.pawl("worlds", "get", name).stdout, r"(?m)^status +open$")
        refused = self.pawl("worlds", "create", name, folder.path, expect=REFUSED)
        self.assertIn("(world.exists)", refused.stderr)
        self.assertIn("t/m@1", self.pawl("worlds", "defs", name).stdout)
        self.assertIn('"$kind":"defschema"', self.pawl("worlds", "defs", name, "t/Go@1").stdout.replace('": "', '":"'))
        valid = self.pawl("worlds", "validate", folder.path).stdout
        before = self.json("worlds", "manifest", name)["manifest_hash"]
        self.assertEqual(valid, f"valid, manifest {before}\n")
        folder.write("m.wasm", puppet(memory_pages=3))
        self.assertIn("applied as seq 2", self.pawl("worlds", "push", name, folder.path).stdout)
        self.assertNotEqual(self.json("worlds", "manifest", name)["manifest_hash"], before)
        self.assertEqual(self.pawl("worlds", "delete", name).stdout, f"{name} is deleted\n")

    def test_faults_are_shown_in_the_files(self):
        folder = Folder(self)
        with open(os.path.join(folder.path, "nodes/modules/m.json"), encoding="utf-8") as file:
            text = file.read().replace('"t/State@1"', '"t/None@1"')
        folder.write("nodes/modules/m.json", text)
        folder.write("nodes/bad.yaml", "- $kind: defschema\n  name: t/Bad@1\n  type: {float: {}}\n")
        line = text[:text.index("t/None@1")].count("\n") + 1
        for words in (("validate", folder.path), ("create", "faulty", folder.path)):
            run = self.pawl("worlds", *words, expect=REFUSED)
            self.assertIn(f"{folder.path}/nodes/modules/m.json:{line}: error: /abi/workflow/state: ", run.stderr)
            self.assertIn("(ref.unknown)", run.stderr)
            self.assertIn(f"{folder.path}/nodes/bad.yaml:3: error: /0/type", run.stderr)
        folder.write("nodes/bad.yaml", "a: [\n")
        run = self.pawl("worlds", "validate", folder.path, expect=REFUSED)
        self.assertIn("nodes/bad.yaml:", run.stderr)
        self.assertIn("nothing was sent", run.stderr)
        self.pawl("worlds", "validate", folder.path + "/none", expect=USAGE)

    def test_an_effect_from_event_to_receipt(self):
        name, _ = self.world("--test", "--now-ns", "2023-11-14T22:13:20Z")
        reply = self.go(name, ASKS, "o-1", "--client-id", "c1")
        self.assertEqual((reply["seq"], reply["duplicate"]), (2, False))
        self.assertTrue(self.go(name, ASKS, "o-1", "--client-id", "c1")["duplicate"])
        self.assertRegex(self.pawl("worlds", "instances", name).stdout, r"(?m)^t/m@1 +o-1 +waiting +2 +pay.charge ")
        shown = self.pawl("worlds", "effects", name).stdout
        self.assertRegex(shown, r"(?m)^pay.charge +queued +t/m@1 +2 +2023-11-14T22:13:20.000Z +[0-9a-f]{12}$")
        intent = shown.splitlines()[1].split()[5]
        secret = self.key_file()
        self.pawl("worlds", "adapters", name, "put", "stripe", "--hmac-secret-file", secret, "--kinds", "pay.charge")
        self.assertRegex(self.pawl("worlds", "adapters", name).stdout, r"(?m)^stripe +hmac-sha256 +pay.charge$")
        leased = self.json("worlds", "lease", name, "stripe", "--kinds", "pay.charge")["effects"]
        self.assertEqual([one["intent_hash"][7:19] for one in leased], [intent])
        payload = json.dumps({"out": b64(play(COMPLETED))})
        wrong = self.key_file(b"x" * 16)
        settle = ("worlds", "settle", name, intent, "ok", payload, "--adapter", "stripe", "--hmac-secret-file")
        self.assertIn("(receipt.bad_signature)", self.pawl(*settle, wrong, expect=REFUSED).stderr)
        self.assertEqual(self.pawl(*settle, secret).stdout, "settled as seq 3\n")
        state = self.json("worlds", "state", name, "t/m@1", "o-1")
        self.assertEqual(state["state"], {"last": b64(b"done")})
        self.assertIn("completed", self.pawl("worlds", "state", name, "t/m@1", "o-1").stdout)
        journal = self.pawl("worlds", "journal", name).stdout
        for line in ("domain_event      t/Go@1", "step              t/m@1 o-1 → waiting", "cap_decision      allow pay.charge by pay",
                     "effect_intent     pay.charge " + intent, "effect_receipt    ok " + intent + " from stripe"):
            self.assertIn(line, journal)
        trace = self.pawl("worlds", "trace", name, "--schema", "t/Go@1", "--by", "id", "--value", "o-1").stdout
        self.assertEqual(trace, self.pawl("worlds", "trace", name, "2").stdout)
        self.assertRegex(trace, r"(?m)^state +completed$")
        self.assertIn("every record is the same", self.pawl("worlds", "replay", name).stdout)
        self.assertRegex(self.pawl("worlds", "summary", name).stdout, r"(?m)^quiet +yes")
        self.assertIn("the clock stands at 2023-11-14T23:00:00.000Z", self.pawl("worlds", "clock", name, "2023-11-14T23:00:00Z").stdout)

    def test_an_ed25519_adapter(self):
        name, _ = self.world()
        key = self.key_file(b"")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True, capture_output=True)
        public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout[-32:]
        self.pawl("worlds", "adapters", name, "put", "ed", "--ed25519", public.hex())
        self.go(name, ASKS)
        intent = self.json("worlds", "effects", name)["effects"][0]["intent_hash"]
        self.pawl("worlds", "settle", name, intent, "error", '{"code": "x", "message": "y"}', "--adapter", "ed", "--ed25519-key-file", key,
                  "--cost-cents", "3")

    def test_a_proposal(self):
        name, folder = self.world()
        self.go(name, ASKS)
        folder.write("m.wasm", puppet(memory_pages=3))
        out = self.pawl("worlds", "propose", name, folder.path, "--description", "more memory").stdout
        self.assertIn(f"pawl worlds shadow {name} p3", out)
        events = self.key_file(json.dumps([{"schema": "t/Go@1", "value": {"id": "o-2", "out": b64(play(ASKS))}}]).encode())
        report = self.pawl("worlds", "shadow", name, "p3", "--events", events).stdout
        self.assertIn("tried        1 input, 1 step", report)
        self.assertIn("~ t/m@1\n", report)
        self.assertRegex(report, r"(?m)^pay.charge +allow +pay +t/m@1 +o-2 ")
        self.assertIn("Apply it with", self.pawl("worlds", "approve", name, "p3").stdout)
        blocked = self.pawl("worlds", "apply", name, "p3", expect=REFUSED).stderr
        self.assertIn("(apply.blocked)", blocked)
        self.assertRegex(blocked, r"t/m@1 +o-1 +waiting")
        run = self.json("worlds", "instances", name)["instances"][0]["run_id"]
        self.assertIn(run, blocked)
        self.assertIn(name, self.pawl("runs", "get", run).stdout)
        self.assertIn("effect pay.charge, queued", self.pawl("runs", "explain", run).stdout)
        self.assertIn(run, self.pawl("runs", "list", "--world", name).stdout)
        self.pawl("runs", "cancel", run)
        self.assertIn("applied as seq", self.pawl("worlds", "apply", name, "p3").stdout)
        self.assertRegex(self.pawl("worlds", "proposals", name).stdout, r"(?m)^p3 +applied ")
        self.assertIn("tried ", self.pawl("worlds", "proposals", name, "p3").stdout)

    def test_blobs_and_snapshots(self):
        name, folder = self.world()
        ref = self.json("worlds", "blob", name, "put", os.path.join(folder.path, "m.wasm"))["blob_ref"]
        copy = os.path.join(folder.path, "copy")
        self.pawl("worlds", "blob", name, "get", ref, "--output", copy)
        with open(copy, "rb") as file:
            self.assertEqual(file.read(), puppet())
        snapshot = self.json("worlds", "snapshot", name)
        self.assertEqual(snapshot["height"], 1)
        self.assertIn("sha256:", self.pawl("worlds", "digest", name).stdout)

    def test_a_step_is_tried(self):
        name, _ = self.world()
        def request(output):
            return self.key_file(json.dumps({"module": "t/m@1", "state": None, "event": {
                "schema": "t/Go@1", "value": {"id": "a", "out": b64(play(output))}, "key": "a"}}).encode())
        self.assertRegex(self.pawl("worlds", "step-test", name, request(ASKS)).stdout, r"(?m)^pay.charge ")
        failed = self.pawl("worlds", "step-test", name, request({"spare": 1}), expect=REFUSED).stdout
        self.assertIn("step.output_invalid", failed)
        self.assertEqual(self.json("worlds", "digest", name)["height"], 1, "nothing was journaled")

    def test_a_failure_and_its_diagnosis(self):
        name, _ = self.world()
        value = json.dumps({"id": "o-1", "out": b64(play(step_output({"other": 1})))})
        out = self.pawl("worlds", "event", name, "t/Go@1", value).stdout
        run = self.json("worlds", "instances", name)["instances"][0]["run_id"]
        self.assertIn(f"pawl worlds diagnose {name} {run}", out)
        self.assertRegex(self.pawl("worlds", "diagnose", name, run).stdout, r"(?m)^cause +step_failed$")

    def test_watch_follows_over_a_restart(self):
        name, _ = self.world()
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PAWL_")}
        watch = subprocess.Popen([PAWL, "worlds", "watch", name, "--from", "1", "--kinds", "manifest,domain_event", "--json"],
                                 stdout=subprocess.PIPE, text=True, env={**environment, "PAWL_URL": self.url})
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.wait, DEADLINE_S)
        self.addCleanup(watch.kill)
        self.assertEqual(json.loads(watch.stdout.readline())["kind"], "manifest")
        self.go(name, COMPLETED, "a")
        self.assertEqual(json.loads(watch.stdout.readline())["seq"], 2)
        self.server.kill()
        self.server.start()
        until(lambda: pawl("worlds", "get", name, url=self.url).returncode == DONE, "the server")
        self.go(name, COMPLETED, "b")
        self.assertEqual(json.loads(watch.stdout.readline())["seq"], 3)

    def test_refusals_of_unknown_worlds(self):
        for words in (("get",), ("instances",), ("journal",), ("watch",), ("summary",)):
            self.pawl("worlds", *words, "none", expect=REFUSED)


if __name__ == "__main__":
    unittest.main()
