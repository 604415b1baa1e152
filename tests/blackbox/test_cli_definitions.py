"""Definitions on the command line: run here without a server, and on a real one."""
import hmac
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import time
import unittest

import test_cli
from harness import DEADLINE_S, PAWL, until
from test_cli import DONE, REFUSED, USAGE, pawl

UNANSWERED, WAITS, INTERRUPTED = 3, 4, 130
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HELLO = os.path.join(ROOT, "examples", "hello.yaml")
APPROVAL = os.path.join(ROOT, "examples", "approval.yaml")

LOOP_OF_QUESTIONS = """
name: questions
steps:
  - id: each
    type: loop
    config:
      over: ["a", "b", "c"]
      body:
        - {id: ask, type: reasoning, config: {prompt_context: "Take ${{ loop.item }}?", options: ["yes", "no"]}}
outputs: {taken: "${{ steps.each.results.map(r, r.choice) }}"}
"""


def environment(more=None):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
    return {**clean, **(more or {})}


class Terminal:
    """pawl on a pseudo-terminal, for someone who looks and types."""

    def __init__(self, *words, cwd):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execve(PAWL, [PAWL, *words], environment({"TERM": "xterm"}))
        self.seen = b""
        self.at = 0

    def expect(self, text):
        """Reads until `text` comes after what was expected before."""
        end = time.monotonic() + DEADLINE_S
        while True:
            found = self.seen.find(text.encode(), self.at)
            if found >= 0:
                self.at = found + len(text)
                return
            if time.monotonic() > end or not self._read(1):
                raise AssertionError(f"{text!r} did not come: {self.seen[self.at:].decode(errors='replace')!r}")

    def _read(self, wait_s):
        ready, _, _ = select.select([self.fd], [], [], wait_s)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side is gone
            return False
        self.seen += data
        return bool(data)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        deadline = time.monotonic() + DEADLINE_S
        while self._read(0.2):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
                break
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


