#!/usr/bin/env python3
"""A capacity model from measured costs: what a load needs of nodes and of PostgreSQL, and which limit comes first.

capacity.py --table [--into FILE]  the tables of docs/scale.md, from the unit costs in capacity_costs.json; put into FILE
capacity.py --ask RUNS SHAPE …     one workload: runs a day, shape, and any field of Workload as name=value
capacity.py --measure [--pawl P]   measures the unit costs on this machine, with real servers, and writes that file
capacity.py --check [--pawl P]     measures three other loads, and compares them with what the model says

A cost is linear in what a load does (requests, jobs, steps, commits, rows, bytes). Two things are not: how many inputs
share a commit, and how often a row is written before it rests; see commits_per_second() and rewrites().
"""
import argparse
import dataclasses
import json
import math
import os
import re
import sys

COSTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "capacity_costs.json")
DAY_S = 86_400
QUIET_S = 0.05             # an engine without inputs for so long writes its rows (src/engine/engine.cc)
DIRTY_MAX = 65_536         # rows that a partition may owe (src/engine/config.h)
FINISHED_MAX = 20_000_000  # finished jobs a partition keeps (--retention-finished-count)
RECORDS_MAX = 20_000_000   # records of a journal (--retention-journal-count)
TRANSACTION_IDS = 2e9      # after so many, every page must be frozen
VACUUM_SHARE = 0.02        # dead rows of pawl_kv, of all, at which autovacuum begins (the table's setting)

# What one run does, in units of the costs. `inputs` are what the engine must commit: requests, receipts of actions.
SHAPES = {
    "job": ("one job: push, fetch, ack", {"requests": 3, "pushed": 1, "fetched": 1, "acked": 1, "inputs": 3}),
    "bulk": ("one job, 100 in each request", {"requests": .03, "pushed": 1, "fetched": 1, "acked": 1, "inputs": .03}),
    "chain": ("chain of 5 jobs", {"requests": 6, "chains": 1, "chain_jobs": 5, "chain_steps": 5, "inputs": 6}),
    "definition": ("definition, 10 steps, 5 actions",
                   {"requests": 1, "runs": 1, "steps_computed": 5, "steps_outside": 5, "inputs": 6}),
}


@dataclasses.dataclass
class Workload:
    runs_per_day: float
    shape: str
    store: str = "postgres"
    partitions: int = 16
    nodes: int = 3
    cores_per_node: float = 16
    postgres_cores: float = 64
    usable: float = 0.6             # of a core's time; the rest is for peaks, vacuum, backups
    peak: float = 3.0               # the busiest minute to the mean
    commit_ms: float = 2.0          # a fenced commit on the network, with a synchronous replica
    read_ms: float = 0.5            # a lookup of one key, for which the engine waits; on SQLite 0.005
    touch_gap_s: float = 1.0        # between two inputs about the same job or run
    payload_bytes: float = 0        # of arguments of a run's jobs, beyond the 50 bytes of the benchmark's
    retention_days: float = 7
    wal_mib_per_s: float = 300      # what the log's device and the replica take
    disk_tib: float = 20
    vacuum_mib_per_s: float = 200   # reading of one autovacuum worker
    passed_on: float = -1           # share of requests that another node decides; -1: (nodes - 1) / nodes


# --- the model

def times(costs, counts):
    return sum(costs.get(name, 0) * value for name, value in counts.items())


def commits_per_second(inputs_per_second, commit_s):
    """Of one partition. While a commit is under way inputs gather for the next one; if none came, it waits for one."""
    if inputs_per_second <= 0:
        return 0
    return 1 / (commit_s + math.exp(-inputs_per_second * commit_s) / inputs_per_second)


def rewrites(inputs_per_second, touch_gap_s):
    """The chance that a row is written between two changes of it: an engine without inputs writes what it owes."""
    quiet_pauses = inputs_per_second * math.exp(-inputs_per_second * QUIET_S)
    owed_s = DIRTY_MAX / max(inputs_per_second, 1e-9)
    return max(1 - math.exp(-quiet_pauses * touch_gap_s), 1 - math.exp(-touch_gap_s / owed_s))


