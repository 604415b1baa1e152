"""A world whose module ends the process: the third start takes no writes to it and serves all others. The deaths are planted
(PAWL_PLANT_ABORT, for tests only); the processes are real."""
import http.client
import signal
import unittest

from harness import DEADLINE_S, until
from test_worlds_builtin import builtin, job
from world_bytes import enc
from world_case import Program, WorldCase
from world_modules import step_output

MARK = b"pawl-planted-abort"
DONE = step_output({"last": b"x"}, status="completed")


class Crash(WorldCase):
    shared = False

    def plant(self, where):
        self.server._environment.pop("PAWL_PLANT_ABORT", None)
        if where:
            self.server._environment["PAWL_PLANT_ABORT"] = where

    def stop(self):
        self.assertEqual(self.server.stop(), 0)
        self.client.close()

    def dies(self):
        self.assertEqual(self.server.process.wait(DEADLINE_S), -signal.SIGABRT, self.server.log_tail())
        self.client.close()

    def check_quarantined(self, bad, good, digest):
        until(lambda: bad.get()["status"] == "quarantined", "the world is quarantined")
        quarantine = bad.get()["quarantine"]
        self.assertEqual((quarantine["code"], quarantine["seq"]), ("world.crashed", digest["height"]))
        self.assertIn("died 2 times", quarantine["message"])
        self.assertEqual(bad.digest(), digest)
        self.assertEqual(len(bad.instances()), 1)
        bad.refused(409, "world.quarantined", "POST", "/events", {"schema": "t/Go@1", "value": {"id": "a", "out": ""}})
        good.go(DONE)
        good.check_replays()

    def check_another_chance(self, bad):
        """After a clean stop, with the cause gone."""
        self.stop()
        self.plant(None)
        self.server.start()
        until(lambda: bad.get()["status"] == "open", "the world is open again")
        bad.go(DONE)
        bad.check_replays()

    def test_a_step(self):
        self.plant("module")
        self.restart()
        bad, good = self.make(Program(keyed=True)), self.make(Program(keyed=True))
        bad.go(DONE)
        digest = bad.digest()
        for _ in range(2):
            with self.assertRaises((OSError, http.client.HTTPException)):
                bad.go(step_output({"last": b"x"}, ann=enc(MARK)))
            self.dies()
            self.server.start()
        self.check_quarantined(bad, good, digest)
        self.restart()
        self.check_quarantined(bad, good, digest)
        self.check_another_chance(bad)

    def test_a_receipt_that_comes_again_at_every_start(self):
        bad, good = self.make(builtin(), test=False), self.make(Program(keyed=True))
        bad.go(step_output({"last": MARK}, effects=[job("crash")]))
        taken, = until(lambda: self.client.fetch(["crash"]).body["jobs"], "the job is there")
        self.stop()
        self.plant("module")
        self.server.start()
        digest = bad.digest()
        try:
            self.client.ack(taken["id"])
        except (OSError, http.client.HTTPException):
            pass  # the server died first
        self.dies()
        self.server.spawn()
        self.dies()
        self.server.process.stdout.close()
        self.server.start()
        self.check_quarantined(bad, good, digest)
        self.check_another_chance(bad)


if __name__ == "__main__":
    unittest.main()
