"""A loop whose turns are due every 50 ms, one of which plans for three periods; and a request for what all CPUs did then.

    howlate record --out recorded.d     # in another terminal, as root
    python3 recorded.py
    howlate show recorded.d
"""

import time

from howlate import Loop, snap

PERIOD, TURNS, LONG = 50_000_000, 40, 25


def work(nanoseconds):
    until = time.monotonic_ns() + nanoseconds
    while time.monotonic_ns() < until:
        pass


loop = Loop("control", PERIOD)
due, asked = time.monotonic_ns(), False
for turn in range(TURNS):
    due += PERIOD
    while due + PERIOD <= time.monotonic_ns():
        due += PERIOD  # those that went by while it was at work are left out
    time.sleep(max(due - time.monotonic_ns(), 0) / 1e9)
    with loop.turn(due):
        work(1_000_000)
        if turn == LONG:
            with loop.span("long plan"):
                work(3 * PERIOD)
            asked = snap("planned for too long")
print("a recorder was asked" if asked else "no recorder")