def server_seconds(costs, store, counts):
    """CPU of the nodes. `counts` may name commits, rows and reads, whose cost depends on the store."""
    own = {**costs["server_us"],
           **{name: costs["server_us"][f"{name}_{store}"] for name in ("commits", "rows", "reads")}}
    return times(own, counts) / 1e6


def postgres_seconds(costs, counts):
    return times(costs["postgres_us"], counts) / 1e6


def journal_bytes(costs, counts):
    return times(costs["journal_bytes"], counts)


def wal_bytes(costs, counts):
    return times(costs["wal_bytes"], counts)


def predict(costs, store, counts):
    """What a load of these counts costs; it must name its commits and rows."""
    counts = {**counts, "journal_kib": journal_bytes(costs, counts) / 1024}
    said = {"server_s": server_seconds(costs, store, counts), "journal_bytes": counts["journal_kib"] * 1024}
    if store == "postgres":
        said.update(postgres_s=postgres_seconds(costs, counts), wal_bytes=wal_bytes(costs, counts))
    return said


def finished_days(load, jobs_per_run):
    """How long finished jobs stay: by age, or by number in each partition."""
    if not jobs_per_run:
        return load.retention_days
    return min(load.retention_days, FINISHED_MAX * load.partitions / (load.runs_per_day * jobs_per_run))


def one_run(costs, load, rate):
    """What a run does when so many begin in a second: the counts of its shape, and its commits and rows."""
    counts = dict(SHAPES[load.shape][1])
    inputs = rate * counts["inputs"] / load.partitions
    passed_on = (load.nodes - 1) / load.nodes if load.passed_on < 0 else load.passed_on
    once = costs["rows"][load.shape]
    again = max(counts["inputs"] - 1, 0) * rewrites(inputs, load.touch_gap_s)
    return {**counts, "payload_kib": load.payload_bytes / 1024,
            "passed_on": counts["requests"] * passed_on if load.store == "postgres" else 0,
            "commits": commits_per_second(inputs, load.commit_ms / 1e3) * load.partitions / rate,
            "rows": once + again * costs["rows"]["touch"],
            "reads": costs["reads"][load.shape],
            "forgotten_rows": once,  # retention deletes later what stays
            "dead_rows": once + again * costs["rows"]["touch_dead"]}


def needs(costs, load):
    """Everything that a workload asks for; what is a rate, or a number of cores, at its peak."""
    mean_rate, peak_rate = load.runs_per_day / DAY_S, load.runs_per_day / DAY_S * load.peak
    mean, peak = one_run(costs, load, mean_rate), one_run(costs, load, peak_rate)
    a_run, at_peak = predict(costs, load.store, mean), predict(costs, load.store, peak)
    # Calls of services run on threads of their own. All else is taken for the engine's, though sockets have another thread.
    engine_s = server_seconds(costs, load.store, {**peak, "steps_outside": 0, "passed_on": 0})
    rest = costs["at_rest_bytes"]
    commits = peak["commits"] * peak_rate
    journal_day = a_run["journal_bytes"] * load.runs_per_day
    journal_days = min(load.retention_days, RECORDS_MAX * load.partitions / (mean["commits"] * load.runs_per_day))
    kept_days = finished_days(load, mean.get("pushed", 0) + mean.get("chain_jobs", 0))
    kv_day = (rest[load.shape] + load.payload_bytes * rest["payload"]) * load.runs_per_day
    rows_kept = costs["rows"][load.shape] * load.runs_per_day * kept_days
    # A vacuum reads the whole index, and the pages with dead rows (taken for twice their share of the rows); new pages
    # are read once more, to be frozen.
    vacuums_day = mean["dead_rows"] * load.runs_per_day / (VACUUM_SHARE * rows_kept)
    vacuum_bytes = rows_kept * rest["index_of_row"] + 2 * VACUUM_SHARE * kv_day * kept_days
    return {
        "requests_per_s": peak["requests"] * peak_rate,
        "node_cores": at_peak["server_s"] * peak_rate,
        "partition_cores": engine_s * peak_rate / load.partitions,
        "postgres_cores": at_peak.get("postgres_s", 0) * peak_rate,
        "commits_per_s": commits,
        "partition_in_commit": commits / load.partitions * load.commit_ms / 1e3,
        "engine_reading": peak["reads"] * peak_rate / load.partitions * load.read_ms / 1e3,
        "rows_per_s": peak["rows"] * peak_rate,
        "wal_mib_per_s": at_peak.get("wal_bytes", 0) * peak_rate / 2**20,
        "journal_gib_per_day": journal_day / 2**30,
        "journal_gib": journal_day * rest["of_journal_byte"] * journal_days / 2**30,
        "journal_days": journal_days,
        "kv_gib_per_day": kv_day / 2**30,
        "kv_gib": kv_day * kept_days / 2**30,
        "finished_days": kept_days,
        "vacuum_mib_per_s": (vacuums_day * vacuum_bytes + kv_day) / DAY_S / 2**20,
        "ids_last_hours": TRANSACTION_IDS / (mean["commits"] * mean_rate) / 3600,
    }


