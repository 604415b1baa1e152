"""Definitions and the world outside the engine: jobs for workers, services, secrets, files, breakers."""
import glob
import os
import threading

from definition_case import DefinitionCase, ask, log
from harness import Worker, join_all, until
from stand_in import Answer, closed_port


def contents(path):
    if not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


class Jobs(DefinitionCase):
    def worker(self, handle, *queues):
        made = Worker(self.server, handle, queues=queues)
        self.addCleanup(join_all, [made])
        return made

    @staticmethod
    def ack(client, job, result):
        client.post("/ojs/v1/workers/ack", {"job_id": job["id"], "result": result})

    @staticmethod
    def nack(client, job, message="no"):
        client.post("/ojs/v1/workers/nack", {"job_id": job["id"], "error": {"code": "handler_error", "message": message,
                                                                         "retryable": False}})

    def test_a_job_step_is_done_by_a_worker(self):
        seen = []

        def handle(client, job):
            seen.append(job)
            self.ack(client, job, {"width": 320})
        self.worker(handle, "pictures")
        run = self.start({"id": "resize", "type": "job", "config": {
            "type": "image.resize", "queue": "pictures", "args": ["${{ inputs.url }}", 320]}},
            inputs={"url": "http://x/1"}, outputs={"w": "steps.resize.width"})
        self.assertEqual((run["status"], run["output"]), ("completed", {"w": 320}))
        self.assertEqual((seen[0]["type"], seen[0]["args"]), ("image.resize", ["http://x/1", 320]))
        self.assertEqual((seen[0]["meta"]["run_id"], seen[0]["meta"]["step_id"]), (run["id"], "resize"))

    def test_a_job_that_fails_is_a_step_that_fails(self):
        self.worker(lambda client, job: self.nack(client, job, "broken lens"), "broken")
        run = self.start({"id": "resize", "type": "job", "config": {
            "type": "image.resize", "queue": "broken", "args": [], "options": {"retry": {"max_attempts": 1}}}})
        self.assertEqual(run["status"], "failed")
        self.assertIn("broken lens", run["error"]["message"])

    def test_an_agents_task_waits_in_its_queue(self):
        seen = []

        def handle(client, job):
            seen.append(job)
            self.ack(client, job, {"label": "bug"})
        self.worker(handle, "agents")
        run = self.start({"id": "classify", "type": "agent", "config": {"task_type": "classify", "params": {"n": 1}}},
                         outputs={"label": "steps.classify.label"})
        self.assertEqual((run["status"], run["output"]), ("completed", {"label": "bug"}))
        self.assertEqual((seen[0]["type"], seen[0]["args"], seen[0]["meta"]["task_id"]),
                         ("classify", [{"n": 1}], f"{run['id']}-classify"))

    def test_chain_group_and_batch_are_steps(self):
        self.worker(lambda client, job: self.ack(client, job, {"did": job["type"]}), "line")
        jobs = [{"type": name, "args": [], "options": {"queue": "line"}} for name in ("one", "two")]
        run = self.start({"id": "c", "type": "chain", "config": {"steps": jobs}},
                         {"id": "g", "type": "group", "depends_on": ["c"], "config": {"jobs": jobs}},
                         {"id": "b", "type": "batch", "depends_on": ["g"], "config": {
                             "jobs": jobs, "callbacks": {"on_complete": jobs[0]}}})
        run = self.watch(run)
        self.assertEqual((run["status"], self.outline(run)),
                         ("completed", {"c": "completed", "g": "completed", "b": "completed"}), run.get("error"))

    def test_a_cancelled_run_takes_its_jobs_along(self):
        run = self.start({"id": "wait", "type": "job", "config": {"type": "never", "queue": "nobody", "args": []}}, wait=None)
        job = until(lambda: [j for j in self.call("GET", "/ojs/v1/jobs?queue=nobody&limit=10").get("jobs", [])
                             if j["state"] == "available"], "the job")[0]
        self.steer(run, "cancel")
        self.watch(run, "cancelled")
        until(lambda: self.client.job(job["id"]).body["job"]["state"] == "cancelled", "the job is cancelled too")

    def test_a_job_outlives_a_restart(self):
        run = self.start({"id": "slow", "type": "job", "config": {"type": "slow", "queue": "later", "args": []}}, wait=None)
        self.restart()
        self.worker(lambda client, job: self.ack(client, job, {"n": 1}), "later")
        self.assertEqual(self.watch(run)["steps"]["slow"]["output"], {"n": 1})


