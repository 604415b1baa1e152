"""HTTPS as clients see it: `pawl serve --tls-cert --tls-key`, a certificate made for the test."""
import json
import os
import socket
import ssl
import subprocess
import threading
import unittest

from harness import DEADLINE_S, PAWL, Server, TimedOut, encode, read_reply


def make_certificate(directory, name="server"):
    cert, key = (os.path.join(directory, f"{name}.{kind}") for kind in ("crt", "key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    return cert, key


class TlsServer(Server):
    def __init__(self, args=()):
        super().__init__()
        self.cert, self.key = make_certificate(self.directory)
        self._args = ["--tls-cert", self.cert, "--tls-key", self.key, *args]

    def _read_ready_line(self):
        line = self.process.stdout.readline().decode()
        if not line.startswith(f"pawl listening on https://127.0.0.1:{self.port}"):
            raise AssertionError(f"not the ready line: {line!r}\n{self.log_tail()}")
        return line

    def context(self, **more):
        context = ssl.create_default_context(cafile=self.cert)
        for name, value in more.items():
            setattr(context, name, value)
        return context

    def connect(self, context=None):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_S)
        return (context or self.context()).wrap_socket(plain, server_hostname="localhost")


def ask(connection, *requests):
    """The statuses of the replies, in order. One thread: Python's TLS sockets are not for two."""
    connection.sendall(b"".join(requests))
    with connection.makefile("rb") as stream:
        return [read_reply(stream)[0] for _ in requests]


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = TlsServer()
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def tearDown(self):
        """Whatever a test did: the server serves the next one."""
        self.assertTrue(self.server.alive(), self.server.log_tail())
        with self.server.connect() as connection:
            self.assertEqual(ask(connection, encode("GET", "/health")), [200])

    def test_jobs_go_over_one_connection(self):
        job = json.dumps({"type": "a.b", "args": []}).encode()
        with self.server.connect() as connection:
            self.assertIn(connection.version(), ("TLSv1.2", "TLSv1.3"))
            self.assertEqual(ask(connection, *[encode("POST", "/ojs/v1/jobs", job)] * 100), [201] * 100)

    def test_large_bodies_go_both_ways(self):
        args = ["x" * 1000] * 8000  # 8 MB: many records, and more than a socket buffer holds
        push = encode("POST", "/ojs/v1/jobs", json.dumps({"type": "a.b", "args": args, "options": {"queue": "large"}}).encode())
        fetch = encode("POST", "/ojs/v1/workers/fetch", json.dumps({"queues": ["large"]}).encode())
        with self.server.connect() as connection:
            self.assertEqual(ask(connection, push, fetch), [201, 200])

    def test_old_versions_and_weak_ciphers_are_refused(self):
        for version in (ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1):
            context = self.server.context()
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.minimum_version = context.maximum_version = version
            with self.assertRaises((ssl.SSLError, ConnectionError), msg=version):
                self.server.connect(context)
        for ciphers in ("NULL", "aNULL", "RC4", "3DES"):
            context = self.server.context(maximum_version=ssl.TLSVersion.TLSv1_2)
            try:
                context.set_ciphers(ciphers + ":@SECLEVEL=0")
            except ssl.SSLError:
                continue  # this client does not have them either
            with self.assertRaises((ssl.SSLError, ConnectionError), msg=ciphers):
                self.server.connect(context)
        with self.server.connect(self.server.context(maximum_version=ssl.TLSVersion.TLSv1_2)) as connection:
            self.assertEqual(ask(connection, encode("GET", "/health")), [200])

    def test_plain_http_is_told_what_is_spoken_here(self):
        for method in ("GET", "POST", "PUT", "HEAD"):
            with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as plain:
                plain.sendall(encode(method, "/ojs/v1/jobs", b"{}"))
                with plain.makefile("rb") as stream:
                    answer = stream.read()
            self.assertTrue(answer.startswith(b"HTTP/1.1 400 ") and b"https_required" in answer, answer)

    def test_garbage_ends_the_connection_and_nothing_else(self):
        hello = bytes.fromhex("16030100c8010000c40303") + bytes(range(190))
        for name, data in {"zeros": bytes(1000), "random": bytes(range(256)) * 20, "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                           "broken hello": hello, "huge record": b"\x16\x03\x01\xff\xff" + bytes(70_000), "alert": b"\x15\x03\x03\x00\x02\x02\x28",
                           "data first": b"\x17\x03\x03\x00\x10" + bytes(16), "sslv2": b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + bytes(40),
                           "no hello": b"\x16\x03\x01\x00\x05\x0e\x00\x00\x00\x00"}.items():
            with self.subTest(name), socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as connection:
                try:
                    connection.sendall(data)
                    connection.shutdown(socket.SHUT_WR)
                    while got := connection.recv(65536):
                        self.assertFalse(got.startswith(b"HTTP/1.1 2"), got)
                except OSError:
                    pass  # it was closed before everything was sent

    def test_unfinished_handshakes_do_not_stop_the_others(self):
        waiting = [socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) for _ in range(200)]
        try:
            for n, connection in enumerate(waiting):
                connection.sendall(bytes.fromhex("16030100c8010000c40303")[:n % 12])
            with self.server.connect() as connection:
                self.assertEqual(ask(connection, *[encode("GET", "/health")] * 50), [200] * 50)
        finally:
            for connection in waiting:
                connection.close()

    def test_a_handshake_in_single_bytes_succeeds(self):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self.server.context().wrap_bio(incoming, outgoing, server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=DEADLINE_S) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def pump(step):
                while True:
                    try:
                        result = step()
                    except ssl.SSLWantReadError:
                        result = None
                    for byte in outgoing.read():
                        connection.sendall(bytes([byte]))
                    if result is not None:
                        return result
                    data = connection.recv(65536)
                    if not data:
                        raise AssertionError("closed")
                    incoming.write(data)
            pump(lambda: session.do_handshake() or True)
            pump(lambda: session.write(encode("GET", "/health")))
            self.assertIn(b"HTTP/1.1 200", pump(lambda: session.read(65536)))

    def test_two_hundred_connections_at_once(self):
        job = json.dumps({"type": "a.b", "args": [], "options": {"queue": "crowd"}}).encode()
        failures, together = [], threading.Barrier(200, timeout=DEADLINE_S)

        def one():
            try:
                with self.server.connect() as connection:
                    together.wait()
                    statuses = ask(connection, *[encode("POST", "/ojs/v1/jobs", job)] * 10)
                    if statuses != [201] * 10:
                        failures.append(statuses)
            except Exception as failure:  # the test reports it
                failures.append(failure)
        threads = [threading.Thread(target=one, daemon=True) for _ in range(200)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(DEADLINE_S)
            if thread.is_alive():
                raise TimedOut("a connection is not answered")
        self.assertEqual(failures, [])

    def test_a_client_that_leaves_without_goodbye_is_no_trouble(self):
        for _ in range(50):
            connection = self.server.connect()
            connection.sendall(encode("POST", "/ojs/v1/workers/fetch", b'{"queues":["none"],"wait_ms":60000}'))
            socket.socket(fileno=connection.detach()).close()


class TlsCommands(unittest.TestCase):
    def test_the_command_line_trusts_only_what_it_is_told(self):
        server = TlsServer().start()
        self.addCleanup(server.close)
        url = f"https://127.0.0.1:{server.port}"
        good = subprocess.run([PAWL, "queues", "list", "--url", url, "--ca-file", server.cert], capture_output=True, check=False)
        self.assertEqual(good.returncode, 0, good.stderr)
        bad = subprocess.run([PAWL, "queues", "list", "--url", url], capture_output=True, check=False)
        self.assertNotEqual(bad.returncode, 0)
        self.assertIn(b"certificate", bad.stderr)

    def test_a_certificate_that_cannot_be_used_is_told_at_the_start(self):
        server = TlsServer()
        self.addCleanup(server.close)
        _, other_key = make_certificate(server.directory, "other")
        for args, word in ((["--tls-cert", server.cert], b"together"), (["--tls-cert", server.cert, "--tls-key", other_key], b"mismatch"),
                           (["--tls-cert", "/nowhere", "--tls-key", server.key], b"/nowhere"),
                           (["--tls-cert", server.key, "--tls-key", server.key], b"certificate")):
            done = subprocess.run([PAWL, "serve", "--listen", "127.0.0.1:0", "--data", server.data, *args], capture_output=True,
                                  timeout=DEADLINE_S, check=False)
            self.assertNotEqual(done.returncode, 0, args)
            self.assertIn(word, done.stderr, args)


if __name__ == "__main__":
    unittest.main()