# Limit → what it is a share of, how it is called, and the metric that shows it.
LIMITS = {
    "node CPU": ("node_cores", lambda load: load.nodes * load.cores_per_node * load.usable,
                 "process_cpu_seconds_total, then pawl_engine_inputs_waiting"),
    "one engine's core": ("partition_cores", lambda load: load.usable,
                          "pawl_engine_inputs_waiting, pawl_engine_turn_age_seconds"),
    "an engine's reads": ("engine_reading", lambda load: load.usable,
                          "pawl_engine_inputs_waiting, while CPU and pawl_store_fsync_seconds are low"),
    "PostgreSQL CPU": ("postgres_cores", lambda load: load.postgres_cores * load.usable,
                       "pawl_store_fsync_seconds rises, and the database's own CPU"),
    "log bandwidth": ("wal_mib_per_s", lambda load: load.wal_mib_per_s * load.usable,
                      "pawl_store_fsync_seconds rises; WALWrite and WALSync in pg_stat_activity"),
    "disk": ("disk", lambda load: load.disk_tib * 1024 * load.usable, "pawl_store_file_bytes"),
    "vacuum": ("vacuum_mib_per_s", lambda load: load.vacuum_mib_per_s * load.usable,
               "n_dead_tup of pawl_kv; pawl_store_file_bytes grows while pawl_queue_jobs does not"),
}
ON_POSTGRES_ONLY = ("PostgreSQL CPU", "log bandwidth", "vacuum")


def shares(load, need):
    """Of each limit, how much of it is used."""
    have = {**need, "disk": need["journal_gib"] + need["kv_gib"]}
    return {name: have[field] / bound(load) for name, (field, bound, _) in LIMITS.items()
            if load.store == "postgres" or name not in ON_POSTGRES_ONLY}


def first_limit(load, need):
    used = shares(load, need)
    return max(used.items(), key=lambda item: item[1])


def carries(costs, load):
    """The least runs a day at which a limit is reached, and which one it is. Not all grow with the load: a busier
    engine writes a row less often. So the first crossing is looked for, from below."""
    def reached(runs):
        at = dataclasses.replace(load, runs_per_day=runs)
        return first_limit(at, needs(costs, at))

    high = 1e4
    while reached(high)[1] <= 1:
        high *= 1.1
    low = high / 1.1
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if reached(middle)[1] <= 1 else (low, middle)
    return low, reached(high)[0]


# --- what is printed

