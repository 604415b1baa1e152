"""Hostile modules beside a canary: each fails its own instance, and nothing else."""
import threading
import unittest

from world_case import Program, WorldCase
from world_modules import BAD_POINTER, LOOP, RECURSE, TRAP, effect, play_grow, puppet, step_output

FINE = step_output({"last": b"fine"})
CODES = {TRAP: "step.trap", RECURSE: "step.trap", LOOP: "step.fuel_exceeded", BAD_POINTER: "step.output_invalid"}


class Canary:
    """with canary: … : meanwhile a world of its own is given events, and steps at each."""

    def __init__(self, case):
        self.world, self.case = case.make(Program(keyed=True)), case
        self.client, self.over, self.steps, self.wrong = case.server.client(), threading.Event(), 0, []

    def fly(self):
        while not self.over.is_set() or self.steps == 0:
            reply = self.client.post(f"/v1/worlds/{self.world.name}/events", {"schema": "t/Go@1", "value": {"id": "canary", "out": ""}})
            if reply.status != 200 or [one["outcome"] for one in reply.body["deliveries"]] != ["stepped"]:
                self.wrong.append(reply.raw)
                return
            self.steps += 1

    def __enter__(self):
        self.thread = threading.Thread(target=self.fly)
        self.thread.start()

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.client.close()
        self.case.assertEqual(self.wrong, [])
        self.case.assertEqual(self.world.get("/trace-summary")["totals"]["steps"], self.steps)
        self.world.check_replays()


class Hostile(WorldCase):
    def failed(self, world, id_, code):
        found, = world.instances(module="t/m@1", key=id_)
        self.assertEqual((found["status"], found["error"]["code"]), ("failed", code))

    def test_each_fails_its_instance_only(self):
        acts = {f"mode {mode}": (code, {"mode": mode}) for mode, code in CODES.items()}
        acts.update({
            "growth": ("step.state_invalid", {"raw": play_grow(4_000, {"state": b"\xff"}, {"state": b"\xff"})}),
            "effects": ("step.output_limit", {"output": step_output({"last": b""}, effects=[effect("pay.charge", {"n": 1})] * 65)}),
            "nonsense": ("step.output_invalid", {"output": {"state": 1, "status": []}})})
        with Canary(self):
            world = self.make(Program(keyed=True))
            for name, (code, act) in acts.items():
                with self.subTest(name):
                    world.go(id_=name, **act)
                    self.failed(world, name, code)
                    self.assertEqual(world.go(FINE, f"beside {name}")["deliveries"][0]["outcome"], "stepped")
            self.assertEqual({one["status"] for one in world.instances() if one["key"].startswith("beside")}, {"running"})
            world.check_replays()

    def test_loops_on_every_worker_leave_room_for_others(self):
        worlds = [self.make(Program(keyed=True)) for _ in range(4)]

        def loop(world):
            client = self.server.client()
            for number in range(5):
                value = {"id": f"k{number}", "out": world.looping}
                self.assertEqual(client.post(f"/v1/worlds/{world.name}/events", {"schema": "t/Go@1", "value": value}).status, 200)
            client.close()
        from world_bytes import b64
        from world_modules import play
        for world in worlds:
            world.looping = b64(play(b"", LOOP))
        with Canary(self):
            threads = [threading.Thread(target=loop, args=(world,)) for world in worlds]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for world in worlds:
            for number in range(5):
                self.failed(world, f"k{number}", "step.fuel_exceeded")
            world.check_replays()

    def test_the_largest_module(self):
        large = puppet(ballast=134)
        self.assertTrue(7_900_000 < len(large) < 8 * 1024 * 1024, len(large))
        with Canary(self):
            world = self.make(Program(keyed=True, wasm=large))
            self.assertEqual(world.go(FINE)["deliveries"][0]["outcome"], "stepped")
            world.go(mode=RECURSE, id_="deep")
            self.failed(world, "deep", "step.trap")

    def test_imports_are_refused(self):
        with Canary(self):
            body = {"name": "imports", **Program(imports=True).body()}
            reply = self.client.post("/v1/worlds", body)
            self.assertEqual(reply.status, 422)
            codes = [one["code"] for one in reply.body["error"]["details"]["validation_errors"]]
            self.assertEqual(codes, ["module.imports"])


if __name__ == "__main__":
    unittest.main()
