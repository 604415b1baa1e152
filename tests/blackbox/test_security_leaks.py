"""Secrets go in and do not come out.

A server gets secrets, keys and webhooks, and runs definitions that misuse a secret in every way: echo it, fail with it,
encode it, put it into commands and addresses, crash with it.
Then every reply, every command's output, the log, every file of the data directory and a backup are
searched for the secrets and for their usual spellings. One word that must be found everywhere shows
that the search looks where things are.
"""
import base64
import json
import os
import re
import stat
import subprocess
import unittest
import urllib.parse

from definition_case import FINISHED
from harness import PAWL, Server, until
from stand_in import Answer, Gate, StandIn

ROOT = "root-Jq4ZbV7xKmPd"
SECRETS = {
    "PLAIN": "S3cr3t-plain-Zq8Vt2LxWc5R",
    "QUOTED": 'S3cr3t "quo\\ted" /é+ Kp7Hn3',
    "DIGITS": "482915773046",
    "PEM": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEA\n-----END PRIVATE KEY-----\n",
}
WEBHOOK_SECRET = "whsec-Rf6Yt1UvQe9M"
WEBHOOK_HEADER = "hook-header-Lw3Xs8Gb"
CANARY = "canary-is-plain-to-see"


def spellings(secret):
    """Everything that counts as the secret being there."""
    raw = secret.strip().encode()
    found = {raw, raw.lower(), raw.upper(), raw.hex().encode(), raw.hex().upper().encode(), urllib.parse.quote(raw, safe="").encode(),
             urllib.parse.quote_plus(raw).encode(), json.dumps(secret.strip())[1:-1].encode(),
             json.dumps(secret.strip(), ensure_ascii=False)[1:-1].encode()}
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + raw)
        inner = encoded[(before * 8 + 5) // 6:(before + len(raw)) * 8 // 6]
        found |= {inner, inner.replace(b"+", b"-").replace(b"/", b"_")}
    for line in raw.split(b"\n"):
        if len(line) > 12 and b"-----" not in line:
            found.add(line)
    return found


class Leaks(unittest.TestCase):
    def setUp(self):
        self.gate = Gate()
        self.service = StandIn(self.answer)
        self.addCleanup(self.service.close)
        self.server = Server(args=("--actions-http-allow-private", "--actions-shell-enabled", "--webhooks-allow-private",
                                   "--access-log", "--log-format", "json"),
                             environment={"PAWL_API_KEY": ROOT}).start()
        self.addCleanup(self.server.close)
        self.client = self.server.client(headers={"Authorization": f"Bearer {ROOT}"})
        self.addCleanup(self.client.close)
        self.replies = []  # (what was asked, bytes that came back)
        self.wanted = dict(SECRETS, root=ROOT, webhook=WEBHOOK_SECRET, header=WEBHOOK_HEADER)

    def answer(self, request):
        """A service that tells everything back, in words of its own."""
        if request.path.startswith("/held"):
            return self.gate
        told = {"headers": request.headers, "path": request.path, "body": request.body,
                "token": request.headers.get("Authorization", "").split(" ")[-1], "seen": CANARY}
        status = 500 if request.path.startswith("/fail") else 200
        if request.path.startswith("/text"):
            return Answer(200, json.dumps(told).encode(), {"Content-Type": "text/plain", "X-Echo": request.headers.get("X-Token", "")})
        return Answer(status, told)

    def call(self, method, path, body=None, keep=True, **more):
        reply = self.client.call(method, path, body=body, **more)
        if keep:
            self.replies.append((f"{method} {path}", str(reply.headers).encode() + reply.raw))
        return reply

    def start(self, *steps, wait="20s"):
        reply = self.call("POST", "/v1/runs", {"definition": {"steps": list(steps)}, "inputs": {"word": CANARY}, "wait": wait})
        self.assertEqual(reply.status, 201, reply.raw)
        return reply.body["run"]["id"]

    def pawl(self, *args):
        done = subprocess.run([PAWL, *args], capture_output=True, timeout=60, check=False,
                              env={**os.environ, "PAWL_URL": f"http://127.0.0.1:{self.server.port}", "PAWL_API_KEY": ROOT,
                                   "PAWL_DATA": self.server.data})
        self.replies.append(("pawl " + " ".join(args), done.stdout + done.stderr))
        return done

    # --- what is done with secrets

    def put_secrets(self):
        for name, value in SECRETS.items():
            reply = self.call("PUT", f"/v1/secrets/{name}", {"value": value}, headers={"Idempotency-Key": "put-" + name})
            self.assertEqual(reply.status, 201)

    def subscribe(self):
        reply = self.call("POST", "/ojs/v1/webhooks/subscriptions", {
            "url": self.service.url("/hook"), "events": ["job.*"], "secret": WEBHOOK_SECRET,
            "headers": {"X-Hook-Token": WEBHOOK_HEADER}}, headers={"Idempotency-Key": "subscribe"})
        self.assertEqual(reply.status, 201, reply.raw)
        one = "/ojs/v1/webhooks/subscriptions/" + reply.body["subscription"]["id"]
        # The server's own secret is told once, and again to whoever repeats the very same call.
        other = self.call("POST", "/ojs/v1/webhooks/subscriptions", {"url": self.service.url("/hook2"), "events": ["job.*"]})
        rotate = f"/ojs/v1/webhooks/subscriptions/{other.body['subscription']['id']}/rotate-secret"
        made = [self.call("POST", rotate, {}, keep=False, headers={"Idempotency-Key": "rotate"}).body["secret"] for _ in range(2)]
        self.assertEqual(made[0], made[1])
        self.wanted["rotated"] = made[0]
        self.assertEqual(self.call("PATCH", one, {"description": CANARY}).status, 200)
        return one

    def make_key(self):
        reply = self.call("POST", "/v1/keys", {"name": CANARY, "scopes": ["read"]}, keep=False, headers={"Idempotency-Key": "key"})
        self.wanted["made key"] = reply.body["key"].rsplit("_", 1)[1]
        self.call("GET", "/v1/runs", headers={"Authorization": "Bearer " + reply.body["key"]})
        self.call("GET", "/v1/runs", headers={"Authorization": "Bearer " + ROOT + "wrong"})

    def steps(self):
        """Each uses a secret where it may stand, and has it told back in another way."""
        every = []

        def add(action, **params):
            every.append({"id": f"s{len(every)}", "action": action, "params": params, "on_error": "ignore"})
        for name in SECRETS:
            secret = "${{ secrets." + name + " }}"
            for path in ("/ok", "/text", "/fail"):
                url = self.service.url(path)
                add("http.post", url=url, body={"a": [secret]}, fail_on_error_status=True)
                add("http.post", url=url, body="x" + secret, body_encoding="text")
                add("http.get", url=url, query={"q": secret, "word": "${{ inputs.word }}"})
            add("http.get", url=self.service.url("/ok"), auth={"type": "basic", "username": "me", "password": secret})
            add("http.get", url=self.service.url("/ok?a=" + secret))
            for line in ("printenv T", 'printf "$T" | base64 -w0; printf "$T" >&2; exit 3', 'printf "%s" "$T" | base64 -w12',
                         'printf "u:%s" "$T" | base64 -w0; printf "%s" "$T" | od -An -tx1',
                         'python3 -c \'import json,os; print(json.dumps({"t": os.environ["T"], os.environ["T"]: 1}))\'',
                         'python3 -c \'import html,json,os,urllib.parse as u; t = os.environ["T"]; '
                         'print(html.escape(t), json.dumps(t).replace("/", chr(92) + "/"), u.quote(t).lower(), u.quote_plus(t))\''):
                add("shell.exec", command=line, shell=True, env={"T": secret})
        add("http.get", url=self.service.url("/ok"), headers={"Authorization": "Bearer ${{ secrets.PLAIN }}"})
        add("http.get", url=self.service.url("/text"), headers={"X-Token": "${{ secrets.PLAIN }}"})
        add("http.get", url="http://127.0.0.1:1/", headers={"X": "${{ secrets.PLAIN }}"})
        # A default secret may stand in no host and no path: refused when the step starts.
        add("http.get", url="http://${{ secrets.PLAIN }}.invalid/")
        add("http.get", url="${{ secrets.PLAIN }}")
        add("http.get", url=self.service.url("/ok/${{ secrets.PLAIN }}"))
        return every

    def refused_steps(self):
        """Where a secret could be read back; {what: step}."""
        found = {}
        for name in SECRETS:
            secret = "${{ secrets." + name + " }}"

            def add(action, **params):
                found[f"{name} {action} {list(params)[-1]} {len(found)}"] = {"id": "r", "action": action, "params": params}
            add("fs.write", path="f", content=secret)
            add("fs.append", path="f", content="x" + secret)
            add("fs.read", path=secret)
            add("fs.copy", src="f", dst=secret)
            add("shell.exec", command="cat", stdin=secret)
            add("shell.exec", command="echo", args=["-n", secret])
            add("shell.exec", command="echo " + secret, shell=True)
            add("shell.exec", command="true", cwd=secret)
            add("shell.exec", command="true", env={secret: "x"})
            add("assert.equals", expected="x", actual=secret)
            add("assert.contains", haystack=secret, needle="S")
            add("assert.matches", value=secret, pattern="^S")
            add("assert.schema", data={"a": secret}, schema={"type": "object"})
            add("jq", expression="explode", data=secret)
            add("jq", expression="error(\"" + secret)
            add("expr.eval", expression="split(data, \"\")", data=secret)
            add("crypto.hash", data=secret)
            add("workflow.log", message="the secret is " + secret)
            add("workflow.notify", channel="x", message=secret)
            add("workflow.context", key="kept", value=secret)
            add("workflow.emit", event_type="told", payload={"x": secret})
            add("workflow.run", template_name="leaky", params={"x": secret})
            add("http.get", url=self.service.url("/ok"), timeout=secret)
            add("http.post", url=self.service.url("/ok"), body={secret: 1, "guess": 2})
            add("http.get", url=self.service.url("/ok"), headers={secret: "x"})
            add("http.get", url=self.service.url("/ok"), auth={"type": "api_key", "header_name": secret, "token": "x"})
        for text in ("${{ 'Bearer ' + secrets.PLAIN }}", "${{ secrets.PLAIN == 'x' }}", "${{ size(secrets.PLAIN) }}",
                     "${{ secrets['PLAIN'] }}", "${{ secrets }}", "${{ secrets.PLAIN.startsWith('S') ? 'a' : 'b' }}",
                     "${{ int(secrets.DIGITS) }}", "${{ secrets.PLAIN[0] }}", "${{ [secrets.PLAIN] }}"):
            add("http.get", url=self.service.url("/ok"), headers={"X": text})
        good = {"id": "g", "action": "http.get", "params": {"url": self.service.url("/ok")}}
        secret = "${{ secrets.PLAIN }}"
        found["condition"] = dict(good, condition="secrets.PLAIN == 'x'")
        found["compensate"] = dict(good, compensate={"action": "fs.write", "params": {"path": "f", "content": secret}})
        found["job"] = {"id": "j", "type": "job", "config": {"type": "a.b", "args": [secret]}}
        found["job options"] = {"id": "j", "type": "job", "config": {"type": "a.b", "args": [], "options": {"tags": [secret]}}}
        found["agent"] = {"id": "j", "type": "agent", "config": {"task_type": "t", "params": {"x": secret}}}
        found["group"] = {"id": "j", "type": "group", "config": {"jobs": [{"type": "a.b", "args": [secret]}]}}
        found["subworkflow"] = {"id": "j", "type": "subworkflow", "config": {"definition": "leaky", "inputs": {"x": secret}}}
        found["prompt"] = {"id": "j", "type": "reasoning", "config": {"prompt_context": secret, "options": ["a"]}}
        found["inject"] = {"id": "j", "type": "reasoning", "config": {"prompt_context": "?", "data_inject": {"x": "secrets.PLAIN"}}}
        found["loop"] = {"id": "l", "type": "loop", "config": {"over": "[secrets.PLAIN]", "body": [good]}}
        found["list"] = {"id": "l", "type": "loop", "config": {"over": [secret], "body": [good]}}
        found["while"] = {"id": "l", "type": "loop", "config": {"mode": "while", "condition": "secrets.PLAIN < 'x'", "body": [good]}}
        found["wait"] = {"id": "w", "type": "wait", "config": {"duration": secret}}
        return found

    def use_secrets(self):
        steps = self.steps()
        self.call("POST", "/v1/definitions", {"name": "leaky", "definition": {"steps": steps}})
        runs = [self.start(*steps, wait="55s")]
        last = [self.call("GET", f"/v1/runs/{runs[0]}").body["run"]["steps"][f"s{n}"] for n in range(len(steps) - 3, len(steps))]
        self.assertEqual([step["ignored_error"]["code"] for step in last], ["SECRET_DENIED"] * 3)
        runs.append(self.start({"id": "f", "action": "http.post", "params": {
            "url": self.service.url("/fail"), "body": "${{ secrets.QUOTED }}", "fail_on_error_status": True},
            "retry": {"max_attempts": 3, "delay": "10ms"}}))
        # Whatever compensation uses it may use like every step, and no more.
        runs.append(self.start(
            {"id": "a", "action": "http.get", "params": {"url": self.service.url("/ok")},
             "compensate": {"action": "http.post", "params": {"url": self.service.url("/undo"), "body": "${{ secrets.PLAIN }}"}}},
            {"id": "b", "action": "workflow.fail", "params": {"reason": "x"}, "depends_on": ["a"], "on_error": "rollback"}))
        for what, step in self.refused_steps().items():
            for path in ("/v1/runs", "/v1/definitions/validate", "/v1/runs?lenient=true"):
                wait = {} if path.endswith("validate") else {"wait": "2s"}
                reply = self.call("POST", path, {"definition": {"steps": [step]}, **wait})
                faults = json.dumps(reply.body)
                self.assertTrue(reply.status == 422 or (reply.status == 200 and reply.body.get("valid") is False),
                                (what, path, reply.status, faults))
                self.assertIn('"secret"', faults, (what, path))
        reply = self.call("POST", "/v1/runs", {"definition": {"steps": [{"id": "u", "action": "crypto.uuid"}],
                                                             "outputs": {"x": "${{ secrets.PLAIN }}"}}})
        self.assertEqual(reply.status, 422, reply.raw)
        return runs

    def crash_with_a_secret_under_way(self):
        run = self.start({"id": "h", "action": "http.post", "params": {"url": self.service.url("/held").replace("127.0.0.1", "localhost"), "body": "${{ secrets.PLAIN }}"}},
                         wait=None)
        until(lambda: self.service.seen("/held"), "the request is under way")
        self.look_at(run)
        self.server.kill()
        self.client.close()
        self.gate.open()
        self.server.start()
        until(lambda: self.call("GET", f"/v1/runs/{run}").body["run"]["status"] in FINISHED, "the run is over")
        return run

    # --- looking

    def look_at(self, run):
        for path in ("", "/events?limit=1000", "/explain", "/diagram?format=mermaid", "/diagram?format=ascii", "/diagram?format=svg"):
            self.assertEqual(self.call("GET", f"/v1/runs/{run}{path}").status, 200)
        for command in (("runs", "get", run), ("runs", "get", run, "--json"), ("runs", "events", run), ("runs", "explain", run),
                        ("graph", run)):
            self.pawl(*command)

    def look_everywhere(self):
        for path in ("/v1/runs", "/v1/definitions", "/v1/definitions/leaky", "/v1/definitions/leaky/diagram?format=mermaid", "/v1/decisions",
                     "/v1/secrets", "/v1/keys", "/v1/system", "/v1/schedules", "/v1/actions", "/metrics", "/health", "/ready",
                     "/ojs/manifest", "/ojs/v1/jobs", "/ojs/v1/events?limit=1000", "/ojs/v1/queues", "/ojs/v1/dead-letter",
                     "/ojs/v1/admin/jobs", "/ojs/v1/admin/stats", "/ojs/v1/admin/workers", "/ojs/v1/webhooks/subscriptions", "/"):
            self.assertEqual(self.call("GET", path).status, 200, path)
        for command in (("runs", "list"), ("secrets", "list"), ("keys", "list"), ("events", "--limit", "1000"), ("jobs", "list"),
                        ("definitions", "get", "leaky"), ("dead-letter", "list")):
            self.pawl(*command)

    def scan(self):
        """{where: what} of every secret found, and where the canary was seen."""
        backup = os.path.join(self.server.directory, f"copy-{len(self.replies)}.db")
        self.assertEqual(self.pawl("backup", backup).returncode, 0)
        self.assertEqual(stat.S_IMODE(os.stat(backup).st_mode) & 0o077, 0, "others may read the backup")
        places = list(self.replies)
        for around, _, names in os.walk(self.server.directory):
            for name in names:
                path = os.path.join(around, name)
                if name != "vault.key" and os.path.isfile(path):
                    with open(path, "rb") as file:
                        places.append((os.path.relpath(path, self.server.directory), file.read()))
        found, canaries = {}, set()
        for where, content in places:
            if CANARY.encode() in content:
                canaries.add("backup" if where.startswith("copy") else where.split(" ")[0].split("/")[0])
            for name, secret in self.wanted.items():
                for spelling in spellings(secret):
                    at = content.find(spelling)
                    if at >= 0:
                        found[f"{where}: {name} as {spelling[:20]!r}"] = content[max(0, at - 60):at + 20]
        return found, canaries

    def test_nothing_tells_a_secret(self):
        self.put_secrets()
        self.make_key()
        self.subscribe()
        job = self.call("POST", "/ojs/v1/jobs", {"type": "told.of", "args": [CANARY]})
        self.assertEqual(job.status, 201)
        hook = until(lambda: self.service.seen("/hook"), "the webhook is delivered")[0]
        self.assertEqual(hook.headers["X-Hook-Token"], WEBHOOK_HEADER)
        self.assertTrue(re.fullmatch("sha256=[0-9a-f]{64}", hook.headers["X-OJS-Signature"]))
        runs = self.use_secrets()
        # They did get where they should.
        self.assertTrue(any(r.headers.get("Authorization") == "Bearer " + SECRETS["PLAIN"] for r in self.service.seen("/ok")))
        runs.append(self.crash_with_a_secret_under_way())
        for run in runs[:3] + runs[-2:]:
            self.look_at(run)
        self.look_everywhere()
        found, canaries = self.scan()
        self.assertEqual({where: found[where] for where in sorted(found)[:8]}, {}, f"{len(found)} in all")
        kinds = {"GET", "POST", "pawl", "data", "backup"}
        self.assertEqual(canaries & kinds, kinds)

        self.assertEqual(self.server.stop(), 0)
        self.assertEqual(self.pawl("verify").returncode, 0)
        found, _ = self.scan()
        self.assertEqual(found, {})

    def test_files_are_their_owners_alone(self):
        self.put_secrets()
        self.start({"id": "w", "action": "fs.write", "params": {"path": "a", "content": "x"}})
        self.assertEqual(stat.S_IMODE(os.stat(self.server.data).st_mode), 0o700)
        for name in os.listdir(self.server.data):
            path = os.path.join(self.server.data, name)
            if os.path.isfile(path):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, name)


