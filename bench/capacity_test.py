"""The capacity model: its arithmetic, that docs/scale.md has its tables, and that it names what exists."""
import math
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import capacity  # noqa: E402
import capacity_points  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# Costs that can be reckoned in the head: a job takes 3 requests of 10 µs, and each of its parts 10 µs.
ROUND = {
    "server_us": {"requests": 10, "pushed": 10, "fetched": 10, "acked": 10, "commits_sqlite": 100, "commits_postgres": 200,
                  "rows_sqlite": 5, "rows_postgres": 50, "reads_sqlite": 0, "reads_postgres": 0,
                  "passed_on": 60, "forgotten_rows": 10},
    "postgres_us": {"commits": 400, "rows": 100, "journal_kib": 8, "forgotten_rows": 100},
    "journal_bytes": {"commits": 24, "pushed": 500, "fetched": 300, "acked": 200},
    "wal_bytes": {"commits": 100, "rows": 500, "journal_kib": 1024, "forgotten_rows": 50},
    "rows": {"job": 2, "touch": 3, "touch_dead": 1},
    "reads": {"job": 2},
    "at_rest_bytes": {"job": 1000, "payload": 1, "index_of_row": 50, "of_journal_byte": 2},
}


class Arithmetic(unittest.TestCase):
    def test_slow_inputs_have_a_commit_each_and_fast_ones_share_them(self):
        self.assertAlmostEqual(capacity.commits_per_second(1, 0.001), 1, delta=0.001)
        self.assertAlmostEqual(capacity.commits_per_second(1e6, 0.001), 1000, delta=0.001)
        self.assertAlmostEqual(capacity.commits_per_second(1000, 0.001), 1 / (0.001 + math.exp(-1) / 1000))
        self.assertEqual(capacity.commits_per_second(0, 0.001), 0)

    def test_rows_are_written_again_by_an_engine_that_rests_or_owes_too_many(self):
        self.assertGreater(capacity.rewrites(10, 10), 0.99)         # pauses of 50 ms are frequent
        self.assertLess(capacity.rewrites(1_000, 1), 0.02)          # none, and what is owed is little
        self.assertGreater(capacity.rewrites(1_000_000, 1), 0.99)   # more changes in a second than may be owed

    def test_needs_of_a_day(self):
        load = capacity.Workload(86_400 * 100, "job", partitions=1, nodes=1, peak=1, commit_ms=1, touch_gap_s=0)
        need = capacity.needs(ROUND, load)
        commits = 1 / (0.001 + math.exp(-0.3) / 300)
        per_run = commits / 100
        self.assertAlmostEqual(need["commits_per_s"], commits)
        self.assertAlmostEqual(need["node_cores"], 100 * (60 + 200 * per_run + 50 * 2 + 10 * 2) / 1e6)
        journal = 1000 + 24 * per_run
        self.assertAlmostEqual(need["postgres_cores"], 100 * (400 * per_run + 200 + 8 * journal / 1024 + 200) / 1e6)
        self.assertAlmostEqual(need["wal_mib_per_s"], 100 * (100 * per_run + 1000 + journal + 100) / 2**20)
        self.assertAlmostEqual(need["journal_gib_per_day"], 8_640_000 * journal / 2**30)
        self.assertAlmostEqual(need["finished_days"], 20e6 / 8.64e6)  # the number is the bound, not the age
        self.assertAlmostEqual(need["kv_gib"], 20e6 * 1000 / 2**30)
        self.assertAlmostEqual(need["journal_days"], 20e6 / (commits * 86_400))
        self.assertAlmostEqual(need["partition_in_commit"], commits / 1000)
        self.assertAlmostEqual(need["engine_reading"], 100 * 2 * 0.0005)

    def test_an_engine_at_rest_writes_rows_again_and_vacuum_takes_the_dead_ones(self):
        load = capacity.Workload(86_400, "job", partitions=1, nodes=1, peak=1, touch_gap_s=1e6)
        need = capacity.needs(ROUND, load)
        self.assertAlmostEqual(need["rows_per_s"], 2 + 3 * 2)
        rows = 2 * 86_400 * 7
        vacuums = (2 + 1 * 2) * 86_400 / (0.02 * rows)
        read = rows * 50 + 2 * 0.02 * 86_400 * 7 * 1000
        self.assertAlmostEqual(need["vacuum_mib_per_s"], (vacuums * read + 86_400 * 1000) / 86_400 / 2**20)
        self.assertAlmostEqual(need["ids_last_hours"], 2e9 / need["commits_per_s"] / 3600)

    def test_passed_on_requests_cost_nodes_only(self):
        load = capacity.Workload(86_400 * 100, "job", partitions=4, nodes=4, peak=1, touch_gap_s=0)
        alone = capacity.needs(ROUND, capacity.dataclasses.replace(load, passed_on=0))
        spread = capacity.needs(ROUND, load)
        self.assertAlmostEqual(spread["node_cores"] - alone["node_cores"], 100 * 3 * 0.75 * 60 / 1e6)
        self.assertEqual(spread["postgres_cores"], alone["postgres_cores"])
        self.assertAlmostEqual(spread["partition_cores"], alone["node_cores"] / 4)

    def test_what_is_carried_is_where_the_first_limit_is_full(self):
        for store in ("sqlite", "postgres"):
            load = capacity.Workload(1, "job", store=store)
            runs, limit = capacity.carries(ROUND, load)
            load = capacity.dataclasses.replace(load, runs_per_day=runs)
            name, used = capacity.first_limit(load, capacity.needs(ROUND, load))
            self.assertEqual(name, limit)
            self.assertAlmostEqual(used, 1, delta=1e-6)
            self.assertEqual(capacity.cells(ROUND, capacity.dataclasses.replace(load, runs_per_day=runs * 2.5)), 3)

    def test_numbers_are_printed_with_three_digits(self):
        for value, text in ((0, "0"), (0.01234, "0.012"), (1.5, "1.5"), (999.6, "1,000"), (12_345, "12,300"),
                            (1.5e7, "15 million"), (2.345e9, "2.35 billion")):
            self.assertEqual(capacity.three_digits(value), text)


