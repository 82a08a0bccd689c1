"""Meant for 100 Hz: 1 ms of work, then time.sleep(0.01), so that turns take 11 ms. Cure: sleep until a time."""
import time

from witness import FIX, Witness, work

PERIOD = 0.01
witness = Witness()
begun, turn = time.monotonic(), 0
while witness.goes_on():
    witness.late(time.monotonic() - (begun + turn * PERIOD), PERIOD)
    turn += 1
    work(0.001)
    time.sleep(max(0, begun + turn * PERIOD - time.monotonic()) if FIX == "until" else PERIOD)
witness.end()
