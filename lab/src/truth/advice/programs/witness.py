"""What witness.h is to C programs: own stamps, and one line at the end."""
import json
import os
import time

VALUE = float(os.environ.get("WITNESS_VALUE", "0"))
FIX = os.environ.get("WITNESS_FIX", "")
SECONDS = float(os.environ.get("WITNESS_SECONDS", "3"))


class Witness:
    """Lateness in seconds, after a first second that does not count."""

    def __init__(self):
        if cpu := os.environ.get("WITNESS_CPU"):
            os.sched_setaffinity(0, {int(cpu)})
        self.late_ones, self.over = [], 0
        self.begun = time.monotonic() + 1
        self.until = self.begun + SECONDS

    def goes_on(self):
        return time.monotonic() < self.until

    def late(self, seconds, limit):
        if time.monotonic() >= self.begun:
            self.late_ones.append(seconds * 1e6)
            self.over += seconds > limit

    def end(self):
        late = sorted(self.late_ones)
        rank = lambda share: round(late[min(int(len(late) * share), len(late) - 1)], 1) if late else 0
        told = {"done": len(late), "over": self.over, "mean": round(sum(late) / max(len(late), 1), 1)}
        print("witness", json.dumps(told | {"p50": rank(0.5), "p99": rank(0.99), "max": rank(1)}), flush=True)
        os._exit(0)


def work(seconds):
    """Takes CPU time."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
