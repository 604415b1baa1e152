"""Events of one job, queue or workflow, as the clients of the Open Job Spec subscribe to them: streams that end with
the job and resume where they broke, and lists for clients that want no stream."""
import unittest

from harness import new_id, until
from ojs_case import OJS, Endpoints


class Streams(Endpoints):
    def test_a_job_s_channel_tells_its_life_and_ends_with_it(self):
        job = self.push()
        stream = self.subscribe(f"/events/stream?channel=job:{job}")
        self.assertEqual((stream.status, stream.headers["content-type"]), (200, "text/event-stream"))
        self.push()  # another one, which is none of its business
        self.work({"n": 1})
        until(lambda: stream.ended, "the stream ends with the job")
        self.assertEqual(stream.names(), ["job.started", "job.completed"])
        _, data, _ = stream.events[-1]
        self.assertEqual((data["type"], data["event"], data["subject"]), ("job.completed", "job.completed", job))
        self.assertEqual((data["job_id"], data["queue"], data["from"], data["to"]),
                         (job, self.queue, "active", "completed"))
        self.assertEqual(data["data"]["job_id"], job)

    def test_a_finished_job_is_told_once_and_then_no_more(self):
        job = self.push()
        self.work()
        for path in (f"/events/stream?channel=job:{job}", f"/jobs/{job}/events"):
            stream = self.subscribe(path)
            until(lambda: stream.ended, "it ends at once")
            self.assertEqual(stream.names(), ["job.completed"])
            again = self.subscribe(path, headers=[f"Last-Event-ID: {stream.events[0][2]}"])
            self.assertEqual(again.status, 204, "nothing will ever come again")

    def test_a_subscriber_that_lost_its_connection_gets_what_it_missed(self):
        job = self.push()
        first = self.subscribe(f"/jobs/{job}/events")
        taken = self.client.fetch([self.queue]).body["jobs"][0]["id"]
        until(lambda: first.events, "job.started")
        first.close()
        self.client.ack(taken)
        second = self.subscribe(f"/jobs/{job}/events", headers=[f"Last-Event-ID: {first.events[0][2]}"])
        until(lambda: second.ended, "the end")
        self.assertEqual(second.names(), ["job.completed"])

    def test_a_queue_s_channel_may_be_there_before_the_queue(self):
        for path in (f"/events/stream?channel=queue:{self.queue}", f"/queues/{self.queue}/events",
                     f"/events/stream?queue={self.queue}"):
            stream = self.subscribe(path)
            job = self.push()
            self.client.push(queue="other")
            self.client.cancel(job)
            until(lambda: len(stream.events) == 2, "both events")
            self.assertEqual([(name, data["job_id"]) for name, data, _ in stream.events],
                             [("job.enqueued", job), ("job.cancelled", job)])
            stream.close()

    def test_all_and_a_workflow_s(self):
        everything = self.subscribe("/events/stream?channel=all&types=workflow.*")
        made = self.client.post(OJS + "/workflows", {"type": "chain", "steps": [
            {"type": "a.b", "args": [], "options": {"queue": self.queue}}]}).body["workflow"]["id"]
        one = self.subscribe(f"/events/stream?channel=workflow:{made}")
        self.work()
        until(lambda: "workflow.completed" in one.names() and "workflow.completed" in everything.names(), "the end")
        self.assertIn("workflow.created", everything.names())

    def test_what_is_not_there_is_refused_before_a_stream_begins(self):
        nobody = new_id()
        for path in (f"/events/stream?channel=job:{nobody}", f"/jobs/{nobody}/events", f"/jobs/{nobody}/progress/stream",
                     f"/events/stream?channel=workflow:{nobody}"):
            self.assertEqual(self.subscribe(path).status, 404, path)
        details = self.client.get(f"{OJS}/events/stream?channel=workflow:zz").body["error"]["details"]
        self.assertEqual((details["resource_type"], details["resource_id"]), ("workflow", "zz"))
        for channel in ("job", "job:", "cats:1", "queue:"):
            self.refused(self.client.get(f"{OJS}/events/stream?channel={channel}"), 400, "channel must be")
        self.refused(self.client.get(f"{OJS}/queues/{self.queue}/events"), 404, self.queue)

    def test_a_list_for_who_does_not_ask_for_a_stream(self):
        job = self.push()
        self.push()
        self.break_one()
        events = self.client.get(f"{OJS}/jobs/{job}/events").body["events"]
        self.assertEqual([event["type"] for event in events],
                         ["job.enqueued", "job.started", "job.failed", "job.discarded"])
        page = self.client.get(f"{OJS}/queues/{self.queue}/events?limit=2").body
        self.assertEqual((len(page["events"]), page["has_more"]), (2, True))
        rest = self.client.get(f"{OJS}/queues/{self.queue}/events?cursor={page['next_cursor']}").body
        self.assertEqual((len(rest["events"]), rest["has_more"]), (3, False))

    def test_another_tenant_s_job_has_no_events_here(self):
        job = self.client.push(queue=self.queue).body["job"]["id"]
        headers = {"X-OJS-Tenant": "acme"}
        self.refused(self.client.get(f"{OJS}/jobs/{job}/events", headers=headers), 404)
        stream = self.subscribe(f"/events/stream?channel=queue:{self.queue}", headers=["X-OJS-Tenant: acme"])
        self.push()
        self.client.post(OJS + "/jobs", {"type": "a.b", "args": [], "options": {"queue": self.queue}}, headers=headers)
        until(lambda: stream.events, "its own")
        self.assertEqual(stream.events[0][1]["data"]["attempt"], 0)
        self.assertEqual(len(stream.events), 1)

    def test_progress_for_a_progress_bar(self):
        job = self.push()
        self.client.fetch([self.queue])
        report = {"progress": 0.25, "data": {"rows": 1}, "message": "a quarter"}
        self.client.call("PUT", f"{OJS}/jobs/{job}/progress", body=report)
        stream = self.subscribe(f"/jobs/{job}/progress/stream")
        self.client.call("PUT", f"{OJS}/jobs/{job}/progress", body={"progress": 0.5})
        self.client.ack(job)
        until(lambda: stream.ended, "the end")
        self.assertEqual(stream.names(), ["progress", "progress", "completed"])
        first, second, last = (data for _, data, _ in stream.events)
        self.assertEqual((first["progress"], first["data"], first["message"]), (0.25, {"rows": 1}, "a quarter"))
        self.assertEqual((second["progress"], second["job_id"]), (0.5, job))
        self.assertEqual((last["progress"], last["state"]), (1.0, "completed"))
        again = self.subscribe(f"/jobs/{job}/progress/stream")
        until(lambda: again.ended, "the end")
        self.assertEqual(again.names(), ["completed"])
        failed = self.push()
        self.break_one()
        over = self.subscribe(f"/jobs/{failed}/progress/stream")
        until(lambda: over.ended, "the end")
        self.assertEqual(over.names(), ["failed"])


if __name__ == "__main__":
    unittest.main()
