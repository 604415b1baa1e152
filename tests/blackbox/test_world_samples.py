"""The sample worlds and the projects of `pawl worlds init`: they build, and their tests pass.

What this machine cannot build is skipped: C++ needs clang and wasm-ld, Rust its target for WebAssembly, TypeScript npm and its
compiler, which is in sdk/module-ts or comes from the network.
"""
import atexit
import functools
import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAWL = os.environ.get("PAWL", str(ROOT / "build/pawl"))
SAMPLES = ["choreography", "counter", "fan-in", "order", "reminder", "retry", "saga", "upgrade/v1"]


def run(*words, cwd=ROOT):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=280, check=False)


def has_clang():
    return shutil.which("clang++-14") and shutil.which("wasm-ld-14")


def has_rust_target():
    """With rustup, or by the packages of a distribution."""
    if not shutil.which("cargo") or not shutil.which("rustc"):
        return False
    libraries = run("rustc", "--print", "target-libdir", "--target", "wasm32-unknown-unknown")
    return libraries.returncode == 0 and os.path.isdir(libraries.stdout.strip())


@functools.lru_cache(maxsize=None)
def typescript_sdk():
    """A copy of the SDK with its compiler; None if there is none."""
    if not shutil.which("npm"):
        return None
    folder = tempfile.mkdtemp(prefix="pawl-ts-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    sdk = Path(folder) / "sdk"
    shutil.copytree(ROOT / "sdk/module-ts", sdk)
    installed = (sdk / "node_modules/assemblyscript").exists() or not subprocess.run(
        ["npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=20000"], cwd=sdk,
        capture_output=True, timeout=120, check=False).returncode
    return sdk if installed else None


def runtime_is_missing(result):
    return "worlds.no_runtime" in result.stderr or "tools/setup wasm" in result.stderr


class WorldSamples(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def check(self, *folders):
        result = run(PAWL, "worlds", "test", "--json", *folders)
        if runtime_is_missing(result):
            self.skipTest("the runtime of modules is not installed")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads(result.stdout)

    @unittest.skipUnless(has_clang(), "clang-14 and lld-14 are not installed")
    def test_every_sample_passes_its_tests(self):
        built = run(str(ROOT / "tools/modules"))
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check(*[str(ROOT / "build/worlds" / name) for name in SAMPLES])

    @unittest.skipUnless(has_clang(), "clang-14 and lld-14 are not installed")
    def test_a_wrong_expectation_fails_with_its_place(self):
        built = run(str(ROOT / "tools/modules"), "counter")
        self.assertEqual(built.returncode, 0, built.stderr)
        shutil.copytree(ROOT / "build/worlds/counter", self.folder / "counter")
        test = self.folder / "counter/tests/counter.yaml"
        test.write_text(test.read_text().replace("state: {count: 42}", "state: {count: 43}"))
        result = run(PAWL, "worlds", "test", str(self.folder / "counter"))
        if runtime_is_missing(result):
            self.skipTest("the runtime of modules is not installed")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("state.count: wanted 43, got 42", result.stdout)

    def init(self, language):
        project = self.folder / language
        made = run(PAWL, "worlds", "init", str(project), "--lang", language)
        self.assertEqual(made.returncode, 0, made.stderr)
        again = run(PAWL, "worlds", "init", str(project), "--lang", language)
        self.assertEqual(again.returncode, 2, "a folder with files is not written to")
        return project

    def build_and_check(self, project):
        built = run(str(project / "build.sh"))
        self.assertEqual(built.returncode, 0, built.stderr)
        self.check(str(project))

    @unittest.skipUnless(has_clang(), "clang-14 and lld-14 are not installed")
    def test_a_new_project_in_cpp_builds_and_passes(self):
        project = self.init("cpp")
        types = run(PAWL, "worlds", "types", "--lang", "cpp", str(project))
        self.assertEqual(types.stdout, (project / "types.h").read_text())
        self.build_and_check(project)

    @unittest.skipUnless(has_rust_target(), "the target of Rust for WebAssembly is not installed")
    def test_a_new_project_in_rust_builds_and_passes(self):
        self.build_and_check(self.init("rust"))

    def test_a_new_project_in_typescript_builds_and_passes(self):
        sdk = typescript_sdk()
        if not sdk:
            self.skipTest("npm or the compiler is not there")
        project = self.init("ts")
        os.symlink(sdk / "node_modules", project / "node_modules")
        built = run(str(project / "build.sh"))
        self.assertEqual((built.returncode, built.stderr), (0, ""), "and without a warning")
        self.check(str(project))

    def same_tests_as_in_cpp(self, wasm_of):
        """The samples that another language has too pass the tests of those in C++."""
        for name in ("counter", "order"):
            with self.subTest(name):
                folder = self.folder / name
                shutil.copytree(ROOT / "examples/worlds" / name, folder)
                if name == "order":  # its enforcer is in C++ only
                    built = run(str(ROOT / "tools/modules"), name)
                    self.assertEqual(built.returncode, 0, built.stderr)
                    shutil.copy(ROOT / "build/worlds/order/payment_limit.wasm", folder)
                shutil.copy(wasm_of(name), folder / f"{name}.wasm")
                self.check(str(folder))

    @unittest.skipUnless(has_rust_target() and has_clang(), "clang, or the target of Rust for WebAssembly, is not installed")
    def test_samples_in_rust_pass_the_tests_of_those_in_cpp(self):
        sdk = self.folder / "sdk"
        shutil.copytree(ROOT / "sdk/module-rust", sdk, ignore=shutil.ignore_patterns("target"))
        for words in (("build", "--release", "--examples", "--target", "wasm32-unknown-unknown"), ("test", "--lib")):
            done = run("cargo", *words, "--offline", "--target-dir", str(sdk / "target"), cwd=sdk)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.same_tests_as_in_cpp(lambda name: sdk / f"target/wasm32-unknown-unknown/release/examples/{name}.wasm")

    @unittest.skipUnless(has_clang(), "clang-14 and lld-14 are not installed")
    def test_samples_in_typescript_pass_the_tests_of_those_in_cpp(self):
        sdk = typescript_sdk()
        if not sdk:
            self.skipTest("npm or the compiler is not there")
        built = run("npm", "run", "build", cwd=sdk)
        self.assertEqual(built.returncode, 0, built.stderr)
        self.same_tests_as_in_cpp(lambda name: sdk / f"build/{name}.wasm")

    def test_types_need_a_language_that_is_known(self):
        result = run(PAWL, "worlds", "types", "--lang", "cobol", str(ROOT / "examples/worlds/counter"))
        self.assertEqual(result.returncode, 2)
        self.assertIn('--lang is cpp, rust or ts, not "cobol"', result.stderr)


if __name__ == "__main__":
    unittest.main()
