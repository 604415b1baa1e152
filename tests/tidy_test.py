"""tools/tidy on small trees: each rule finds its violation at its line, and accepts what is allowed."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import tempfile
import unittest

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "tidy")


def load_tool():
    loader = importlib.machinery.SourceFileLoader("tidy", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tidy", loader))
    loader.exec_module(module)
    return module


tidy = load_tool()


class Rules(unittest.TestCase):
    def found(self, files):
        """What tidy reports on a tree of these files, as "path:line: rule"."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return [f"{path}:{line}: {what.split(':')[0]}" for path, line, what in tidy.Tidy(root).run()]

    def line_rules(self, name, line):
        """The rules that one line breaks in this (listed) file."""
        found = self.found({name: "\n" + line + "\n", os.path.dirname(name) + "/CMakeLists.txt": os.path.basename(name)})
        self.assertTrue(all(item.startswith(f"{name}:2: ") for item in found), found)
        return [item.split(": ", 1)[1] for item in found]

    def test_the_kernel_is_pure(self):
        for line, rule in {
            "auto t = std::chrono::system_clock::now();": "clock",
            "auto t = time(nullptr);": "clock",
            "gettimeofday(&tv, nullptr);": "clock",
            "int x = rand();": "random",
            "std::mt19937 g;": "random",
            "std::mutex lock;": "thread",
            "#include <atomic>": "thread",
            'auto v = getenv("X");': "getenv",
            "double d = 0;": "float",
            "std::unordered_map<int, int> m;": "unordered",
            "#include <iostream>": "io",
            'FILE* f = fopen("x", "r");': "io",
        }.items():
            with self.subTest(line):
                self.assertEqual(self.line_rules("src/kernel/a.cc", line), [rule])
                self.assertEqual(self.line_rules("src/worlds/a.cc", line), [rule])
                self.assertEqual(self.line_rules("src/engine/a.cc", line), [])

    def test_the_kernel_reads_no_floats(self):
        self.assertEqual(self.line_rules("src/kernel/a.cc", "auto ms = value.as_double() * 1000;"), ["float"])
        self.assertEqual(self.line_rules("src/plan/a.cc", "auto ms = value.as_double() * 1000;"), [])

    def test_the_kernel_may_speak_of_time(self):
        for line in ("// no double, no std::chrono here", 'auto s = "getenv(x) double";', "job.time(3);", "next_run_time(x);",
                     "int doubled = brand();", "bool due_time(int x);"):
            with self.subTest(line):
                self.assertEqual(self.line_rules("src/kernel/a.cc", line), [])

    def test_bans_in_all_code(self):
        for line, rule in {
            '#include "../base/x.h"': "relative include",
            "} catch (...) {": "catch-all",
            "using namespace std;": "using namespace std",
            "// FIXME later": "unfinished",
            'open("/' + 'work/x");': "machine path",
        }.items():
            with self.subTest(line):
                self.assertEqual(self.line_rules("src/api/a.cc", line), [rule])

    def test_data_from_outside_is_not_taken_at_its_word(self):
        for line, rule in {
            "int port = std::stoi(text);": "throws on bad text",
            "Value value = Value::parse(text).value();": "aborts on bad data",
            "PAWL_CHECK(curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK);": "aborts on bad data",
        }.items():
            with self.subTest(line):
                self.assertEqual(self.line_rules("src/api/a.cc", line), [rule])
                self.assertEqual(self.line_rules("src/cli/a.cc", line), [])

    def test_no_sleep_in_tests(self):
        self.assertEqual(self.line_rules("src/api/a_test.cc", "std::this_thread::sleep_for(1s);"), ["sleep in a test"])
        self.assertEqual(self.line_rules("src/api/a.cc", "std::this_thread::sleep_for(1s);"), [])
        self.assertEqual(self.line_rules("tests/a.py", "time.sleep(1)"), ["sleep in a test"])
        self.assertEqual(self.line_rules("tests/a.sh", "sleep 1"), ["sleep in a test"])
        self.assertEqual(self.line_rules("tests/a.scenario", "start order-1  # its first step sleeps 30s"), [])

    def test_test_support_is_test_code(self):
        for line in ("double d = 0;", "int port = std::stoi(text);", '#include "kernel/testing/x.h"'):
            with self.subTest(line):
                self.assertEqual(self.line_rules("src/kernel/testing/a.cc", line), [])
                self.assertEqual(self.line_rules("src/kernel/testing/a.h", line), [])
        self.assertEqual(self.line_rules("src/kernel/testing/a.cc", "usleep(5);"), ["sleep in a test"])

    def test_the_product_has_no_test_support(self):
        line = '#include "kernel/testing/world.h"'
        for name in ("src/kernel/a.cc", "src/api/a.h", "src/kernel/testing_ground.cc"):
            self.assertEqual(self.line_rules(name, line), ["test code in the product"])
        for name in ("src/api/a_test.cc", "src/api/a_bench.cc", "src/api/a_fuzz.cc", "bench/a.cc", "tests/a.cc"):
            self.assertEqual(self.line_rules(name, line), [])
        self.assertEqual(self.line_rules("src/kernel/a.cc", '#include "kernel/testing.h"'), [])

    def test_names_that_say_nothing(self):
        self.assertEqual(self.found({"docs/job_manager.md": "", "docs/utils/x.md": "", "docs/commonly.md": ""}),
                         ["docs/job_manager.md:1: name", "docs/utils/x.md:1: name"])

    def test_files_nobody_builds(self):
        self.assertEqual(
            self.found({"src/api/CMakeLists.txt": "pawl_module(api SRCS jobs.cc) # queues.cc", "src/api/jobs.cc": "",
                        "src/api/queues.cc": "", "src/api/more_jobs.cc": "",
                        "tests/CMakeLists.txt": "test_a.py", "tests/blackbox/test_a.py": "", "tests/blackbox/test_b.py": "",
                        "tests/scenarios/lost.scenario": ""}),
            ["src/api/more_jobs.cc:1: not in CMake", "src/api/queues.cc:1: not in CMake",
             "tests/blackbox/test_b.py:1: not in CMake", "tests/scenarios/lost.scenario:1: not registered"])

    def test_readers_of_the_state_are_compiled_apart(self):
        state = '#include "kernel/state.h"\n'
        self.assertEqual(
            self.found({"src/api/CMakeLists.txt": "pawl_module(api\n  STATE_SRCS a.cc ojs/b.cc\n  SRCS c.cc ojs/d.cc\n  TESTS e_test.cc)",
                        "src/api/a.cc": state, "src/api/ojs/b.cc": state, "src/api/c.cc": "", "src/api/ojs/d.cc": state,
                        "src/api/e_test.cc": state, "src/sim/CMakeLists.txt": "pawl_module(sim SRCS a.cc)", "src/sim/a.cc": state}),
            ["src/api/ojs/d.cc:1: state sources"])

    def test_length_is_a_ratchet(self):
        def tree(lines, limit=None):
            files = {"docs/a.py": "x\n" * lines}
            if limit is not None:
                files["tools/tidy_ratchet.txt"] = f"# why\ndocs/a.py {limit}\n"
            return self.found(files)

        self.assertEqual(tree(500), [])
        self.assertEqual(tree(501), ["docs/a.py:501: length"])
        self.assertEqual(tree(600, 600), [])
        self.assertEqual(tree(601, 600), ["docs/a.py:601: length"])
        self.assertEqual(tree(599, 600), ["tools/tidy_ratchet.txt:2: ratchet"])
        self.assertEqual(tree(10, 600), ["tools/tidy_ratchet.txt:2: ratchet"])

    def test_includes_look_down(self):
        modules = {"src/CMakeLists.txt": "set(PAWL_MODULES base kernel api)"}
        header = '#include <vector>\n#include "{}/x.h"\n'
        self.assertEqual(self.found({**modules, "src/api/a.h": header.format("base")}), [])
        self.assertEqual(self.found({**modules, "src/kernel/a.h": header.format("kernel")}), [])
        self.assertEqual(self.found({**modules, "src/kernel/a.h": header.format("api")}), ["src/kernel/a.h:2: layering"])
        self.assertEqual(self.found({**modules, "src/other/a.h": ""}), ["src/other/a.h:1: layering"])

    def test_errors_nobody_uses(self):
        table = 'PAWL_ERROR(Lost, "lost", 404, Never)\nPAWL_ERROR(Found, "found", 200, Never)\n'
        self.assertEqual(self.found({"src/base/errors.def": table, "src/base/a.h": "auto e = ErrorCode::Lost;\n// ErrorCode::Found"}),
                         ["src/base/errors.def:2: unused error"])

    def test_words_of_the_glossary(self):
        def found(words, header):
            table = "## 3. Words\n\n| word | meaning |\n|---|---|\n" + "".join(f"| {word} | x |\n" for word in words) + "## 4. More\n"
            return self.found({"docs/architecture.md": table, "src/kernel/a.h": header})

        job = "struct Job {\n};\n"
        self.assertEqual(found(["job"], job), [])
        self.assertEqual(found(["job", "push"], job), ["docs/architecture.md:6: dead word"])
        self.assertEqual(found(["job"], job + "class JobTable {\n};\nstruct Later;\n"), [])
        self.assertEqual(found(["job"], job + "class Manyfold {\n};\n"), ["src/kernel/a.h:3: unknown word"])

    def test_docs_name_what_exists(self):
        code = {"src/engine/engine.h": "class Engine { void submit(); };"}

        def doc(line):
            return [item.split(": ", 1)[1] for item in self.found({**code, "docs/a.md": line})]

        for line in ("`src/engine/engine.h`", "`engine/engine.h: Engine`", "`engine/engine.h: Engine::submit()`", "`a/b`",
                     "```\n`src/gone.h`\n```", "`text/plain`", "[x](a.md#part)", "[x](https://example.org/none)"):
            with self.subTest(line):
                self.assertEqual(doc(line), [])
        self.assertEqual(doc("`src/engine/gone.h`"), ["dead path"])
        self.assertEqual(doc("`engine/gone.cc: Engine`"), ["dead path"])
        self.assertEqual(doc("`engine/engine.h: Motor`"), ["dead symbol"])
        self.assertEqual(doc("`engine/engine.h: Engine::stop`"), ["dead symbol"])
        self.assertEqual(doc("[x](gone.md)"), ["dead link"])

    def test_comments_name_what_exists(self):
        other = {"src/base/CMakeLists.txt": "x.cc y.cc",
                 "src/base/x.cc": 'class Engine { void submit(); }; const int kMost = 1; visit("lease_ms"); struct RunQueue {};'}

        def comment(line, rest=""):
            return [item.split(": ", 1)[1] for item in self.found({**other, "src/base/y.cc": f"{rest}\n// {line}\n"})]

        for line in ("Engine::submit() hands it over", "a RunQueue of kMost", "`lease_ms` is a word that clients write",
                     "plain words, SQLite, JSON and HTTP/1.1", 'says "NotHere"', "https://example.org/NotHere"):
            with self.subTest(line):
                self.assertEqual(comment(line), [])
        for line in ("RunFlow: how runs move", "see Engine::stop", "calls stop()", "at most kLeast", "the `accepted` ones"):
            with self.subTest(line):
                self.assertEqual(comment(line), ["dead name"])
        self.assertEqual(comment("the `accepted` ones", "int take(int accepted);"), [])
        self.assertEqual(comment("", 'auto s = "// RunFlow";'), [])
        self.assertEqual(comment("RunFlow", "/* RunFlow\n is gone */"), ["dead name", "dead name"])

    def test_exit_status_tells(self):
        with tempfile.TemporaryDirectory() as root:
            self.assertEqual(tidy.main([root]), 0)
            open(os.path.join(root, "helpers.h"), "w", encoding="utf-8").close()
            with contextlib.redirect_stdout(io.StringIO()) as out:
                self.assertEqual(tidy.main([root]), 1)
            self.assertIn("helpers.h:1: name: ", out.getvalue())


if __name__ == "__main__":
    unittest.main()
