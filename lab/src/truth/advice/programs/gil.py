"""A loop of 10 ms beside a thread that computes: after each sleep it waits for the interpreter's lock. Cures: a shorter
switch interval, or a process of its own for the computing. A real-time class changes nothing, or harms: whoever has the lock is late then."""
import sys
import threading
import time

from witness import FIX, VALUE, Witness

PERIOD = 0.01


def compute():
    while True:
        sum(i * i for i in range(20000))


witness = Witness()
if FIX == "switch-interval":
    sys.setswitchinterval(VALUE)
threading.Thread(target=compute, name="planner", daemon=True).start()
due = time.monotonic() + PERIOD
while witness.goes_on():
    time.sleep(max(0, due - time.monotonic()))
    witness.late(time.monotonic() - due, PERIOD)
    due += PERIOD
witness.end()
