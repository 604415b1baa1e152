"""What is on disk is the world: digests, snapshots, replays, kills, rot; the same script gives the same bytes."""
import os
import random
import sqlite3
import subprocess
import threading
import unittest

from harness import PAWL, Client, new_id, until
from world_bytes import H, b64, dec, enc, sha, unb64
from world_case import NOW, Program, WorldCase
from world_modules import TRAP, effect, play, step_output

CHARGE = effect("pay.charge", {"n": 1})
DONE = step_output({"last": b"done"}, status="completed")


def script(world):
    """A bit of everything: waiting, settled, failed, completed, gone, a denial, a fault."""
    world.adapter()
    asks = step_output({"last": b"asks"}, effects=[CHARGE, effect("pay.charge", {"n": 2})])
    first, second = world.intents(world.go(asks, id_="waits")["seq"])
    world.settle(first, step_output({"last": b"half"}))
    world.go(DONE, id_="done")
    world.go(step_output(None), id_="gone")
    world.go(mode=TRAP, id_="trap")
    bad, _ = world.intents(world.go(asks, id_="fault")["seq"])
    world.post("/receipts", world.receipt_body(bad, b"\xff"))
    world.go(id_="waits", client_id="c1")
    return second


class Digests(WorldCase):
    def cells_and_instances(self, world):
        cells, instances = [], []
        for one in world.instances(limit=1000):
            key = unb64(one["key_b64"]) if one["key_b64"] else b""
            if one["state_hash"]:
                cells.append([one["module"], key, one["state_hash"]])
            instances.append({"module": one["module"], "key": key, "status": one["status"], "last_seq": one["last_seq"],
                              "module_version": one["module_version"], "state_hash": one["state_hash"],
                              "error": one["error"] and one["error"]["code"], "inflight": sorted(each["intent_hash"] for each in one["inflight"])})
        order = lambda pair: (pair[0].encode(), pair[1])  # noqa: E731
        return sorted(cells, key=order), sorted(instances, key=lambda one: order((one["module"], one["key"])))

    def test_the_digest_is_computed_from_what_is_listed(self):
        for keyed in (True, False):
            world = self.make(Program(keyed=keyed))
            if keyed:
                script(world)
            else:
                world.go()
            cells, instances = self.cells_and_instances(world)
            open_ = sorted(one["intent_hash"] for one in world.effects(limit=1000))
            self.assertEqual(world.digest(), {
                "height": world.journal()[-1].seq, "manifest_hash": world.manifest_hash(), "state_root": H(cells),
                "instances_root": H(instances), "queue_root": H(open_)})

    def test_a_snapshot_holds_the_world(self):
        """R-3.2.4"""
        world = self.make(Program(keyed=True))
        script(world)
        height, before = world.head(), world.digest()
        reply = world.post("/snapshot", status=201)
        self.assertEqual(reply["height"], height)
        record_, = world.frame(height + 1)
        self.assertEqual((record_.kind, record_.value), ("snapshot", {"snapshot_ref": reply["snapshot_ref"], "height": height}))
        data = self.client.get(f"/v1/worlds/{world.name}/blobs/{reply['snapshot_ref']}").raw
        self.assertEqual(sha(data), reply["snapshot_ref"])
        snapshot = dec(data)
        cells, instances = self.cells_and_instances(world)
        self.assertEqual((snapshot["v"], snapshot["height"], snapshot["manifest_hash"], snapshot["logical_now_ns"]), (1, height, world.manifest_hash(), NOW))
        self.assertEqual(snapshot["cells"], cells)
        self.assertEqual(snapshot["instances"], instances)
        intents = [one.value for one in world.journal() if one.kind == "effect_intent"]
        open_ = {one["intent_hash"] for one in world.effects(limit=1000)}
        self.assertEqual(snapshot["pending"], [one for one in intents if one["intent_hash"] in open_])
        self.assertEqual(snapshot["settled"], sorted(one["intent_hash"] for one in intents if one["intent_hash"] not in open_))
        event = next(one for one in world.journal() if one.kind == "domain_event" and one.value["client_id"] == "c1")
        self.assertEqual((snapshot["clients"], snapshot["proposals"]), ([["c1", event.seq, event.value["event_hash"]]], []))
        after = world.digest()
        self.assertEqual({**after, "height": 0}, {**before, "height": 0})

    def test_replays_from_the_beginning_and_from_a_snapshot(self):
        """R-3.6.6, R-10.3"""
        world = self.make(Program(keyed=True))
        second = script(world)
        frames = world.check_replays()["frames"]
        self.assertEqual(frames, world.head())
        world.post("/snapshot", status=201)
        world.settle(second)
        live = world.digest()
        for start in ("genesis", "baseline"):
            replayed = world.post("/replay", {"from": start})
            self.assertEqual({key: replayed[key] for key in live}, live, start)
        self.assertLess(replayed["frames"], frames)

    def test_the_same_script_gives_the_same_bytes(self):
        """R-3.2.4"""
        id_, name = new_id(), "same"
        runs = []
        for _ in range(2):
            world = self.make(Program(keyed=True, context=True), id_=id_, name=name)
            script(world)
            snapshot = world.post("/snapshot", status=201)["snapshot_ref"]
            journal = [(one.seq, one.n, one.kind, enc(one.value)) for one in world.journal()]
            runs.append((journal, world.digest(), snapshot))
            world.call("DELETE", "?force=true")
        self.assertEqual(runs[0], runs[1])
        other = self.make(Program(keyed=True, context=True), seed="another", name=name)
        script(other)
        self.assertNotEqual([enc(one.value) for one in other.journal()], [data for *_, data in runs[0][0]])


