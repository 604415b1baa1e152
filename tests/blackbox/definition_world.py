"""The environment of a definition, derived from its text: inputs, services, scripts, commands.

Nothing here knows any definition by name. Every expression, template and schema is searched for names; values are
chosen so that runs can succeed, and wherever a value decides something (a comparison, a branch, an option, a flag)
there is a knob with the values to try.
"""
import hashlib
import json
import os
import re
import subprocess

from definition_oracle import every_step
from stand_in import Answer, StandIn

REFERENCE = re.compile(r"inputs\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
STEP = r"steps(?:\.([A-Za-z_][\w-]*)(?:\.output)?|\[['\"]([^'\"]+)['\"]\](?:\.output)?)"
READ = re.compile(STEP + r"\.(body|stdout)((?:\.[A-Za-z_]\w*)+)")
LITERAL = r"\s*(?:==|!=)\s*(true|false|-?\d+(?:\.\d+)?|'[^']*'|\"[^\"]*\")"
SPAN = re.compile(r"^(\d+(?:\.\d+)?)(ms|s|m|h|d)$")
SPAN_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
LISTS = {"items", "results", "rows", "records", "entries", "commits", "packages", "details"}
WORDS = ["alpha", "beta", "gamma"]
SHORT_MS = 60


def texts(tree):
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for value in tree.values():
            yield from texts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from texts(value)


def literal(text):
    return text[1:-1] if text[0] in "'\"" else json.loads(text)


def another(value):
    """A value of the same kind that is not this one."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else "other"


def put(tree, path, value):
    """Sets a dotted path in nested objects, keeping what is there."""
    *around, last = path.split(".")
    for part in around:
        tree = tree.setdefault(part, {})
        if not isinstance(tree, dict):
            return
    tree.setdefault(last, value)


def shortened(tree):
    """Waits and pauses between attempts are cut short; deadlines stay as they are."""
    if isinstance(tree, list):
        return [shortened(value) for value in tree]
    if not isinstance(tree, dict):
        return tree
    result = {key: shortened(value) for key, value in tree.items()}
    for key in ("duration", "delay", "max_delay"):
        match = SPAN.match(result[key]) if isinstance(result.get(key), str) else None
        if match and float(match.group(1)) * SPAN_MS[match.group(2)] > SHORT_MS:
            result[key] = f"{SHORT_MS}ms"
    return result


class World:
    """Stand-ins, files and values for one definition. knobs: name → the values worth trying."""

    def __init__(self, definition, schema, directory):
        self.directory = directory
        self.files = os.path.join(directory, "files")
        os.makedirs(self.files, exist_ok=True)
        self.stand_in = StandIn(self._answer)
        self.definition = shortened(self._at_home(definition))
        self.text = "\n".join(texts(self.definition))
        self.knobs = {}
        self.setting = {}
        self.schema = schema or definition.get("input_schema") or {}
        self.steps = list(every_step(self.definition["steps"]))
        self._find_knobs()

    def close(self):
        self.stand_in.close()

    def _at_home(self, tree):
        """Addresses that the definition holds itself lead to the stand-in too."""
        text = json.dumps(tree)
        text = re.sub(r"https?://(?!127\.0\.0\.1)[\w.-]+", self.stand_in.url("").rstrip("/"), text)
        return json.loads(text)

    # --- what can be varied

    def _find_knobs(self):
        for path, value in re.findall(r"inputs\.([\w.]+)" + LITERAL, self.text):
            self._knob("input:" + path, literal(value), another(literal(value)))
        for match in re.finditer(STEP + r"\.(body|stdout)((?:\.[A-Za-z_]\w*)+)" + LITERAL, self.text):
            step, kind, path, value = match.group(1) or match.group(2), *match.group(3, 4, 5)
            self._knob(f"{kind}:{step}{path}", literal(value), another(literal(value)))
        for path in re.findall(r"inputs\.([\w.]+)\.contains\(", self.text):
            self._knob("input:" + path, f"about {WORDS[0]}", "about nothing else")
        for match in re.finditer(STEP + r"\.(status_code|content_type|exit_code)", self.text):
            step, what = match.group(1) or match.group(2), match.group(3)
            values = {"status_code": (200, 404), "content_type": ("application/json", "text/plain"),
                      "exit_code": (0, 1)}[what]
            self._knob(f"{what}:{step}", *values)
        for step in self.steps:
            config = step.get("config") or {}
            plain = re.fullmatch(r"(?:\$\{\{\s*)?inputs\.([\w.]+)(?:\s*\}\})?", str(config.get("expression", "")))
            if plain and isinstance(config.get("branches"), dict):
                self._knob("input:" + plain.group(1), *config["branches"], "something-else")
        options = max([len((s.get("config") or {}).get("options") or [None]) for s in self.steps
                       if s["type"] in ("reasoning", "decision")] or [0])
        if options:
            self._knob("choice", *range(options))
        self._knobs_of_schema(self.schema, "")
        for name in {path.split(".")[0] for path in REFERENCE.findall(self.text)}:
            if name.endswith("_hash"):
                self._knob("input:" + name, "0" * 64, hashlib.sha256(b"200 OK").hexdigest())

    def _knobs_of_schema(self, schema, prefix):
        for name, part in (schema.get("properties") or {}).items():
            if "enum" in part:
                self.knobs["input:" + prefix + name] = list(part["enum"])
            elif part.get("type") == "boolean":
                self.knobs["input:" + prefix + name] = [True, False]
            elif part.get("type") == "object":
                self._knobs_of_schema(part, prefix + name + ".")

    def _knob(self, name, *values):
        known = self.knobs.setdefault(name, [])
        known.extend(value for value in values if value not in known)

    def variants(self):
        """The first value of every knob; then every other value of each, alone. Guards between knobs
        are met by also turning a knob together with each value of the knob `choice`."""
        base = {name: values[0] for name, values in self.knobs.items()}
        found = [base]
        for name, values in self.knobs.items():
            for value in values[1:]:
                found.append({**base, name: value})
                if name != "choice":
                    found.extend({**base, name: value, "choice": choice}
                                 for choice in self.knobs.get("choice", [0])[1:])
        return found

    # --- inputs

    def inputs(self):
        properties = self.schema.get("properties") or {}
        values = {}
        for path in REFERENCE.findall(self.text):
            if path.split(".")[0] not in properties:
                put(values, path, self._value(path, {}))
        for name, part in properties.items():
            values[name] = self._value(name, part)
        for path in REFERENCE.findall(self.text):
            put(values, path, self._value(path, {}))
        for knob, value in self.setting.items():
            if knob.startswith("input:"):
                *around, last = knob[6:].split(".")
                place = values
                for part in around:
                    place = place.setdefault(part, {})
                place[last] = value
        return {**(self.definition.get("inputs") or {}), **values} if values else {}

    def _value(self, name, schema):
        last = name.split(".")[-1]
        default = (self.definition.get("inputs") or {}).get(name, schema.get("default"))
        if default is not None:
            return default
        kind = schema.get("type")
        if kind == "object" or "properties" in schema:
            return {key: self._value(f"{name}.{key}", part)
                    for key, part in (schema.get("properties") or {}).items()}
        if kind == "array" or last.endswith("s") and f"over\": \"inputs.{name}" in json.dumps(self.definition) \
                or re.search(rf"(?:size|len)\(inputs\.{last}\)", self.text):
            return self._list(name, schema.get("items") or {})
        if kind in ("integer", "number"):
            return 24 if kind == "integer" else 0.5
        if kind == "boolean":
            return True
        if "url" in last or schema.get("format") == "uri" or last in ("near", "far"):
            return self.stand_in.url("/" + last)
        if last.endswith("path") or last.endswith("file"):
            return self._file(last)
        if last.endswith("dir"):
            return self._repository() if "git" in self.text or "repo" in last else self.files
        if last in ("amount", "priority", "quantity", "price", "threshold", "count"):
            return 1000
        return f"the {last}"

    def _list(self, name, items):
        used_as_url = re.search(r"\$\{\{\s*loop\.item\s*\}\}", " ".join(
            str((s.get("params") or {}).get("url")) for s in self.steps))
        if items.get("properties"):
            return [self._value_of_item(items, n) for n in range(3)]
        return [self.stand_in.url(f"/{name}/{n}") for n in range(3)] if used_as_url else list(WORDS)

    def _value_of_item(self, schema, number):
        return {key: self.stand_in.url(f"/item/{number}") if "url" in key else self._value(key, part)
                for key, part in schema["properties"].items()}

    def _file(self, name):
        path = os.path.join(self.files, name)
        if not name.startswith("output"):
            with open(path, "w", encoding="utf-8") as file:
                file.write("one\n")
        return path

    def _repository(self):
        path = os.path.join(self.directory, "repository")
        if not os.path.isdir(path):
            def git(*args):
                subprocess.run(["git", "-C", path, "-c", "user.name=t", "-c", "user.email=t@localhost", *args],
                               check=True, capture_output=True)
            os.makedirs(path)
            git("init", "-q", "-b", "main")
            git("commit", "-q", "--allow-empty", "-m", "feat: first")
        for branch in ("feature-a", "feature-b"):
            subprocess.run(["git", "-C", path, "branch", "-f", branch, "main"], check=True, capture_output=True)
        return path

    # --- services

    def _answer(self, request):
        """Looks up which step sent it by the key's step path, and what that step's readers expect."""
        step = (request.key or "//").split("/")[1].split(".")[-1] if request.key else ""
        body = {"ok": True}
        for match in READ.finditer(self.text):
            if match.group(3) == "body":
                put(body, match.group(4)[1:], self._read_value(match.group(4).split(".")[-1]))
        self._turn(body, "body", step)
        body.pop("items_", None)
        status = self.setting.get(f"status_code:{step}", 200)
        kind = self.setting.get(f"content_type:{step}", "application/json")
        return Answer(status, body, {"Content-Type": kind}.items())

    @staticmethod
    def _read_value(name):
        if name in LISTS:
            return [{"id": str(n), "name": f"n{n}", "score": score} for n, score in enumerate((0.9, 0.1))]
        return 7

    def _turn(self, body, kind, step):
        for knob, value in self.setting.items():
            if knob.startswith(f"{kind}:{step}."):
                path = knob[len(f"{kind}:{step}."):].split(".")
                place = body
                for part in path[:-1]:
                    place = place.setdefault(part, {})
                place[path[-1]] = value

    # --- scripts and commands

    def prepare(self, work):
        """Puts the scripts a definition calls by relative path into the run's work directory."""
        os.makedirs(work, exist_ok=True)
        for step in self.steps:
            params = step.get("params") or {}
            for argument in params.get("args") or []:
                if not re.fullmatch(r"(?:[\w-]+/)+[\w-]+\.(?:sh|py)", str(argument)):
                    continue
                path = os.path.join(work, argument)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                said = {}
                for match in READ.finditer(self.text):
                    if match.group(3) == "stdout" and (match.group(1) or match.group(2)) == step["id"]:
                        put(said, match.group(4)[1:], self._read_value(match.group(4).split(".")[-1]))
                self._turn(said, "stdout", step["id"])
                with open(path, "w", encoding="utf-8") as file:
                    text = json.dumps(said)
                    file.write(f"cat <<'END'\n{text}\nEND\n" if argument.endswith(".sh") else f"print({text!r})\n")

    def commands(self, directory):
        """Programs that are not everywhere get a stand-in on PATH, with the exit code of the knob."""
        for step in self.steps:
            name = str((step.get("params") or {}).get("command", ""))
            if step.get("action") != "shell.exec" or not re.fullmatch(r"[\w-]+", name) \
                    or name in ("bash", "sh", "python3", "git"):
                continue
            path = os.path.join(directory, name)
            codes = [self.setting.get(f"exit_code:{s['id']}", 0) for s in self.steps
                     if str((s.get("params") or {}).get("command", "")) == name]
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\necho ran {name}\nexit {max(codes)}\n")
            os.chmod(path, 0o755)