class Here(unittest.TestCase):
    """Commands that need no server."""

    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = place.name

    def file(self, text, name="flow.yaml"):
        path = os.path.join(self.place, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def pawl(self, *words, expect=DONE, environment=None, stdin=None):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PAWL_")}
        run = subprocess.run([PAWL, *words], capture_output=True, text=True, timeout=DEADLINE_S, cwd=self.place,
                             env={**clean, **(environment or {})}, input=stdin if stdin is not None else "")
        self.assertEqual(run.returncode, expect, f"pawl {' '.join(words)}\n{run.stdout}{run.stderr}")
        return run

    def output(self, *words, **more):
        return json.loads(self.pawl("run", *words, **more).stdout)


class Run(Here):
    def test_the_output_is_on_stdout_and_the_story_on_stderr(self):
        run = self.pawl("run", HELLO, "--input", "name=Ada", "--input", 'words=["x"]')
        self.assertEqual({**json.loads(run.stdout), "id": None}, {"greeted": "Ada", "words": 1, "id": None})
        self.assertIn("says       greet.default.say: Hello, Ada!", run.stderr)
        self.assertRegex(run.stderr, r"completed  each-word\.iter_0\.hash: \d+ ms")
        self.assertNotIn("\x1b", run.stderr, "pictures belong on a terminal")
        self.assertEqual(self.pawl("run", HELLO, "--quiet").stderr, "")

    def test_inputs_come_from_a_file_and_pairs_win(self):
        inputs = self.file("name: Bob\nloud: true\n", "inputs.yaml")
        self.assertIn("HELLO, BOB!", self.pawl("run", HELLO, "--inputs", inputs).stderr)
        self.assertEqual(self.output(HELLO, "--inputs", inputs, "--input", "name=Eve")["greeted"], "Eve")
        self.pawl("run", HELLO, "--inputs", "/nowhere.json", expect=USAGE)
        self.pawl("run", HELLO, "--input", "name", expect=USAGE)

    def test_inputs_must_fit_the_schema(self):
        flow = self.file('{"name": "x", "input_schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}},'
                         ' "steps": [{"id": "a", "action": "workflow.log", "params": {"message": "m"}}]}')
        self.pawl("run", flow, "--input", "n=1")
        self.assertIn("inputs", self.pawl("run", flow, "--input", "n=one", expect=USAGE).stderr)

    def test_failed_is_1_and_says_where(self):
        run = self.pawl("run", APPROVAL, "--input", "amount=900", "--decide", "manager=reject", expect=REFUSED)
        self.assertEqual(run.stdout, "")
        self.assertIn("the run failed in step 'check.true.verdict.reject.refuse'", run.stderr)
        whole = json.loads(self.pawl("run", APPROVAL, "--input", "amount=900", "--decide", "manager=reject", "--json", expect=REFUSED).stdout)
        self.assertEqual(whole["run"]["status"], "failed")
        self.assertEqual(whole["run"]["steps"]["pay"]["status"], "skipped")

    def test_invalid_is_2_with_every_error(self):
        flow = self.file("name: x\nsteps:\n  - {id: a, action: http.gte}\n  - {id: b, typ: wait}\n")
        told = self.pawl("run", flow, expect=USAGE).stderr
        self.assertIn("flow.yaml:3: error: steps[0].action", told)
        self.assertIn("did you mean 'http.get'?", told)
        self.assertIn("flow.yaml:4: error: steps[1].typ", told)
        self.pawl("run", "/nowhere.yaml", expect=USAGE)
        self.pawl("run", self.place, expect=USAGE)

    def test_a_question_without_an_answer_is_3_and_says_which(self):
        run = self.pawl("run", APPROVAL, "--input", "amount=900", expect=UNANSWERED)
        self.assertIn("step 'check.true.manager' waits for a decision: Approve 900 for Ada?", run.stderr)
        self.assertIn("(approve, reject)", run.stderr)

    def test_answers_given_beforehand(self):
        self.assertEqual(self.output(APPROVAL, "--input", "amount=900", "--decide", "check.true.manager=approve"), {"paid": 900})
        flow = self.file(LOOP_OF_QUESTIONS)
        self.assertEqual(self.output(flow, "--decide", "ask=yes", "--decide", "ask=no")["taken"], ["yes", "no", "no"])
        self.assertIn("there are: yes, no", self.pawl("run", flow, "--decide", "ask=maybe", expect=USAGE).stderr)
        self.assertIn('no step "aks"', self.pawl("run", flow, "--decide", "aks=yes", expect=USAGE).stderr)
        self.pawl("run", flow, "--decide", "ask", expect=USAGE)

    def test_a_deadline_that_is_near_is_waited_for(self):
        flow = self.file("steps:\n  - {id: ask, type: reasoning, config: {prompt_context: q, options: [a, b], timeout: 50ms, fallback: b}}\n"
                         "outputs: {choice: \"${{ steps.ask.choice }}\"}\n")
        self.assertEqual(self.output(flow), {"choice": "b"})

    def test_signals(self):
        flow = self.file("steps:\n  - {id: paid, type: wait, config: {signal: payment}}\noutputs: {got: \"${{ steps.paid.payload }}\"}\n")
        self.assertEqual(self.output(flow, "--signal", 'payment={"amount": 3}'), {"got": {"amount": 3}})
        self.assertIn("waits for signal 'payment'", self.pawl("run", flow, expect=UNANSWERED).stderr)
        self.pawl("run", flow, "--signal", "payment={", expect=USAGE)

    def test_actions_have_the_users_rights_and_directory(self):
        self.file("from here", "note.txt")
        flow = self.file("steps:\n  - {id: read, action: fs.read, params: {path: note.txt}}\n"
                         "  - {id: where, action: shell.exec, params: {command: pwd}}\n"
                         "outputs: {read: \"${{ steps.read.content }}\", where: \"${{ steps.where.stdout }}\"}\n")
        out = self.output(flow)
        self.assertEqual(out["read"], "from here")
        self.assertEqual(os.path.realpath(out["where"].strip()), os.path.realpath(self.place))
        self.assertEqual(sorted(os.listdir(self.place)), ["flow.yaml", "note.txt"], "nothing is left behind")
        self.assertIn("DENIED", self.pawl("run", flow, "--confined", expect=REFUSED).stderr)

    def test_secrets_come_from_the_environment_and_are_not_told(self):
        flow = self.file("steps:\n  - {id: use, action: shell.exec, params: {command: 'printf \"<$T>\"', shell: true, env: {T: \"${{ secrets.TOKEN }}\"}}}\n"
                         "outputs: {said: \"${{ steps.use.stdout }}\"}\n")
        run = self.pawl("run", flow, environment={"PAWL_SECRET_TOKEN": "hush-hush"})
        self.assertEqual(json.loads(run.stdout), {"said": "<***>"})
        self.assertNotIn("hush-hush", run.stdout + run.stderr)
        self.pawl("run", flow, expect=REFUSED)

    def test_a_job_has_no_worker_here(self):
        flow = self.file("steps:\n  - {id: j, type: job, config: {type: mail.send, args: []}}\n")
        self.assertIn("ACTION_UNAVAILABLE", self.pawl("run", flow, expect=REFUSED).stderr)

    def test_definitions_that_call_each_other(self):
        self.file("name: inner\nsteps:\n  - {id: ask, type: reasoning, config: {prompt_context: q, options: [a, b]}}\n"
                  "outputs: {chosen: \"${{ steps.ask.choice }}\"}\n", "inner.yaml")
        outer = self.file("name: outer\nsteps:\n  - {id: sub, type: subworkflow, config: {definition: inner}}\n"
                          "outputs: {sub: \"${{ steps.sub }}\"}\n", "outer.yaml")
        self.assertIn("b", json.dumps(self.output(outer, "--with", "inner.yaml", "--decide", "ask=b")))
        self.assertIn("sub.ask", self.pawl("run", outer, "--with", "inner.yaml", expect=UNANSWERED).stderr)
        self.assertIn("NOT_FOUND", self.pawl("run", outer, expect=REFUSED).stderr)

    def test_the_time_is_bounded(self):
        flow = self.file("steps:\n  - {id: long, type: wait, config: {duration: 1h}}\n")
        self.assertIn("did not end within 50 ms", self.pawl("run", flow, "--timeout", "50ms", expect=REFUSED).stderr)
        self.pawl("run", flow, "--timeout", "soon", expect=USAGE)

    def test_ctrl_c_cancels_the_run_and_ends_what_it_started(self):
        flow = self.file("steps:\n  - {id: long, action: shell.exec, params: {command: \"echo $$ > pid; exec sleep 600\", shell: true, timeout: 1h}}\n")
        run = subprocess.Popen([PAWL, "run", flow, "--json"], cwd=self.place, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(), stdin=subprocess.DEVNULL, text=True)
        pid_file = os.path.join(self.place, "pid")

        def begun():
            if not os.path.exists(pid_file):
                return None
            with open(pid_file, encoding="ascii") as file:
                return file.read().strip()
        pid = until(begun, "the step begins")
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=DEADLINE_S)
        self.assertEqual(run.returncode, INTERRUPTED)
        self.assertEqual(json.loads(out)["run"]["status"], "cancelled")
        until(lambda: not os.path.exists(f"/proc/{pid}"), "the command is gone")

    def test_the_definition_may_come_from_standard_input(self):
        self.assertEqual(json.loads(self.pawl("run", "-", stdin="steps: [{id: a, action: crypto.hash, params: {data: x}}]\n"
                                              "outputs: {n: \"${{ size(steps.a.hash) }}\"}\n").stdout), {"n": 64})