def three_digits(value):
    if value == 0:
        return "0"
    if value >= 1e9:
        return three_digits(value / 1e9) + " billion"
    if value >= 1e6:
        return three_digits(value / 1e6) + " million"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    digits = min(digits, 3)
    rounded = round(value, 2 - math.floor(math.log10(abs(value))))
    return f"{rounded:,.{digits}f}".rstrip("0").rstrip(".") if digits else f"{rounded:,.0f}"


def size(gib):
    return three_digits(gib / 1024) + " TiB" if gib >= 1024 else three_digits(gib) + " GiB"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def unit_table(costs):
    """The unit costs, each with what it is counted in."""
    names = {"commits_sqlite": "a commit on SQLite", "commits_postgres": "a commit on PostgreSQL", "requests": "a request",
             "pushed": "a job pushed", "fetched": "a job fetched", "acked": "a job acknowledged", "chain_jobs": "a job of a chain, made", "chain_steps": "a step of a chain: ack, advance, fetch",
             "runs": "a run of a definition", "steps_computed": "a step that is computed",
             "steps_outside": "a step that is an action (an HTTP call)", "rows_sqlite": "a row on SQLite",
             "rows_postgres": "a row on PostgreSQL", "reads_postgres": "a lookup on PostgreSQL",
             "reads": "a lookup", "payload_kib": "a KiB of arguments", "passed_on": "a request passed on",
             "forgotten_rows": "a row deleted by retention", "commits": "a commit", "rows": "a row",
             "journal_kib": "a KiB of the journal"}
    order = list(names)
    units = [("server_us", "CPU of the server, µs"), ("postgres_us", "CPU of PostgreSQL, µs"),
             ("journal_bytes", "journal, bytes"), ("wal_bytes", "log of PostgreSQL, bytes")]
    used = [name for name in order if any(name in costs[field] for field, _ in units)]
    rows = [[names[name]] + [three_digits(costs[field][name]) if name in costs[field] else "" for field, _ in units]
            for name in used]
    rest = costs["at_rest_bytes"]
    more = [[SHAPES[shape][0], *(three_digits(per_run[shape]) for per_run in (costs["reads"], costs["rows"], rest))]
            for shape in SHAPES if shape != "bulk"]
    return (table(["", *(text for _, text in units)], rows) + "\n\n"
            + table(["one run", "lookups", "rows at rest", "bytes of these in pawl_kv, with its index"], more))


def demand_table(costs, runs_per_day, load):
    rows = []
    for shape, (text, _) in SHAPES.items():
        one = dataclasses.replace(load, runs_per_day=runs_per_day, shape=shape)
        need = needs(costs, one)
        name, used = first_limit(one, need)
        rows.append([text, three_digits(need["requests_per_s"]), three_digits(need["node_cores"]),
                     three_digits(need["postgres_cores"]), three_digits(need["commits_per_s"]),
                     f"{need['partition_in_commit']:.0%}",
                     three_digits(need["wal_mib_per_s"]), size(need["journal_gib_per_day"]),
                     size(need["journal_gib"]), size(need["kv_gib"]), three_digits(need["finished_days"]),
                     f"{name}, {used:.0%}", str(cells(costs, one))])
    return table(["a run is", "requests/s", "node cores", "PostgreSQL cores", "commits/s", "time in commits", "log MiB/s",
                  "journal a day",
                  "journal kept", "pawl_kv kept", "days finished jobs stay", "nearest limit, share of it used", "cells"], rows)


def cells(costs, load):
    """Clusters of this size that share the load evenly."""
    return math.ceil(load.runs_per_day / carries(costs, load)[0])


ONE_DISK = {"store": "sqlite", "nodes": 1, "commit_ms": 0.5, "read_ms": 0.005, "disk_tib": 4}
SETUPS = [
    ("one node on SQLite, 1 partition", {**ONE_DISK, "partitions": 1}),
    ("one node on SQLite, 16 partitions", {**ONE_DISK, "partitions": 16}),
    ("one node, one PostgreSQL, 1 partition", {"partitions": 1, "nodes": 1}),
    ("3 nodes, one PostgreSQL, 16 partitions", {"partitions": 16, "nodes": 3}),
    ("16 nodes, one PostgreSQL, 256 partitions", {"partitions": 256, "nodes": 16}),
]


