"""A controller as people write it: 200 Hz, under a lock that a planner has while it computes. Cure: a shorter switch interval (or a
process of its own for the planner). A real-time class for the program harms."""
import math
import sys
import threading
import time

from witness import FIX, VALUE, Witness

PERIOD = 0.005
lock = threading.Lock()
trajectory = [0.0] * 6


def plan():
    while True:
        total = sum(math.sin(i * 0.1) for i in range(20000))
        with lock:
            for k in range(6):
                trajectory[k] = sum(math.sqrt(i + abs(total)) for i in range(300)) * 1e-6


witness = Witness()
if FIX == "switch-interval":
    sys.setswitchinterval(VALUE)
threading.Thread(target=plan, name="planner", daemon=True).start()
due = time.monotonic() + PERIOD
while witness.goes_on():
    time.sleep(max(0, due - time.monotonic()))
    with lock:
        errors = [trajectory[k] - 0.1 for k in range(6)]
    witness.late(time.monotonic() - due, PERIOD)
    due += PERIOD
witness.end()
