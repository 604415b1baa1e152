"""worker_process.py PORT NAME: takes one job at a time from the queue `stopped`, prints it, and acknowledges it after a
time in which a stop signal can arrive."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "blackbox"))
from harness import Client  # noqa: E402


def main(port, name):
    client = Client(port)
    while True:
        reply = client.fetch(["stopped"], worker_id=name, wait_ms=1000)
        for job in (reply.body or {}).get("jobs", []):
            print("took", job["id"], flush=True)
            client.get("/ojs/v1/queues")
            client.get(f"/ojs/v1/jobs/{job['id']}")
            status = client.ack(job["id"], worker_id=name).status
            print("acked", job["id"], status, flush=True)


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]), sys.argv[2])
    except (*Client.FAILURES, KeyboardInterrupt):
        pass  # the server is gone
