"""What `howlate.watch_loop` costs: CPU time of an idle loop, and the speed of a busy one, with it and without, in turns.

python3 python/bench/event_loop.py
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time

import howlate

PAIRS, SECONDS, CALLS = 10, 1.0, 50_000


async def idle() -> float:
    """Share of a CPU that the process takes while the loop sleeps."""
    began, used = time.monotonic(), time.process_time()
    await asyncio.sleep(SECONDS)
    return (time.process_time() - used) / (time.monotonic() - began)


async def busy() -> float:
    """CPU time of the loop's thread for a turn of the loop, in seconds."""
    began = time.thread_time()
    for _ in range(CALLS):
        await asyncio.sleep(0)
    return (time.thread_time() - began) / CALLS


async def measured(what, watched: bool) -> float:
    with howlate.watch_loop(late_above="10ms", on_late=lambda _: None) if watched else contextlib.nullcontext():
        return await what()


def main() -> None:
    for name, what, unit, scale in (("idle", idle, "% of a CPU", 100), ("busy", busy, "ns a turn", 1e9)):
        pairs = [[asyncio.run(measured(what, watched)) * scale for watched in (False, True)] for _ in range(PAIRS)]
        without, watched = (statistics.median(one) for one in zip(*pairs))
        more = statistics.median(one[1] - one[0] for one in pairs)
        print(f"{name}: {without:.4g} {unit} without, {watched:.4g} with: {more:+.3g}")


main()
