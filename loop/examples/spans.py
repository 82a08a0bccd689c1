"""A loop whose turns say where they were long: one in a hundred plans for 15 ms.

    pip install howlate
    howlate watch -- python3 loop/examples/spans.py 5
"""

import sys
import time

from howlate import Loop

PERIOD, USUAL_PLAN, LONG_PLAN, ACT = 5_000_000, 500_000, 15_000_000, 250_000


def work_for(length):
    end = time.monotonic_ns() + length
    while time.monotonic_ns() < end:
        pass


def main():
    turns = int(sys.argv[1]) * 200 if len(sys.argv) > 1 else 1000
    loop = Loop("control", PERIOD)
    for turn in range(turns):
        time.sleep(PERIOD / 2e9)
        loop.wake()
        with loop.span("plan"):
            work_for(LONG_PLAN if turn % 100 == 50 else USUAL_PLAN)
        with loop.span("act"):
            work_for(ACT)
        loop.done()
    print(turns, "turns")


main()