class Subworkflows(DefinitionCase):
    def test_a_definition_runs_another(self):
        self.define("double", {"id": "d", "action": "expr.eval", "params": {"expression": "inputs.n * 2"}},
                    definition={"outputs": {"n": "steps.d.result"}})
        run = self.start({"id": "sub", "type": "subworkflow", "config": {"definition": "double", "inputs": {"n": "${{ inputs.n }}"}}},
                         {"id": "run", "action": "workflow.run", "depends_on": ["sub"], "params": {
                             "template_name": "double", "params": {"n": "${{ steps.sub.n }}"}}},
                         inputs={"n": 3}, outputs={"n": "steps.run.n"})
        self.assertEqual((run["status"], run["output"]), ("completed", {"n": 12}))

    def test_its_failure_and_its_absence_are_failures(self):
        self.define("fails", {"id": "f", "action": "workflow.fail", "params": {"reason": "inner"}})
        run = self.start({"id": "sub", "type": "subworkflow", "config": {"definition": "fails"}})
        self.assertEqual((run["status"], run["error"]["message"]), ("failed", "inner"))
        run = self.start({"id": "sub", "type": "subworkflow", "config": {"definition": "nowhere"}})
        self.assertEqual((run["status"], run["error"]["code"]), ("failed", "NOT_FOUND"))

    def test_a_question_inside_holds_the_run_around_it(self):
        self.define("asks", ask("gate"))
        self.define("calls", {"id": "sub", "type": "subworkflow", "config": {"definition": "asks"}})
        run = self.start({"id": "outer", "action": "workflow.run", "params": {"definition": "calls"}}, wait="30s")
        self.assertEqual((run["status"], run["steps"]["outer"]["status"]), ("suspended", "suspended"))
        middle = self.call("GET", f"/v1/runs?parent={run['id']}")["runs"][0]
        inner = self.call("GET", f"/v1/runs?parent={middle['id']}")["runs"][0]
        self.assertEqual(middle["status"], "suspended")
        self.assertEqual(run["steps"]["outer"]["run_id"], middle["id"])
        wait = run["steps"]["outer"]["wait"]
        question = wait["waiting_for"][0].pop("decision_id")
        self.assertEqual(wait, {"for": "run", "waiting_for": [{"run_id": inner["id"], "step_id": "gate", "for": "decision"}]})
        explained = self.call("GET", f"/v1/runs/{run['id']}/explain")
        self.assertEqual([(w["step_id"], w["reason"], w["run_id"]) for w in explained["waiting_for"]],
                         [("outer.sub.gate", "decision", inner["id"])])
        self.restart()
        self.call("POST", f"/v1/decisions/{question}", {"choice": "yes"})
        self.assertEqual(self.watch(run)["status"], "completed")
        self.assertEqual([e["type"] for e in self.events(run, "step_suspended", "workflow_suspended", "step_completed")],
                         ["step_suspended", "workflow_suspended", "step_completed"])

    def test_a_definition_that_runs_itself_ends(self):
        self.define("itself", {"id": "again", "type": "subworkflow", "config": {"definition": "itself"}})
        run = self.watch(self.run_named("itself"))
        self.assertEqual(run["status"], "failed")
        self.assertIn("nested", run["error"]["message"])


