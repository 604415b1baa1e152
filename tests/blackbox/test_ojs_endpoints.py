"""Calls of Open Job Spec clients beyond its core: results, bulk operations, changes of jobs, queues, crons and
workflows. Bodies and headers are those that the clients send. Operators' calls are in test_ojs_operators.py."""
import threading
import unittest

from harness import Server, new_id
from ojs_case import OJS, Endpoints


class Results(Endpoints):
    def test_at_once_or_when_there_is_one(self):
        job = self.push()
        reply = self.client.get(f"{OJS}/jobs/{job}/result")
        self.assertEqual((reply.status, reply.body["state"]), (200, "available"))
        self.assertNotIn("result", reply.body)
        late = self.client.get(f"{OJS}/jobs/{job}/result?wait=true&timeout=0")
        self.assertEqual((late.status, late.body["error"]["code"], late.body["state"]), (408, "timeout", "available"))
        answers = []
        other = self.server.client()
        waiting = threading.Thread(target=lambda: answers.append(
            other.get(f"{OJS}/jobs/{job}/result?wait=true&timeout=30")))
        waiting.start()
        self.work({"ok": True})
        waiting.join()
        other.close()
        self.assertEqual((answers[0].status, answers[0].body["result"], answers[0].body["state"]),
                         (200, {"ok": True}, "completed"))

    def test_how_it_failed_and_of_many(self):
        done, failed = self.push(), self.push()
        self.work([1])
        self.break_one()
        reply = self.client.get(f"{OJS}/jobs/{failed}/result").body
        self.assertEqual((reply["state"], reply["error"]["code"]), ("discarded", "no"))
        nobody = new_id()
        many = self.client.post(OJS + "/jobs/results", {"ids": [done, failed, nobody]}).body["results"]
        self.assertEqual((many[done]["result"], many[failed]["state"], many[nobody]), ([1], "discarded", None))
        self.refused(self.client.get(f"{OJS}/jobs/{nobody}/result"), 404, nobody)
        self.refused(self.client.get(f"{OJS}/jobs/{done}/result?wait=maybe"), 400, "wait")
        self.refused(self.client.get(f"{OJS}/jobs/{done}/result?wait=true&timeout=soon"), 400, "timeout")
        self.refused(self.client.post(OJS + "/jobs/results", {"ids": []}), 400, "ids")