class AtATerminal(Here):
    def terminal(self, *words):
        return Terminal(*words, cwd=self.place)

    def test_it_asks_and_takes_numbers_names_and_nothing_else(self):
        screen = self.terminal("run", self.file(LOOP_OF_QUESTIONS))
        screen.expect("each.iter_0.ask: Take a?")
        screen.expect("1) yes")
        screen.expect("2) no")
        screen.type("7\n")
        screen.expect("there are: yes, no; again: ")
        screen.type("2\n")
        screen.expect("Take b?")
        screen.type("yes\n")
        screen.expect("Take c?")
        screen.type("n\n")
        screen.expect('{"taken":["no","yes","no"]}')
        self.assertEqual(screen.end(), DONE)

    def test_free_text_is_an_answer(self):
        screen = self.terminal("run", self.file("steps:\n  - {id: why, type: reasoning, config: {prompt_context: \"Why?\"}}\n"
                                                "outputs: {why: \"${{ steps.why.choice }}\"}\n"))
        screen.expect("your answer: ")
        screen.type("because it is so\n")
        screen.expect('{"why":"because it is so"}')
        self.assertEqual(screen.end(), DONE)

    def test_the_picture_is_drawn_again_in_its_place(self):
        screen = self.terminal("run", HELLO)
        self.assertEqual(screen.end(), DONE)
        text = screen.seen.decode()
        self.assertRegex(text, r"\x1b\[\d+A")  # up again
        self.assertIn("○", text)
        self.assertIn('"greeted":"world"', text[text.rindex("\x1b[J"):])  # the result stands below the last picture
        self.assertRegex(text, r"✔\S* check")

    def test_nobody_there_any_more_is_3(self):
        screen = self.terminal("run", self.file(LOOP_OF_QUESTIONS))
        screen.expect("your choice, 1 to 2: ")
        screen.type("\x04")
        self.assertEqual(screen.end(), UNANSWERED)

    def test_ctrl_c_at_the_prompt_cancels(self):
        screen = self.terminal("run", self.file(LOOP_OF_QUESTIONS))
        screen.expect("your choice, 1 to 2: ")
        screen.type("\x03")
        self.assertEqual(screen.end(), INTERRUPTED)


