"""Operators' calls: figures, maintenance, workers, tenants, revived jobs, and the lists of the command line and of
the admin UI. Bodies and headers are those that these clients send."""
import json
import threading
import unittest

from harness import new_id, until
from ojs_case import OJS, Endpoints


class Operators(Endpoints):
    def test_throughput_is_what_happened(self):
        for _ in range(3):
            self.push()
        self.work()
        self.break_one()
        stats = self.client.get(f"{OJS}/admin/stats?queue={self.queue}").body
        self.assertEqual(stats["throughput"]["processed_per_minute"], 1)
        self.assertEqual((stats["throughput"]["failed_per_minute"], stats["throughput"]["enqueued_per_minute"]), (1, 3))
        self.assertEqual((stats["queues"], stats["jobs"]["available"]), (1, 1))
        cli = self.client.get(OJS + "/admin/stats", headers={"Accept": "application/openjobspec+json"}).body
        self.assertGreaterEqual(cli["queues"]["total"], 1)
        self.assertGreaterEqual(cli["workers"]["total"], 1)
        history = self.client.get(f"{OJS}/admin/stats/history?period=1m&queue={self.queue}").body
        self.assertEqual(history["period"], "1m")
        for name, count in (("processed", 1), ("failed", 1), ("enqueued", 3)):
            self.assertEqual(sum(point[name] for point in history["data"]), count)
        self.assertEqual(history["data"], history["data_points"])
        none = self.client.get(f"{OJS}/admin/stats/history?queue={self.queue}", headers={"X-OJS-Tenant": "acme"}).body
        self.assertEqual(sum(point["enqueued"] for point in none["data"]), 0)
        for query in ("period=2m", "since=yesterday", "until=2020-01-01T00:00:00Z"):
            self.refused(self.client.get(f"{OJS}/admin/stats/history?{query}"), 400)

    def test_maintenance_holds_the_workers_and_not_the_producers(self):
        path = OJS + "/admin/system/maintenance"
        self.assertEqual(self.client.get(path).body["enabled"], False)
        on = self.client.post(path, {"enabled": True, "reason": "move", "duration": "30m"}).body
        self.addCleanup(self.client.post, path, {"enabled": False})
        self.assertEqual((on["enabled"], on["reason"]), (True, "move"))
        self.assertIn("ends_at", on)
        self.push()
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"], [])
        other, answers = self.server.client(), []
        waiting = threading.Thread(target=lambda: answers.append(other.fetch([self.queue], wait_ms=30_000)))
        waiting.start()
        self.assertEqual(self.client.post(OJS + "/admin/maintenance", {"enabled": False}).body["enabled"], False)
        waiting.join()
        other.close()
        self.assertEqual(len(answers[0].body["jobs"]), 1, "who waits gets it when it is over")
        self.refused(self.client.post(path, {}), 400, "enabled")
        self.refused(self.client.post(path, {"enabled": True, "duration": "long"}), 400, "duration")

    def test_configuration_and_health(self):
        config = self.client.get(OJS + "/admin/system/config").body
        self.assertEqual((config["backend"], config["auth_required"]), ("sqlite", False))
        self.assertEqual(self.client.get(OJS + "/admin/config").body, config)
        self.assertNotIn(self.server.data, json.dumps(config))
        self.assertEqual(self.client.get(OJS + "/admin/system/health").body["status"], "ok")

    def test_a_worker_that_lives_keeps_its_jobs(self):
        worker = "w-" + self.queue
        path = f"{OJS}/admin/workers/{worker}"
        self.refused(self.client.delete(path), 404)
        job = self.push()
        self.client.fetch([self.queue], worker_id=worker)
        self.refused(self.client.delete(path), 409, "holds jobs")
        self.assertEqual(self.client.post(OJS + "/admin/workers/directive", {"directive": "quiet"}).status, 200)
        self.assertEqual(self.client.get(path).body["directive"], "quiet")
        self.client.post(OJS + "/admin/workers/directive", {"directive": "resume"})
        self.refused(self.client.post(OJS + "/admin/workers/directive", {"directive": "dance"}), 400, "directive")
        self.client.ack(job)
        reply = self.client.delete(path).body
        self.assertEqual((reply["deregistered"], reply["jobs_requeued"]), (True, 0))
        self.assertEqual(self.client.get(path).status, 404)

    def test_a_worker_is_shown_with_what_it_tells_of_itself(self):
        worker = "w-" + self.queue
        beat = {"worker_id": worker, "queues": [self.queue, 7, "UPPER"], "hostname": "pod-1", "pid": 77, "active_jobs": 0}
        for call in ("/workers/heartbeat", "/workers/beat"):
            self.assertEqual(self.client.post(OJS + call, {**beat, "worker_id": worker + call[-4:]}).status, 200)
            shown = self.client.get(f"{OJS}/admin/workers/{worker}{call[-4:]}").body
            self.assertEqual((shown["queues"], shown["hostname"], shown["pid"]), ([self.queue], "pod-1", 77))
        odd = {"worker_id": worker, "queues": "x", "hostname": "h" * 300, "pid": "x"}
        self.assertEqual(self.client.post(OJS + "/workers/heartbeat", odd).status, 200, "leases depend on it")
        self.assertNotIn("hostname", self.client.get(f"{OJS}/admin/workers/{worker}").body)

    def test_an_operator_brings_back_what_was_cancelled(self):
        job = self.push()
        self.assertEqual(self.client.get(f"{OJS}/admin/jobs/{job}").body["errors"], [])
        self.client.post(f"{OJS}/admin/jobs/{job}/cancel")
        self.refused(self.client.post(f"{OJS}/jobs/{job}/retry"), 409, "not discarded")
        back = self.client.post(f"{OJS}/admin/jobs/{job}/retry").body
        self.assertEqual((back["state"], back["attempt"], back["previous_state"]), ("available", 0, "cancelled"))
        self.assertNotIn("cancel_reason", back)
        told = self.client.get(f"{OJS}/jobs/{job}/events").body["events"]
        self.assertEqual((told[-1]["type"], told[-1]["data"]["from"]), ("job.enqueued", "cancelled"))
        self.assertEqual(self.work(), job)
        self.refused(self.client.post(f"{OJS}/admin/jobs/{job}/retry"), 409, "completed")

    def test_failed_attempts_are_listed(self):
        job = self.push(options={"retry": {"max_attempts": 2, "initial_interval": "PT0.01S", "jitter": False}})
        path = f"{OJS}/jobs/{job}/retries"
        self.assertEqual(self.client.get(path).body["retries"], [])
        for message in ("first", "second"):
            until(lambda: self.client.fetch([self.queue]).body["jobs"], "it waits again")
            self.client.nack(job, error={"code": "no", "message": message})
        told = self.client.get(path).body
        self.assertEqual((told["job_id"], told["policy"]["max_attempts"], told["policy"]["backoff_strategy"]),
                         (job, 2, "exponential"))
        self.assertEqual([(one["attempt"], one["error"], one["state"], "next_retry_at" in one) for one in told["retries"]],
                         [(1, "first", "retryable", False), (2, "second", "discarded", False)])
        self.assertIn("failed_at", told["retries"][0])
        later = self.push(options={"retry": {"initial_interval": "PT1H", "max_interval": "PT1H"}})
        self.client.fetch([self.queue])
        self.client.nack(later, error={"code": "no", "message": "not now"})
        last = self.client.get(f"{OJS}/jobs/{later}/retries").body["retries"][-1]
        self.assertEqual((last["state"], "next_retry_at" in last), ("retryable", True))
        self.refused(self.client.get(f"{OJS}/jobs/{new_id()}/retries"), 404)

    def test_events_by_page_are_the_newest_first(self):
        jobs = [self.push() for _ in range(5)]
        def page(number):
            return self.client.get(f"{OJS}/events?type=job.enqueued&queues={self.queue}&page={number}&per_page=2").body
        first, last = page(1), page(3)
        self.assertEqual([event["subject"] for event in first["items"]], [jobs[4], jobs[3]])
        self.assertEqual([event["subject"] for event in first["events"]], [jobs[3], jobs[4]])
        self.assertEqual([event["subject"] for event in last["items"]], [jobs[0]])
        self.assertEqual((first["pagination"]["total"], first["pagination"]["page"], first["pagination"]["per_page"]), (5, 1, 2))
        self.assertEqual((first["pagination"]["has_more"], last["pagination"]["has_more"]), (True, False))
        self.assertEqual(first["items"][0]["timestamp"], first["items"][0]["time"])
        self.assertEqual(page(4)["items"], [])
        self.refused(self.client.get(OJS + "/events?page=0"), 400, "page")
        self.assertNotIn("items", self.client.get(f"{OJS}/events?queues={self.queue}").body)

    def test_tenants(self):
        tenant = "t-" + self.queue
        headers = {"X-OJS-Tenant": tenant}
        path = f"{OJS}/admin/tenants/{tenant}"
        self.refused(self.client.get(path), 404)
        self.client.post(OJS + "/jobs", {"type": "a.b", "args": []}, headers=headers)
        reply = self.client.get(path).body
        self.assertEqual((reply["id"], reply["name"], reply["stats"]["queues"], reply["stats"]["jobs"]["available"]),
                         (tenant, tenant, 1, 1))
        self.assertEqual(reply["stats"]["workers"], 0)
        self.assertIn("created_at", reply)
        self.refused(self.client.get(path, headers={"X-OJS-Tenant": "acme"}), 404)
        jobs = self.client.get(path + "/jobs?state=available").body["items"]
        self.assertEqual([job["meta"]["tenant_id"] for job in jobs], [tenant])
        self.refused(self.client.get(path + "/jobs", headers={"X-OJS-Tenant": "acme"}), 404)
        self.assertIn(tenant, [one["id"] for one in self.client.get(OJS + "/admin/tenants").body["items"]])

    def test_lists_have_the_names_that_the_command_line_and_the_admin_ui_read(self):
        self.client.call("PUT", f"{OJS}/rate-limits/{self.queue}", body={"concurrency": 2})
        limits = self.client.get(OJS + "/rate-limits").body
        self.assertIn(self.queue, [limit["key"] for limit in limits["items"]])
        self.assertEqual(limits["items"], limits["rate_limits"])
        hook = self.client.post(OJS + "/webhooks/subscriptions", {"url": "https://x.example/h", "events": ["job.completed"]})
        self.assertEqual(hook.status, 201)
        hooks = self.client.get(OJS + "/webhooks/subscriptions?page=1&per_page=50").body
        self.assertEqual((hooks["items"], hooks["total"]), (hooks["subscriptions"], 1))
        self.assertEqual((hooks["pagination"]["total"], hooks["pagination"]["page"]), (1, 1))
        path = f"{OJS}/webhooks/subscriptions/{hook.body['id']}"
        for reply in (hook, self.client.get(path)):
            flat = {name: value for name, value in reply.body.items() if name != "subscription"}
            self.assertEqual(flat, reply.body["subscription"])
        rotated = self.client.post(path + "/rotate-secret").body
        self.assertEqual(rotated["new_secret"], rotated["secret"])
        self.assertNotIn("new_secret", self.client.post(path + "/rotate-secret", {"secret": "mine"}).body)
        off = self.client.call("PUT", path, body={"active": False})
        self.assertEqual((off.status, off.body.get("active"), off.body.get("events")), (200, False, ["job.completed"]), off.raw)
        self.push()
        for path in (f"/jobs?queue={self.queue}", f"/jobs?queue={self.queue}&state=available", f"/jobs?queue={self.queue}&type=test.*"):
            self.assertEqual(self.client.get(OJS + path).body["total"], 1, path)
        self.break_one()
        self.assertEqual(self.client.get(f"{OJS}/dead-letter?queue={self.queue}").body["total"], 1)

    def test_checkpoints_under_the_doubled_prefix(self):
        job = self.push()
        self.client.fetch([self.queue])
        path = f"{OJS}{OJS}/checkpoints/{job}"
        self.assertEqual(self.client.call("PUT", path, body={"state": {"n": 1}, "step_index": 1}).status, 200)
        self.assertEqual(self.client.get(path + "/resume").body["checkpoint"]["state"], {"n": 1})
        self.assertEqual(self.client.get(f"{OJS}/jobs/{job}/checkpoint").body["state"], {"n": 1})
        self.assertEqual(self.client.delete(path).body["deleted"], True)


if __name__ == "__main__":
    unittest.main()
