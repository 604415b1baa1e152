#!/usr/bin/env python3
"""Campaigns against the real server binary.

    python3 tests/campaigns/run.py NAME... [--cycles N] [--seed N] [--pawl build/pawl] [--layer FILE]
    python3 tests/campaigns/run.py all

Each prints one line of counts; the exit code is 1 if any of them found a violation. NAME may be written
NAME:CYCLES.
"""
import argparse
import os
import random
import sys
import time
import traceback

# name → cycles by default
CAMPAIGNS = {"kill9": 200, "powercut": 50, "enospc": 5, "eio": 30, "sigstop": 30, "two_servers": 10, "upgrade": 1,
             "connections": 1, "memory": 1, "cluster": 200, "hostile_minutes": 30}
# Not part of `all`: other lengths of hostile_minutes.
OTHERS = {"hostile": 43, "hostile_short": 13}


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME", help=", ".join([*CAMPAIGNS, *OTHERS, "all"]))
    parser.add_argument("--cycles", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--round", type=int, help="the first round of a hostile campaign, to repeat one")
    parser.add_argument("--generators", default="", help="of a hostile campaign: only these, with commas between them")
    parser.add_argument("--pawl", default=os.environ.get("PAWL", "build/pawl"))
    parser.add_argument("--layer", help="disk_layer.c, built (beside the binary by default)")
    return parser.parse_args()


def wanted(names):
    for name in CAMPAIGNS if names == ["all"] else names:
        name, _, cycles = name.partition(":")
        if name not in CAMPAIGNS and name not in OTHERS:
            raise SystemExit(f"no campaign '{name}'; there are {', '.join([*CAMPAIGNS, *OTHERS])}")
        yield name, int(cycles) if cycles else None


def main():
    args = parse()
    chosen = list(wanted(args.names))
    os.environ["PAWL"] = os.path.abspath(args.pawl)
    layer = args.layer or os.path.join(os.path.dirname(os.path.abspath(args.pawl)), "tests", "libdisk_layer.so")
    os.environ.setdefault("PAWL_DISK_LAYER", os.path.abspath(layer))
    os.environ.update(PAWL_HOSTILE_ROUND=str(args.round or 0), PAWL_HOSTILE_GENERATORS=args.generators)
    import cluster_campaigns  # after PAWL is set, which the harness reads
    import crash_campaigns
    import crowd_campaigns
    import disk_campaigns
    import hostile_campaigns
    import process_campaigns
    failed = []
    for name, cycles in chosen:
        module = next(m for m in (crash_campaigns, disk_campaigns, process_campaigns, crowd_campaigns, hostile_campaigns,
                                      cluster_campaigns)
                      if hasattr(m, name) and getattr(m, name).__module__ == m.__name__)
        begin = time.monotonic()
        try:
            violations = getattr(module, name)(cycles or args.cycles or {**CAMPAIGNS, **OTHERS}[name], args.seed)
        except Exception:  # one campaign that breaks must not hide the others
            traceback.print_exc()
            violations = 1
        if violations:
            failed.append(name)
            print(f"{name}: FAILED after {time.monotonic() - begin:.0f} s, seed {args.seed}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
