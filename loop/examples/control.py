"""A control loop with three lines of howlate: a turn every 5 ms, one in a hundred of which works for 15.

    pip install howlate
    howlate watch -- python3 loop/examples/control.py 5
"""

import sys
import time

from howlate import Loop

PERIOD, USUAL_WORK, LONG_WORK = 5_000_000, 500_000, 15_000_000


def work_for(length):
    end = time.monotonic_ns() + length
    while time.monotonic_ns() < end:
        pass


def main():
    turns = int(sys.argv[1]) * 200 if len(sys.argv) > 1 else 1000
    loop = Loop("control", PERIOD)
    next_turn = time.monotonic_ns()
    for turn in range(turns):
        next_turn += PERIOD
        # The next time of its rhythm; those that went by while it was at work are left out.
        while next_turn <= time.monotonic_ns() - PERIOD:
            next_turn += PERIOD
        time.sleep(max(0, next_turn - time.monotonic_ns()) / 1e9)
        loop.wake()
        work_for(LONG_WORK if turn % 100 == 50 else USUAL_WORK)
        loop.done()
    print(turns, "turns")


main()
