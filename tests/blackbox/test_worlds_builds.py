"""The same world in every build and with any number of threads: release, debug and sanitized servers run this test, and
all must give the bytes that stand here."""
import hashlib
import threading
import unittest

from harness import Server
from test_worlds_replay import script
from world_bytes import b64, enc
from world_case import Program, WorldCase
from world_modules import play, step_output

ID = "01890a5d-ac96-774b-bcce-b302099a8057"
# SHA-256 of all records of the journal, then the snapshot's hash and the digest after it. They change only with the contract.
JOURNAL = "7c28b96bcd4b0f75140aff6f74eed2c67a15472cef2e6f0026a15253c52573d5"
SNAPSHOT = "aa814fe35ae76763cbacd82e9b33d189db57bfc76393a08a10aa569a56a7e5a9"
INSTANCES = "dac4887480a8888fbdb4312d289dee002491913c660751de9b50b65834ab0abd"


class EveryBuild(WorldCase):
    shared = False

    def run_script(self, name):
        world = self.make(Program(keyed=True, context=True), id_=ID, name=name)
        script(world)
        snapshot = world.post("/snapshot", status=201)["snapshot_ref"]
        journal = hashlib.sha256(b"".join(enc([one.seq, one.n, one.kind, enc(one.value)]) for one in world.journal())).hexdigest()
        return journal, snapshot, world.digest()["instances_root"]

    def test_a_script_gives_the_bytes_that_it_always_gave(self):
        for threads in (1, 4):
            with self.subTest(threads=threads):
                self.server.close()
                self.client.close()
                self.server = Server(args=["--worlds-threads", str(threads)]).start()
                self.addCleanup(self.server.close)
                self.client = self.server.client()
                self.assertEqual(self.run_script("same"), (JOURNAL, "sha256:" + SNAPSHOT, "sha256:" + INSTANCES))

    def test_a_busy_neighbour_changes_no_byte(self):
        """Worlds run side by side; a world's bytes do not tell of its neighbours."""
        neighbour = self.make(Program(keyed=True), name="neighbour")
        over = threading.Event()

        def disturb():
            client = self.server.client()
            n = 0
            while not over.is_set():
                n += 1
                client.post(f"/v1/worlds/{neighbour.name}/events", neighbour_event(n))
            client.close()

        disturber = threading.Thread(target=disturb)
        disturber.start()
        try:
            self.assertEqual(self.run_script("same")[0], JOURNAL)
        finally:
            over.set()
            disturber.join()


def neighbour_event(n):
    return {"schema": "t/Go@1", "value": {"id": f"n{n % 7}", "out": b64(play(step_output({"last": b""})))}}


if __name__ == "__main__":
    unittest.main()
