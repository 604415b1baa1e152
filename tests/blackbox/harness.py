"""A real server process, seen only from outside: start, stop, kill -9, HTTP, worker threads.

Nothing here sleeps for a fixed time: a wait ends with the event it waits for, or fails at a deadline
that is generous because only a broken server ever reaches it.
"""
import collections
import ctypes
import http.client
import json
import os
import random
import re
import selectors
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

PAWL = os.path.abspath(os.environ.get("PAWL", "build/pawl"))
DEADLINE_S = float(os.environ.get("PAWL_TEST_DEADLINE_S", "30"))
# A build with sanitizers: slow, large, and with more to say when it ends in good order.
SANITIZED = bool(os.environ.get("PAWL_TEST_SANITIZED"))
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1
OJS_TYPE = "application/openjobspec+json"

Reply = collections.namedtuple("Reply", "status headers body raw")


class TimedOut(AssertionError):
    pass


def until(predicate, what="condition", deadline_s=DEADLINE_S):
    """Returns the first true value of predicate(); fails when deadline_s have passed without one."""
    pause, end = 0.002, time.monotonic() + deadline_s
    never = threading.Event()
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise TimedOut(f"not within {deadline_s}s: {what}")
        never.wait(pause)
        pause = min(pause * 2, 0.05)


def free_port():
    """A free port below the range the kernel gives to outgoing connections. From that range a client
    that reconnects to a killed server can get the server's port as its own, and connect to itself."""
    for port in random.SystemRandom().sample(range(12000, 32000), 100):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise AssertionError("no free port")


def new_id(rng=random):
    """A UUIDv7, so that a client knows the id of a push whose reply it never saw."""
    bits = (int(time.time() * 1000) << 80) | rng.getrandbits(80)
    bits = (bits & ~(0xF << 76)) | (0x7 << 76)
    bits = (bits & ~(0x3 << 62)) | (0x2 << 62)
    text = f"{bits:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def work_directory(data, run):
    """Where the files of a run lie; the server has several partitions if PAWL is random_node.py."""
    work = os.path.join(data, "work")
    if os.path.basename(PAWL) != "random_node.py":
        return os.path.join(work, run)
    partitions = int(os.environ.get("PAWL_RANDOM_NODE_PARTITIONS", "6"))
    return os.path.join(work, f"partition-{int(run[-4:], 16) % partitions}", run)


class Client:
    """One keep-alive connection. Not for sharing between threads.

    A broken connection raises OSError or http.client.HTTPException: the outcome of that call is then
    unknown to the caller, so nothing is sent twice. The next call connects anew.
    """

    FAILURES = (OSError, http.client.HTTPException)

    def __init__(self, port, headers=None):
        self.port = port
        self.headers = dict(headers or {})
        self._connection = None

    def call(self, method, path, body=None, headers=None, raw=None, timeout_s=DEADLINE_S):
        """body is sent as JSON, raw as it is. Returns a Reply; its body is None when it is not JSON."""
        data = raw if raw is not None else None if body is None else json.dumps(body).encode()
        sent = {"Content-Type": OJS_TYPE} if data is not None else {}
        sent.update(self.headers)
        sent.update(headers or {})
        if self._connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connection = connection
        try:
            self._connection.sock.settimeout(timeout_s)
            self._connection.request(method, path, body=data, headers=sent)
            response = self._connection.getresponse()
            content = response.read()
        except self.FAILURES:
            self.close()
            raise
        if response.will_close:
            self.close()
        try:
            parsed = json.loads(content)
        except ValueError:
            parsed = None
        return Reply(response.status, response.headers, parsed, content)

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.call("POST", path, body={} if body is None and "raw" not in more else body, **more)

    def delete(self, path, **more):
        return self.call("DELETE", path, **more)

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # The calls that every test makes, by their names in the contract.
    def push(self, type="test.echo", args=(), queue=None, **fields):
        options = dict(fields.pop("options", {}))
        more = {"timeout_s": fields.pop("timeout_s")} if "timeout_s" in fields else {}
        if queue is not None:
            options["queue"] = queue
        body = {"type": type, "args": list(args), **fields}
        if options:
            body["options"] = options
        return self.post("/ojs/v1/jobs", body, **more)

    def job(self, job_id):
        return self.get(f"/ojs/v1/jobs/{job_id}")

    def fetch(self, queues=("default",), count=1, **more):
        return self.post("/ojs/v1/workers/fetch", {"queues": list(queues), "count": count, **more})

    def ack(self, job_id, **more):
        return self.post("/ojs/v1/workers/ack", {"job_id": job_id, **more})

    def nack(self, job_id, error=None, **more):
        error = error or {"code": "handler_error", "message": "it broke"}
        return self.post("/ojs/v1/workers/nack", {"job_id": job_id, "error": error, **more})

    def cancel(self, job_id):
        return self.delete(f"/ojs/v1/jobs/{job_id}")


