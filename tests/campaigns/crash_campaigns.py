"""kill9 and powercut: the server dies at random moments of a mixed load, and everything it acknowledged is there
afterwards."""
import random

from load import Load
from servers import LEAK, LIES, CampaignServer
from stand_in import StandIn


class Campaign:
    """One server, one load, one verdict line."""

    def __init__(self, name, seed, **server_options):
        self.name = name
        self.rng = random.Random(seed)
        self.stand_in = StandIn()
        self.server = CampaignServer(**server_options)
        self.load = Load(self.server, self.stand_in, seed)

    def close(self):
        self.load.finish()
        self.server.close()
        self.stand_in.close()

    def begin(self):
        self.server.start()
        self.load.define()
        self.load.start()

    def cycle(self, operations_max):
        """Works for a while, dies, and is there again with what was acknowledged last."""
        self.load.until_operations(self.rng.randint(1, operations_max))
        recent = list(self.load.book.jobs)[-20:] + list(self.load.book.completed)[-20:]
        self.server.kill()
        if self.rng.random() < 0.1:
            self.server.kill_while_starting(self.rng.random() * 0.1)
        self.server.start()
        self.load.check_jobs(recent, ended=False)

    def verdict(self, cycles, what="cycles", more=""):
        """Drains, compares, prints; the number of violations."""
        self.load.drain()
        found = self.load.check()
        book = self.load.book
        print(f"{self.name}: {cycles} {what}, {len(book.jobs) + len(book.completed):,} pushes and acks acknowledged, "
              f"{found['jobs lost']} lost, {len(book.flows):,} workflows, {found['workflows lost']} lost, "
              f"{found['callbacks doubled']} callbacks doubled, {found['callbacks lost']} lost, "
              f"{len(book.runs):,} runs, {found['runs lost']} lost, {len(book.decided):,} decisions, "
              f"{self.load.repeated_steps()} steps repeated; {more}{self.server.recovery_text()}", flush=True)
        for violation in book.violations[:20]:
            print("  violation: " + violation)
        return len(book.violations)


def kill9(cycles, seed):
    campaign = Campaign("kill9", seed)
    try:
        campaign.begin()
        for _ in range(cycles):
            campaign.cycle(400)
        return campaign.verdict(cycles)
    finally:
        campaign.close()


def lies_are_found(seed):
    """A disk that says ok to a sync and does nothing must be caught, or this campaign proves nothing."""
    campaign = Campaign("powercut", seed, layered=True)
    try:
        campaign.begin()
        campaign.server.control[LIES] = 1
        for _ in range(5):
            try:
                campaign.cycle(100)
            except AssertionError as refusal:
                print(f"powercut: a disk that lies is found: {str(refusal).splitlines()[0]}", flush=True)
                return True
            if campaign.load.book.violations:
                print(f"powercut: a disk that lies is found: {campaign.load.book.violations[0]}", flush=True)
                return True
        return False
    finally:
        campaign.load.book.violations.clear()
        try:
            campaign.close()
        except AssertionError:
            pass  # a definition was lost, too


def powercut(cycles, seed):
    if not lies_are_found(seed):
        print("powercut: a disk that lies was not noticed: the layer does not bite")
        return 1
    campaign = Campaign("powercut", seed, layered=True)
    try:
        campaign.begin()
        for cycle in range(cycles):
            campaign.server.control[LEAK] = (0, 100, 500, 900)[cycle % 4]
            campaign.cycle(400)
        return campaign.verdict(cycles)
    finally:
        campaign.close()
