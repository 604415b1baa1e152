"""Measures the delays of the machine itself, in a process that is independent of the server.

    python3 noise_probe.py FILE SCRATCH

Every 10 ms: a byte to another process and back, and 4 KiB written to SCRATCH and synced. A line for each in FILE:
`begin_s delay_ms`, the delay being the total time of echo, sync and oversleeping.
"""
import os
import select
import socket
import sys
import time

EVERY_S = 0.01


def echo(end):
    try:
        while byte := end.recv(1):
            end.send(byte)
    except OSError:
        pass  # the other end was killed
    os._exit(0)


def main():
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    scratch = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
    near, far = socket.socketpair()
    if os.fork() == 0:
        near.close()
        os.close(0)
        echo(far)
    far.close()
    block = bytes(4096)
    due = time.monotonic()
    while True:
        begin = due  # an oversleep counts
        near.send(b"x")
        near.recv(1)
        os.pwrite(scratch, block, 0)
        os.fdatasync(scratch)
        end = time.monotonic()
        os.write(out, f"{begin:.6f} {(end - begin) * 1000:.3f}\n".encode())
        due = end + EVERY_S
        if select.select([0], [], [], EVERY_S)[0]:
            return  # the campaign has ended


if __name__ == "__main__":
    main()
