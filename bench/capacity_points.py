"""Measures the unit costs of capacity.py, and the loads that it is checked with."""
import contextlib
import json
import platform
import time

import capacity
from capacity_measure import (Clients, Meter, Responder, Servers, ack, cpu_seconds, fetch, get_jobs, push, put_definition,
                              run_definitions, sqlite_sizes, start_chains, wait_until, work_chains)

CHAIN = 5
SWEEPS = 4_000


def fit(equations, names):
    """Costs of names, none below zero, that come closest to equations [(counts, measured)], relative to each measure."""
    equations = [(counts, value) for counts, value in equations if value > 0]
    cost = dict.fromkeys(names, 0.0)
    for _ in range(SWEEPS):
        for name in names:
            above = below = 0.0
            for counts, value in equations:
                weight = counts.get(name, 0) / value
                rest = sum(cost[other] * counts.get(other, 0) for other in names if other != name) / value
                above += weight * (1 - rest)
                below += weight * weight
            cost[name] = max(0.0, above / below) if below else 0.0
    return cost


@contextlib.contextmanager
def on(pawl, store, **how):
    servers = Servers(pawl, store, **how)
    try:
        yield servers
    finally:
        servers.close()


def loads(responder, scale):
    """Name → load, in an order in which each finds what it needs. Single ones: a commit for each request."""
    few, rounds = int(600 * scale), int(40 * scale)
    wide, ids = 64 * rounds, []
    queued = few + wide + 100 * rounds + 40 * rounds
    yield "push, one at a time", 1, lambda c: push(c, few, 1)
    yield "push, 64 at once", 64, lambda c: push(c, wide, 1)
    yield "push of 100", 1, lambda c: push(c, rounds, 100)
    yield "push of 100 with 1 KiB", 1, lambda c: push(c, rounds * 2 // 5, 100, 1024)
    yield "fetch, one at a time", 1, lambda c: fetch(c, few, 1, ids)
    yield "fetch, 64 at once", 64, lambda c: fetch(c, wide, 1, ids)
    yield "fetch of 100", 1, lambda c: fetch(c, (queued - len(ids)) // 100, 100, ids)
    yield "ack, one at a time", 1, lambda c: ack(c, ids[:few], 1)
    yield "ack, 64 at once", 64, lambda c: ack(c, ids[few:few + wide], 1)
    yield "ack of 100", 1, lambda c: ack(c, ids[few + wide:], 100)
    chains = 64 * int(8 * scale)
    yield "chains made", 64, lambda c: start_chains(c, chains, CHAIN)
    yield "chains worked off", 64, lambda c: work_chains(c, chains * CHAIN)
    yield "runs of 1 computed step", 64, lambda c: run_definitions(c, "one", 64 * int(12 * scale), 1, 0)
    yield "runs of 10 computed steps", 64, lambda c: run_definitions(c, "ten", 64 * int(8 * scale), 10, 0)
    yield "runs of 10 steps, 5 of them calls", 32, lambda c: run_definitions(c, "half", 32 * int(6 * scale), 10, 5)


def define(servers, responder):
    clients = Clients(servers.nodes, 1)
    put_definition(clients, "one", 1, 0)
    put_definition(clients, "ten", 10, 0)
    put_definition(clients, "half", 10, 5, responder.url)
    put_definition(clients, "third", 10, 3, responder.url)
    clients.close()


def idle_use(servers, seconds):
    """CPU-seconds a second, of the nodes and of PostgreSQL, of servers that nobody calls."""
    def now():
        used = {"server_s": sum(cpu_seconds(node.process.pid) for node in servers.nodes)}
        if servers.postgres:
            used["postgres_s"] = servers.postgres.cpu()
        return used, time.monotonic()

    before, began = now()
    time.sleep(seconds)
    after, ended = now()
    return {name: (after[name] - before[name]) / (ended - began) for name in after}


def one_load(servers, connections, load, idle=None):
    clients = Clients(servers.nodes, connections)
    meter = Meter(servers, idle)
    counts = load(clients)
    under_load = meter.loaded()
    rest, whole = meter.stop()
    clients.close()
    return {"counts": counts, "load": under_load, "rest": rest, "whole": whole}


def series(pawl, store, responder, scale):
    with on(pawl, store) as servers:
        define(servers, responder)
        idle = idle_use(servers, 8)
        found = {}
        for name, connections, load in loads(responder, scale):
            found[name] = one_load(servers, connections, load, idle)
            print(f"{store}: {name}: {summary(found[name])}", flush=True)
        return found


def summary(measured):
    cells = [f"{name} {value:.6g}" for name, value in measured["counts"].items()]
    cells += [f"{name} {value:.3f}" for name, value in measured["load"].items()]
    cells += [f"rows' {name} {value:.3f}" for name, value in measured["rest"].items() if name.endswith("_s")]
    cells += [f"{name} {value:.0f}" for name, value in measured["whole"].items()]
    return ", ".join(cells)


# --- the unit costs

WORK = ["requests", "pushed", "fetched", "acked", "chains", "chain_jobs", "chain_steps", "runs", "steps_computed",
        "steps_outside", "payload_kib"]


def server_costs(on_sqlite, on_postgres):
    """What work costs a server comes from SQLite, where commits cost least; PostgreSQL adds its commits and rows."""
    rows = {name: one["whole"]["rows"] for name, one in on_postgres.items()}
    equations = []
    for name, one in on_sqlite.items():
        equations.append(({**one["counts"], "commits": one["load"]["commits"]}, one["load"]["server_s"] * 1e6))
        if rows[name] > 100 and one["rest"]["server_s"] > 0.02:
            equations.append(({"rows": rows[name], "commits": one["rest"]["commits"]}, one["rest"]["server_s"] * 1e6))
    # A chain and its jobs are made together: a cost for each job is enough.
    cost = fit(equations, ["commits", "rows"] + [name for name in WORK if name != "chains"])
    more = [({"commits": one["load"]["commits"], "reads": one["whole"]["reads"]},
             one["load"]["server_s"] * 1e6 - capacity.times(cost, one["counts"])) for one in on_postgres.values()]
    heavy = [(counts, left) for counts, left in more if counts["commits"] >= 300 or counts["reads"] >= 300]
    rests = [({"rows": one["whole"]["rows"], "commits": one["rest"]["commits"]}, one["rest"]["server_s"] * 1e6)
             for one in on_postgres.values() if one["rest"]["server_s"] > 0.02]
    there = fit(heavy + rests, ["commits", "rows", "reads"])
    return {"commits_sqlite": cost.pop("commits"), "commits_postgres": there["commits"],
            **{name: value for name, value in cost.items() if name != "rows"},
            "rows_sqlite": cost["rows"], "rows_postgres": there["rows"], "reads_sqlite": 0.0,
            "reads_postgres": there["reads"]}


def postgres_costs(measured):
    equations = []
    for one in measured.values():
        equations.append(({"commits": one["load"]["commits"], "reads": one["whole"]["reads"],
                           "journal_kib": one["whole"]["journal_bytes"] / 1024}, one["load"]["postgres_s"] * 1e6))
        if one["rest"]["postgres_s"] > 0.02:
            equations.append(({"rows": one["whole"]["rows"], "commits": one["rest"]["commits"]},
                              one["rest"]["postgres_s"] * 1e6))
    return fit(equations, ["commits", "journal_kib", "rows", "reads"])


def log_costs(measured):
    return fit([({"commits": one["whole"]["commits"], "rows": one["whole"]["rows"],
                  "journal_kib": one["whole"]["journal_bytes"] / 1024}, one["whole"]["wal_bytes"])
                for one in measured.values()], ["commits", "rows", "journal_kib"])


def journal_costs(measured):
    work = [name for name in WORK if name not in ("requests", "chains")]
    return fit([({**one["counts"], "commits": one["load"]["commits"]}, one["whole"]["journal_bytes"])
                for one in measured.values()], ["commits"] + work)


# --- what stays, what retention takes away, what is passed on, what idles

def sum_of(*parts):
    return {name: sum(part.get(name, 0) for part in parts) for part in parts for name in part}


def whole_jobs(clients, jobs, each):
    done = {}
    for _ in range(jobs // each):
        ids = []
        done = sum_of(done, push(clients, 1, each), fetch(clients, 1, each, ids), ack(clients, ids, each))
    return done


def whole_chains(clients, chains, owner_of=None):
    return sum_of(start_chains(clients, chains, CHAIN), work_chains(clients, chains * CHAIN, owner_of))


def at_rest(pawl, responder, scale):
    """Rows and bytes that remain of a run, and what it costs to delete them."""
    sizes, rows, reads = {}, {}, {}
    with on(pawl, "postgres") as servers:
        define(servers, responder)
        jobs, chains, runs = int(100 * scale) * 100, 64 * int(10 * scale), 32 * int(10 * scale)
        journal = disk = 0
        for shape, number, connections, load in (
                ("job", jobs, 1, lambda c: whole_jobs(c, jobs, 100)),
                ("chain", chains, 64, lambda c: whole_chains(c, chains)),
                ("definition", runs, 32, lambda c: run_definitions(c, "half", runs, 10, 5))):
            one = one_load(servers, connections, load)
            print(f"rest: {shape}: {summary(one)}", flush=True)
            sizes[shape], rows[shape] = one["whole"]["kv_bytes"] / number, one["whole"]["rows"] / number
            reads[shape] = round(one["whole"]["reads"] / number)
            index = one["whole"]["kv_index_bytes"] / max(one["whole"]["kv_inserts"] - one["whole"]["kv_deletes"], 1)
            journal += one["whole"]["journal_bytes"]
            disk += one["whole"]["journal_disk_bytes"]
        gone = retention(servers)
    return sizes, rows, reads, {"index_of_row": index, "of_journal_byte": disk / journal}, gone


def retention(servers):
    """What it costs to delete all that has ended: of a restarted server that keeps it for a second, less what another
    restart costs, which finds nothing to delete."""
    database = servers.postgres
    kept = float(database.ask("SELECT count(*) FROM pawl_kv"))
    used = []
    for _ in range(2):
        servers.stop_nodes()
        begin, log = database.cpu(), float(database.ask("SELECT pg_current_wal_lsn() - '0/0'"))
        servers.start(arguments=["--retention-finished-age", "1s"])
        wait_until(lambda: time.sleep(2) or float(database.ask("SELECT count(*) FROM pawl_kv")) < kept / 20, "retention", 120)
        used.append({"server_s": cpu_seconds(servers.nodes[0].process.pid), "postgres_s": database.cpu() - begin,
                     "wal_bytes": float(database.ask("SELECT pg_current_wal_lsn() - '0/0'")) - log})
    gone = {"rows": kept, **{name: max(0.0, used[0][name] - used[1][name]) for name in used[0]}}
    print(f"retention: {gone}", flush=True)
    return gone


def passing(pawl, scale):
    """CPU of two nodes together for a request that another one decides, beyond that of a request that is at home, in µs:
    of 64 at once, which share messages between the nodes, and of one at a time."""
    with on(pawl, "postgres", partitions=6, nodes=3) as servers:
        owner_of, idle = servers.owner_of(), idle_use(servers, 8)
        first = Clients(servers.nodes[:1])
        call = ("POST", "/ojs/v1/jobs", {"type": "bench.noop", "args": [], "options": {"queue": "bench"}})
        ids = [json.loads(text)["job"]["id"] for text in first.all([call] * 64)]
        first.close()
        home = owner_of(ids[0])
        ids = [one for one in ids if owner_of(one) == home] * 2_000
        home_node = next(node for node in servers.nodes if node.name == home)
        other_node = next(node for node in servers.nodes if node.name != home)

        def each(node, connections, requests):
            clients, meter = Clients([node], connections), Meter(servers, idle)
            done = get_jobs(clients, ids[:requests])
            used = meter.loaded()["server_s"]
            clients.close()
            return used / done["requests"] * 1e6

        wide, few = int(6_400 * scale), int(600 * scale)
        took = {"at home": each(home_node, 64, wide), "passed on": each(other_node, 64, wide),
                "at home, alone": each(home_node, 1, few), "passed on, alone": each(other_node, 1, few)}
        print(f"passing: {took}", flush=True)
        return took["passed on"] - took["at home"], took["passed on, alone"] - took["at home, alone"]


def idle_node(pawl, partitions, seconds):
    """A node that nobody calls: CPU in percent of a core, queries a second, and which."""
    with on(pawl, "postgres", partitions=partitions) as servers:
        clients = Clients(servers.nodes, 16)
        put_definition(clients, "ten", 10, 0)
        run_definitions(clients, "ten", 16 * partitions, 10, 0)  # so that each partition has something to keep
        clients.close()
        time.sleep(12)
        servers.postgres.ask("SELECT pg_stat_statements_reset()")
        used = idle_use(servers, seconds)
        calls = servers.postgres.ask(f"SELECT round(calls / {seconds}.0, 2) || ' ' || left(query, 70) FROM"
                                     " pg_stat_statements WHERE query NOT LIKE '%pg_stat%' ORDER BY calls DESC")
        print(f"idle, {partitions} partitions: {used}\n{calls}", flush=True)
        lines = [line.split(" ", 1) for line in calls.splitlines() if line[:1].isdigit() or line[:1] == "."]
        return {"partitions": partitions, "server_percent": 100 * used["server_s"],
                "postgres_percent": 100 * used["postgres_s"],
                "queries_per_s": sum(float(number) for number, _ in lines),
                "queries": [[float(number), " ".join(text.split())] for number, text in lines]}


def file_of_byte(pawl, scale):
    """Bytes of SQLite's file for each byte of records and rows."""
    with on(pawl, "sqlite") as servers:
        clients = Clients(servers.nodes, 1)
        whole_jobs(clients, int(100 * scale) * 100, 100)
        clients.close()
        servers.stop_nodes()
        sizes = sqlite_sizes(servers.data + "/n1")
    print(f"sqlite: {sizes}", flush=True)
    return sizes["file"] / (sizes["records"] + sizes["rows"])


# --- all of it

def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write(path, costs):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(rounded(costs), file, indent=1)
        file.write("\n")


def measure(pawl, path, scale):
    responder = Responder()
    on_sqlite = series(pawl, "sqlite", responder, scale)
    on_postgres = series(pawl, "postgres", responder, scale)
    sizes, rows, reads, more, gone = at_rest(pawl, responder, scale)
    server, postgres, log = server_costs(on_sqlite, on_postgres), postgres_costs(on_postgres), log_costs(on_postgres)
    server["passed_on"], alone = passing(pawl, scale)
    for costs, field, unit in ((server, "server_s", 1e6), (postgres, "postgres_s", 1e6), (log, "wal_bytes", 1)):
        costs["forgotten_rows"] = gone[field] * unit / gone["rows"]
    def for_each_job(field):
        """Of a job that is at rest, and so written, after each of its three calls."""
        return sum(on_postgres[name]["whole"][field] / on_postgres[name]["counts"][work] for name, work in
                   (("push of 100", "pushed"), ("fetch of 100", "fetched"), ("ack of 100", "acked")))

    rows["touch"], rows["touch_dead"] = (for_each_job("rows") - rows["job"]) / 2, for_each_job("dead_rows") / 2
    plain, large = on_postgres["push of 100"], on_postgres["push of 100 with 1 KiB"]
    more["payload"] = ((large["whole"]["kv_bytes"] / large["counts"]["pushed"]
                        - plain["whole"]["kv_bytes"] / plain["counts"]["pushed"]) / 1024)
    sync = on_postgres["push, one at a time"]["whole"]
    for each in (rows, sizes, reads):
        each["bulk"] = each["job"]
    costs = {
        "machine": f"{platform.machine()}, 2 cores, shared; {time.strftime('%Y-%m-%d')}",
        "server_us": server, "postgres_us": postgres, "journal_bytes": journal_costs(on_postgres), "wal_bytes": log,
        "rows": rows, "reads": reads, "at_rest_bytes": {**sizes, **more},
        "sqlite_file_of_byte": file_of_byte(pawl, scale),
        "passed_on_alone_us": alone,
        "commit_ms_here": 1e3 * sync["sync_s"] / sync["fsyncs"],
        "fsyncs_of_commit": {"sqlite": on_sqlite["push, one at a time"]["whole"]["fsyncs"]
                                       / on_sqlite["push, one at a time"]["whole"]["commits"]},
        "idle": [idle_node(pawl, 1, 20), idle_node(pawl, 16, 20)],
        "checks": [],
    }
    responder.close()
    write(path, costs)


def check(pawl, path, scale):
    """Three loads that no unit cost was measured with; their commits, rows and passed-on requests are counted."""
    costs, responder, found = capacity.read_costs(path), Responder(), []

    def point(name, store, load, connections=64, **how):
        with on(pawl, store, **how) as servers:
            define(servers, responder)
            idle = idle_use(servers, 8)
            one = one_load(servers, connections, lambda clients: load(clients, servers), idle)
        counts = {**one["counts"], "commits": one["whole"]["commits"], "reads": one["whole"].get("reads", 0),
                  "rows": one["whole"].get("rows", one["counts"].get("pushed", 0) * costs["rows"]["job"])}
        measured = {"server_s": one["load"]["server_s"] + one["rest"]["server_s"], **one["whole"]}
        if store == "postgres":
            measured["postgres_s"] = one["load"]["postgres_s"] + one["rest"]["postgres_s"]
        print(f"{name}: {summary(one)}", flush=True)
        found.append({"name": name, "store": store, "counts": counts, "measured": measured})

    point("jobs on SQLite: pushed and fetched in tens, acknowledged singly", "sqlite",
          lambda clients, _: mixed_jobs(clients, int(12 * scale)), connections=16)
    point("definitions of 10 steps, 3 calls, on PostgreSQL", "postgres",
          lambda clients, _: run_definitions(clients, "third", 24 * int(20 * scale), 10, 3), connections=24)
    point("chains of 5 on three nodes, 6 partitions", "postgres",
          lambda clients, servers: whole_chains(clients, 60 * int(8 * scale), servers.owner_of()), connections=60,
          partitions=6, nodes=3)
    responder.close()
    write(path, {**costs, "checks": found})


def mixed_jobs(clients, rounds):
    done = {}
    for _ in range(rounds):
        ids = []
        done = sum_of(done, push(clients, 64, 10), fetch(clients, 64, 10, ids), ack(clients, ids, 1))
    return done