class Turns(DefinitionCase):
    def test_a_text_without_a_name_bounds_its_own_runs_only(self):
        def begin(name):
            return self.start({"id": name, "type": "wait", "config": {"duration": "1h"}}, wait=None, max_concurrent=1)
        first, other, second = begin("a"), begin("b"), begin("a")
        self.assertEqual([run["status"] for run in (first, other, second)], ["active", "active", "pending"])
        detail = self.call("GET", f"/v1/runs/{second['id']}/explain")["waiting_for"][0]["detail"]
        self.assertEqual(detail, "waiting for its turn, 0 ahead: 1 of the 1 runs that this text may have are at work")
        self.steer(first, "cancel")
        self.watch(second, "active")


class Interpolation(DefinitionCase):
    def sent(self, body, inputs, answer=None):
        service = self.stand_in(answer)
        run = self.start({"id": "first", "action": "http.get", "params": {"url": service.url("/first")}},
                         {"id": "send", "action": "http.post", "depends_on": ["first"], "params": {
                             "url": service.url("/send"), "body": body}}, inputs=inputs)
        self.assertEqual(run["status"], "completed", run.get("error"))
        return service.seen("/send")[0].body

    def test_a_whole_value_keeps_its_type(self):
        inputs = {"n": 200, "big": 1000000, "real": 0.5, "flag": True, "none": None, "list": [1, {"a": 2}], "text": "x"}
        body = {name: "${{ inputs.%s }}" % name for name in inputs}
        self.assertEqual(self.sent(body, inputs), inputs)

    def test_inside_a_text_values_are_written_plainly(self):
        inputs = {"n": 1000000, "whole": 2.0, "flag": False, "none": None, "list": [1, "a"]}
        self.assertEqual(self.sent({"t": "${{inputs.n}}|${{inputs.whole}}|${{inputs.flag}}|${{inputs.none}}|${{inputs.list}}"},
                                   inputs), {"t": '1000000|2|false|null|[1,"a"]'})

    def test_quotes_and_lines_break_nothing(self):
        nasty = 'a"b\\c\n\t\u2028"},"admin":"true\u0001é✓'
        self.assertEqual(self.sent({"t": "${{inputs.nasty}}", "in": "<${{ inputs.nasty }}>"}, {"nasty": nasty}),
                         {"t": nasty, "in": f"<{nasty}>"})

    def test_a_value_is_never_read_again(self):
        self.call("PUT", "/v1/secrets/TOKEN", {"value": "hush-hush-1"}, 201)
        evil = 'x","admin":"true", "k": "${{secrets.TOKEN}} ${{inputs.other}}'
        sent = self.sent({"t": "${{ steps.first.output.body.evil }}", "in": "<${{inputs.evil}}>"},
                         {"evil": evil, "other": "o"}, lambda request: Answer(200, {"evil": evil}))
        self.assertEqual(sent, {"t": evil, "in": f"<{evil}>"})

    def test_names_that_are_not_there_are_an_error_that_says_so(self):
        service = self.stand_in()
        for text in ("${{ inputs.nothing }}", "${{ steps.never.output.x }}", "${{ nowhere.x }}", "${{ secrets.NONE }}"):
            run = self.start({"id": "a", "action": "http.post", "params": {"url": service.url("/"), "body": text}})
            self.assertEqual((run["status"], run["error"]["code"]), ("failed", "INTERPOLATION_ERROR"), text)
        self.assertEqual(service.seen(), [])

    def test_ids_with_dashes_and_full_paths(self):
        run = self.start({"id": "a-b", "type": "sequence", "config": {"steps": [
            {"id": "in-ner", "action": "crypto.hash", "params": {"data": "x"}},
            log("local", "${{ steps.in-ner.output.hash }}")]}},
            {"id": "full", "action": "assert.equals", "depends_on": ["a-b"], "params": {
                "actual": "${{ steps['a-b.seq.in-ner'].hash }}", "expected": "${{ steps.a-b.seq.in-ner.output.hash }}"}})
        self.assertEqual(run["status"], "completed", run.get("error"))


