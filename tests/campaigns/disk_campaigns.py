"""enospc and eio: the disk runs full or fails under load; the server refuses, says why, and recovers by itself."""
import os
import subprocess
import tempfile
import time

from crash_campaigns import Campaign
from harness import until
from servers import BYTES_LEFT, ERRORS, LIMITED, SYNC_EIO, WRITE_EIO

DISK_BYTES = 256 << 20


class SmallDisk:
    """A file system of its own for the data, filled and freed with one large file."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="pawl-small-disk-")
        self.mounted = os.environ.get("PAWL_CAMPAIGN_MOUNT") != "0" and subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", self.path],
            capture_output=True, check=False).returncode == 0
        self._filler = os.path.join(self.path, "filler")

    def fill(self, left_bytes):
        with open(self._filler, "wb") as filler:
            until(lambda: self._fill_up(filler, left_bytes), "the disk to be filled")

    def _fill_up(self, filler, left_bytes):
        disk = os.statvfs(self.path)
        try:
            os.posix_fallocate(filler.fileno(), 0, max(1, disk.f_bavail * disk.f_frsize - left_bytes))
        except OSError:
            return False  # the server took some of it meanwhile
        return True

    def free(self):
        os.unlink(self._filler)

    def keep_full(self, left_bytes):
        """What the server gave back (a log that it moved) is taken again."""
        with open(self._filler, "r+b") as filler:
            size = os.fstat(filler.fileno()).st_size
            disk = os.statvfs(self.path)
            more = disk.f_bavail * disk.f_frsize - left_bytes
            try:
                if more > 0:
                    os.posix_fallocate(filler.fileno(), size, more)
            except OSError:
                pass  # the server took some of it meanwhile

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.path], check=False)
        os.rmdir(self.path)


class LayeredDisk:
    def __init__(self, control):
        self._control = control

    def fill(self, left_bytes):
        self._control[BYTES_LEFT] = left_bytes
        self._control[LIMITED] = 1

    def free(self):
        self._control[LIMITED] = 0

    def keep_full(self, left_bytes):
        pass


def ask_while_full(client, disk):
    """The health and a push of one moment in which the disk is full. What the server gives back (a log that it moved)
    may be room enough to go on for a moment: then the disk is filled again."""
    for _ in range(50):
        disk.keep_full(3 << 20)
        health = client.get("/health")
        pushed = client.push("work", [1], queue="full")
        if pushed.status == 503 and health.status == 503:
            break
        if pushed.status == 201:
            until(lambda: client.cancel(pushed.body["id"]).status == 200, "the push to be taken back", 30)
    return health, pushed


def watch_outage(campaign, disk, problems):
    """While the disk is full: the health says so and why, reads are answered, new work gets a clear no."""
    client = campaign.server.client()
    health, refused = ask_while_full(client, disk)
    if health.status != 503 or health.body["status"] != "unhealthy" or "disk is full" not in health.body["error"]:
        problems.append(f"/health during the outage: {health.status} {health.raw!r}")
    error = (refused.body or {}).get("error", {})
    if refused.status != 503 or error.get("code") != "store_failed" or not refused.headers.get("Retry-After"):
        problems.append(f"a push during the outage: {refused.status} {refused.raw!r}")
    reads = ["/ojs/v1/queues", "/v1/system", "/v1/runs?limit=5"]
    reads += [f"/ojs/v1/jobs/{job_id}" for job_id in list(campaign.load.book.jobs)[-5:]]
    for path in reads:
        reply = client.get(path)
        if reply.status != 200:
            problems.append(f"GET {path} during the outage: {reply.status} {reply.raw[:200]!r}")
    client.close()
    return len(reads)


def outages(campaign, disk, cycles, problems):
    """Times from the space's return to the first yes."""
    resumed_ms, reads, pid = [], 0, campaign.server.process.pid
    for _ in range(cycles):
        campaign.load.until_operations(100)
        before = campaign.load.book.refusals["store_failed"]
        disk.fill(3 << 20)
        until(lambda: disk.keep_full(3 << 20) or campaign.load.check_threads()
              or campaign.load.book.refusals["store_failed"] >= before + 20, "work to be refused", 120)
        reads += watch_outage(campaign, disk, problems)
        disk.free()
        begin = time.monotonic()
        operations = campaign.load.book.operations
        until(lambda: campaign.load.book.operations > operations, "work to be taken again", 30)
        resumed_ms.append((time.monotonic() - begin) * 1000)
        if not campaign.server.alive() or campaign.server.process.pid != pid:
            problems.append("the process did not live through it")
    return resumed_ms, reads


def enospc(cycles, seed):
    small = SmallDisk()
    data = os.path.join(small.path, "data") if small.mounted else None
    campaign = Campaign("enospc", seed, layered=not small.mounted, data=data)
    campaign.load.padding = 20_000
    disk = small if small.mounted else LayeredDisk(campaign.server.control)
    problems = []
    try:
        campaign.begin()
        resumed_ms, reads = outages(campaign, disk, cycles, problems)
        if campaign.load.repeated_steps():
            problems.append("an action was done twice, though the process never died")
        for problem in problems[:10]:
            campaign.load.book.violation(problem)
        refusals = campaign.load.book.refusals["store_failed"]
        kind = "tmpfs" if small.mounted else "disk layer"
        return campaign.verdict(cycles, f"outages on a {kind}", f"{refusals:,} refused with store_failed, {reads} reads "
                                f"answered meanwhile, resumed by itself within {max(resumed_ms):.0f} ms; ")
    finally:
        campaign.close()
        small.close()


def eio(cycles, seed):
    """Writes and syncs fail now and then, and pages of a failed sync are lost; then the power goes."""
    campaign = Campaign("eio", seed, layered=True)
    server = campaign.server
    outages_seen = 0
    try:
        campaign.begin()
        for cycle in range(cycles):
            server.control[WRITE_EIO], server.control[SYNC_EIO] = ((0, 60), (400, 0), (400, 120))[cycle % 3]
            before = campaign.load.book.refusals["store_failed"]
            until(lambda: campaign.load.check_threads() or campaign.load.book.refusals["store_failed"] > before,
                  "a refusal", 60)
            outages_seen += 1
            server.control[WRITE_EIO] = server.control[SYNC_EIO] = 0
            operations = campaign.load.book.operations
            until(lambda: campaign.load.book.operations > operations, "work to be taken again", 30)
            campaign.cycle(200)  # the power goes: what rests on lost pages is lost
        return campaign.verdict(cycles, "failing disks", f"{server.control[ERRORS]} errors given, "
                                f"{campaign.load.book.refusals['store_failed']:,} refused with store_failed; ")
    finally:
        campaign.close()
