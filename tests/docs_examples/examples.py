"""The examples in the documents: definitions in ```yaml and ```json blocks and files, and shell transcripts.

A definition begins with comments that state its outcome, for readers and for the tests:

    # inputs: {"name": "Ada"}            given to the run
    # output: {"greeting": "Hello Ada"}  what the run gives back, as a whole
    # status: failed                     completed unless said otherwise
    # error: ASSERTION_FAILED            the code of the run's error
    # decide: {"approve": "yes"}         answers to its questions, by step
    # signal: {"type": "paid"}           sent when it waits; may be repeated
    # work: {"mail.send": {"sent": 1}}   results of a worker, by type of job
    # step charge: {"status": "skipped"} what at least is to be seen of a step
    # invalid: unknown_step              it is refused, with this code
    # pawl.yaml                          no definition but settings

Without any of them it must be valid. One with a `name` can be used by those behind it in the same document.
"""
import collections
import json
import os
import re

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
KEYS = ("inputs", "output", "status", "error", "decide", "signal", "work", "invalid")

Example = collections.namedtuple("Example", "where text name is_settings inputs output status error decide signals work steps invalid")
Command = collections.namedtuple("Command", "where text printed")


def documents():
    """Paths of all documents, from the root of the tree."""
    found = ["README.md"]
    for folder, _, files in os.walk(os.path.join(ROOT, "docs")):
        found += [os.path.relpath(os.path.join(folder, file), ROOT) for file in files if file.endswith(".md")]
    return sorted(found)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def blocks(path, languages):
    """(line, text, index of the line behind) of the fenced blocks of a document in these languages."""
    lines = read(path).split("\n")
    at = 0
    while at < len(lines):
        fence = re.fullmatch(r"```(\w+)", lines[at])
        end = at + 1
        if lines[at].startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i] == "```")
            if fence and fence.group(1) in languages:
                yield at + 1, "\n".join(lines[at + 1:end]) + "\n", end + 1
            end += 1
        at = end


def example(where, text):
    """Reads the comments that a definition begins with."""
    said = {"signal": [], "step": {}}
    settings = False
    for line in text.split("\n"):
        if not line.startswith("#"):
            break
        if line == "# pawl.yaml":
            settings = True
        found = re.fullmatch(r"# (\w+)(?: ([\w.-]+))?: (.*)", line)
        if not found or (found.group(1) not in KEYS and found.group(1) != "step"):
            continue
        key, step, value = found.groups()
        value = value if key in ("status", "error", "invalid") else json.loads(value)
        if key == "step":
            said["step"][step] = value
        elif key == "signal":
            said["signal"].append(value)
        else:
            said[key] = value
    name = re.search(r'^name: *"?([\w-]+)"?$|^ *"name": *"([\w-]+)",?$', text, re.M)
    return Example(where, text, name and (name.group(1) or name.group(2)), settings, said.get("inputs"), said.get("output"),
                   said.get("status"), said.get("error"), said.get("decide", {}), said["signal"], said.get("work", {}),
                   said["step"], said.get("invalid"))


def examples():
    """Every definition of every document, then every file of the cookbook."""
    for path in documents():
        for line, text, _ in blocks(path, ("yaml",)):
            yield example(f"{path}:{line}", text)
    folder = os.path.join("docs", "cookbook")
    for file in sorted(os.listdir(os.path.join(ROOT, folder))) if os.path.isdir(os.path.join(ROOT, folder)) else []:
        if file.endswith((".yaml", ".json")):
            yield example(os.path.join(folder, file), read(os.path.join(folder, file)))


def transcript(path):
    """The ```sh blocks of a document, each with the indented text behind it: what it prints, or None."""
    lines = read(path).split("\n")
    for line, text, behind in blocks(path, ("sh",)):
        printed = []
        at = behind
        while at < len(lines) and (lines[at].startswith("    ") or not lines[at]):
            printed.append(lines[at][4:])
            at += 1
        shown = "\n".join(printed).strip("\n")
        yield Command(f"{path}:{line}", text, shown or None)