class Secrets(DefinitionCase):
    SECRET = "s3cr3t-of-the-house-9f81"

    def test_a_secret_reaches_the_service_and_nothing_else(self):
        self.assertEqual(self.call("PUT", "/v1/secrets/API_KEY", {"value": self.SECRET}, 201), {"name": "API_KEY"})
        service = self.stand_in(lambda request: Answer(200, {"echo": request.headers.get("Authorization"),
                                                             "nested": [{self.SECRET: self.SECRET}]}))
        failing = self.stand_in(lambda request: Answer(500, {"message": f"bad key {self.SECRET}"}))
        run = self.start({"id": "call", "action": "http.post", "params": {
            "url": service.url("/?k=${{ secrets.API_KEY }}"), "headers": {"Authorization": "Bearer ${{ secrets.API_KEY }}"},
            "body": {"k": "${{ secrets.API_KEY }}"}}},
            log("after", "${{ steps.call.body }}", depends_on=["call"]),
            {"id": "fails", "action": "http.post", "depends_on": ["after"], "on_error": {"strategy": "ignore"}, "params": {
                "url": failing.url("/"), "fail_on_error_status": True, "body": "${{ secrets.API_KEY }}"}},
            {"id": "shell", "action": "shell.exec", "depends_on": ["fails"], "params": {
                "command": "printenv", "args": ["KEY"], "env": {"KEY": "${{ secrets.API_KEY }}"}}},
            ask("gate", depends_on=["shell"]))
        self.assertEqual(service.seen()[0].headers["Authorization"], f"Bearer {self.SECRET}")
        self.assertEqual(service.seen()[0].body, {"k": self.SECRET})
        self.assertEqual(run["status"], "suspended", run)
        seen = [self.client.get(path).raw for path in (
            f"/v1/runs/{run['id']}", f"/v1/runs/{run['id']}/events?limit=1000", f"/v1/runs/{run['id']}/explain",
            f"/v1/runs/{run['id']}/diagram?format=ascii", "/v1/secrets", "/v1/decisions", "/metrics", "/v1/runs")]
        for content in seen:
            self.assertNotIn(self.SECRET.encode(), content)
        self.decide(run, "yes")
        self.watch(run)
        self.assertEqual(self.server.stop(), 0)
        self.client.close()
        found = [path for path in glob.glob(os.path.join(self.server.directory, "**"), recursive=True)
                 if self.SECRET.encode() in contents(path)]
        self.server.start()
        self.assertEqual(found, [])

    def test_secrets_are_named_but_never_shown(self):
        self.call("PUT", "/v1/secrets/SHOWN", {"value": "one"}, 201)
        self.call("PUT", "/v1/secrets/SHOWN", {"value": "two"}, 200)
        self.assertIn("SHOWN", [each["name"] for each in self.call("GET", "/v1/secrets")["secrets"]])
        self.call("DELETE", "/v1/secrets/SHOWN")
        self.call("DELETE", "/v1/secrets/SHOWN", status=404)
        self.call("PUT", "/v1/secrets/bad%20name", {"value": "x"}, 422)

    def test_a_secret_outlives_a_restart(self):
        self.call("PUT", "/v1/secrets/KEPT", {"value": "kept-value-77"}, 201)
        self.restart()
        service = self.stand_in()
        self.start(self.http("call", service, params={"body": {"k": "${{ secrets.KEPT }}"}}))
        self.assertEqual(service.seen()[0].body, {"k": "kept-value-77"})

    def test_only_actions_see_secrets(self):
        self.call("PUT", "/v1/secrets/HIDDEN", {"value": "hidden-value-5"}, 201)
        for step in (log("a", "${{ secrets.HIDDEN }}"), log("a", condition="secrets.HIDDEN != ''"),
                     ask("a", config={"data_inject": {"k": "secrets.HIDDEN"}}),
                     {"id": "a", "type": "job", "config": {"type": "t", "queue": "q", "args": ["${{ secrets.HIDDEN }}"]}}):
            reply = self.client.post("/v1/runs", {"definition": {"steps": [step]}, "wait": "5s"})
            self.assertNotIn(b"hidden-value-5", reply.raw)
            self.assertEqual(reply.status, 422, reply.raw)
            self.assertIn(b"secret", reply.raw)


