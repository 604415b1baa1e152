"""`pawl store migrate`: a directory into PostgreSQL and back, with everything in it."""
import os
import subprocess
import unittest

from harness import DEADLINE_S, PAWL, Server
from postgres_database import Database


class Migrate(unittest.TestCase):
    def setUp(self):
        self.database = Database()
        self.addCleanup(self.database.close)
        self.source = Server()
        self.addCleanup(self.source.close)

    def migrate(self, source, target, *more):
        return subprocess.run([PAWL, "store", "migrate", "--from", source, "--to", target, "--cluster-key", self.database.key(),
                               *more],
                              capture_output=True, text=True, timeout=DEADLINE_S)

    def on_postgres(self, *more):
        node = Server(["--store", self.database.url(), "--node", "n", "--cluster-key", self.database.key(), *more])
        self.addCleanup(node.close)
        return node.start()

    def directory(self, name):
        return os.path.join(self.database.directory, name)

    def fill(self, server):
        client = server.client()
        ids = [client.push(args=[number]).body["id"] for number in range(30)]
        taken = client.fetch(["default"], count=10).body["jobs"]
        for job in taken[:5]:
            self.assertEqual(client.ack(job["id"], result={"n": 1}).status, 200)
        run = client.post("/v1/runs", {"definition": {"name": "w", "steps": [
            {"id": "ask", "type": "decision", "config": {"options": ["yes", "no"]}}]}}).body["run"]["id"]
        self.assertIn(client.call("PUT", "/v1/secrets/token", {"value": "hidden"}).status, (200, 201))
        client.close()
        return ids, run

    def seen(self, server, ids, run):
        client = server.client()
        found = ([(one, client.job(one).body["state"]) for one in ids],
                 client.get(f"/v1/runs/{run}").body["run"]["status"],
                 [secret["name"] for secret in client.get("/v1/secrets").body["secrets"]])
        client.close()
        return found

    def test_there_and_back(self):
        self.source.start()
        ids, run = self.fill(self.source)
        before = self.seen(self.source, ids, run)
        held = self.migrate(f"sqlite:{self.source.data}", self.database.url())
        self.assertEqual(held.returncode, 1)
        self.assertIn("in use by process", held.stderr)
        self.assertEqual(self.source.stop(), 0)
        grown = self.migrate(f"sqlite:{self.source.data}", self.database.url(), "--partitions", "4")
        self.assertEqual(grown.returncode, 1)
        self.assertIn("the source has 1 partition, and a migration keeps that number", grown.stderr)
        done = self.migrate(f"sqlite:{self.source.data}", self.database.url())
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("the digests are equal", done.stdout)

        node = self.on_postgres()
        self.assertEqual(self.seen(node, ids, run), before)
        client = node.client()
        more = client.push(args=["more"]).body["id"]
        client.close()
        back = self.directory("back")
        served = self.migrate(self.database.url(), f"sqlite:{back}")
        self.assertEqual(served.returncode, 1)
        self.assertIn("held by the node n", served.stderr)
        self.assertFalse(os.path.exists(back))
        verify = [PAWL, "verify", "--store", self.database.url()]
        self.assertEqual(subprocess.run(verify, capture_output=True, timeout=DEADLINE_S).returncode, 1)  # it is served
        self.assertEqual(node.stop(), 0)
        verified = subprocess.run(verify, capture_output=True, text=True, timeout=DEADLINE_S)
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertIn("good", verified.stdout)

        self.assertEqual(self.migrate(self.database.url(), f"sqlite:{back}").returncode, 0)
        with open(os.path.join(self.source.data, "vault.key"), "rb") as old, open(os.path.join(back, "vault.key"), "rb") as new:
            self.assertEqual(old.read(), new.read())
        self.source.data = back
        self.source.start()
        self.assertEqual(self.seen(self.source, ids, run), before)
        client = self.source.client()
        self.assertEqual(client.job(more).body["state"], "available")
        client.close()

    def test_a_target_that_holds_data_is_left_alone(self):
        self.source.start()
        ids, run = self.fill(self.source)
        before = self.seen(self.source, ids, run)
        self.assertEqual(self.source.stop(), 0)
        self.assertEqual(self.migrate(f"sqlite:{self.source.data}", self.database.url()).returncode, 0)
        again = self.migrate(f"sqlite:{self.source.data}", self.database.url())
        self.assertEqual(again.returncode, 1)
        self.assertIn("holds data already", again.stderr)
        back = self.migrate(self.database.url(), f"sqlite:{self.source.data}")
        self.assertEqual(back.returncode, 1)
        self.assertIn("is not empty", back.stderr)
        self.assertEqual(self.seen(self.on_postgres(), ids, run), before)

    def test_a_vault_that_is_there_is_not_mixed_with_another(self):
        self.source.start()
        self.fill(self.source)
        self.assertEqual(self.source.stop(), 0)
        self.assertEqual(self.on_postgres("--partitions", "1").stop(), 0)  # made its own vault, and holds nothing else
        mixed = self.migrate(f"sqlite:{self.source.data}", self.database.url())
        self.assertEqual(mixed.returncode, 1)
        self.assertTrue("vault of its own" in mixed.stderr or "holds data already" in mixed.stderr, mixed.stderr)

    def test_verify_makes_nothing(self):
        verified = subprocess.run([PAWL, "verify", "--store", self.database.url()], capture_output=True, text=True,
                                  timeout=DEADLINE_S)
        self.assertEqual(verified.returncode, 1)
        self.assertIn("holds no data of Pawl", verified.stderr)
        self.assertEqual(self.on_postgres().stop(), 0)

    def test_what_a_cut_off_copy_left_is_not_removed_unasked(self):
        self.assertEqual(self.on_postgres().stop(), 0)
        left = self.directory("target.partial")
        os.mkdir(left)
        refused = self.migrate(self.database.url(), f"sqlite:{self.directory('target')}")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("left over", refused.stderr)
        self.assertTrue(os.path.isdir(left))

    def test_a_copy_that_was_cut_off_is_not_served(self):
        node = self.on_postgres()
        self.assertEqual(node.stop(), 0)
        self.database.ask("INSERT INTO pawl_meta VALUES ('copying', '1')")
        node.spawn()
        self.assertEqual(node.process.wait(timeout=DEADLINE_S), 1)
        node.process.stdout.close()
        self.assertIn("did not finish", node.log_tail())

    def test_places_that_are_none(self):
        self.assertEqual(self.on_postgres().stop(), 0)
        for source, target, why in (("disk", "sqlite:x", "--from takes"),
                                    (f"sqlite:{self.directory('none')}", "sqlite:x", "holds no data"),
                                    (self.database.url(), "other", "--to takes")):
            refused = self.migrate(source, target)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(why, refused.stderr)


if __name__ == "__main__":
    unittest.main()
