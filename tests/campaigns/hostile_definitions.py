"""Hostile definitions, inputs, expressions and calls about runs. See hostile_attacks.py."""
from attack import generator

BIG = 8_000_001


def jq(id, expression, data=None, **more):
    return {"id": id, "action": "jq", "params": {"expression": expression, "data": data}, **more}


def cel(id, expression, **more):
    return {"id": id, "action": "workflow.log", "params": {"message": "${{ " + expression + " }}"}, **more}


def loop(id, body, over=None, **config):
    return {"id": id, "type": "loop", "config": {**({"over": over} if over is not None else {}), "body": body, **config}}


def needle(rng, size):
    """A text and a part that is nearly everywhere in it."""
    return "a" * size, "a" * (size // 2 - rng.randrange(9)) + "b"


# --- results that grow

@generator
def results_of_a_loop(a):
    while a.goes_on():
        times = a.rng.choice((1, 10, 100))
        a.begin(loop("l", [jq("j", f".*{times}", "${{ inputs.big }}")], over=list(range(60)), mode="for_each"), inputs={"big": a.text(90_000)})
        a.idle(0.2)


@generator
def results_of_branches(a):
    while a.goes_on():
        branches = [[jq(f"j{i}", f".*{a.rng.choice((2, 18))}", "${{ inputs.big }}")] for i in range(40)]
        a.begin({"id": "p", "type": "parallel", "config": {"branches": branches}}, loop("again", [cel("c", "steps.p")], over=[1, 2, 3]),
                inputs={"big": a.text(500_000)})
        a.idle(0.2)


@generator
def outputs_of_one_input(a):
    while a.goes_on():
        outputs = {f"o{i}": "${{ inputs.big }}" for i in range(200)}
        a.begin({"id": "n", "action": "crypto.uuid"}, inputs={"big": a.text(a.rng.choice((100_000, 2_000_000)))}, outputs=outputs)


@generator
def doubling_templates(a):
    while a.goes_on():
        steps = [jq("s0", '"x"*100000')]
        for i in range(1, 14):
            steps.append({"id": f"s{i}", "action": "jq", "depends_on": [f"s{i - 1}"], "params": {
                "expression": ".", "data": ["${{ steps.s%d.output.result }}" % (i - 1)] * 2}})
        a.begin(*steps)


@generator
def emitted_events(a):
    while a.goes_on():
        emit = {"id": "e", "action": "workflow.emit", "params": {"event_type": "x", "payload": "${{ inputs.big }}"}}
        a.begin(loop("l", [emit], over=list(range(100))), inputs={"big": a.text(1_000_000)})


@generator
def injected_questions(a):
    while a.goes_on():
        config = {"prompt_context": "?", "data_inject": {f"k{i}": "inputs.big" for i in range(60)}}
        a.begin({"id": "q", "type": "reasoning", "config": config}, inputs={"big": a.text(1_500_000)})


@generator
def large_signals(a):
    run = a.begin({"id": "w", "type": "wait", "config": {"signal": "never"}})
    while a.goes_on():
        a.send("POST", f"/v1/runs/{run}/signals", {"type": a.rng.choice(("never2", "data", "other")),
                                                     "payload": {"p": a.text(a.rng.choice((10_000, 9_000_000)))}})


@generator
def large_variables(a):
    while a.goes_on():
        update = {"id": "u", "action": "workflow.context", "params": {"action": "update", "data": {"k${{ loop.index }}": "${{ inputs.big }}"}}}
        a.begin(loop("l", [update], over=list(range(300))), inputs={"big": a.text(500_000)})


@generator
def large_job_results(a):
    body = {"type": "group", "jobs": [{"type": "h", "args": [], "options": {"queue": "hostile"}}] * 30}
    while a.goes_on():
        a.send("POST", "/ojs/v1/workflows", body)
        taken = a.send("POST", "/ojs/v1/workers/fetch", {"queues": ["hostile"], "count": 30, "worker_id": "h"}) or {}
        for job in taken.get("jobs", []):
            a.send("POST", "/ojs/v1/workers/ack", {"job_id": job["id"], "worker_id": "h", "result": a.text(a.rng.choice((100, 4_000_000)))})


@generator
def runs_within_runs(a):
    a.send("POST", "/v1/definitions?lenient=true", {"name": "nest", "definition": {"steps": [
        loop("l", [{"id": "s", "type": "subworkflow", "config": {"definition": "nest", "inputs": {"big": "${{ inputs.big }}"}}}],
             over=list(range(4)))]}})
    while a.goes_on():
        a.send("POST", "/v1/runs", {"definition": "nest", "inputs": {"big": "x" * a.rng.choice((10, 10_000))}})
        a.idle(0.1)


# --- expressions that take long

@generator
def searched_texts(a):
    while a.goes_on():
        text, part = needle(a.rng, a.rng.choice((20_000, 400_000, 1_200_000)))
        inputs = {"t": text, "p": part}
        expression = a.rng.choice(("inputs.t.contains(inputs.p)", "inputs.t.replace(inputs.p, 'x')", "inputs.t.split(inputs.p).size()",
                                   "inputs.t.indexOf(inputs.p)", "inputs.t.lastIndexOf(inputs.p)", "inputs.t.matches('(a*)*b')"))
        a.begin(cel("c", expression), {"id": "g", "action": "crypto.uuid", "condition": "inputs.t.contains(inputs.p)"}, inputs=inputs)


@generator
def searched_texts_in_jq(a):
    while a.goes_on():
        text, part = needle(a.rng, a.rng.choice((20_000, 400_000, 1_200_000)))
        expression = a.rng.choice((".t|contains($p)", ".t|split($p)|length", ".t|index($p)", ".t|indices($p)|length", ".t|gsub($p;\"\")",
                                   ".t|ltrimstr($p)", ".t|test(\"(a|aa)+$\")", "[.t|match(\"a*\";\"g\")]|length"))
        a.begin(jq("j", ".p as $p|" + expression, {"t": "${{ inputs.t }}", "p": "${{ inputs.p }}"}), inputs={"t": text, "p": part})


@generator
def searched_texts_in_expr(a):
    while a.goes_on():
        text, part = needle(a.rng, a.rng.choice((20_000, 400_000, 1_200_000)))
        expression = a.rng.choice(("inputs.t contains inputs.p", "replace(inputs.t, inputs.p, 'x')", "split(inputs.t, inputs.p)",
                                   "indexOf(inputs.t, inputs.p)", "inputs.t matches '(a|a)*b'"))
        a.begin({"id": "e", "action": "expr.eval", "params": {"expression": expression}}, inputs={"t": text, "p": part})


@generator
def asserted_texts(a):
    while a.goes_on():
        text, part = needle(a.rng, a.rng.choice((100_000, 2_000_000)))
        step = a.rng.choice((("assert.contains", {"haystack": "${{ inputs.t }}", "needle": "${{ inputs.p }}"}),
                             ("assert.matches", {"value": "${{ inputs.t }}", "pattern": "(a?){300}(a*)*b"}),
                             ("assert.contains", {"haystack": ["${{ inputs.t }}"] * 50, "needle": "${{ inputs.p }}"}),
                             ("assert.schema", {"data": "${{ inputs.t }}", "schema": {"allOf": [{"pattern": f"a{{{i}}}b"} for i in range(1, 900)]}})))
        a.begin({"id": "s", "action": step[0], "params": step[1]}, inputs={"t": text, "p": part})


HEAVY = "inputs.l.all(x, inputs.l.exists(y, y == x))"


@generator
def heavy_conditions(a):
    while a.goes_on():
        body = [{"id": "n", "action": "workflow.log", "params": {"message": "m"}}]
        kind = a.rng.randrange(3)
        inputs = {"l": list(range(a.rng.choice((60, 150, 300))))}
        if kind == 0:
            a.begin(loop("w", body, mode="while", condition=HEAVY, max_iter=10_000), inputs=inputs)
        elif kind == 1:
            a.begin({"id": "m", "type": "map", "config": {"over": "inputs.l", "body": [cel("c", HEAVY)]}}, inputs=inputs)
        else:
            a.begin(*[cel(f"c{i}", HEAVY, condition=HEAVY) for i in range(500)], inputs=inputs)


@generator
def heavy_ends(a):
    while a.goes_on():
        inputs = {"l": list(range(200))}
        undo = [cel(f"u{i}", HEAVY, condition=HEAVY) for i in range(50)]
        a.begin(cel("c", "1", compensate=undo), {"id": "f", "action": "workflow.fail", "params": {"reason": "x"}, "depends_on": ["c"]},
                inputs=inputs, on_failure="rollback", on_error=[cel(f"h{i}", HEAVY) for i in range(50)],
                outputs={f"o{i}": HEAVY for i in range(200)})
        a.begin(cel("c", "1"), inputs=inputs, outputs={f"o{i}": HEAVY for i in range(500)})


@generator
def heavy_when(a):
    while a.goes_on():
        jobs = [{"type": "t", "args": [list(range(200))], "name": f"j{i}", "when": "range(200).all(x, range(200).exists(y, y == x))"
                 if a.rng.random() < 0.5 else "'" + "a" * 20000 + "'.contains('" + "a" * 9000 + "b')",
                 "options": {"queue": "hostile"}} for i in range(100)]
        a.send("POST", "/ojs/v1/workflows", {"type": "dag", "steps": jobs})


@generator
def endless_jq(a):
    while a.goes_on():
        a.begin(*[jq(f"j{i}", a.rng.choice(("[range(1e9)]|length", "def f: f; f", "[limit(1e9;repeat(1))]", "reduce range(1e9) as $i (0;.+$i)",
                                            "[range(3e5)]|sort|group_by(.%7)|length", "[range(1e5)|tostring]|join(\",\")", "[recurse(if .<1e9 then .+1 else empty end)]",
                                            "[[range(1e3)],[range(1e3)]]|combinations|length", "\"x\"*1e9|length", "[.[]?]|@json", "input", "[paths]")), list(range(50)))
                  for i in range(10)])
        a.idle(0.05)


@generator
def deep_values(a):
    while a.goes_on():
        depth = a.rng.choice((100, 5_000, 200_000))
        for raw in ("[" * depth, '{"definition":{"steps":[{"id":"a","action":"jq","params":{"expression":".","data":' + "[" * depth + "]" * depth + "}}]}}",
                    '{"a":' * depth, "1e999999999", '{"definition":"x","inputs":{"n":1' + "0" * depth + "}}", '"\\ud800"', "\xff\xfe"):
            a.send("POST", a.rng.choice(("/v1/runs", "/v1/definitions/validate", "/ojs/v1/jobs", "/ojs/v1/workflows")), raw=raw.encode("latin-1"))


# --- definitions that take long to read

@generator
def many_patterns(a):
    key = a.read_key
    while a.goes_on():
        kind = a.rng.randrange(4)
        pattern = lambda i: f"({a.rng.choice('abc')}{{1,{900 - i % 50}}}x{i}){{1,9}}"  # noqa: E731
        if kind == 0:
            steps = [cel(f"c{i}", f"'x'.matches('{pattern(i)}')") for i in range(6000)]
        elif kind == 1:
            steps = [{"id": "a", "action": "assert.schema", "params": {"data": 1, "schema": {"allOf": [{"pattern": pattern(i)} for i in range(3000)]}}}]
        elif kind == 2:
            steps = [cel("c", " || ".join(f"inputs.x.matches('{pattern(i)}')" for i in range(3000)))]
        else:
            steps = [{"id": "a", "action": "crypto.uuid"}]
        schema = {"type": "object", "properties": {f"p{i}": {"pattern": pattern(i)} for i in range(3000)}} if kind == 3 else True
        a.send("POST", "/v1/definitions/validate", {"definition": {"steps": steps, "input_schema": schema}}, key=key)
        a.send("POST", "/v1/definitions", {"name": f"p{kind}", "definition": {"steps": steps, "input_schema": schema}})


@generator
def long_expressions(a):
    while a.goes_on():
        size = a.rng.choice((1_000, 30_000, 300_000))
        text = a.rng.choice(("+".join(["1"] * size), "(" * size + "1" + ")" * size, "!" * size + "true", "[" + "1," * size + "1]",
                             "a" + ".b" * size, "x?" * size + "1" + ":1" * size, "'" + "\\\\" * size + "'"))
        for action in ("jq", "expr.eval"):
            a.send("POST", "/v1/definitions/validate", {"definition": {"steps": [
                {"id": "a", "action": action, "params": {"expression": text}, "condition": text}]}}, key=a.read_key)
        a.begin({"id": "a", "action": "jq", "params": {"expression": text}}, {"id": "b", "action": "expr.eval", "params": {"expression": text}})


@generator
def wide_and_deep(a):
    while a.goes_on():
        inner = [cel("x", "1")]
        depth_max = a.rng.choice((10, 15, 40, 100))
        for depth in range(depth_max):
            # Twice the same within each level doubles the body: as deep as the attacker itself can write down.
            both = {"steps": inner, "branches": [inner]}
            kind, only = a.rng.choice((("sequence", "steps"), ("parallel", "branches")))
            inner = [{"id": f"d{depth}", "type": kind, "config": both if depth_max <= 15 else {only: both[only]}}]
        a.begin(*inner)
        run = a.begin(*[{"id": f"s{i}", "action": "workflow.log", "params": {"message": "m"}, "depends_on": [f"s{max(0, i - j)}" for j in (1, 7, 99) if i >= j]}
                        for i in range(a.rng.choice((1_000, 9_999)))])
        for view in ("diagram?format=svg", "diagram?format=ascii", "explain", "events?limit=1000", "", "diagram?format=mermaid"):
            a.send("GET", f"/v1/runs/{run}" + ("/" if view else "") + view, key=a.read_key)


@generator
def schemas_that_fan_out(a):
    while a.goes_on():
        definitions = {f"d{i}": {"anyOf": [{"properties": {"a": {"$ref": f"#/$defs/d{i + 1}"}}, "required": ["z"]}] * 4} for i in range(20)}
        definitions["d20"] = {"type": "string"}
        value = 1
        for _ in range(20):
            value = {"a": value}
        schema = {"$defs": definitions, "properties": {"v": {"$ref": "#/$defs/d0"}}}
        a.begin({"id": "s", "action": "assert.schema", "params": {"data": {"v": value}, "schema": schema}})
        a.begin({"id": "u", "action": "crypto.uuid"}, inputs={"v": value}, input_schema=schema)
        a.begin({"id": "s", "action": "assert.schema", "params": {"data": list(range(20_000)), "schema": {"uniqueItems": True, "contains": {"const": -1}}}})


@generator
def yaml_with_aliases(a):
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"] + [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    while a.goes_on():
        a.send("POST", "/v1/definitions/validate", raw="\n".join(lines + ["steps: *a11"]).encode(), headers={"Content-Type": "application/yaml"})
        a.send("POST", "/v1/definitions", {"name": "y", "definition": "- " * 100_000})


@generator
def extended_runs(a):
    run = a.begin({"id": "w", "type": "wait", "config": {"signal": "never"}})
    number = 0
    while a.goes_on():
        number += 1
        a.send("POST", f"/v1/runs/{run}/extend", {"steps": [cel(f"n{number}x{i}", "'" + "a" * 500 + "'.matches('(a|b){1,99}')") for i in range(300)]})


# --- what actions are given

@generator
def wild_parameters(a):
    while a.goes_on():
        wild = a.rng.choice(("M" * BIG, "x\r\nA: b", "\x00", "é" * 100_000, "-", "a b", "", "../" * 10_000, "💥" * 50_000))
        inputs = {"m": wild}
        name = a.rng.choice(("http.request", "fs.write", "fs.read", "fs.list", "shell.exec", "crypto.hash", "crypto.hmac", "assert.matches", "workflow.run", "workflow.emit"))
        given = {"http.request": {"url": "http://localhost:1/", "method": "${{ inputs.m }}", "headers": {"x": "${{ inputs.m }}"}, "query": {"q": "${{ inputs.m }}"}},
                 "fs.write": {"path": "${{ inputs.m }}", "content": "${{ inputs.m }}", "mode": "${{ inputs.m }}"}, "fs.read": {"path": "${{ inputs.m }}"},
                 "fs.list": {"path": ".", "pattern": "${{ inputs.m }}", "recursive": True}, "shell.exec": {"command": "${{ inputs.m }}", "args": ["${{ inputs.m }}"]},
                 "crypto.hash": {"data": "${{ inputs.m }}", "algorithm": "${{ inputs.m }}"}, "crypto.hmac": {"data": "${{ inputs.m }}", "key": "${{ inputs.m }}"},
                 "assert.matches": {"value": "${{ inputs.m }}", "pattern": "${{ inputs.m }}"}, "workflow.run": {"template_name": "${{ inputs.m }}"},
                 "workflow.emit": {"event_type": "${{ inputs.m }}"}}[name]
        a.begin({"id": "a", "action": name, "params": given}, inputs=inputs)
        a.begin({"id": "w", "type": "wait", "config": {"duration": "${{ inputs.m }}"}}, {"id": "s", "type": "subworkflow", "config": {"definition": "${{ inputs.m }}"}},
                {"id": "j", "type": "job", "config": {"type": "t", "args": ["${{ inputs.m }}"], "queue": "hostile"}}, inputs=inputs)


@generator
def steering_storm(a):
    while a.goes_on():
        run = a.begin(*[{"id": f"w{i}", "type": "wait", "config": {"duration": "1h"}} for i in range(200)],
                      *[{"id": f"q{i}", "type": "reasoning", "config": {"prompt_context": "?"}} for i in range(200)])
        for _ in range(20):
            a.send("POST", f"/v1/runs/{run}/" + a.rng.choice(("pause", "resume", "signals", "explain", "retry", "cancel")),
                   a.rng.choice(({}, {"mode": "now"}, {"type": "retry", "step_id": "w1"}, {"type": "skip", "step_id": "q7"})))


@generator
def schedules_and_floods(a):
    for i in range(100):
        a.send("POST", "/v1/schedules", {"name": f"s{i}", "job": {"type": "t", "args": [], "options": {"queue": "hostile"}}, "every": "1s"})
    while a.goes_on():
        a.send("POST", "/ojs/v1/jobs/batch", {"jobs": [{"type": "t", "args": ["x" * a.rng.choice((10, 2_000))], "options": {"queue": "hostile"}}] * 500})
        a.send("GET", "/ojs/v1/jobs?limit=1000", key=a.read_key)
        a.send("GET", "/v1/runs?text=" + "x" * a.rng.choice((10, 3_000)) + "&cursor=" + "A" * 500, key=a.read_key)


# --- crowds: what costs the square of its number, if anything does

@generator
def crowds_of_iterations(a):
    """Thousands at once that end, fail, time out or are stopped."""
    inner = {"id": "u", "action": "crypto.uuid"}
    hour = {"id": "w", "type": "wait", "config": {"duration": "1h"}}
    last_fails = {"id": "c", "type": "condition", "config": {
        "expression": "loop.index == size(inputs.l) - 1", "branches": {"true": [{"id": "f", "action": "workflow.fail"}], "false": [hour]}}}
    while a.goes_on():
        body = a.rng.choice((inner, hour, last_fails))
        crowd = {"id": "m", "type": "map", "config": {"over": "inputs.l", "body": [body]}}
        if a.rng.random() < 0.3:
            crowd["timeout"] = "1s"
        run = a.begin(crowd, inputs={"l": [0] * a.rng.choice((5_000, 30_000))})
        a.idle(0.3)
        for verb in ("pause", "resume", "cancel"):
            a.send("POST", f"/v1/runs/{run}/{verb}", {})


@generator
def crowds_of_branches(a):
    hour, now = [{"id": "w", "type": "wait", "config": {"duration": "1h"}}], [{"id": "u", "action": "crypto.uuid"}]
    fails = [{"id": "f", "action": "workflow.fail"}]
    while a.goes_on():
        most = [a.rng.choice((hour, fails))] * 8_000
        a.begin({"id": "p", "type": "parallel", "config": {"mode": a.rng.choice(("race", "all")), "branches": most + [now]}})


@generator
def crowds_of_dependencies(a):
    while a.goes_on():
        waits = [{"id": f"w{i}", "type": "wait", "config": {"duration": f"{a.rng.randrange(1, 900)}ms"}} for i in range(2_000)]
        ids = [wait["id"] for wait in waits]
        ends = [{"id": f"e{i}", "action": "crypto.uuid", "depends_on": ids, "trigger": a.rng.choice(("all_done", "all_success", "one_success", "none_failed"))}
                for i in range(60)]
        a.begin(*waits, *ends)
        a.begin(*[{"id": f"d{i}", "action": "crypto.uuid", "depends_on": [f"d{j}" for j in range(max(0, i - 300), i)]} for i in range(600)])
        a.idle(1)


@generator
def crowds_to_undo(a):
    undone = {"id": "u", "action": "crypto.uuid", "compensate": {"id": "back", "action": "crypto.uuid"}}
    fails = {"id": "f", "action": "workflow.fail", "depends_on": ["m"]}
    while a.goes_on():
        a.begin({"id": "m", "type": "map", "config": {"over": "inputs.l", "body": [undone]}}, fails, inputs={"l": [0] * 5_000}, on_failure="rollback")
        a.idle(1)