class Bindings(unittest.TestCase):
    """A secret goes where it was set to go, and is shown as what it was set for."""

    def setUp(self):
        self.other = StandIn()
        self.service = StandIn(lambda request: Answer(307 if request.path.startswith("/again") else 302, None,
                                                      {"Location": self.other.url(request.path if "/whole" in request.path else "/")})
                               if request.path.startswith(("/away", "/again")) else Answer(200, {"ok": True}))
        self.server = Server(args=("--actions-http-allow-private", "--actions-shell-enabled")).start()
        self.client = self.server.client()
        for made in (self.other.close, self.service.close, self.server.close, self.client.close):
            self.addCleanup(made)

    def put(self, name, status=201, **body):
        reply = self.client.call("PUT", f"/v1/secrets/{name}", body=body)
        self.assertEqual(reply.status, status, reply.raw)
        return reply.body

    def step(self, action, **params):
        run = self.client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": action, "params": params}]},
                                            "inputs": {"name": "Custom"}, "wait": "20s"}).body["run"]
        return run["error"]["code"] if run["status"] == "failed" else run["status"]

    def test_bindings_are_checked_and_shown(self):
        for body in ({"value": "x", "host": ["a.example"]}, {"value": "x", "hosts": ["*"]}, {"value": "x", "hosts": []},
                     {"value": "x", "hosts": "a.example"}, {"value": "x", "hosts": ["http://a.example/"]}, {"hosts": ["a.example"]},
                     {"value": "x", "actions": ["fs.write"]}, {"value": "x", "actions": ["jq"]}, {"value": "x", "actions": ["nope"]},
                     {"value": "x", "hosts": [1]}, {"value": "x", "bindings": {}}):
            faults = self.put("BAD", 422, **body)["error"]["details"]["validation_errors"]
            if unknown := [name for name in body if name not in ("value", "hosts", "actions")]:
                self.assertEqual([(fault["path"], fault["code"]) for fault in faults], [(unknown[0], "unknown_field")])
        self.assertEqual(self.put("PLAIN", value="plain-value"), {"name": "PLAIN"})
        self.put("BOUND", value="bound-value", hosts=["api.example.com", "*.example.org:8443"], actions=["http.post"])
        reply = self.client.get("/v1/secrets")
        shown = {each["name"]: (each.get("hosts"), each["actions"]) for each in reply.body["secrets"]}
        self.assertEqual(shown, {"PLAIN": (None, ["http.*", "shell.exec"]),
                                 "BOUND": (["api.example.com", "*.example.org:8443"], ["http.post"])})
        self.assertNotIn(b"-value", reply.raw)

    def test_a_secret_goes_to_its_hosts_and_actions_only(self):
        self.put("HERE", value="here-value", hosts=[f"127.0.0.1:{self.service.port}"])
        self.put("ELSEWHERE", value="elsewhere-value", hosts=["api.example.com", "*.example.org"])
        self.put("POSTS", value="posts-value", actions=["http.post"])
        self.put("SIGNS", value="signs-value", actions=["crypto.hmac"])
        url = self.service.url("/ok")
        self.assertEqual(self.step("http.get", url=url, headers={"A": "${{ secrets.HERE }}"}), "completed")
        self.assertEqual(self.step("http.get", url=self.service.url("/bot${{ secrets.HERE }}/send")), "completed")
        seen = len(self.service.seen())
        refused = [("http.get", dict(url=url, headers={"A": "${{ secrets.ELSEWHERE }}"})),
                   ("http.get", dict(url=self.other.url("/"), query={"A": "${{ secrets.HERE }}"})),
                   ("http.get", dict(url=url, query={"A": "${{ secrets.POSTS }}"})),
                   ("http.post", dict(url=url, body="${{ secrets.SIGNS }}")),
                   ("shell.exec", dict(command="true", env={"A": "${{ secrets.HERE }}"})),
                   ("crypto.hmac", dict(data="x", key="${{ secrets.POSTS }}"))]
        for action, params in refused:
            self.assertEqual(self.step(action, **params), "SECRET_DENIED", (action, params))
        self.assertEqual((len(self.service.seen()), self.other.seen()), (seen, []))
        self.assertEqual(self.step("http.post", url=url, body="${{ secrets.POSTS }}"), "completed")
        self.assertEqual(self.step("crypto.hmac", data="x", key="${{ secrets.SIGNS }}"), "completed")
        # They are kept, with what they are for.
        self.server.stop()
        self.client.close()
        self.server.start()
        self.assertEqual(self.step("http.get", url=url, headers={"A": "${{ secrets.ELSEWHERE }}"}), "SECRET_DENIED")

    def test_secrets_do_not_follow_a_redirect_to_another_origin(self):
        self.put("T", value="redirected-value")
        for path in ("/away", "/again"):
            self.assertEqual(self.step("http.post", url=self.service.url(path), body={"a": 1},
                                       headers={"X-Custom": "${{ secrets.T }}", "X-Plain": "p"},
                                       query={"q": "${{ secrets.T }}"}), "completed")
        self.assertEqual([request.headers.get("X-Plain") for request in self.other.seen()], ["p", "p"])
        self.assertEqual(self.step("http.post", url=self.service.url("/again"), body={"a": "${{ secrets.T }}"}), "SECRET_DENIED")
        self.assertEqual(self.step("http.post", url=self.service.url("/away"), body={"a": "${{ secrets.T }}"}), "completed")
        self.assertEqual(self.step("http.get", url=self.service.url("/away"), headers={"X-${{ inputs.name }}": "${{ secrets.T }}"}), "completed")
        # A service that has moved repeats the query in the address that it names.
        self.assertEqual(self.step("http.get", url=self.service.url("/away/whole"), query={"q": "${{ secrets.T }}"}), "SECRET_DENIED")
        self.assertNotIn("redirected-value", repr(self.other.seen()))
        self.assertEqual(len(self.other.seen()), 4)

    def test_an_error_does_not_tell_how_much_of_a_guess_is_right(self):
        self.put("TOKEN", value="sk_live_4eC39HqLyjWDarjtT1zdp7dc", hosts=["api.example.com"])

        def message(guess):
            run = self.client.post("/v1/runs", {"definition": {"steps": [{"id": "s", "action": "http.get", "params": {
                "url": "https://api.example.com/", "headers": {"A": "${{ secrets.TOKEN }}", guess + ":": "x"}}}]}, "wait": "20s"}).body["run"]
            return run["error"]["message"]
        self.assertEqual(len({message("sk_live_" + guess) for guess in ("4", "5", "4eC", "4eX")}), 1)


if __name__ == "__main__":
    unittest.main()
