"""What /metrics says of worlds, and that nothing is kept of worlds that are not there."""
import re
import threading
import unittest
from pathlib import Path

from harness import SANITIZED
from world_bytes import enc
from world_case import Program, WorldCase
from world_modules import effect, step_output

PAGE = Path(__file__).resolve().parents[2] / "docs/reference/metrics.md"
ASKS = step_output({"last": b""}, effects=[effect("pay.charge", {"n": 1})])


class Metrics(WorldCase):
    shared = False

    def page(self):
        return self.client.get("/metrics").raw.decode()

    def figures(self):
        """{name with labels: value} of what is said of worlds."""
        return {name: float(value) for name, value in re.findall(r"^(pawl_world\S*) (\S+)$", self.page(), re.M)}

    def check(self, **expected):
        """Compares by names without pawl_world_, labels as name__value."""
        figures = {re.sub(r'pawl_(world_)?|_total|"', "", name).replace("{", "_").replace("}", "").replace("=", "_"): value
                   for name, value in self.figures().items()}
        self.assertEqual({name: figures[name] for name in expected}, expected)
        return figures

    def test_they_count_what_is_durable(self):
        world = self.make(Program(keyed=True))
        world.adapter()
        first = world.go(ASKS, "a")["seq"]
        world.go({"spare": 1}, "b")
        world.go(ASKS, "c")
        world.go(ASKS, "d")
        figures = self.check(worlds=1, worlds_quarantined=0, calls_waiting=0, frames=5, steps=3, step_failures=1, effects=3,
                             effects_open_state_queued=3, effects_open_state_inflight=0)
        self.assertGreater(figures["fuel"], 0)
        world.post("/effects/lease", {"adapter_id": "stripe", "kinds": ["pay.charge"], "limit": 1})
        self.check(effects_open_state_queued=2, effects_open_state_inflight=1)
        world.settle(world.intents(first)[0])
        for effect_, status in zip(world.effects(), ("error", "timeout")):
            world.settle(effect_["intent_hash"], payload=enc({"code": "x", "message": "y"}), status=status)
        self.check(frames=8, steps=6, receipts_status_ok=1, receipts_status_error=1, receipts_status_timeout=1, receipt_faults=0,
                   effects_open_state_queued=0, effects_open_state_inflight=0)
        world.go(ASKS, "e")
        world.settle(world.effects()[0]["intent_hash"], payload=enc({"no": 1}), outcome="instance_failed")
        self.check(receipt_faults=1)

    def test_refusals_are_counted_by_what_refused(self):
        world = self.make(Program(arms=("Receipt", "Denied")).policy(({"effect_kind": "pay.charge"}, "deny")))
        world.go(ASKS)
        self.check(effects=0, effects_denied_by_cap=0, effects_denied_by_policy=1)

    def test_worlds_are_counted_after_a_restart_and_a_removal(self):
        world, other = self.make(), self.make()
        world.go(ASKS)
        self.restart()
        self.client = self.server.client()
        world.get()
        other.get()
        self.check(worlds=2, frames=0, effects_open_state_queued=1)
        world.call("DELETE", "?force=true")
        self.check(worlds=1, effects_open_state_queued=0)

    def test_the_page_of_metrics_is_current(self):
        self.make()
        served = {name: (kind, help_) for name, help_, kind in
                  re.findall(r"^# HELP (\S+) (.*)\n# TYPE \S+ (\S+)$", self.page(), re.M)}
        described = {name: (kind, help_) for name, kind, help_ in
                     re.findall(r"^\| `(\w+)` \|[^|]*\| (\w+) \| (.*) \|$", PAGE.read_text(), re.M)}
        self.assertEqual(described, served)

    @unittest.skipIf(SANITIZED, "a sanitizer keeps freed memory")
    def test_names_of_no_world_cost_nothing(self):
        """Each call about a world that is not there left an actor for good: 1.3 KiB, and an order of every sweep."""
        def ask(first, count):
            client = self.server.client()
            for number in range(first, first + count):
                self.assertEqual(client.get(f"/v1/worlds/none-{number}").status, 404)
            client.close()
        ask(0, 500)
        before = self.server.rss_kb()
        threads = [threading.Thread(target=ask, args=(1_000 + 5_000 * at, 5_000)) for at in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLess(self.server.rss_kb() - before, 10_000)


if __name__ == "__main__":
    unittest.main()
