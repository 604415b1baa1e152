"""A PostgreSQL server of a test's own, with fsync on, made by tools/postgres."""
import glob
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.parse

from harness import DEADLINE_S, LIBC, PR_SET_PDEATHSIG, until

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def postgres_programs():
    """The directory of initdb and postgres, of the newest version there is; None where none is installed."""
    found = [path for path in glob.glob("/usr/lib/postgresql/*/bin") if os.access(os.path.join(path, "initdb"), os.X_OK)]
    return max(found, key=lambda path: [int(part) for part in path.split("/")[4].split(".")], default=None)


class Database:
    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="pawl-postgres-")
        os.chmod(self.directory, 0o755)  # the server has a user of its own
        self.process = None
        self.start()

    def url(self):
        return "postgresql://postgres@/postgres?host=" + urllib.parse.quote(os.path.join(self.directory, "pg"), safe="")

    def start(self):
        with open(os.path.join(self.directory, "log"), "ab") as log:
            self.process = subprocess.Popen([os.path.join(ROOT, "tools/postgres"), os.path.join(self.directory, "pg")],
                                            stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL))
        until(lambda: self.ask("SELECT 1") == "1" or self.failed(), "PostgreSQL")

    def failed(self):
        if self.process.poll() is None:
            return False
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
            raise AssertionError(log.read())

    def ask(self, sql):
        answer = subprocess.run(["psql", "-XAtq", self.url(), "-c", sql], capture_output=True, text=True, timeout=DEADLINE_S)
        return answer.stdout.strip() if answer.returncode == 0 else None

    def crash(self):
        self.process.send_signal(signal.SIGQUIT)  # nothing is written any more
        self.process.wait()

    def stop(self):
        """As an administrator restarts it: sessions are ended, and what is in memory is written."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(DEADLINE_S)

    def end_sessions(self, application="pawl/%"):
        """How many sessions of nodes were ended."""
        return int(self.ask("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                            f"WHERE application_name LIKE '{application}'") or 0)

    def close(self):
        if self.process.poll() is None:
            self.crash()
        shutil.rmtree(self.directory, ignore_errors=True)

    def key(self, name="cluster.key"):
        """A file with a secret that nodes share."""
        path = os.path.join(self.directory, name)
        if not os.path.exists(path):
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as key:
                key.write(os.urandom(32))
        return path
