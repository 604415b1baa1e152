"""pawl test: definitions rehearsed under virtual time, and everything that its guide shows."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from harness import DEADLINE_S, PAWL

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "docs_examples"))
import examples  # noqa: E402

DONE, FAILED, USAGE = 0, 1, 2
ROOT = examples.ROOT
GUIDE = "docs/guide/testing.md"

MONTH = """
workflow:
  steps:
    - {id: ask, action: http.get, params: {url: "http://x"}, retry: {max: 1, delay: 1h}}
    - {id: month, type: wait, depends_on: [ask], config: {duration: 30d}}
cases:
  - name: a month
    mocks: {ask: [{error: EXECUTION_ERROR}, {result: {body: 1}}]}
    expect: {elapsed: 30d1h, calls: {ask: 2}}
  - name: too "short" <&>
    mocks: {ask: {result: {body: 1}}}
    expect: {elapsed: 29d}
"""


class Place(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = self.folder.name

    def write(self, name, text):
        path = os.path.join(self.place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name):
        with open(os.path.join(self.place, name), encoding="utf-8") as file:
            return file.read()

    def pawl(self, *words, expect=DONE, cwd=None):
        done = subprocess.run([PAWL, "test", *words], cwd=cwd or self.place, capture_output=True, text=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done


class PawlTest(Place):
    def test_a_line_per_case_and_why_it_failed(self):
        self.write("month_test.yaml", MONTH)
        told = self.pawl("month_test.yaml", expect=FAILED).stdout
        self.assertRegex(told, r"✓ a month +30d1h +\d")
        self.assertRegex(told, r'✗ too "short" <&> +30d')
        self.assertIn("elapsed: wanted 29d, got 30d\n", told)
        self.assertRegex(told, r"\+0s +month +completed .*\(30d\)")
        self.assertRegex(told, r"1 passed, 1 failed: 60d1h of virtual time in \d")
        self.assertNotIn("attempt 2", told)
        self.assertIn("attempt 2", self.pawl("month_test.yaml", "--filter", "a month", "--verbose").stdout)

    def test_reports_for_machines(self):
        self.write("month_test.yaml", MONTH)
        self.write("bad_test.yaml", "workflow: {steps: [{id: a, action: crypto.uuid}]}\ncases:\n  - {expects: {}}\n")
        told = json.loads(self.pawl("--json", "--junit", "out.xml", "month_test.yaml", "bad_test.yaml", expect=USAGE).stdout)
        self.assertEqual((told["passed"], told["failed"], told["invalid_files"]), (1, 1, 1))
        self.assertEqual([case["passed"] for case in told["files"][0]["cases"]], [True, False])
        self.assertEqual(told["files"][0]["cases"][1]["differences"], [{"path": "elapsed", "wanted": "29d", "got": "30d"}])
        self.assertEqual(told["files"][1]["errors"][0]["line"], 3)
        suites = xml.etree.ElementTree.parse(os.path.join(self.place, "out.xml")).getroot()
        self.assertEqual((suites.get("tests"), suites.get("failures"), suites.get("errors")), ("3", "1", "1"))
        case = suites.findall("testsuite/testcase")[1]
        self.assertEqual(case.get("name"), 'too "short" <&>')
        self.assertEqual(case.find("failure").get("message"), "elapsed: wanted 29d, got 30d")
        self.assertIn("timeline", case.find("failure").text)

    def test_files_are_found_below_the_directory(self):
        self.pawl(expect=USAGE)
        self.write("a/b/month_test.yaml", MONTH)
        self.write("a/.hidden/month_test.yaml", "no: test")
        told = self.pawl("--filter", "a month").stdout
        self.assertEqual(told.split("\n")[0], "a/b/month_test.yaml")
        self.assertIn("1 passed:", told)

    def test_definitions_are_found_beside_the_test(self):
        self.write("flows/flow.yaml", "steps: [{id: a, action: expr.eval, params: {expression: inputs.n * 2}}]\n")
        self.write("flows/flow_test.yaml",
                   "definition: flow.yaml\ncases:\n  - {inputs: {n: 4}, expect: {outputs: {a: {result: 8}}}}\n")
        self.assertIn("✓ case 1", self.pawl("flows/flow_test.yaml").stdout)

    def test_refusals(self):
        self.write("bad_test.yaml", "definition: gone.yaml\ncases: []\n")
        self.assertIn("bad_test.yaml:1: error: definition: ", self.pawl("bad_test.yaml", expect=USAGE).stderr)
        self.write("typo_test.yaml", MONTH.replace("mocks: {ask: [", "mocks: {aks: ["))
        refused = self.pawl("typo_test.yaml", expect=USAGE).stderr
        self.assertIn("typo_test.yaml:8: error: cases[0].mocks.aks: there is no step and no action", refused)
        self.assertIn("did you mean 'ask'?", refused)
        self.write("month_test.yaml", MONTH)
        self.pawl("nowhere_test.yaml", expect=USAGE)
        self.pawl("month_test.yaml", "--filter", "no such case", expect=USAGE)
        self.pawl("month_test.yaml", "--seeds", "many", expect=USAGE)
        self.pawl("month_test.yaml", "--strict", expect=USAGE)
        self.pawl("month_test.yaml", "--filter", "a month", "--junit", "/nowhere/x.xml", expect=FAILED)

    def test_faults_find_what_must_not_run_twice(self):
        self.write("shell_test.yaml", """
