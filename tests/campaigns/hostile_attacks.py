"""The attacks of a hostile campaign, by generator. A separate process:

    python3 hostile_attacks.py PORT WRITE_KEY READ_KEY SEED SECONDS NAME...

Each generator runs in a thread with its own random numbers, made from SEED and its name, until the time is up. It
ignores the answers; the last line on stdout counts them.
"""
import collections
import os
import sys
import threading

from attack import GENERATORS, Attack
import hostile_clients  # noqa: F401, which adds its generators
import hostile_definitions  # noqa: F401


def main():
    os.nice(5)  # what it costs to make all this must not be what the canary waits for
    port, write_key, read_key, seed, seconds = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4], float(sys.argv[5])
    attacks = {name: Attack(port, write_key, read_key, seed, seconds, name) for name in sys.argv[6:]}

    def go(name):
        try:
            GENERATORS[name](attacks[name])
        except OSError as failure:  # cut off, as it should be
            attacks[name].answers[type(failure).__name__] += 1

    threads = [threading.Thread(target=go, args=(name,), daemon=True) for name in attacks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 2)
    answers = sum((attack.answers for attack in attacks.values()), collections.Counter())
    print(" ".join(f"{what}:{count}" for what, count in sorted(answers.items())), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
