"""connections and memory: very many clients, and too little memory."""
import resource
import select
import socket
import threading
import time

from harness import Client, TimedOut, encode, until
from servers import CampaignServer

IDLE = 4000
SLOW = 100
LISTS = 60  # of 1,000 jobs, asked for at once by each slow reader of lists
CALL_MS_MAX = 2000  # for the others; a tenth of it is usual
CLOSED_WITHIN_S = 100  # idle connections live 75 s, half a header 10 s, an answer that nobody reads 30 s


def raise_files_limit(wanted):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = max(soft, min(wanted, hard)) if hard != resource.RLIM_INFINITY else wanted
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit


def connect(port, receive_bytes=None):
    one = socket.socket()
    if receive_bytes is not None:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    one.connect(("127.0.0.1", port))
    return one


class Crowd:
    """Connections that do nothing, send a header byte by byte, or hardly read what they asked for."""

    def __init__(self, port, idle):
        self.idle = [connect(port) for _ in range(idle)]
        self.writers = [connect(port) for _ in range(SLOW)]
        self.readers = [connect(port, 4096) for _ in range(SLOW)]
        for i, reader in enumerate(self.readers):
            path = "/ojs/v1/events?stream=true" if i % 2 else "/ojs/v1/jobs?limit=1000"
            reader.sendall(encode("GET", path) * (1 if i % 2 else LISTS))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._dawdle, daemon=True)
        self._thread.start()

    def _dawdle(self):
        request = encode("GET", "/health", headers=["X-Slow: " + "s" * 4000])
        sent = 0
        while not self._stop.wait(0.5):
            for writer in self.writers:
                try:
                    writer.send(request[sent:sent + 1])
                except OSError:
                    pass  # cut off, as it should be
            sent += 1
            for reader in self.readers:
                try:
                    reader.recv(1, socket.MSG_DONTWAIT)
                except OSError:
                    pass

    @staticmethod
    def _over(sockets):
        """How many were closed by the server."""
        poll = select.poll()
        for one in sockets:
            poll.register(one, select.POLLRDHUP)
        return len(poll.poll(0))

    def closed(self, client):
        """By the server, of each kind. A reader does not see its end, which stands behind what it does not
        read: the server is asked how many it still holds."""
        idle, writers = self._over(self.idle), self._over(self.writers)
        held = client.get("/v1/system").body["counts"]["connections"] - 1
        return idle, writers, len(self.readers) - (held - (len(self.idle) - idle) - (len(self.writers) - writers))

    def close(self):
        self._stop.set()
        self._thread.join()
        for one in self.idle + self.writers + self.readers:
            one.close()


def slowest_call(server, jobs):
    """Others are served all the time: the worst of their calls, in ms."""
    client, worst = server.client(), 0
    for i in range(jobs):
        begin = time.monotonic()
        reply = client.push("work", [i, "x" * 2000], queue="crowd")
        if reply.status != 201:
            raise AssertionError(f"a push beside the crowd: {reply.status} {reply.raw[:200]!r}")
        worst = max(worst, (time.monotonic() - begin) * 1000)
    client.close()
    return worst


def all_cut(closed, idle):
    return closed == (idle, SLOW, SLOW)


def connections(cycles, seed):
    limit = raise_files_limit(IDLE * 2)
    idle = min(IDLE, limit - 2 * SLOW - 200)
    server = CampaignServer()
    try:
        server.start()
        slowest_call(server, 2000)
        before = server.rss_kb()
        crowd = Crowd(server.port, idle)
        client = server.client()
        until(lambda: client.get("/v1/system").body["counts"]["connections"] >= idle, "all connections")
        worst = slowest_call(server, 5000)
        with_crowd = server.rss_kb()
        try:
            until(lambda: all_cut(crowd.closed(client), idle), "idle and slow ones to be closed", CLOSED_WITHIN_S)
        except TimedOut:
            pass
        worst = max(worst, slowest_call(server, 200))
        closed = crowd.closed(client)
        client.close()
        crowd.close()
    finally:
        server.close()
    grown = with_crowd - before
    ok = all_cut(closed, idle) and grown < 512 * 1024 and worst < CALL_MS_MAX
    print(f"connections: {idle:,} idle, {SLOW} slow writers, {SLOW} slow readers (half of them of event streams, half of {LISTS} lists of 1,000 jobs); others served throughout, slowest call "
          f"{worst:.0f} ms; RSS {before // 1024} → {with_crowd // 1024} MiB; closed by their limits: {closed[0]:,} idle, "
          f"{closed[1]} writers, {closed[2]} readers", flush=True)
    return 0 if ok else 1


class Tight(CampaignServer):
    """A server that may map only so much memory."""

    def __init__(self, bytes_max):
        super().__init__()
        self._bytes_max = bytes_max

    def spawn(self):
        super().spawn()
        resource.prlimit(self.process.pid, resource.RLIMIT_AS, (self._bytes_max, self._bytes_max))


def memory(cycles, seed):
    """A backlog larger than the memory is pushed until it fits or is refused; nothing acknowledged is lost."""
    server = Tight(1200 << 20)
    acknowledged, refused, deaths, padding = [], 0, 0, "m" * 32_000
    try:
        server.start()
        client = server.client()
        for number in range(600):
            jobs = [{"type": "work", "args": [number, padding], "options": {"queue": "backlog"}} for _ in range(50)]
            try:
                reply = client.post("/ojs/v1/jobs/batch", {"jobs": jobs})
            except Client.FAILURES:
                until(lambda: not server.alive(), "a server that cut us off to be gone")
                deaths += 1
                server.start()
                continue
            if reply.status == 201:
                acknowledged += [job["id"] for job in reply.body["jobs"]]
            else:
                refused += 1
        peak = server.rss_kb("VmHWM") // 1024
        client.close()
        server.kill()
        server.start()
        client = server.client()
        lost = sum(client.job(job_id).status != 200 for job_id in acknowledged[::7])
        client.close()
    finally:
        server.close()
    print(f"memory: {len(acknowledged):,} jobs of 32 kB acknowledged under a limit of 1200 MiB of address space, {refused} "
          f"lists refused, {deaths} deaths, {lost} lost of {len(acknowledged[::7]):,} looked for; peak RSS {peak} MiB; "
          f"{server.recovery_text()}", flush=True)
    return lost + (0 if acknowledged else 1)
