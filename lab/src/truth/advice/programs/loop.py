"""One thread that sleeps until one time after another, every 5 ms. Nothing is wrong with it. Cure against others: a real-time
class (it is one thread), or a nice value."""
import os
import time

from witness import FIX, VALUE, Witness, work

PERIOD = 0.005
witness = Witness()
if FIX == "rt":
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(int(VALUE)))
due = time.monotonic() + PERIOD
while witness.goes_on():
    time.sleep(max(0, due - time.monotonic()))
    witness.late(time.monotonic() - due, PERIOD)
    work(0.0002)
    due += PERIOD
witness.end()