class ValidateGraphEval(Here):
    def test_validate(self):
        bad = self.file("name: x\nsteps:\n  - {id: a, action: workflow.log, params: {message: m}, colour: red}\n")
        self.assertIn("valid, ", self.pawl("validate", HELLO, APPROVAL).stdout)
        self.assertIn("flow.yaml:3: error: steps[0].colour", self.pawl("validate", HELLO, bad, expect=REFUSED).stderr)
        self.assertIn("flow.yaml:3: warning: steps[0].colour", self.pawl("validate", "--lenient", bad).stderr)
        told = json.loads(self.pawl("validate", "--json", bad, HELLO, expect=REFUSED).stdout)
        self.assertEqual([told["valid"]] + [file["valid"] for file in told["files"]], [False, False, True])
        self.assertEqual((told["files"][0]["errors"][0]["path"], told["files"][0]["errors"][0]["line"]), ("steps[0].colour", 3))
        self.pawl("validate", "/nowhere.yaml", expect=USAGE)
        self.pawl("validate", expect=USAGE)

    def test_every_example_is_valid(self):
        examples = os.path.join(ROOT, "examples")
        files = [os.path.join(examples, name) for name in sorted(os.listdir(examples)) if name.endswith(".yaml") and not name.endswith("_test.yaml")]
        self.assertGreaterEqual(len(files), 4)
        self.assertEqual(self.pawl("validate", *files).stderr, "")

    def test_graph(self):
        self.assertIn("+- each-word: for each of inputs.words", self.pawl("graph", HELLO).stdout)
        self.assertIn("flowchart", self.pawl("graph", HELLO, "--format", "mermaid").stdout)
        self.assertEqual(json.loads(self.pawl("graph", HELLO, "--json").stdout)["format"], "ascii")
        self.pawl("graph", HELLO, "--format", "svg", "--output", "hello.svg")
        with open(os.path.join(self.place, "hello.svg"), encoding="utf-8") as file:
            self.assertIn("<svg", file.read())
        self.pawl("graph", HELLO, "--format", "png", expect=USAGE)
        self.pawl("graph", "nowhere.yaml", expect=USAGE)
        self.pawl("graph", HELLO, "--output", "/nowhere/x", expect=REFUSED)

    def test_eval(self):
        def value(*words):
            return json.loads(self.pawl("eval", *words).stdout)
        self.assertIs(value("inputs.n * 2 > 10", "--data", '{"inputs": {"n": 7}}'), True)
        self.assertEqual(value("${{ inputs.n }}", "--data", '{"inputs": {"n": 7}}'), 7)
        self.assertEqual(value("filter([1, 2, 3], {# > 1})", "--lang", "expr"), [2, 3])
        data = self.file('[{"a": 1}, {"a": 2}]', "data.json")
        self.assertEqual(self.pawl("eval", ".[].a", "--lang", "jq", "--data", data).stdout, "1\n2\n")
        self.assertEqual(self.pawl("eval", "Hi ${{ who }}!", "--raw", "--data", '{"who": "Ada"}').stdout, "Hi Ada!\n")
        self.assertIn("nope", self.pawl("eval", "nope.x", expect=REFUSED).stderr)
        self.pawl("eval", "1 +", expect=REFUSED)
        self.pawl("eval", "1", "--lang", "lua", expect=USAGE)
        self.pawl("eval", "1", "--data", "/nowhere.json", expect=USAGE)
        self.pawl("eval", "x", "--data", "[1]", expect=USAGE)


