"""The server under test, on an ordinary disk or on disk_layer.c, and its start time."""
import mmap
import os
import struct
import time

from load import SERVE_ARGS
from harness import Server, until

LAYER = os.path.abspath(os.environ.get("PAWL_DISK_LAYER", "build/tests/libdisk_layer.so"))
LIMITED, BYTES_LEFT, WRITE_EIO, SYNC_EIO, LIES, LEAK, ERRORS, SYNCS = range(8)


class Control:
    """The fields that disk_layer.c reads at every operation."""

    def __init__(self, path):
        with open(path, "wb") as file:
            file.write(bytes(64))
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 64)

    def __getitem__(self, field):
        return struct.unpack_from("<q", self._map, field * 8)[0]

    def __setitem__(self, field, value):
        struct.pack_into("<q", self._map, field * 8, value)


class CampaignServer(Server):
    def __init__(self, layered=False, args=(), data=None):
        super().__init__([*SERVE_ARGS, *args])
        if data is not None:
            self.data = data
        self.recoveries_ms = []
        self.control = None
        if layered:
            if not os.path.exists(LAYER):
                raise SystemExit(f"{LAYER} is not built (set PAWL_DISK_LAYER)")
            control = os.path.join(self.directory, "control")
            self.control = Control(control)
            self._environment.update(LD_PRELOAD=LAYER, PAWL_DISK_DIR=self.data, PAWL_DISK_CONTROL=control)

    def start(self):
        """Also waits for the first served request, and keeps the time from exec to there."""
        begin = time.monotonic()
        super().start()
        client = self.client()
        until(lambda: client.get("/health").status == 200, "the first good answer")
        client.close()
        self.recoveries_ms.append((time.monotonic() - begin) * 1000)
        return self

    def recovery_text(self):
        times = sorted(self.recoveries_ms) or [0]
        return f"recovery p50 {times[len(times) // 2]:.0f} ms p99 {times[len(times) * 99 // 100]:.0f} ms"