class Fit(unittest.TestCase):
    def test_finds_the_costs_that_made_the_measures(self):
        loads = [{"requests": 100, "commits": 100}, {"requests": 640, "commits": 10}, {"requests": 1, "commits": 1, "rows": 50}]
        true = {"requests": 20, "commits": 150, "rows": 30}
        found = capacity_points.fit([(one, capacity.times(true, one)) for one in loads], list(true))
        for name, value in true.items():
            self.assertAlmostEqual(found[name], value, delta=0.01)

    def test_gives_no_negative_cost(self):
        found = capacity_points.fit([({"a": 1}, 10), ({"a": 1, "b": 1}, 9)], ["a", "b"])
        self.assertEqual(found["b"], 0)


class Document(unittest.TestCase):
    def test_has_the_tables_that_the_program_prints(self):
        document = text_of("docs/scale.md")
        tables = capacity.tables(capacity.read_costs())
        marked = dict(re.findall(r"<!-- capacity: ([\w-]+) -->\n\n(.*?)\n\n<!-- end -->", document, re.S))
        self.assertEqual(sorted(marked), sorted(tables))
        for name, text in tables.items():
            self.assertEqual(marked[name], text, f"`bench/capacity.py --table` prints another table {name}")

    def test_limits_are_shown_by_metrics_that_exist(self):
        known = text_of("docs/reference/metrics.md")
        for name in re.findall(r"\b(?:pawl|process)_\w+", text_of("docs/scale.md") + capacity.limit_table()):
            if name not in ("pawl_kv", "pawl_bench"):
                self.assertIn(f"`{name}`", known)

    def test_bounds_are_those_of_the_engine(self):
        config = text_of("src/engine/config.h")
        self.assertIn("dirty_max = 65'536;", config)
        self.assertIn("finished_max = 20'000'000;", config)
        self.assertIn("journal_records_max = 20'000'000;", config)
        self.assertIn("kIdleBeforeFlushMs = 50;", text_of("src/engine/engine.cc"))
        self.assertEqual((capacity.DIRTY_MAX, capacity.FINISHED_MAX, capacity.RECORDS_MAX, capacity.QUIET_S),
                         (65_536, 20_000_000, 20_000_000, 0.05))
        vacuum = re.search(r"autovacuum_vacuum_scale_factor\s*=\s*([\d.]+)", text_of("src/store/postgres_schema.cc"))
        self.assertEqual(float(vacuum.group(1)), capacity.VACUUM_SHARE)


if __name__ == "__main__":
    unittest.main()
