"""hostile: generated definitions, inputs, expressions and clients against a server that serves a canary.

Each round runs some generators of hostile_attacks.py for a few seconds, waits until the canary is served again, and
ends the server (kill -9 or SIGTERM) and starts it on the data that the attack left. It fails if a call of the canary

  - takes more than 250 ms longer than such calls took before any attack, less what the machine itself made
    everybody wait at that moment: what noise_probe.py waited (a call stands behind one sync at most before its own,
    so that counts twice), and the share of the cores that processes of others had,
  - is refused, is answered wrongly, or loses its connection,

if the server's peak RSS passes its bound, if it dies, or if a start takes longer than 2 s to the first good /ready,
less the share of others again.

Rounds are numbered; the same seed and number make the same round: `run.py hostile:1 --seed S --round N`.
"""
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

from harness import Client, TimedOut, until
from hostile_attacks import GENERATORS
from servers import CampaignServer
import canary

HERE = os.path.dirname(os.path.abspath(__file__))
BEYOND_MS = 250
READY_MS_MAX = 2000
RSS_MIB_MAX = 1536
BASELINE_S = 3
GIVEN_UP_S = 20  # a server that does not answer, end or start: the next round has another one
FRESH_EVERY = 12  # rounds on one data directory: every one of them leaves something
KEYS = {"root": "pawl_hostile_root_0123456789abcdef"}
ONLY = [name for name in os.environ.get("PAWL_HOSTILE_GENERATORS", "").split(",") if name]
FIRST_ROUND = int(os.environ.get("PAWL_HOSTILE_ROUND", "0"))


class Lines:
    """The lines that another process appends to a file, as they come."""

    def __init__(self, path):
        open(path, "ab").close()
        self._file = open(path, "rb")
        self._rest = b""

    def new(self):
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        return [line.decode().split(" ") for line in lines]


def jiffies_of(pid):
    """Processor time of a process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return 0


class Cores:
    """How much of the machine processes had that are none of the campaign's. Counted by the kernel."""

    def __init__(self):
        self.pids, self._seen, self._samples = set(), {}, []

    def sample(self):
        now = time.monotonic()
        if self._samples and now - self._samples[-1][0] < 0.05:
            return
        with open("/proc/stat", encoding="ascii") as file:
            user, nice, system, _, _, irq, soft, steal = (int(each) for each in file.readline().split()[1:9])
        for pid in self.pids:
            self._seen[pid] = max(self._seen.get(pid, 0), jiffies_of(pid))
        self._samples.append((now, user + nice + system + irq + soft + steal, sum(self._seen.values())))
        del self._samples[:-20_000]

    def share_of_others(self, begin, end):
        """Between 0 and 0.95, over this time and what little there is around it."""
        before = next((each for each in reversed(self._samples) if each[0] <= begin - 0.1), self._samples[0] if self._samples else None)
        after = next((each for each in self._samples if each[0] >= end + 0.1), self._samples[-1] if self._samples else None)
        if before is None or after[0] - before[0] < 0.1:
            return 0.0
        others = (after[1] - before[1]) - (after[2] - before[2])
        return min(0.95, max(0.0, others / ((after[0] - before[0]) * os.sysconf("SC_CLK_TCK") * os.cpu_count())))