class Changes(Endpoints):
    def test_priority_and_time_of_what_waits(self):
        first, second = self.push(), self.push()
        reply = self.patch(f"/jobs/{second}", {"priority": 9})
        self.assertEqual((reply.status, reply.body["priority"], reply.body["previous_priority"]), (200, 9, 0))
        self.assertEqual(reply.body["job"]["priority"], 9)
        later = self.patch(f"/jobs/{first}", {"scheduled_at": "+PT1H"}).body["job"]
        self.assertEqual(later["state"], "scheduled")
        self.assertEqual([job["id"] for job in self.client.fetch([self.queue], count=5).body["jobs"]], [second])
        back = self.patch(f"/jobs/{first}", {"scheduled_at": None}).body["job"]
        self.assertEqual(back["state"], "available")
        self.assertEqual([job["id"] for job in self.client.fetch([self.queue], count=5).body["jobs"]], [first])
        self.refused(self.patch(f"/jobs/{first}", {"priority": 1}), 409, "active")
        self.client.ack(first)
        self.refused(self.patch(f"/jobs/{first}", {"priority": 1}), 409, "completed")
        self.assertIn("job.changed", [event["type"] for event in
                                      self.client.get(f"{OJS}/jobs/{first}/events").body["events"]])

    def test_meta_is_merged_and_tags_replaced(self):
        job = self.push(meta={"a": 1, "b": {"c": 1}}, options={"tags": ["x"], "priority": 3})
        changed = self.patch(f"/admin/jobs/{job}", {"meta": {"a": None, "b": {"d": 2}}, "tags": ["y"],
                                                    "options": {"priority": 4}}).body["job"]
        self.assertEqual((changed["meta"], changed["tags"], changed["priority"]), ({"b": {"c": 1, "d": 2}}, ["y"], 4))
        self.assertEqual((changed["options"]["priority"], changed["options"]["tags"]), (4, ["y"]))
        self.assertEqual(self.client.fetch([self.queue]).body["jobs"][0]["meta"], changed["meta"])

    def test_what_cannot_be_changed_is_refused_with_a_reason(self):
        job = self.push()
        for body, status, words in (
                ({}, 400, "nothing to change"), ({"priority": 101}, 400, "priority"), ({"priority": "high"}, 400, "priority"),
                ({"scheduled_at": "soon"}, 400, "scheduled_at"), ({"meta": []}, 400, "meta"), ({"tags": "a"}, 400, "tags"),
                ({"queue": "other"}, 422, "queue cannot be changed"), ({"args": []}, 422, "args cannot be changed"),
                ({"options": {"retry": {}}}, 422, "retry"), ({"meta": {"tenant_id": "x"}}, 400, "tenant_id")):
            self.refused(self.patch(f"/jobs/{job}", body), status, words)
        self.refused(self.patch(f"/jobs/{new_id()}", {"priority": 1}), 404)
        self.refused(self.patch(f"/jobs/{job}", {"priority": 1}, headers={"X-OJS-Tenant": "acme"}), 404)
        self.assertEqual(self.client.job(job).body["job"]["priority"], 0)

    def test_a_change_survives_a_crash(self):
        server = Server()
        self.addCleanup(server.close)
        server.start()
        client = server.client()
        low, high = (client.push(queue="q").body["job"]["id"] for _ in range(2))
        client.call("PATCH", f"{OJS}/jobs/{high}", body={"priority": 5, "meta": {"k": 1}})
        client.post(OJS + "/queues", {"name": "gone"})
        self.assertEqual(client.delete(OJS + "/queues/gone").status, 200)
        client.post(OJS + "/admin/system/maintenance", {"enabled": True, "reason": "crash"})
        client.close()
        server.kill()
        server.start()
        client = server.client()
        self.assertEqual(client.fetch(["q"]).body["jobs"], [], "still in maintenance")
        self.assertEqual(client.get(OJS + "/admin/system/maintenance").body["reason"], "crash")
        client.post(OJS + "/admin/system/maintenance", {"enabled": False})
        self.assertEqual([job["id"] for job in client.fetch(["q"], count=2).body["jobs"]], [high, low])
        self.assertEqual(client.job(high).body["job"]["meta"], {"k": 1})
        self.assertNotIn("gone", [queue["name"] for queue in client.get(OJS + "/queues").body["queues"]])
        client.close()


class LostReplies(unittest.TestCase):
    """A worker whose reply was lost with the server calls again under the same Idempotency-Key."""

    def test_acks_and_fetches_count_once_and_answer_the_same(self):
        server = Server()
        self.addCleanup(server.close)
        server.start()
        client = server.client()
        ids = [client.push(queue="q").body["job"]["id"] for _ in range(4)]
        client.fetch(["q"], count=2)
        calls = [("/workers/ack", {"job_id": ids[0], "fetch": {"queues": ["q"]}}),
                 ("/workers/ack", {"acks": [{"job_id": ids[1]}, {"job_id": ids[2]}]}),
                 ("/workers/fetch", {"queues": ["q"]})]
        keys = [{"Idempotency-Key": new_id()} for _ in calls]
        first = [client.post(OJS + path, body, headers=key) for (path, body), key in zip(calls, keys)]
        self.assertEqual([reply.status for reply in first], [200] * 3)
        self.assertEqual([[job["id"] for job in reply.body.get("jobs", [])] for reply in first], [[ids[2]], [], [ids[3]]])
        client.close()
        server.kill()
        server.start()
        client = server.client()
        for (path, body), key, reply in zip(calls, keys, first):
            again = client.post(OJS + path, body, headers=key)
            self.assertEqual((again.status, again.body, again.headers["Idempotency-Replayed"]), (200, reply.body, "true"))
            self.assertEqual(client.post(OJS + path, {**body, "x": 1}, headers=key).status, 422)
        self.assertEqual([client.job(job).body["job"]["state"] for job in ids], ["completed"] * 3 + ["active"])
        client.close()


