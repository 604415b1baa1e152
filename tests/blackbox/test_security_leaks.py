"""Secrets go in and do not come out.

A server gets secrets, keys and webhooks, and runs definitions that do everything wrong that one can
do with a secret: echo it, fail with it, encode it, put it into commands and addresses, crash with it.
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
        """Each does something else with a secret; all may fail."""
        every = []

        def add(action, **params):
            every.append({"id": f"s{len(every)}", "action": action, "params": params, "on_error": "ignore"})
        for name in SECRETS:
            secret = "${{ secrets." + name + " }}"
            for path in ("/ok", "/text", "/fail"):
                url = self.service.url(path)
                add("http.post", url=url, body={"a": [secret], secret: 1}, fail_on_error_status=True)
                add("http.post", url=url, body="x" + secret, body_encoding="text")
                add("http.get", url=url, query={"q": secret, "word": "${{ inputs.word }}"})
            add("http.get", url=self.service.url("/ok"), auth={"type": "basic", "username": "me", "password": secret})
            add("http.get", url=self.service.url("/ok?a=" + secret))
            add("shell.exec", command="cat", stdin=secret)
            add("shell.exec", command="printenv", args=["T"], env={"T": secret})
            add("shell.exec", command="echo", args=["-n", secret])
            add("shell.exec", command='printf "$T" | base64 -w0; printf "$T" >&2; exit 3', shell=True, env={"T": secret})
            add("shell.exec", command='printf "u:%s" "$T" | base64 -w0; printf "%s" "$T" | od -An -tx1 | tr -d " \\n"', shell=True,
                env={"T": secret})
            add("shell.exec", command='python3 -c \'import json,os; print(json.dumps({"t": os.environ["T"], os.environ["T"]: 1}))\'',
                shell=True, env={"T": secret})
            add("shell.exec", command=secret)
            add("assert.equals", expected="x", actual=secret)
            add("assert.matches", value=secret, pattern="^x$")
            add("assert.matches", value="x", pattern="(" + secret)
            add("assert.schema", value={"a": secret}, schema={"type": "object", "properties": {"a": {"type": "integer"}}})
            add("jq", expression=".a", data={"a": secret})
            add("jq", expression="error(\"" + secret)
            add("expr.eval", expression="1 +" + secret)
            add("workflow.log", message="the secret is " + secret, data={"x": secret}, level="error")
            add("workflow.notify", channel="x", message=secret)
            add("workflow.context", key="kept", value=secret)
            add("workflow.emit", event_type="told", payload={"x": secret})
            add("workflow.run", template_name=secret, params={"x": secret})
            add("fs.read", path=secret)
            add("fs.read", path="/" + secret)
        # An expression makes something else of it, and the service gives the secret itself back.
        add("http.get", url=self.service.url("/ok"), headers={"Authorization": "${{ 'Bearer ' + secrets.PLAIN }}"})
        add("http.get", url=self.service.url("/text"), headers={"X-Token": "${{ secrets.PLAIN }}"})
        add("http.get", url="http://${{ secrets.PLAIN }}.invalid/")
        add("http.get", url="${{ secrets.PLAIN }}")
        add("http.get", url=self.service.url("/ok"), headers={"X": "${{ secrets.PLAIN + secrets.NOPE }}"})
        add("http.get", url=self.service.url("/ok"), timeout="${{ secrets.PLAIN }}")
        add("http.get", url=self.service.url("/ok"), query={"n": "${{ int(secrets.PLAIN) }}"})
        add("shell.exec", command="TOKEN=${{ secrets.PLAIN }} true && exit 0", shell=True)
        return every

    def use_secrets(self):
        steps = self.steps()
        self.call("POST", "/v1/definitions", {"name": "leaky", "definition": {"steps": steps}})
        runs = [self.start(*steps, wait="55s")]
        runs.append(self.start({"id": "f", "action": "http.post", "params": {
            "url": self.service.url("/fail"), "body": "${{ secrets.QUOTED }}", "fail_on_error_status": True},
            "retry": {"max_attempts": 3, "delay": "10ms"}}))
        # Often enough for the circuit breaker, whose name holds what stands first in the command.
        for _ in range(7):
            runs.append(self.start({"id": "b", "action": "shell.exec", "params": {
                "command": "TOKEN=${{ secrets.PLAIN }} exec 2>&1; exit 1", "shell": True, "timeout": "-1s"}}))
        refused = [{"id": "c", "action": "workflow.log", "params": {"message": "x"}, "condition": "secrets.PLAIN == 'x'"},
                   {"id": "j", "type": "job", "config": {"type": "a.b", "args": ["${{ secrets.PLAIN }}"]}}]
        for step in refused:
            self.call("POST", "/v1/runs", {"definition": {"steps": [step]}, "wait": "2s"})
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
        self.start({"id": "w", "action": "fs.write", "params": {"path": "a", "content": "${{ secrets.PLAIN }}"}})
        self.assertEqual(stat.S_IMODE(os.stat(self.server.data).st_mode), 0o700)
        for name in os.listdir(self.server.data):
            path = os.path.join(self.server.data, name)
            if os.path.isfile(path):
                self.assertEqual(stat.S_IMODE(os.stat(path).st_mode) & 0o077, 0, name)


if __name__ == "__main__":
    unittest.main()
