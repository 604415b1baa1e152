"""Base of tests of runs of definitions: a server that lets actions reach the stand-in, and helpers for starting,
watching and controlling a run."""
import unittest

from harness import Server, until
from stand_in import StandIn

FINISHED = ("completed", "failed", "cancelled")


def log(id, message="said", **more):
    return {"id": id, "action": "workflow.log", "params": {"message": message}, **more}


def boom(id, reason="boom", **more):
    return {"id": id, "action": "workflow.fail", "params": {"reason": reason}, **more}


def ask(id, options=("yes", "no"), **more):
    config = {"prompt_context": "well?", "options": [{"id": each} for each in options], **more.pop("config", {})}
    return {"id": id, "type": "reasoning", "config": config, **more}


def await_signal(id, signal, **more):
    return {"id": id, "type": "wait", "config": {"signal": signal, **more.pop("config", {})}, **more}


def pause(id, duration, **more):
    return {"id": id, "type": "wait", "config": {"duration": duration}, **more}


class DefinitionCase(unittest.TestCase):
    arguments = ("--actions-http-allow-private", "--actions-shell-enabled")
    shared = True  # one server for all tests of the class

    @classmethod
    def setUpClass(cls):
        cls.server = Server(args=cls.arguments).start() if cls.shared else None

    @classmethod
    def tearDownClass(cls):
        if cls.shared:
            cls.server.close()

    def setUp(self):
        if not self.shared:
            self.server = Server(args=self.arguments).start()
            self.addCleanup(self.server.close)
        self.client = self.server.client()
        self.addCleanup(self.client.close)

    def stand_in(self, answer=None):
        made = StandIn(answer)
        self.addCleanup(made.close)
        return made

    def http(self, id, stand_in, path=None, **more):
        params = {"url": stand_in.url(path or "/" + id), "fail_on_error_status": True, **more.pop("params", {})}
        return {"id": id, "action": "http.post", "params": params, **more}

    def restart(self):
        """kill -9, and up again on what was durable."""
        self.server.kill()
        self.client.close()
        self.server.start()

    # --- calls

    def call(self, method, path, body=None, status=200, **more):
        reply = self.client.call(method, path, body=body, **more)
        self.assertEqual(reply.status, status, f"{method} {path}: {reply.raw.decode()}")
        return reply.body

    def define(self, name, *steps, **more):
        definition = {"steps": list(steps), **more.pop("definition", {})}
        return self.call("POST", "/v1/definitions", {"name": name, "definition": definition, **more}, 201)

    def start(self, *steps, inputs=None, status=201, wait="20s", headers=None, query="", **definition):
        """Starts an inline definition; the run once it is finished, suspended, or 20 s have passed."""
        more = {key: definition.pop(key) for key in ("id", "agent_id") if key in definition}
        body = {"definition": {"steps": list(steps), **definition}, "inputs": inputs or {}, **more}
        if wait:
            body["wait"] = wait
        reply = self.call("POST", "/v1/runs" + query, body, status, headers=headers)
        return reply.get("run", reply)

    def run_named(self, name, inputs=None, status=201, **more):
        reply = self.call("POST", "/v1/runs", {"definition": name, "inputs": inputs or {}, "wait": "20s", **more},
                          status)
        return reply.get("run", reply)

    def get(self, run_id):
        return self.call("GET", f"/v1/runs/{run_id}?limit=1000")["run"]

    def watch(self, run, *statuses):
        """The run once it is in one of these states (finished, by default)."""
        run_id = run if isinstance(run, str) else run["id"]
        wanted = statuses or FINISHED

        def there():
            now = self.get(run_id)
            return now if now["status"] in wanted else None
        try:
            return until(there, f"{run_id} is {'/'.join(wanted)}")
        except AssertionError as failure:
            raise AssertionError(f"{failure}: {self.get(run_id)}") from None

    def watch_step(self, run, step, *statuses):
        return until(lambda: (lambda now: now if now["steps"].get(step, {}).get("status") in statuses else None)(
            self.get(run["id"])), f"{step} is {'/'.join(statuses)}")

    def signal(self, run, type, status=200, **more):
        reply = self.call("POST", f"/v1/runs/{run['id']}/signals", {"type": type, **more}, status)
        return reply.get("run", reply)

    def steer(self, run, verb, body=None, status=200):
        reply = self.call("POST", f"/v1/runs/{run['id']}/{verb}", body or {}, status)
        return reply.get("run", reply)

    def decide(self, run, choice, step=None, status=200, **more):
        pending = [d for d in self.get(run["id"])["pending_decisions"] if step in (None, d["step_id"])]
        self.assertTrue(pending, f"nobody asks {step}")
        return self.call("POST", f"/v1/decisions/{pending[0]['id']}", {"choice": choice, **more}, status)

    def events(self, run, *types):
        found = self.call("GET", f"/v1/runs/{run['id']}/events?limit=1000")["events"]
        return [event for event in found if not types or event["type"] in types]

    def error_paths(self, reply):
        return [each["path"] for each in reply["error"]["details"]["validation_errors"]]

    # --- what a run came to

    def outline(self, run, *skip):
        """Each step's status, with why it was skipped: the whole outcome in one line."""
        return {path: record["status"] + (f"({record['reason']})" if record["status"] == "skipped" else "")
                for path, record in run["steps"].items() if path not in skip}