class Bulk(Endpoints):
    def test_the_command_line_s_bulk_calls(self):
        jobs = [self.push() for _ in range(3)]
        nobody = new_id()
        reply = self.client.post(OJS + "/jobs/bulk/cancel", {"job_ids": [jobs[0], nobody]}).body
        self.assertEqual((reply["cancelled"], reply["failed"], reply["total_matched"], reply["skipped"]), (1, 1, 2, 1))
        self.assertEqual([(item["job_id"], item["status"]) for item in reply["items"]],
                         [(nobody, "skipped"), (jobs[0], "cancelled")])
        self.break_one()
        self.assertEqual(self.client.post(OJS + "/jobs/bulk/retry", {
            "filter": {"state": "discarded", "queue": self.queue}}).body["retried"], 1)
        filtered = {"filter": {"state": ["available"], "queue": self.queue}}
        self.assertEqual(self.client.post(OJS + "/jobs/bulk/cancel", filtered).body["cancelled"], 2)
        old = {"filter": {"state": "cancelled", "queue": self.queue, "older_than": "7d"}}
        self.assertEqual(self.client.post(OJS + "/jobs/bulk/delete", old).body["deleted"], 0)
        self.assertEqual(self.client.post(OJS + "/jobs/bulk/delete", {"job_ids": jobs}).body["deleted"], 3)
        self.assertEqual(self.client.job(jobs[0]).status, 404)

    def test_what_a_bulk_call_must_say(self):
        for body, status, words in (({}, 400, "filter"), ({"filter": {}}, 400, "filter"),
                                    ({"filter": {"state": "happy"}}, 400, "state"),
                                    ({"job_ids": [new_id()], "filter": {"state": "active"}}, 400, "filter"),
                                    ({"job_ids": ["x"]}, 400, "ids"), ({"job_ids": [new_id()], "atomicity": "atomic"}, 422, ""),
                                    ({"filter": {"state": "cancelled", "older_than": "old"}}, 400, "older_than")):
            self.refused(self.client.post(OJS + "/jobs/bulk/delete", body), status, words)
        # The admin API asks for a confirmation besides.
        self.refused(self.client.post(OJS + "/admin/jobs/bulk/cancel", {"filter": {"queue": self.queue}}), 400, "confirm")

    def test_a_filter_spares_what_does_not_match(self):
        spared = [self.push(), self.push(meta={"k": "w"}, priority=3), self.push(meta={"k": "v"})]
        meant = self.push(meta={"k": "v", "more": 1}, priority=3)
        for call in ("/jobs/bulk/cancel", "/admin/jobs/bulk/cancel"):
            for wrong in ({"zzz": 1}, {"queue": self.queue, "tpye": "x"}, {"queue": None}):
                reply = self.client.post(OJS + call, {"filter": wrong, "confirm": True})
                self.refused(reply, 400, "filter.")
                self.assertEqual(reply.body["error"]["details"]["validation_errors"][0]["path"],
                                 "$.filter." + list(wrong)[-1])
        wish = {"filter": {"queue": self.queue, "meta": {"k": "v"}, "priority": 3}}
        self.assertEqual(self.client.post(OJS + "/jobs/bulk/cancel", wish).body["cancelled"], 1)
        self.assertEqual(self.client.job(meant).body["state"], "cancelled")
        self.assertEqual({self.client.job(job).body["state"] for job in spared}, {"available"})

    def test_bulk_push_tells_each_outcome(self):
        good, bad = {"type": "a.b", "args": [], "options": {"queue": self.queue}}, {"type": "", "args": []}
        reply = self.client.post(OJS + "/jobs/bulk", {"jobs": [good, good]})
        self.assertEqual((reply.status, reply.body["succeeded"], reply.headers["X-OJS-Batch-Size"]), (201, 2, "2"))
        mixed = self.client.post(OJS + "/jobs/bulk", {"jobs": [good, bad, good]})
        self.assertEqual((mixed.status, mixed.body["total"], mixed.body["failed"]), (207, 3, 1))
        self.assertEqual([item["status"] for item in mixed.body["items"]], ["created", "failed", "created"])
        self.assertEqual(self.client.post(OJS + "/jobs/bulk", {"jobs": [bad]}).status, 422)
        before = self.client.get(f"{OJS}/queues/{self.queue}").body["queue"]["available"]
        atomic = self.client.post(OJS + "/jobs/bulk", {"jobs": [good, bad], "atomicity": "atomic"})
        self.assertEqual((atomic.status, atomic.body["succeeded"]), (422, 0))
        self.assertEqual(atomic.body["items"][0]["error"]["code"], "aborted")
        self.assertEqual(self.client.get(f"{OJS}/queues/{self.queue}").body["queue"]["available"], before)
        key = {"Idempotency-Key": new_id()}
        ids = [self.client.post(OJS + "/jobs/bulk", {"jobs": [good]}, headers=key).body["items"][0]["job_id"]
               for _ in range(2)]
        self.assertEqual(ids[0], ids[1])
        self.refused(self.client.post(OJS + "/jobs/bulk", {"jobs": [good], "idempotency_key": "k"}), 422, "header")
        once = {**good, "options": {**good["options"], "unique": {"keys": ["type"]}}}
        again = self.client.post(OJS + "/jobs/bulk", {"jobs": [once, once]}).body["items"]
        self.assertEqual(again[1]["error"]["details"]["existing_job_id"], again[0]["job_id"])
        self.refused(self.client.post(OJS + "/jobs/bulk", {"jobs": []}), 400, "jobs")
        self.refused(self.client.post(OJS + "/jobs/bulk", {"jobs": [good], "atomicity": "some"}), 400, "atomicity")
        self.refused(self.client.post(OJS + "/jobs/bulk", {"jobs": [{}] * 10_001}), 413)


