"""A proxy that kills the server with -9 and starts it again before it forwards each request.

A client that passes against it shows that no reply depended on data in memory only:

    python3 tests/blackbox/restarting_proxy.py --port 8081 --every 1 -- <command of the client>

Runs the client command with PAWL_URL set to the proxy's address and exits with its status. Requests are
forwarded one at a time, each on a connection of its own.
"""
import argparse
import http.client
import http.server
import os
import subprocess
import sys
import threading

from harness import DEADLINE_S, Server

HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "content-length"}


class Restarts:
    """Kills and starts happen on the main thread, since the server dies with the thread that started it."""

    def __init__(self, every):
        self.server = Server().start()
        self.count = 0
        self._every, self._seen = every, 0
        self.turn = threading.Lock()
        self._wanted, self._done = threading.Event(), threading.Event()

    def before_request(self):
        self._seen += 1
        if self._seen % self._every != 0:
            return
        self._done.clear()
        self._wanted.set()
        self._done.wait()

    def serve_until(self, ended):
        while not ended():
            if not self._wanted.wait(0.05):
                continue
            self._wanted.clear()
            self.server.kill()
            self.server.start()
            self.count += 1
            self._done.set()


def handler(restarts):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            with restarts.turn:
                restarts.before_request()
                connection = http.client.HTTPConnection("127.0.0.1", restarts.server.port, timeout=DEADLINE_S)
                headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP | {"host"}}
                connection.request(self.command, self.path, body=body or None, headers=headers)
                reply = connection.getresponse()
                content = reply.read()
                connection.close()
            self.send_response(reply.status)
            for name, value in reply.getheaders():
                if name.lower() not in HOP_BY_HOP | {"date", "server"}:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = forward

        def log_message(self, *_):
            pass

    return Handler


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--every", type=int, default=1, help="restart before every Nth request")
    parser.add_argument("client", nargs="+", help="command to run against the proxy; {url} stands for its address")
    options = parser.parse_args()
    restarts = Restarts(options.every)
    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", options.port), handler(restarts))
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{proxy.server_address[1]}"
    client = subprocess.Popen([part.replace("{url}", url) for part in options.client], env={**os.environ, "PAWL_URL": url})
    try:
        restarts.serve_until(lambda: client.poll() is not None)
    finally:
        restarts.server.close()
    print(f"{restarts.count} restarts", file=sys.stderr)
    return client.returncode


if __name__ == "__main__":
    sys.exit(main())