class Watch:
    """The canary, the probe beside it, and what is wrong with how the canary is served."""

    def __init__(self, directory, port, key):
        calls, noise = os.path.join(directory, "calls"), os.path.join(directory, "noise")
        self.processes = [
            subprocess.Popen([sys.executable, os.path.join(HERE, "canary.py"), str(port), key, calls], stdin=subprocess.PIPE),
            subprocess.Popen([sys.executable, os.path.join(HERE, "noise_probe.py"), noise, os.path.join(directory, "scratch")],
                             stdin=subprocess.PIPE)]
        self._calls, self._noise = Lines(calls), Lines(noise)
        self.delays = []  # (begin_s, end_s, ms beyond the usual)
        self.usual, self.usual_noise = {}, 0.0
        self.away = []    # (from_s, to_s): there was no server on purpose
        self.served, self.excused = 0, 0
        self.cores = Cores()
        self.cores.pids.update([os.getpid(), *(process.pid for process in self.processes)])

    def read(self):
        """New calls as (kind, begin_s, wait_ms, what), after the noise of their time."""
        self.cores.sample()
        calls = [(kind, float(begin), float(wait), what) for kind, begin, wait, what in self._calls.new()]
        for begin, delay in self._noise.new():
            self.delays.append((float(begin), float(begin) + float(delay) / 1000, float(delay) - self.usual_noise))
        self.delays = self.delays[-60_000:]
        return calls

    def learn(self, seconds):
        """What calls take while nobody attacks."""
        end, calls = time.monotonic() + seconds, []
        until(lambda: calls.extend(self.read()) or time.monotonic() > end, "the baseline", seconds + 30)
        for kind in ("push", "fetch", "ack", "run", "health"):
            waits = sorted(wait for each, _, wait, what in calls[20:] if each == kind and what == "ok")
            if len(waits) < 5:
                raise AssertionError(f"the canary is not served before any attack: {calls[-5:]}")
            self.usual[kind] = waits[len(waits) * 95 // 100]
        noise = [delay for _, _, delay in self.delays]
        self.usual_noise = statistics.median(noise)

    def noise_during(self, begin, end):
        """The longest that the machine made the probe wait, of what overlaps."""
        return max((delay for from_s, to_s, delay in self.delays[-20_000:] if from_s < end and to_s > begin), default=0.0)

    def judge(self, calls):
        """(worst ms beyond its baseline by kind, violations)"""
        worst, wrong = {}, []
        for kind, begin, wait, what in calls:
            end = begin + wait / 1000
            if any(from_s < end and to_s > begin for from_s, to_s in self.away):
                continue
            self.served += 1
            beyond = wait - self.usual[kind]
            if beyond > BEYOND_MS:
                beyond = wait * (1 - self.cores.share_of_others(begin, end)) - self.usual[kind] - 2 * self.noise_during(begin, end)
                self.excused += beyond <= BEYOND_MS
            if what != "ok":
                wrong.append(f"{kind} of the canary: {what} after {wait:.0f} ms")
            elif beyond > BEYOND_MS:
                wrong.append(f"{kind} of the canary took {wait:.0f} ms, {beyond:.0f} ms more than usual")
            worst[kind] = max(worst.get(kind, 0), beyond)
        return worst, wrong

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.kill()
            process.wait()


class HostileServer(CampaignServer):
    def __init__(self):
        super().__init__(args=["--api-key", KEYS["root"]])
        self.generation = 0

    def fresh(self):
        """The next start is on an empty directory; half an hour of them would fill a disk."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.generation += 1
        self.data = os.path.join(self.directory, f"data{self.generation}")

    def begin(self, cores=None):
        """Starts, and says how many ms it took to the first good /ready, less what others had of the cores."""
        begin = time.monotonic()
        if cores is not None:
            cores.sample()
        self.start()
        client = Client(self.port)
        until(lambda: client.get("/ready").status == 200, "the first good /ready", GIVEN_UP_S)
        end = time.monotonic()
        client.close()
        if cores is None:
            return (end - begin) * 1000
        cores.pids.add(self.process.pid)
        cores.sample()
        return (end - begin) * 1000 * (1 - cores.share_of_others(begin, end))


class Hostile:
    def __init__(self, name, seed, attack_s, mixed):
        self.name, self.seed, self.attack_s, self.mixed = name, seed, attack_s, mixed
        self.server = HostileServer()
        self.violations, self.rounds, self.rss_mib, self.ready_ms = [], 0, 0, []
        self.worst, self.used = {}, set()
        self.watch = None

    def chosen(self, number):
        """The generators of a round. Every deck of rounds holds each of them."""
        names = sorted(ONLY or GENERATORS)
        per_deck = -(-len(names) // self.mixed)
        random.Random(f"{self.seed}/deck/{number // per_deck}").shuffle(names)
        at = number % per_deck * self.mixed
        return names[at:at + self.mixed]

    def prepare(self):
        """What the canary and the attackers need, on a directory that has none of it."""
        client = Client(self.server.port, {"Authorization": "Bearer " + KEYS["root"]})
        for key, scopes in (("canary", ["read", "write", "worker"]), ("write", ["read", "write", "worker"]), ("read", ["read"])):
            reply = client.post("/v1/keys", {"name": key, "scopes": scopes})
            if reply.status != 201:
                raise AssertionError(f"no key: {reply.raw!r}")
            KEYS[key] = reply.body["key"]
        reply = client.post("/v1/definitions", canary.DEFINITION)
        if reply.status not in (200, 201):
            raise AssertionError(f"the canary's definition is refused: {reply.raw!r}")
        client.close()

    def begin(self):
        self.server.begin()
        self.prepare()
        self.watch = Watch(self.server.directory, self.server.port, KEYS["root"])
        self.watch.cores.pids.add(self.server.process.pid)
        self.watch.learn(BASELINE_S)

    def attack(self, number, names):
        attacker = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "hostile_attacks.py"), str(self.server.port), KEYS["write"], KEYS["read"],
             f"{self.seed}/{number}", str(self.attack_s), *names], stdout=subprocess.PIPE, text=True)
        self.watch.cores.pids.add(attacker.pid)
        try:
            until(lambda: self.watch.cores.sample() or attacker.poll() is not None, "the attack to end", self.attack_s + GIVEN_UP_S)
        except TimedOut:
            attacker.kill()
        answers, _ = attacker.communicate()
        return answers.strip()

    def served_again(self, calls):
        """Every voice of the canary was answered after the attack."""
        begin, missing = time.monotonic(), {"push", "run", "health"}

        def all_spoke():
            new = self.watch.read()
            calls.extend(new)
            missing.difference_update(kind for kind, at, _, what in new if at > begin and what == "ok")
            return not missing or not self.server.alive()
        try:
            until(all_spoke, "the canary to be served", GIVEN_UP_S)
        except TimedOut:
            return [f"the canary was not served again within {GIVEN_UP_S} s: {', '.join(sorted(missing))}"]
        return []

    def restart(self, rng, wrong):
        """What it is ended by, and the ms until it is ready."""
        how = rng.choice(("kill -9", "SIGTERM"))
        begin = time.monotonic()
        self.watch.away.append((begin, float("inf")))
        if how == "kill -9" or not self.server.alive():
            self.server.kill()
        else:
            self.server.process.send_signal(signal.SIGTERM)
            try:
                if self.server.process.wait(GIVEN_UP_S) != 0:
                    wrong.append(f"it exited with {self.server.process.returncode} after SIGTERM")
            except subprocess.TimeoutExpired:
                wrong.append(f"it was still there {GIVEN_UP_S} s after SIGTERM")
                self.server.kill()
        fresh, took = self.rounds % FRESH_EVERY == FRESH_EVERY - 1, GIVEN_UP_S * 1000.0
        try:
            took = self.server.begin(self.watch.cores)
            if took > READY_MS_MAX:
                wrong.append(f"ready only {took:.0f} ms after its start")
        except (AssertionError, *Client.FAILURES) as failure:
            wrong.append(f"it does not come up again: {str(failure)[-400:]}")
            fresh = True
        if fresh or wrong:  # what one attack broke is not held against the next
            self.server.kill()
            self.server.fresh()
            self.server.begin(self.watch.cores)
            self.prepare()
        # A call that came while it was away ends when the canary has noticed.
        self.watch.away[-1] = (begin, time.monotonic() + 0.2)
        return how, took

    def round(self, number):
        rng = random.Random(f"{self.seed}/{number}")
        names, wrong, calls = self.chosen(number), [], []
        pid = self.server.process.pid
        answers = self.attack(number, names)
        wrong += self.served_again(calls)
        if not self.server.alive() or self.server.process.pid != pid:
            wrong.append(f"the server died: {self.server.log_tail()[-600:]}")
        else:
            rss = self.server.rss_kb("VmHWM") // 1024
            self.rss_mib = max(self.rss_mib, rss)
            if rss > RSS_MIB_MAX:
                wrong.append(f"its peak RSS is {rss} MiB")
        worst, unserved = self.watch.judge(calls + self.watch.read())
        wrong += sorted(set(unserved), key=unserved.index)[:5]
        how, took = self.restart(rng, wrong)
        self.ready_ms.append(took)
        for kind, beyond in worst.items():
            self.worst[kind] = max(self.worst.get(kind, 0), beyond)
        self.rounds += 1
        self.used.update(names)
        print(f"{self.name} round {number}: {' + '.join(names)}: {answers or 'no answers'}; canary at most "
              f"{max([0, *worst.values()]):.0f} ms beyond its baseline; {how}, ready in {took:.0f} ms", flush=True)
        again = " --generators " + ",".join(ONLY) if ONLY else ""
        for each in wrong:
            print(f"  violation: {each}\n  again: run.py {self.name}:1 --seed {self.seed} --round {number}{again}", flush=True)
        self.violations += wrong

    def verdict(self):
        ready = sorted(self.ready_ms)
        print(f"{self.name}: {self.rounds} rounds of {self.attack_s:g} s, {len(self.used)} of {len(GENERATORS)} generators, seed {self.seed}; "
              f"canary: {self.watch.served:,} calls, at most {max([0, *self.worst.values()]):.0f} ms beyond its baseline "
              f"({', '.join(f'{kind} {ms:.0f}' for kind, ms in sorted(self.watch.usual.items()))} ms), {self.watch.excused} longer ones while the "
              f"machine stood still; peak RSS {self.rss_mib} MiB; ready again in p50 {ready[len(ready) // 2]:.0f} ms, at most "
              f"{ready[-1]:.0f} ms; {len(self.violations)} violations", flush=True)
        return len(self.violations)

    def close(self):
        if self.watch is not None:
            self.watch.close()
        self.server.close()


def campaign(name, seed, attack_s, mixed, more):
    """Rounds while more(how many there were)."""
    for each in ONLY:
        if each not in GENERATORS:
            raise SystemExit(f"no generator '{each}'; there are {', '.join(sorted(GENERATORS))}")
    hostile_one = Hostile(name, seed, attack_s, mixed)
    try:
        hostile_one.begin()
        while more(hostile_one.rounds):
            hostile_one.round(FIRST_ROUND + hostile_one.rounds)
        return hostile_one.verdict()
    finally:
        hostile_one.close()


def hostile(cycles, seed):
    return campaign("hostile", seed, 3, 1, lambda rounds: rounds < cycles)


def hostile_short(cycles, seed):
    return campaign("hostile_short", seed, 1, 3, lambda rounds: rounds < cycles)


def hostile_minutes(cycles, seed):
    end = time.monotonic() + cycles * 60
    return campaign("hostile_minutes", seed, 3, 1, lambda rounds: time.monotonic() < end)