class Queues(Endpoints):
    def names(self):
        return [queue["name"] for queue in self.client.get(OJS + "/queues?limit=1000").body["queues"]]

    def test_made_removed_and_back_with_the_next_job(self):
        reply = self.client.post(OJS + "/queues", {"name": self.queue, "max_size": 1})
        self.assertEqual((reply.status, reply.body["queue"]["name"], reply.headers["Location"]),
                         (201, self.queue, f"/ojs/v1/queues/{self.queue}"))
        self.refused(self.client.post(OJS + "/queues", {"name": self.queue}), 409, self.queue)
        job = self.push()
        self.assertEqual(self.client.push(queue=self.queue).status, 429, "max_size is its bound")
        self.refused(self.client.delete(f"{OJS}/queues/{self.queue}"), 409, "1 unfinished")
        self.client.cancel(job)
        self.assertEqual(self.client.delete(f"{OJS}/queues/{self.queue}").body["deleted"], True)
        self.assertNotIn(self.queue, self.names())
        self.refused(self.client.delete(f"{OJS}/queues/{self.queue}"), 404, self.queue)
        self.push()
        self.push()
        self.assertIn(self.queue, self.names())

    def settings(self):
        return self.client.get(f"{OJS}/admin/queues/{self.queue}/config").body["config"]

    def test_settings_are_given_in_one_form_to_every_call(self):
        made = self.client.post(OJS + "/queues", {"name": self.queue, "config": {"max_size": 5}})
        self.assertEqual((made.status, self.settings()["max_size"]), (201, 5))
        for path in (f"/admin/queues/{self.queue}/config", f"/queues/{self.queue}/config"):
            reply = self.client.call("PUT", OJS + path, body={"max_size": 7})  # the command line's --max-size
            self.assertEqual((reply.status, reply.body["config"]["max_size"]), (200, 7))
        changed = self.patch(f"/queues/{self.queue}", {"paused": True})
        self.assertEqual((changed.status, changed.body["queue"]["paused"], changed.body["queue"]["max_size"]), (200, True, 7))
        self.assertEqual(self.patch(f"/admin/queues/{self.queue}", {"max_size": 1, "paused": False}).status, 200)
        job = self.push()
        self.assertEqual(self.client.push(queue=self.queue).status, 429)
        self.client.cancel(job)
        for setting in ({"concurrency": 2}, {"dead_letter_queue": "x"}, {"default_retry": {}}, {"overflow_policy": "block"}):
            self.refused(self.client.call("PUT", f"{OJS}/queues/{self.queue}/config", body=setting), 422)
            self.refused(self.patch(f"/queues/{self.queue}", {"config": setting}), 422)
        self.refused(self.patch(f"/queues/{self.queue}", {}), 400, "nothing to change")
        self.refused(self.patch(f"/queues/{self.queue}", {"max_size": -1}), 400, "max_size")
        self.refused(self.patch(f"/queues/nobody-{self.queue}", {"paused": True}), 404)

    def test_a_queue_is_removed_only_when_its_jobs_are_done(self):
        self.push()
        path = f"{OJS}/queues/{self.queue}"
        for strategy in ("discard", "move"):
            self.refused(self.client.call("DELETE", path, body={"strategy": strategy}), 422, "strategy")
        self.refused(self.client.call("DELETE", path, body={"strategy": "reject"}), 409, "unfinished")

    def test_what_a_queue_cannot_be(self):
        for body, status in (({}, 400), ({"name": "Not Good"}, 400), ({"name": "pawl.x"}, 400),
                             ({"name": "q", "concurrency": 2}, 422), ({"name": "q", "max_size": -1}, 400)):
            self.refused(self.client.post(OJS + "/queues", body), status)

    def test_priorities_and_the_command_line_s_purge(self):
        for priority in (0, 5, 5, -1):
            self.push(options={"priority": priority})
        reply = self.client.get(f"{OJS}/queues/{self.queue}/priority-stats").body
        self.assertEqual(reply["distribution"], [{"priority": 5, "count": 2}, {"priority": 0, "count": 1},
                                                 {"priority": -1, "count": 1}])
        self.assertEqual((reply["queue"], reply["total"], reply["counts_by_priority"]["5"]), (self.queue, 4, 2))
        self.refused(self.client.get(f"{OJS}/queues/nobody-{self.queue}/priority-stats"), 404)
        purged = self.client.post(f"{OJS}/queues/{self.queue}/purge", {"states": ["available"]}).body
        self.assertEqual(purged["deleted"], 4)