class Breakers(DefinitionCase):
    shared = False

    def test_a_breaker_opens_and_stays_open_over_a_restart(self):
        url = f"http://127.0.0.1:{closed_port()}/"
        step = {"id": "call", "action": "http.get", "params": {"url": url}}
        codes = [self.start(step)["error"]["code"] for _ in range(6)]
        self.assertNotIn("CIRCUIT_OPEN", codes[:5])
        self.assertEqual(codes[5], "CIRCUIT_OPEN")
        self.restart()
        run = self.start(step)
        self.assertEqual(run["error"]["code"], "CIRCUIT_OPEN")
        service = self.stand_in()  # another host and port has its own breaker
        self.assertEqual(self.start(self.http("call", service))["status"], "completed")


class Refusals(DefinitionCase):
    arguments = ()  # as it comes: nothing is allowed

    def test_what_is_not_allowed_is_a_failure_that_says_so(self):
        service = self.stand_in()
        for step, code in (({"action": "http.get", "params": {"url": service.url("/")}}, "PERMISSION_DENIED"),
                           ({"action": "http.get", "params": {"url": "http://169.254.169.254/"}}, "PERMISSION_DENIED"),
                           ({"action": "http.get", "params": {"url": "http://[::1]:1/"}}, "PERMISSION_DENIED"),
                           ({"action": "shell.exec", "params": {"command": "id"}}, "PERMISSION_DENIED"),
                           ({"action": "fs.read", "params": {"path": "/etc/passwd"}}, "PATH_DENIED"),
                           ({"action": "fs.write", "params": {"path": "../x", "content": "x"}}, "PATH_DENIED")):
            run = self.start({"id": "a", **step, "retry": {"max": 3, "delay": "1ms"}})
            self.assertEqual((run["status"], run["error"]["code"], run["steps"]["a"]["attempts"]), ("failed", code, 1), step)
        self.assertEqual(service.seen(), [])

    def test_files_stay_in_the_runs_own_directory(self):
        run = self.start({"id": "w", "action": "fs.write", "params": {"path": "a.txt", "content": "hello"}},
                         {"id": "r", "action": "fs.read", "depends_on": ["w"], "params": {"path": "a.txt"}})
        self.assertEqual(run["steps"]["r"]["output"]["content"], "hello", run)
        other = self.start({"id": "r", "action": "fs.read", "params": {"path": "a.txt"}})
        self.assertEqual(other["error"]["code"], "NOT_FOUND")


class Actions(DefinitionCase):
    def test_every_action_is_described(self):
        listed = {each["name"]: each for each in self.call("GET", "/v1/actions")["actions"]}
        for name in ("http.get", "fs.write", "shell.exec", "crypto.hash", "assert.equals", "expr.eval", "jq",
                     "workflow.log", "workflow.run"):
            self.assertIn(name, listed)
            self.assertEqual(listed[name]["params_schema"]["type"], "object")

    def test_a_big_answer_is_kept_whole_or_refused(self):
        for size, ok in ((2_000_000, True), (11_000_000, False)):
            service = self.stand_in(lambda request, size=size: Answer(200, {"x": "y" * size}))
            run = self.start({"id": "get", "action": "http.get", "params": {"url": service.url("/")}})
            if ok:
                self.assertEqual(len(self.watch(run)["steps"]["get"]["output"]["body"]["x"]), size)
            else:
                self.assertEqual(run["status"], "failed", "an answer was cut")

    def test_many_runs_share_the_pool(self):
        service = self.stand_in()
        runs, lock = [], threading.Lock()

        def start():
            client = self.server.client()
            reply = client.post("/v1/runs", {"wait": "20s", "definition": {"steps": [
                {"id": f"call{n}", "action": "http.get", "params": {"url": service.url("/")}} for n in range(10)]}})
            with lock:
                runs.append(reply.body["run"]["status"])
            client.close()
        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((set(runs), len(service.seen()), len(service.keys())), ({"completed"}, 80, 80))
