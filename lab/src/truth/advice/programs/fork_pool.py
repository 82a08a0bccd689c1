"""A loop of 5 ms whose program has three processes that compute. Cures: a real-time class for the loop's process alone, or a nice
value for the others. For the whole program it harms: the others have it as well."""
import multiprocessing
import os
import time

from witness import FIX, VALUE, Witness, work

PERIOD = 0.005


def compute():
    os.nice(19 if FIX == "nice" else 0)
    parent = os.getppid()
    while os.getppid() == parent:
        work(0.01)


if __name__ == "__main__":
    witness = Witness()
    for _ in range(3):
        multiprocessing.get_context("fork").Process(target=compute, daemon=True).start()
    if FIX == "rt":
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(VALUE)))
    due = time.monotonic() + PERIOD
    while witness.goes_on():
        time.sleep(max(0, due - time.monotonic()))
        witness.late(time.monotonic() - due, PERIOD)
        due += PERIOD
    witness.end()