class Crons(Endpoints):
    def test_changed_in_part(self):
        name = "c-" + self.queue
        made = self.client.post(OJS + "/cron", {"name": name, "expression": "0 3 * * *", "job_template": {
            "type": "a.b", "options": {"queue": self.queue, "priority": 4}}})
        self.assertEqual((made.status, made.body["cron"]["args"]), (201, []), "args may be left out")
        created = made.body["cron"]["created_at"]
        path = f"/cron/{name}"
        self.assertEqual(self.patch(path, {"enabled": False}).body["cron"]["enabled"], False)
        changed = self.patch(path, {"expression": "5 4 * * *", "job_template": {"type": "c.d", "options": {"queue": "x"}}})
        cron = changed.body["cron"]
        self.assertEqual((cron["expression"], cron["type"], cron["queue"], cron["enabled"], cron["created_at"]),
                         ("5 4 * * *", "c.d", "x", False, created))
        self.assertEqual(cron["options"]["priority"], 4, "what was not named stays")
        flat = self.patch(f"/crons/{name}", {"enabled": True, "queue": "y", "timezone": "Europe/Zurich"}).body
        self.assertEqual((flat["id"], flat["schedule"], flat["queue"], flat["enabled"], flat["timezone"]),
                         (name, "5 4 * * *", "y", True, "Europe/Zurich"))
        self.assertIn(name, [cron["id"] for cron in self.client.get(OJS + "/crons?per_page=100").body["items"]])
        for enabled, there in (("true", True), ("false", False)):
            names = [cron["name"] for cron in self.client.get(f"{OJS}/cron?enabled={enabled}").body["crons"]]
            self.assertEqual(name in names, there)
        for body, queue, priority in (({"queue": "q1", "priority": 5}, "q1", 5),
                                      ({"options": {"priority": 6}, "queue": "q3"}, "q3", 6),
                                      ({"job_template": {"queue": "q4"}, "priority": 7}, "q4", 7)):
            cron = self.patch(path, body).body["cron"]
            self.assertEqual((cron["queue"], cron["options"]["priority"]), (queue, priority), body)
        cron = self.patch(path, {"job_template": {"type": "e.f"}, "args": [9]}).body["cron"]
        self.assertEqual((cron["type"], cron["args"], cron["queue"]), ("e.f", [9], "q4"))
        for body, status in (({}, 400), ({"expression": "no"}, 422), ({"cats": 1}, 400), ({"timezone": "Nowhere/X"}, 422)):
            self.refused(self.patch(path, body), status)
        self.refused(self.patch("/cron/nobody", {"enabled": True}), 404)
        self.assertEqual(self.client.get(OJS + path).body["cron"]["expression"], "5 4 * * *")