def carry_table(costs):
    rows = []
    for text, fields in SETUPS:
        cell = []
        for shape in SHAPES:
            runs, limit = carries(costs, Workload(1, shape, **fields))
            cell.append(f"{three_digits(runs)}: {limit}")
        rows.append([text, *cell])
    return table(["", *(text for text, _ in SHAPES.values())], rows)


def limit_table():
    return table(["limit", "shows in"], [[name, metric] for name, (_, _, metric) in LIMITS.items()])


def check_table(costs):
    rows = []
    for check in costs["checks"]:
        said = predict(costs, check["store"], check["counts"])
        for field, text in (("server_s", "server CPU, s"), ("postgres_s", "PostgreSQL CPU, s"),
                            ("journal_bytes", "journal, MB"), ("wal_bytes", "log, MB")):
            if field in check["measured"] and field in said:
                unit = 1e6 if field.endswith("bytes") else 1
                rows.append([check["name"], text, three_digits(said[field] / unit),
                             three_digits(check["measured"][field] / unit), f"{said[field] / check['measured'][field]:.2f}"])
    return table(["load", "", "model", "measured", "ratio"], rows)


TEN_MILLION, BILLION = 1e7, 1e9


def tables(costs):
    """Name → text of each table of docs/scale.md."""
    return {
        "units": unit_table(costs),
        "checks": check_table(costs),
        "ten-million": demand_table(costs, TEN_MILLION, Workload(1, "job")),
        "billion": demand_table(costs, BILLION, Workload(1, "job", partitions=256, nodes=16)),
        "carries": carry_table(costs),
        "limits": limit_table(),
    }


def read_costs(path=COSTS):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def framed(name, text):
    return f"<!-- capacity: {name} -->\n\n{text}\n\n<!-- end -->"


def put_into(path, named):
    with open(path, encoding="utf-8") as file:
        document = file.read()
    for name, text in named.items():
        document = re.sub(f"<!-- capacity: {name} -->.*?<!-- end -->", lambda _, now=framed(name, text): now, document,
                          flags=re.S)
    with open(path, "w", encoding="utf-8") as file:
        file.write(document)


def ask(costs, words):
    fields = dict(word.split("=", 1) for word in words[2:])
    kinds = {field.name: field.type for field in dataclasses.fields(Workload)}
    load = Workload(float(words[0]), words[1], **{name: {"str": str, str: str}.get(kinds[name], float)(value)
                                                  for name, value in fields.items()})
    need = needs(costs, load)
    for name, value in need.items():
        print(f"{name:22} {three_digits(value)}")
    for name, used in sorted(shares(load, need).items(), key=lambda item: -item[1]):
        print(f"{name:22} {used:8.1%}   {LIMITS[name][2]}")


def main():
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--table", action="store_true")
    given.add_argument("--into", metavar="FILE", help="a document: its tables are replaced")
    given.add_argument("--ask", nargs="+", metavar="WORD")
    given.add_argument("--measure", action="store_true")
    given.add_argument("--check", action="store_true")
    given.add_argument("--pawl", default="build/pawl")
    given.add_argument("--costs", default=COSTS)
    given.add_argument("--scale", type=float, default=1, help="of the loads that are measured")
    given = given.parse_args()
    if given.measure or given.check:
        import capacity_points  # only these need servers
        if given.measure:
            capacity_points.measure(given.pawl, given.costs, given.scale)
        if given.check:
            capacity_points.check(given.pawl, given.costs, given.scale)
            print(check_table(read_costs(given.costs)))
    elif given.ask:
        ask(read_costs(given.costs), given.ask)
    elif given.into:
        put_into(given.into, tables(read_costs(given.costs)))
    else:
        for name, text in tables(read_costs(given.costs)).items():
            print(f"{framed(name, text)}\n")


if __name__ == "__main__":
    sys.exit(main())