class Kills(WorldCase):
    shared = False

    def test_everything_is_there_after_a_kill(self):
        world = self.make(Program(keyed=True))
        second = script(world)
        before = (world.digest(), world.instances(), world.effects(), world.journal())
        self.restart()
        self.assertEqual((world.digest(), world.instances(), world.effects(), world.journal()), before)
        world.check_replays()
        world.settle(second)
        with world.nothing_changes():
            self.assertTrue(world.go(id_="waits", client_id="c1")["duplicate"])

    def test_what_was_replied_is_there_and_no_frame_is_half_there(self):
        """R-4.4: kills at random moments while four clients send."""
        program = Program(keyed=True, context=True)
        world = self.make(program, test=False)
        chance = random.Random(11)
        acked, stop = {}, threading.Event()
        output = b64(play(step_output({"last": b""}, effects=[CHARGE, effect("pay.charge", {"n": 2})])))

        def send(number):
            client, at = self.server.client(), 0
            while not stop.is_set():
                id_ = f"{number}-{at}"
                try:
                    body = {"schema": "t/Go@1", "value": {"id": id_, "out": output}, "client_id": id_}
                    reply = client.post(f"/v1/worlds/{world.name}/events", body)
                    if reply.status == 200:
                        acked[id_] = reply.body["seq"]
                        at += 1
                except Client.FAILURES:
                    stop.wait(0.01)
            client.close()
        threads = [threading.Thread(target=send, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            wanted = len(acked) + chance.randrange(5, 40)
            until(lambda wanted=wanted: len(acked) >= wanted, "events")
            self.restart()
        stop.set()
        for thread in threads:
            thread.join()
        journal = world.journal()
        by_seq = {}
        for one in journal:
            by_seq.setdefault(one.seq, []).append(one)
        self.assertEqual(sorted(by_seq), list(range(1, len(by_seq) + 1)))
        whole = ["domain_event", "step"] + ["cap_decision", "policy_decision", "effect_intent"] * 2
        for seq, records in by_seq.items():
            if seq > 1:
                self.assertEqual([one.kind for one in records], whole, seq)
        there = {one.value["client_id"]: one.seq for one in journal if one.kind == "domain_event"}
        self.assertEqual({id_: there.get(id_) for id_ in acked}, acked)
        self.assertEqual(len(world.get("/effects", limit=1000)["effects"]), min(1000, 2 * (len(by_seq) - 1)))
        world.check_replays()

    def test_many_instances_settle_to_their_own_payload_over_kills(self):
        """R-3.11.3, in short"""
        world = self.make(Program(keyed=True), test=False)
        world.adapter()
        intents = {}
        for at in range(60):
            intents[f"k{at}"] = world.intents(world.go(step_output({"last": b""}, effects=[CHARGE]), id_=f"k{at}")["seq"])[0]
        order = list(intents)
        random.Random(5).shuffle(order)
        for part in (order[:30], order[30:]):
            failures = []

            def settle(keys):
                client = self.server.client()
                for key in keys:
                    payload = enc({"out": play(step_output({"last": key.encode()}))})
                    reply = client.post(f"/v1/worlds/{world.name}/receipts", world.receipt_body(intents[key], payload))
                    if reply.status != 200 or reply.body["outcome"] != "settled":
                        failures.append(reply.raw)
                client.close()
            threads = [threading.Thread(target=settle, args=(part[at::4],)) for at in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.restart()
        self.assertEqual({key: world.state(key=key)["last"] for key in intents}, {key: key.encode() for key in intents})
        world.check_replays()

    def test_a_script_with_kills_gives_the_bytes_of_one_without(self):
        id_, journals = new_id(), []
        for kills in (False, True):
            world = self.make(Program(keyed=True), id_=id_, name="same")
            if kills:
                plain_go = world.go

                def go(*given, plain_go=plain_go, **more):
                    self.restart()
                    return plain_go(*given, **more)
                world.go = go
            script(world)
            journals.append([enc(one.value) for one in world.journal()])
            world.call("DELETE", "?force=true")
        self.assertEqual(*journals)


PAGE_BYTES = 8192  # of pawl.db


class Rot(WorldCase):
    """R-10.3: one byte of the stored journal is flipped."""
    shared = False

    def stored(self, table, marker):
        """The bytes of the one row of this table that holds the marker, as they stand in the file."""
        path = os.path.join(self.server.data, "pawl.db")
        database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        column, where = {"kv": ("value", "space = 5 AND hex(substr(key, 18, 1)) = '66'"), "journal": ("record", "1")}[table]
        rows = [data for data, in database.execute(f"SELECT {column} FROM {table} WHERE {where}") if marker in data]
        database.close()
        self.assertEqual(len(rows), 1)
        return rows[0]

    def flip(self, table, marker):
        row = self.stored(table, marker)
        with open(os.path.join(self.server.data, "pawl.db"), "r+b") as file:
            data = file.read()
            self.assertEqual(data.count(row), 1)
            at = data.index(row) + row.index(marker) + 3
            file.seek(at)
            file.write(bytes([data[at] ^ 0xff]))

    def flip_in_overflow(self, marker):
        """In each page that holds the rest of a row and this text."""
        with open(os.path.join(self.server.data, "pawl.db"), "r+b") as file:
            data = file.read()
            at, flipped = data.find(marker), 0
            while at >= 0:
                if data[at - at % PAGE_BYTES] == 0:
                    file.seek(at + 3)
                    file.write(bytes([data[at + 3] ^ 0xff]))
                    flipped += 1
                at = data.find(marker, at + 1)
        self.assertGreater(flipped, 0)

    def verify(self):
        return subprocess.run([PAWL, "verify", "--data", self.server.data], capture_output=True, text=True, timeout=60, check=False)

    def two_worlds(self):
        worlds = [self.make(Program(keyed=True)), self.make(Program(keyed=True))]
        for world in worlds:
            script(world)
            world.go(step_output({"last": b"marked"}, ann=enc(f"marker of {world.name}")), id_="marked")
            world.go(DONE, id_="after")
        return worlds

    def stop(self):
        self.assertEqual(self.server.stop(), 0)
        self.client.close()

    def test_a_changed_frame_quarantines_its_world_alone(self):
        good, bad = self.two_worlds()
        seq, digest, journal = bad.head() - 1, bad.digest(), bad.journal()
        self.stop()
        self.flip("kv", f"marker of {bad.name}".encode())
        self.assertEqual(self.verify().returncode, 1)
        self.server.start()
        until(lambda: bad.get()["status"] == "quarantined", "the world is quarantined")
        for _ in range(2):
            quarantine = bad.get()["quarantine"]
            self.assertEqual((quarantine["code"], quarantine["seq"]), ("journal.corrupt", seq))
            self.assertEqual((bad.digest(), bad.journal()), (digest, [one for one in journal if one.seq != seq]))
            self.assertTrue(bad.instances() and bad.effects())
            self.assertEqual(bad.get("/trace", seq=seq + 1)["terminal_state"], "completed")
            bad.refused(404, "trace.unknown", "GET", f"/trace?seq={seq}")
            for run in bad.instances():
                self.client.get(f"/v1/runs/{run['run_id']}/events")
                bad.get("/trace/diagnose", run_id=run["run_id"])
            bad.refused(409, "world.quarantined", "POST", "/events", {"schema": "t/Go@1", "value": {"id": "a", "out": ""}})
            bad.refused(409, "journal.corrupt", "POST", "/replay", {"from": "genesis"})
            good.go(DONE)
            good.check_replays()
            self.restart()

    def test_a_changed_frame_that_does_not_fit_into_a_page(self):
        good, bad = self.two_worlds()
        marker = f"far from the start of {bad.name}".encode()
        seq = bad.go(step_output({"last": b"x"}, ann=enc(b"." * 3_000 + marker)))["seq"]
        for world in (good, bad):
            world.go(DONE, id_="after")
        self.stop()
        self.flip_in_overflow(marker)
        self.assertEqual(self.verify().returncode, 1)
        self.server.start()
        until(lambda: bad.get()["status"] == "quarantined", "the world is quarantined")
        self.assertEqual((bad.get()["quarantine"]["code"], bad.get()["quarantine"]["seq"]), ("journal.corrupt", seq))
        good.go(DONE)
        good.check_replays()

    def test_a_changed_record_of_the_engine_harms_nobody_who_does_not_read_it(self):
        worlds = self.two_worlds()
        self.stop()
        self.flip("journal", f"marker of {worlds[1].name}".encode())
        self.assertEqual(self.verify().returncode, 1)
        self.server.start()
        for world in worlds:
            world.go(DONE)
            world.check_replays()


if __name__ == "__main__":
    unittest.main()
