"""The pages about worlds: their commands run and print what they show, and their lists are those of the code."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "blackbox"))
import examples  # noqa: E402
from harness import PAWL, Server  # noqa: E402

GUIDE, TESTING = "docs/guide/worlds.md", "docs/guide/testing-worlds.md"
CLI, HTTP, ABI = "docs/reference/worlds-cli.md", "docs/reference/worlds-http.md", "docs/reference/module-abi.md"
SOURCES = ("src/worlds", "src/worldhost", "src/wasm", "src/api/worlds", "src/kernel/worlds")
# What looks like a code and is none: kinds of effects, cap types, paths in records and outputs, files.
NOT_CODES = re.compile(r"(blob\.(put|get)|timer\.set|job\.run|run\.start|http\.(request|out)|governance\.\w+|mail\.send|libwasmtime\.so|env\.abort"
                       r"|(stamp|origin|deny|output|deltas|horizon|requested|receipt\.delivered|value)\.\w+)$")


def sources():
    """What makes up worlds, file by file, without tests and comments."""
    for folder in SOURCES:
        for where, _, files in os.walk(os.path.join(examples.ROOT, folder)):
            for file in files:
                if re.search(r"\.(cc|h)$", file) and not re.search(r"_(test|fuzz|bench)\.cc$", file) and not where.endswith("testing"):
                    yield re.sub(r"//.*", "", examples.read(os.path.relpath(os.path.join(where, file), examples.ROOT)))


def codes_of_the_code():
    found = set()
    for text in sources():
        found |= set(re.findall(r'"([a-z]+\.[a-z_]+)"', text))
    return {code for code in found if not NOT_CODES.match(code)}


def rows(page, section):
    """The cells of the tables below a heading."""
    text = examples.read(page)
    begin = text.index(f"\n## {section}\n")
    end = text.find("\n## ", begin + 1)
    for line in text[begin:end if end > 0 else len(text)].split("\n"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells and not set("".join(cells)) <= set("-"):
            yield cells


def names(cell):
    return re.findall(r"`([\w.]+)`", cell)


class Lists(unittest.TestCase):
    maxDiff = None

    def test_every_code_is_on_a_page_and_every_code_of_a_page_exists(self):
        described = {code for section in ("Codes of calls", "Codes of programs", "Codes in the journal") for row in rows(HTTP, section)
                     for code in names(row[0])}
        described |= {code for row in rows(ABI, "Codes") for code in names(row[0])}
        described |= set(re.findall(r"`(module\.\w+)`", examples.read(ABI)))
        self.assertEqual({code for code in described if "." in code}, codes_of_the_code())
        everything = "\n".join(sources())
        for code in described:
            self.assertIn(f'"{code}"', everything)

    def test_the_statuses_of_codes(self):
        statuses = dict(re.findall(r"PAWL_ERROR\((\w+),\s*\"\w+\",\s*(\d+)", examples.read("src/base/errors.def")))
        sent = {}
        for text in sources():
            for status, code in re.findall(r'refusal\(\s*ErrorCode::(\w+),\s*"([a-z]+\.[a-z_]+)"', text):
                sent.setdefault(code, set()).add(statuses[status])
        self.assertGreater(len(sent), 15)
        described = {code: set(row[1].split(", ")) for row in rows(HTTP, "Codes of calls") for code in names(row[0])}
        self.assertEqual({code: described.get(code) for code in sent}, sent)

    def test_every_call_is_on_the_page_with_its_scope(self):
        served = set()
        for text in sources():
            served |= {(method, path, scope.lower()) for method, path, scope in
                       re.findall(r'"(GET|POST|PUT|DELETE)", "(/v1/worlds[^"]*)", Permission::(\w+)', text)}
        served.discard(("GET", "/v1/worlds/{w}/state/{namespace}/{module}", "read"))  # the same with the slash as it is
        described = {tuple(found.groups()) for found in
                     re.finditer(r"^\| `(GET|POST|PUT|DELETE) (\S+)` \| (\w+) \|", examples.read(HTTP), re.M)}
        self.assertEqual(described, served)

    def test_every_command_is_on_the_page(self):
        told = subprocess.run([PAWL, "worlds", "--help"], capture_output=True, text=True, check=True).stdout
        commands = set(re.findall(r"^  ([a-z-]+)  ", told, re.M))
        text = examples.read(CLI)
        self.assertGreater(len(commands), 30)
        for command in commands:
            self.assertRegex(text, rf"`(pawl worlds )?{command}\b")
        for command in re.findall(r"^\| `pawl worlds ([a-z-]+)", text, re.M):
            self.assertIn(command, commands)


def same_each_day(printed):
    printed = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", printed)
    printed = re.sub(r"sha256:[0-9a-f]{64}", "HASH", printed)
    printed = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", printed)
    printed = re.sub(r"\b\d{19}\b", "NS", printed)
    return re.sub(r" +\d+(\.\d+)? ms", " MS", printed).strip()


@unittest.skipUnless(shutil.which("clang++-14") and shutil.which("wasm-ld-14"), "clang-14 and lld-14 are not installed")
class Commands(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="pawl-guide-")
        self.addCleanup(shutil.rmtree, self.folder)
        for part in ("tools/modules", "sdk/module-cpp", "examples/worlds"):
            source, target = os.path.join(examples.ROOT, part), os.path.join(self.folder, part)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
        os.makedirs(os.path.join(self.folder, "bin"))
        os.symlink(os.path.abspath(PAWL), os.path.join(self.folder, "bin", "pawl"))
        self.server = Server().start()
        self.addCleanup(self.server.close)
        self.environment = {**os.environ, "PAWL_URL": f"http://127.0.0.1:{self.server.port}",
                            "PATH": os.path.join(self.folder, "bin") + os.pathsep + os.environ["PATH"]}
        library = subprocess.run(["bash", "-c", "ls .cache/wasmtime-*/libwasmtime.so"], cwd=examples.ROOT, capture_output=True, text=True).stdout
        if library and "PAWL_WASMTIME" not in self.environment:
            self.environment["PAWL_WASMTIME"] = os.path.join(examples.ROOT, library.split()[0])

    def sh(self, text):
        done = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=120)
        if "tools/setup wasm" in done.stderr:
            self.skipTest("the runtime of modules is not installed")
        self.assertEqual(done.returncode, 0, f"{text}\n{done.stdout}{done.stderr}")
        return done.stdout

    def test_the_guide(self):
        for command in examples.transcript(GUIDE):
            with self.subTest(command.where):
                text = command.text.replace("pawl serve &\n", "")  # there is one
                text = text.replace(" HASH ", " $(pawl worlds effects orders --json | grep -oE 'sha256:[0-9a-f]{64}' | head -n 1) ")
                printed = self.sh(text)
                if command.printed is not None:
                    self.assertEqual(same_each_day(printed), same_each_day(command.printed))
        for command in examples.transcript(HTTP):
            for line in command.text.splitlines():
                with self.subTest(line):
                    self.assertNotIn("error", json.loads(self.sh(line)))

    def test_the_adapter_in_python(self):
        self.sh("tools/modules order && pawl worlds create orders build/worlds/order")
        code, = (text for _, text, _ in examples.blocks(HTTP, ("python",)))
        scope = {}
        exec(code, scope)  # pylint: disable=exec-used
        client = self.server.client()
        self.addCleanup(client.close)
        world = client.get("/v1/worlds/orders").body["id"]
        secret = b"sixteen bytes or more"
        self.sh("printf %s '" + secret.decode() + "' > key && pawl worlds adapters orders put py --hmac-secret-file key")
        for order, status, payload, cost in (("o-1", "ok", {"charge_id": "ch_1"}, 3), ("o-2", "error", {"code": "declined", "message": "é" * 300}, None)):
            client.post("/v1/worlds/orders/events", {"schema": "com.acme/OrderEvent@1", "value": {"order_id": order, "amount_cents": 4200}})
            effect, = client.post("/v1/worlds/orders/effects/lease", {"adapter_id": "py", "kinds": ["payment.charge"]}).body["effects"]
            body = scope["receipt"](world, effect["intent_hash"], "py", secret, status, payload, cost)
            reply = client.post("/v1/worlds/orders/receipts", body)
            self.assertEqual((reply.status, reply.body.get("outcome")), (200, "settled"), reply.raw)

    def test_the_tests_of_the_page_about_tests(self):
        self.sh("tools/modules order")
        text = examples.read(TESTING)
        blocks = re.findall(r"```yaml world\n(.*?)```", text, re.S)
        self.assertEqual(len(blocks), 2)
        for number, block in enumerate(blocks):
            with open(os.path.join(self.folder, f"build/worlds/order/tests/page{number}.yaml"), "w", encoding="utf-8") as file:
                file.write(block)
            self.assertIn("1 passed", self.sh(f"pawl worlds test build/worlds/order/tests/page{number}.yaml"))
        self.sh("tools/modules order retry")
        command, = re.findall(r"^    (pawl worlds test --junit .*)$", text, re.M)
        self.sh(command)
        command, = re.findall(r"^    (pawl worlds test --filter .*)$", text, re.M)
        self.assertIn("passed", self.sh(command))


if __name__ == "__main__":
    unittest.main()