workflow: {steps: [{id: build, action: shell.exec, params: {command: make}}]}
cases: [{name: builds, mocks: {build: {result: {exit_code: 0}}}, expect: {calls: {build: 1}}}]
""")
        self.assertIn("not idempotent, and no idempotency key reaches it", self.pawl("shell_test.yaml", "--faults").stdout)
        told = self.pawl("shell_test.yaml", "--faults", "--strict", "--seeds", "3", "--json", expect=FAILED).stdout
        run = json.loads(told)["files"][0]["cases"][0]["faults_run"]
        self.assertEqual((run["seeds"], run["failed"], run["non_idempotent"]), (3, 0, True))

    def test_a_failing_seed_is_told_with_the_command_that_repeats_it(self):
        self.write("pay_test.yaml", """
workflow:
  steps: [{id: pay, action: http.post, params: {url: "http://pay"}}]
  outputs: {n: steps.pay.body}
cases: [{name: it's paid once, mocks: {pay: {result: {body: "${{ execution }}"}}}, expect: {outputs: {n: 1}}}]
""")
        told = self.pawl("pay_test.yaml", "--faults", "--seeds", "5", "--seed", "7", expect=FAILED).stdout
        self.assertIn("the engine dies", told)
        command = re.search(r"again: pawl (test .*--seed \d+) --verbose", told).group(1)
        shell = subprocess.run(["sh", "-c", f"{PAWL} {command}"], cwd=self.place, capture_output=True, text=True,
                               timeout=DEADLINE_S, check=False)
        self.assertEqual(shell.returncode, FAILED, shell.stdout + shell.stderr)
        self.assertIn("outputs.n: wanted 1, got 2", shell.stdout)
        self.assertIn("1 seeds end otherwise", shell.stdout)

    def test_real_actions_only_where_a_case_allows_them(self):
        text = """
workflow:
  steps: [{id: list, action: shell.exec, params: {command: echo, args: [hi]}}]
  outputs: {said: steps.list.stdout_raw}
cases: [{REAL expect: {outputs: {said: {$contains: hi}}}}]
"""
        self.write("no_test.yaml", text.replace("REAL", ""))
        self.assertIn("no mock answers it; paste this:", self.pawl("no_test.yaml", expect=FAILED).stdout)
        self.write("yes_test.yaml", text.replace("REAL", "real: [shell.exec],"))
        self.pawl("yes_test.yaml")

    def test_init_writes_a_test_that_passes(self):
        self.write("flow.yaml", """
name: flow
inputs: {who: ada}
steps:
  - {id: fetch, action: http.get, params: {url: "http://x/${{ inputs.who }}"}}
  - {id: ok, type: reasoning, depends_on: [fetch], config: {prompt_context: go, options: [go, stop]}}
""")
        self.assertEqual(self.pawl("--init", "flow.yaml").stdout, "wrote flow_test.yaml\n")
        self.assertIn("fetch", self.read("flow_test.yaml"))
        self.assertIn("1 passed", self.pawl().stdout)
        self.assertIn("is there already", self.pawl("--init", "flow.yaml", expect=USAGE).stderr)


class Documents(Place):
    def test_every_example_passes_through_crashes(self):
        files = [name for name in sorted(os.listdir(os.path.join(ROOT, "examples"))) if name.endswith("_test.yaml")]
        self.assertGreaterEqual(len(files), 3)
        self.pawl(*[os.path.join(ROOT, "examples", name) for name in files], "--faults", "--seeds", "40", "--strict")

    def test_every_file_of_the_guide_does_what_it_says(self):
        count = 0
        for line, text, _ in examples.blocks(GUIDE, ("yml",)):
            count += 1
            with self.subTest(line=line):
                self.write("guide_test.yaml", text)
                fails = re.match(r"# fails: (.*)\n", text)
                told = self.pawl("guide_test.yaml", expect=FAILED if fails else DONE).stdout
                self.assertIn(fails.group(1) if fails else "passed", told)
                faults = re.match(r"# faults fail: (.*)\n", text)
                if not fails:
                    told = self.pawl("guide_test.yaml", "--faults", "--seeds", "40", expect=FAILED if faults else DONE).stdout
                    self.assertIn(faults.group(1) if faults else "it always ends as expected", told)
        self.assertGreaterEqual(count, 6)

    def test_every_command_of_the_guide_prints_what_it_shows(self):
        for command in examples.transcript(GUIDE):
            with self.subTest(where=command.where):
                words = command.text.split()
                self.assertEqual(words[:2], ["pawl", "test"])
                if "--junit" in words:
                    words[words.index("--junit") + 1] = os.path.join(self.place, "report.xml")
                told = self.pawl(*words[2:], cwd=ROOT).stdout
                for line in command.printed.split("\n") if command.printed else []:
                    shown = re.sub(r"\d+(\.\d+)? ms", "", line).strip()
                    shown = re.sub(r"\d+ (crashes|of)", r"\\d+ \1", re.escape(shown).replace("\\ ", " "))
                    shown = re.sub(r" +", " +", shown)
                    if line.strip() != "…":
                        self.assertRegex(told, shown)


if __name__ == "__main__":
    unittest.main()
