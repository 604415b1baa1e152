"""A loopback HTTP server that stands in for the services a definition calls.

Every request is recorded before it is answered, with its Idempotency-Key, so a test can check which calls were made, in
which order and how often. The answer is a function of the request; a Gate holds replies until the test releases them.
"""
import collections
import http.server
import json
import socket
import threading

Request = collections.namedtuple("Request", "method path headers body key")
Answer = collections.namedtuple("Answer", "status body headers", defaults=(200, None, ()))


class Gate:
    """Holds replies back: each waits at the gate until open() or the server stops."""

    def __init__(self):
        self._open = threading.Event()
        self.waiting = 0

    def open(self):
        self._open.set()

    def wait(self, closing):
        self.waiting += 1
        while not self._open.is_set() and not closing.is_set():
            self._open.wait(0.05)
        self.waiting -= 1


class StandIn:
    """Answers every request with answer(request), an Answer; {"ok": true} without one."""

    def __init__(self, answer=None):
        self.requests = []  # in the order they came
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._answer = answer or (lambda request: Answer(200, {"ok": True}))
        stand_in = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                stand_in._handle(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = handle_any

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, request, client_address):
                pass  # a server that was killed leaves its connections broken

        self._server = Server(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def answer_with(self, answer):
        self._answer = answer

    def _handle(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        raw = handler.rfile.read(length)
        try:
            body = json.loads(raw) if raw else None
        except ValueError:
            body = raw.decode("utf-8", "replace")
        request = Request(handler.command, handler.path, dict(handler.headers.items()), body,
                          handler.headers.get("Idempotency-Key"))
        with self._lock:
            self.requests.append(request)
        answer = self._answer(request)
        if isinstance(answer, Gate):
            answer.wait(self._closing)
            answer = Answer(200, {"ok": True})
        headers = dict(answer.headers)
        data = answer.body if isinstance(answer.body, bytes) else b"" if answer.body is None else json.dumps(answer.body).encode()
        try:
            handler.send_response(answer.status)
            headers.setdefault("Content-Type", "application/json")
            headers["Content-Length"] = str(len(data))
            for name, value in headers.items():
                handler.send_header(name, value)
            handler.end_headers()
            handler.wfile.write(data)
        except OSError:
            handler.close_connection = True  # the caller was killed

    def seen(self, path=None):
        """The requests so far, of one path if it is given."""
        with self._lock:
            return [r for r in self.requests if path is None or r.path.split("?")[0] == path]

    def keys(self):
        """How often each Idempotency-Key came."""
        return collections.Counter(r.key for r in self.seen())

    def close(self):
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def closed_port():
    """A loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
