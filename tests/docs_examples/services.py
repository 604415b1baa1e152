"""The services that the examples call, on loopback, with their answers."""
import http.server
import json
import threading


class Services(http.server.ThreadingHTTPServer):
    """GET /people/7, /ready (the third answer says so), /broken (always 503), /slow (never); POST: echo."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.asked = {}
        self.over = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """A client that went away, as one does that is killed, is no news."""

    def close(self):
        self.over.set()
        self.shutdown()
        self.server_close()


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        times = self.server.asked[self.path] = self.server.asked.get(self.path, 0) + 1
        if path == "/slow":
            self.server.over.wait()
            return self.close()
        if path == "/broken":
            return self.answer(503, {"error": "down"})
        if path == "/ready":
            return self.answer(200, {"state": "ready" if times >= 3 else "pending"})
        if path == "/pages":
            page = int(self.path.partition("page=")[2] or 0)
            return self.answer(200, {"rows": [page * 2, page * 2 + 1], "next": page + 1 if page < 2 else None})
        return self.answer(200, {"path": path, "name": "Ada", "team": "engines"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer(200, {"got": json.loads(body or b"null"), "key": self.headers.get("Idempotency-Key")})

    def answer(self, status, body):
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def close(self):
        self.close_connection = True

    def log_message(self, *_):
        pass
