"""An asyncio service: every 20 ms it is to answer, and ten times a second somebody calls something that takes 60 ms:
`service.py blocking` a call that blocks (time.sleep), `service.py computing` work of its own, `service.py fine` nothing.
Cures: asyncio.to_thread for what blocks; a process of its own for what computes. A real-time class changes nothing."""
import asyncio
import concurrent.futures
import sys
import time

from witness import FIX, Witness, work

PERIOD = 0.02
kind = sys.argv[1]
witness = Witness()


def block():
    time.sleep(0.06)


def compute():
    work(0.06)


async def disturb(pool):
    call = {"blocking": block, "computing": compute}.get(kind)
    while call:
        await asyncio.sleep(0.1)
        if FIX == "other-thread" and kind == "blocking":
            await asyncio.to_thread(call)
        elif FIX in ("other-thread", "other-process"):
            await asyncio.get_running_loop().run_in_executor(pool, call)
        else:
            call()


async def main():
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        other = asyncio.create_task(disturb(pool))
        due = time.monotonic() + PERIOD
        while witness.goes_on():
            await asyncio.sleep(max(0, due - time.monotonic()))
            witness.late(time.monotonic() - due, PERIOD)
            due += PERIOD
        other.cancel()
        witness.end()


asyncio.run(main())