class Server:
    """`pawl serve` on a data directory of its own, which outlives every kill of the process."""

    def __init__(self, args=(), environment=None):
        self.directory = tempfile.mkdtemp(prefix="pawl-blackbox-")
        self.data = os.path.join(self.directory, "data")
        self.port = free_port()
        self._args = list(args)
        self._environment = {**os.environ, **(environment or {})}
        self._log = open(os.path.join(self.directory, "stderr.log"), "ab")
        self.process = None
        self.ready_line = None

    def spawn(self):
        """Starts the process without waiting for it to be ready. Call from the main thread: the process
        dies with the thread that started it, so that a test run that is killed leaves none behind."""
        if self.alive():
            raise AssertionError("already running")
        self.process = subprocess.Popen(
            [PAWL, "serve", "--listen", f"127.0.0.1:{self.port}", "--data", self.data, *self._args],
            stdout=subprocess.PIPE, stderr=self._log, stdin=subprocess.DEVNULL, env=self._environment,
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))

    def start(self):
        self.spawn()
        return self.await_ready()

    def await_ready(self):
        self.ready_line = self._read_ready_line()
        # Whatever else it prints must not fill the pipe and stop it.
        threading.Thread(target=self._drain, args=(self.process.stdout,), daemon=True).start()
        return self

    def _drain(self, pipe):
        with pipe:
            while pipe.read1(65536):
                pass

    def _read_ready_line(self):
        line, end = b"", time.monotonic() + DEADLINE_S
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0, end - time.monotonic())):
                    raise TimedOut(f"no ready line within {DEADLINE_S}s\n{self.log_tail()}")
                byte = os.read(self.process.stdout.fileno(), 1)
                if not byte:
                    code = self.process.wait()
                    raise AssertionError(f"the server exited with {code} before it was ready\n{self.log_tail()}")
                line += byte
        text = line.decode()
        if not text.startswith(f"pawl listening on http://127.0.0.1:{self.port}"):
            raise AssertionError(f"not the ready line: {text!r}\n{self.log_tail()}")
        return text

    def kill(self):
        """kill -9: nothing that the process still had in memory survives."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        if self.ready_line is None:
            self.process.stdout.close()

    def stop(self):
        """SIGTERM; returns the exit code, which a clean drain makes 0."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise TimedOut(f"still running {DEADLINE_S}s after SIGTERM\n{self.log_tail()}") from None

    def kill_while_starting(self, delay_s):
        """Starts the process and kills it delay_s later, ready or not."""
        self.spawn()
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            selector.select(delay_s)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def client(self, **more):
        return Client(self.port, **more)

    def rss_kb(self, field="VmRSS"):
        """Memory of the process now, or its high-water mark with VmHWM."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise AssertionError(f"no {field} in /proc")

    def raw(self, data, half_close=True):
        """The statuses of everything that comes back for these bytes until the server closes the connection."""
        statuses = []
        with socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S) as connection:
            try:
                connection.sendall(data)
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
                with connection.makefile("rb") as stream:
                    while True:
                        status, closing = read_reply(stream)
                        if status is not None:
                            statuses.append(status)
                        if closing:
                            return statuses
            except ConnectionError:
                return statuses

    def log_tail(self, lines=40):
        with open(self._log.name, encoding="utf-8", errors="replace") as log:
            return "".join(collections.deque(log, maxlen=lines))

    def close(self):
        """Ends the process. A sanitizer's report fails the test, also where the test expects the server to
        die; leaks are reported only by a process that ends in good order, so sanitized ones may."""
        if self._log.closed:
            return
        try:
            if self.alive():
                if SANITIZED:
                    self.stop()
                else:
                    self.kill()
            if SANITIZED:
                self._check_reports()
        finally:
            self._log.close()
            shutil.rmtree(self.directory, ignore_errors=True)

    def _check_reports(self):
        with open(self._log.name, encoding="utf-8", errors="replace") as log:
            text = log.read()
        found = re.search(r"(ERROR|WARNING): \w+Sanitizer|: runtime error: ", text)
        if found:
            raise AssertionError("a sanitizer's report:\n" + text[max(0, found.start() - 200):][:20_000])


class Worker(threading.Thread):
    """A worker on its own connection: fetches, calls handle(client, job), until told to stop.

    handle acks or nacks itself. A lost connection ends one round, not the worker; any other
    exception ends the worker and is kept in .failure, which join_all() raises in the test.
    """

    def __init__(self, server, handle, queues=("default",), count=1, name=None, wait_ms=200):
        super().__init__(daemon=True, name=name)
        self._server, self._handle = server, handle
        self._request = {"queues": list(queues), "count": count, "worker_id": self.name, "wait_ms": wait_ms}
        self._stopping = threading.Event()
        self.failure = None
        self.start()

    def run(self):
        client = self._server.client()
        while not self._stopping.is_set():
            try:
                reply = client.post("/ojs/v1/workers/fetch", self._request)
                for job in (reply.body or {}).get("jobs", []):
                    self._handle(client, job)
            except Client.FAILURES:
                self._stopping.wait(0.02)
            except Exception as failure:  # the test reports it
                self.failure = failure
                break
        client.close()

    def stop(self):
        self._stopping.set()


def join_all(threads):
    """Waits for every thread; raises the first failure one of them kept."""
    for thread in threads:
        if isinstance(thread, Worker):
            thread.stop()
    for thread in threads:
        thread.join(DEADLINE_S)
        if thread.is_alive():
            raise TimedOut(f"thread {thread.name} did not end")
    for thread in threads:
        failure = getattr(thread, "failure", None)
        if failure is not None:
            raise failure


def encode(method, path, body=b"", headers=()):
    """One request as bytes, with nothing checked: for clients that do not mean well."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    if not any(h.lower().startswith("content-type:") for h in headers):
        lines.append("Content-Type: application/json")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