class OnAServer(test_cli.WithServer):
    def put(self, text, *words):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(text)
            file.flush()
            return self.json("definitions", "put", file.name, *words)

    def test_definitions(self):
        self.assertEqual(self.pawl("definitions", "put", HELLO).stdout, "hello v1\n")
        self.assertEqual(self.json("definitions", "put", HELLO)["version"], "v1")
        self.assertRegex(self.pawl("definitions", "list").stdout, r"hello +v1")
        self.assertIn("each-word", self.pawl("definitions", "get", "hello").stdout)
        self.assertIn("+- each-word", self.pawl("definitions", "diagram", "hello").stdout)
        self.assertIn("flowchart", self.pawl("definitions", "diagram", "hello", "--format", "mermaid").stdout)
        self.assertIn("<svg", self.json("definitions", "diagram", "hello", "--format", "svg")["diagram"])
        self.put("name: gone\nsteps: [{id: a, action: workflow.log, params: {message: m}}]\n")
        self.assertEqual(self.pawl("definitions", "delete", "gone").stdout, "removed gone v1\n")
        self.pawl("definitions", "get", "gone", expect=REFUSED)
        self.pawl("definitions", "delete", "gone", expect=REFUSED)
        self.pawl("definitions", "put", "/nowhere.yaml", expect=USAGE)

    def test_every_error_of_a_definition_is_told(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("name: x\nsteps:\n  - {id: a, action: http.gte}\n  - {id: b, typ: wait}\n")
            file.flush()
            told = self.pawl("definitions", "put", file.name, expect=REFUSED).stderr
        self.assertIn(":3: error: steps[0].action", told)
        self.assertIn("did you mean 'http.get'?", told)
        self.assertIn(":4: error: steps[1].typ", told)
        self.pawl("definitions", "get", "x", expect=REFUSED)

    def test_start_and_wait(self):
        self.pawl("definitions", "put", HELLO)
        told = self.pawl("runs", "start", "hello", "--input", "name=Ada", "--wait").stdout
        self.assertRegex(told, r"status +completed")
        self.assertIn('"greeted":"Ada"', told)
        run = self.json("runs", "start", "hello", "--wait")["run"]
        self.assertIn(run["id"], self.pawl("runs", "list", "--definition", "hello").stdout)
        self.assertIn("step_completed", self.pawl("runs", "events", run["id"], "--limit", "1000").stdout)
        self.assertIn("workflow_completed", self.pawl("runs", "events", run["id"], "--follow").stdout.splitlines()[-1])
        self.assertIn("each-word", self.pawl("graph", run["id"]).stdout)
        self.assertIn("completed", self.pawl("runs", "explain", run["id"]).stdout)
        self.pawl("runs", "start", "nobody", expect=REFUSED)
        self.pawl("runs", "start", "hello", "--input", "x", expect=USAGE)

    def test_decisions(self):
        self.pawl("definitions", "put", APPROVAL)
        told = self.pawl("runs", "start", "approval", "--input", "amount=900", "--wait", expect=WAITS).stdout
        self.assertIn("Approve 900 for Ada?", told)
        run = re.search(r"(?m)^id +(\S+)", told).group(1)
        decision = self.json("decisions", "list", "--run", run)["decisions"][0]["id"]
        self.assertIn("approve, reject", self.pawl("decisions", "list", "--run", run).stdout)
        self.pawl("decisions", "resolve", decision, "maybe", expect=REFUSED)
        self.assertEqual(self.pawl("decisions", "resolve", decision, "approve", "--reason", "fine").stdout, "check.true.manager: approve\n")
        self.pawl("decisions", "resolve", decision, "approve", expect=REFUSED)
        until(lambda: self.json("runs", "get", run)["run"]["status"] == "completed", "the run ends")
        self.assertIn("nothing is to be decided", self.pawl("decisions", "list", "--run", run).stdout)

    def test_a_run_that_fails_is_1_and_can_be_retried(self):
        self.put("name: picky\nsteps:\n  - {id: first, action: workflow.log, params: {message: m}}\n"
                 "  - {id: second, depends_on: [first], action: assert.equals, params: {expected: 1, actual: \"${{ inputs.n }}\"}}\n")
        run = json.loads(self.pawl("runs", "start", "picky", "--input", "n=2", "--wait", "--json", expect=REFUSED).stdout)["run"]
        self.assertIn("ASSERTION_FAILED", self.pawl("runs", "get", run["id"]).stdout)
        preview = self.pawl("runs", "retry", run["id"], "--from", "second", "--preview").stdout
        self.assertRegex(preview, r"again: second\nkept: first")
        self.pawl("runs", "retry", run["id"], "--input", "n=1")
        until(lambda: self.json("runs", "get", run["id"])["run"]["status"] == "completed", "the retry ends")
        self.pawl("runs", "retry", run["id"], expect=REFUSED)

    def test_steering(self):
        self.put("name: patient\nsteps:\n  - {id: paid, type: wait, config: {signal: payment}}\n"
                 "  - {id: end, depends_on: [paid], action: workflow.log, params: {message: m}}\n")
        run = self.json("runs", "start", "patient")["run"]["id"]
        self.assertIn("paused", self.pawl("runs", "pause", run).stdout)
        self.pawl("runs", "signal", run, "payment", "--payload", '{"amount": 1}')
        self.assertNotEqual(self.json("runs", "get", run)["run"]["status"], "completed")
        self.pawl("runs", "resume", run)
        until(lambda: self.json("runs", "get", run)["run"]["status"] == "completed", "the run ends")
        self.pawl("runs", "signal", run, "payment", expect=REFUSED)
        self.pawl("runs", "signal", run, "payment", "--payload", "{", expect=USAGE)
        other = self.json("runs", "start", "patient")["run"]["id"]
        self.assertIn("payment", self.pawl("runs", "explain", other).stdout)
        self.assertRegex(self.pawl("runs", "cancel", other, "--reason", "enough").stdout, r"status +cancelled")

    def test_secrets_go_in_and_never_come_out(self):
        def kept(*words, stdin=""):
            return subprocess.run([PAWL, "secrets", "set", *words, "--url", self.url], input=stdin, capture_output=True, text=True,
                                  timeout=DEADLINE_S, env=environment())
        self.assertEqual(kept("FROM_STDIN", "--host", "api.example.com", "--host", "*.example.org:8443", "--action", "crypto.hmac",
                              stdin="hush-hush\n").returncode, DONE)
        self.assertEqual(kept("WRONG", "--value", "x", "--action", "fs.write").returncode, REFUSED)
        self.assertEqual(kept("WRONG", "--value", "x", "--host", "*").returncode, REFUSED)
        self.assertEqual(kept("FROM_OPTION", "--value", "psst-psst").returncode, DONE)
        self.assertEqual(kept("EMPTY").returncode, USAGE)
        self.assertEqual(kept("not a name", "--value", "x").returncode, REFUSED)
        listed = self.pawl("secrets", "list").stdout + self.pawl("secrets", "list", "--json").stdout
        self.assertRegex(listed, r"(?m)^FROM_STDIN +api\.example\.com,\*\.example\.org:8443 +crypto\.hmac ")
        self.assertRegex(listed, r"(?m)^FROM_OPTION +any +http\.\*,shell\.exec ")
        self.assertNotIn("hush-hush", listed)
        self.put("name: hash\nsteps: [{id: h, action: crypto.hmac, params: {data: x, key: \"${{ secrets.FROM_STDIN }}\"}}]\n"
                 "outputs: {hash: \"${{ steps.h.hmac }}\"}\n")
        run = self.json("runs", "start", "hash", "--wait")["run"]
        self.assertEqual(run["output"]["hash"], hmac.new(b"hush-hush", b"x", "sha256").hexdigest(), "the line end is no part of it")
        self.assertEqual(self.pawl("secrets", "delete", "FROM_OPTION").stdout, "FROM_OPTION is forgotten\n")
        self.pawl("secrets", "delete", "FROM_OPTION", expect=REFUSED)

    def test_actions(self):
        self.assertRegex(self.pawl("actions").stdout, r"(?m)^http\.get +\S")
        self.assertRegex(self.pawl("actions", "http.get").stdout, r"(?m)^url +string +required")
        self.assertEqual(self.json("actions", "http.get")["name"], "http.get")
        self.pawl("actions", "http.gte", expect=REFUSED)

    def test_schedules(self):
        for words in ((), ("--definition", "hello"), ("--cron", "@daily"), ("--definition", "hello", "--job", "a.b", "--every", "1m"),
                      ("--definition", "hello", "--cron", "@daily", "--every", "1m"), ("--definition", "hello", "--every", "often"),
                      ("--job", "a.b", "--every", "1m", "--input", "a=1")):
            with self.subTest(words=words):
                self.pawl("schedules", "put", "s", *words, expect=USAGE)
        client = self.server.client()
        self.addCleanup(client.close)
        if client.get("/v1/schedules").status == 404:
            self.skipTest("this server has no schedules")
        self.pawl("definitions", "put", HELLO)
        self.assertIn("hello", self.pawl("schedules", "put", "nightly", "--definition", "hello", "--cron", "0 3 * * *", "--timezone",
                                         "Europe/Vienna", "--overlap", "skip", "--input", "name=Ada").stdout)
        self.pawl("schedules", "put", "ping", "--job", "net.ping", "--every", "1h", "--queue", "nobody")
        listed = self.pawl("schedules", "list").stdout
        self.assertRegex(listed, r"nightly +hello +0 3 \* \* \* +Europe/Vienna")
        self.assertRegex(listed, r"ping +job net\.ping +every ")
        self.assertRegex(self.pawl("schedules", "pause", "nightly").stdout, r"state +paused")
        self.pawl("schedules", "resume", "nightly")
        self.assertIn("started run ", self.pawl("schedules", "trigger", "nightly").stdout)
        self.assertIn("nightly", self.pawl("schedules", "get", "nightly").stdout)
        self.pawl("schedules", "delete", "nightly")
        self.pawl("schedules", "get", "nightly", expect=REFUSED)

    def test_help_names_every_command(self):
        told = pawl("--help").stdout
        for word in ("run", "validate", "graph", "eval", "definitions", "decisions", "schedules", "secrets", "actions"):
            self.assertRegex(told, rf"(?m)^  {word} ")
        self.assertIn("Exit codes", pawl("run", "--help").stdout)


if __name__ == "__main__":
    unittest.main()