class Workflows(Endpoints):
    def step(self):
        return {"type": "a.b", "args": [], "options": {"queue": self.queue}}

    def test_progress_of_the_whole_and_of_the_steps(self):
        step = {"type": "a.b", "args": [], "options": {"queue": self.queue}}
        made = self.client.post(OJS + "/workflows", {"type": "chain", "steps": [step] * 4}).body["workflow"]["id"]
        path = f"{OJS}/workflows/{made}/progress"
        self.assertEqual(self.client.get(path).body["progress"], 0)
        self.work()
        job = self.client.fetch([self.queue]).body["jobs"][0]["id"]
        self.client.call("PUT", f"{OJS}/jobs/{job}/progress", body={"progress": 0.5})
        reply = self.client.get(path).body
        self.assertEqual((reply["workflow_id"], reply["progress"], reply["steps_completed"]), (made, 0.375, 1))
        self.assertEqual([(step["state"], step["progress"]) for step in reply["steps"]],
                         [("completed", 1), ("active", 0.5), ("waiting", None), ("waiting", None)])
        page = self.client.get(path + "?limit=3").body
        rest = self.client.get(path + f"?limit=3&cursor={page['next_cursor']}").body
        self.assertEqual((len(page["steps"]), len(rest["steps"]), rest["steps"][0]["index"]), (3, 1, 3))
        self.refused(self.client.get(f"{OJS}/workflows/{new_id()}/progress"), 404)

    def test_a_list_by_pages_for_the_admin_ui(self):
        name = "paged-" + self.queue
        made = sorted(self.client.post(OJS + "/workflows", {"type": "chain", "name": name, "steps": [self.step()]}).body["id"]
                      for _ in range(3))  # within a millisecond their order is that of their ids
        first = self.client.get(f"{OJS}/workflows?name={name}&page=1&per_page=2").body
        self.assertEqual([(one["id"], one["steps_total"], one["step_count"]) for one in first["items"]],
                         [(made[2], 1, 1), (made[1], 1, 1)])
        self.assertEqual((first["pagination"]["total"], first["pagination"]["has_more"]), (3, True))
        last = self.client.get(f"{OJS}/workflows?name={name}&page=2&per_page=2").body
        self.assertEqual(([one["id"] for one in last["items"]], last["pagination"]["has_more"]), ([made[0]], False))

    def test_jobs_of_a_group_or_batch_are_steps_for_the_admin_ui(self):
        done = {"on_complete": {"id": "after", "type": "c.d", "args": []}}
        group = self.client.post(OJS + "/workflows", {"type": "group", "jobs": [self.step(), self.step()]}).body["id"]
        batch = self.client.post(OJS + "/workflows", {"type": "batch", "jobs": [self.step()], "callbacks": done}).body["id"]
        self.work()
        shown = self.client.get(f"{OJS}/workflows/{group}").body
        self.assertEqual((shown["name"], shown["steps_total"], shown["steps_completed"]), ("", 2, 1))
        self.assertEqual([(row["id"], row["type"], row["depends_on"]) for row in shown["steps"]],
                         [("0", "a.b", []), ("1", "a.b", [])])
        self.assertEqual(sorted(row["state"] for row in shown["steps"]), ["completed", "pending"])
        self.assertEqual(shown["workflow"]["steps"], shown["steps"])
        steps = self.client.get(f"{OJS}/workflows/{batch}").body["steps"]
        self.assertEqual([(row["id"], row["state"], row["depends_on"]) for row in steps],
                         [("0", "pending", []), ("after", "waiting", ["0"])])
        inner = {"type": "group", "jobs": [self.step()]}
        chain = self.client.post(OJS + "/workflows", {"type": "chain", "steps": [self.step(), inner]}).body
        planned = self.client.get(f"{OJS}/workflows/{chain['steps'][1]['workflow_id']}").body
        self.assertEqual((planned["name"], planned["steps_total"], [row["id"] for row in planned["steps"]]), ("", 1, ["0"]))
        listed = self.client.get(OJS + "/workflows?limit=1000&nested=true").body
        self.assertEqual({one["name"] for one in listed["workflows"] if one["id"] in (group, batch, chain["id"])}, {""})

    def test_a_callback_may_have_a_name(self):
        for wrong, words in (({"id": 7}, "on_complete.id"), ({"id": ""}, "on_complete.id")):
            call = {"type": "c.d", "args": [], **wrong}
            reply = self.client.post(OJS + "/workflows", {
                "type": "batch", "jobs": [self.step()], "callbacks": {"on_complete": call}})
            self.refused(reply, 400, words)
        call = {"id": "cb", "type": "c.d", "args": [], "options": {"queue": self.queue}}
        made = self.client.post(OJS + "/workflows", {"type": "batch", "jobs": [self.step()],
                                                     "callbacks": {"on_complete": call}, "on_cancel": {**call, "id": "undo"}})
        self.assertEqual(made.status, 201, made.raw)
        self.work()
        self.work()
        shown = self.client.get(f"{OJS}/workflows/{made.body['id']}").body
        self.assertEqual((shown["state"], shown["steps"][1]["id"], shown["steps"][1]["state"]), ("completed", "cb", "completed"))

    def test_a_list_by_cursor_tells_its_pages(self):
        name = "listed-" + self.queue
        for _ in range(2):
            self.client.post(OJS + "/workflows", {"type": "chain", "name": name, "steps": [self.step()]})
        whole = self.client.get(f"{OJS}/workflows?name={name}&limit=25").body
        self.assertEqual((whole["total"], whole["pagination"]["total"], whole["pagination"]["has_more"]), (2, 2, False))
        self.assertIsNone(whole["next_cursor"])
        part = self.client.get(f"{OJS}/workflows?name={name}&limit=1").body
        self.assertEqual((part["pagination"]["has_more"], part["pagination"]["limit"]), (True, 1))
        rest = self.client.get(f"{OJS}/workflows?name={name}&limit=1&cursor={part['next_cursor']}").body
        self.assertNotEqual(part["workflows"][0]["id"], rest["workflows"][0]["id"])

    def test_progress_names_steps_as_the_client_does(self):
        steps = [{"id": "fetch", **self.step()}, {"id": "store", "depends_on": ["fetch"], **self.step()}]
        made = self.client.post(OJS + "/workflows", {"name": "n", "steps": steps}).body["workflow"]["id"]
        reply = self.client.get(f"{OJS}/workflows/{made}/progress").body
        self.assertEqual([(step["id"], step["type"], step["state"]) for step in reply["steps"]],
                         [("fetch", "a.b", "pending"), ("store", "a.b", "waiting")])


if __name__ == "__main__":
    unittest.main()