class Pipeline:
    """A raw socket that sends many requests at once and reads their statuses."""

    def __init__(self, port):
        self._port = port
        self._socket = None
        self._input = None

    def statuses(self, requests):
        """The statuses of the replies, in order; fewer when the server closed the connection."""
        found = []
        try:
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=DEADLINE_S)
                self._input = self._socket.makefile("rb", 1 << 16)
            writer = threading.Thread(target=self._send, args=(b"".join(requests),), daemon=True)
            writer.start()
            while len(found) < len(requests):
                status, closing = read_reply(self._input)
                if status is None:
                    raise ConnectionError("closed")
                found.append(status)
                if closing:
                    raise ConnectionError("closing")
            writer.join()
        except socket.timeout:
            raise TimedOut(f"{len(requests) - len(found)} replies missing") from None
        except OSError:
            self.close()
        return found

    def _send(self, data):
        try:
            self._socket.sendall(data)
        except (OSError, AttributeError):
            pass  # the reader sees the closed connection too

    def close(self):
        if self._socket is not None:
            self._input.close()
            self._socket.close()
            self._socket = None


def read_reply(stream):
    """(status, connection will close) of the next reply on a raw stream; (None, True) at its end."""
    first = stream.readline()
    if not first:
        return None, True
    parts = first.split()
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise AssertionError(f"not a status line: {first[:80]!r}")
    length, closing, chunked = 0, False, False
    while True:
        line = stream.readline()
        if line in (b"\r\n", b"\n"):
            break
        if not line:
            return None, True
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip().lower()
        if name == b"content-length":
            length = int(value)
        chunked = chunked or (name == b"transfer-encoding" and value == b"chunked")
        closing = closing or (name == b"connection" and value == b"close")
    while chunked:
        size = int(stream.readline(), 16)
        stream.read(size + 2)
        chunked = size > 0
    stream.read(length)
    return int(parts[1]), closing
