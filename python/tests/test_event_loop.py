"""Callbacks that keep an asyncio loop are found with their names."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Any, Callable, List

import pytest

import howlate


def work_for(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


async def works() -> None:
    work_for(0.3)


def watched(during: Callable[[], Any], **more: Any) -> howlate.LoopWatch:
    """Takes what `during` makes within a watched loop."""

    async def main() -> howlate.LoopWatch:
        with howlate.watch_loop(**{"late_above": "20ms", **more}) as watch:
            while watch.beats < 2:
                await asyncio.sleep(0.01)
            await during()
            await asyncio.sleep(0.1)
        return watch

    return asyncio.run(main())


def report_of(watch: howlate.LoopWatch, name: str) -> howlate.LateCallback:
    return next(one for one in watch.reports if name in one.callback)


def test_a_task_that_works_is_named_with_its_stack() -> None:
    watch = watched(lambda: asyncio.create_task(works(), name="worker"), on_late=lambda _: None)
    report = report_of(watch, "works")
    assert report.task == "worker" and watch.count >= 1
    assert any("work_for" in line for line in report.stack) and "in works" in report.stack[0]
    assert report.ran_ns and report.ran_ns >= 100_000_000 and report.late_ns >= report.ran_ns // 2
    assert str(report).startswith("works (task worker) kept the event loop for ")


def test_a_callback_that_blocks_slept() -> None:
    def blocks() -> None:
        time.sleep(0.3)

    async def during() -> None:
        asyncio.get_running_loop().call_soon(blocks)
        await asyncio.sleep(0)

    report = report_of(watched(during, on_late=lambda _: None), "blocks")
    assert report.task is None and report.ran_ns is not None and report.ran_ns < report.late_ns
    assert report.reason in ("it slept in a blocking call", "it waited for a CPU")


def test_a_loop_that_comes_by_is_not_reported() -> None:
    async def during() -> None:
        for _ in range(300):
            await asyncio.sleep(0.005)

    watch = watched(during, late_above="200ms", on_late=lambda _: None)
    assert watch.beats >= 4 and watch.count <= watch.beats // 2, "a busy machine may keep it once"


def test_reports_are_logged_and_a_handler_that_fails_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="howlate"):
        watched(works)
    assert any("works" in record.message and "kept the event loop" in record.message for record in caplog.records)
    caplog.clear()

    def fails(_: howlate.LateCallback) -> None:
        raise ValueError("of the handler")

    async def twice() -> None:
        await works()
        await asyncio.sleep(0.1)
        await works()

    watch = watched(twice, on_late=fails)
    assert watch.count >= 2 and any("on_late" in record.message for record in caplog.records)


def test_a_closed_loop_ends_the_watch_and_wrong_ones_are_told() -> None:
    loop = asyncio.new_event_loop()
    watch = howlate.watch_loop(loop, late_above="5ms")
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()
    watch.stop()
    errors: List[Any] = [
        (TypeError, {"loop": object()}),
        (ValueError, {"late_above": "1us"}),
        (ValueError, {"late_above": "soon"}),
    ]
    for error, asked in errors:
        with pytest.raises(error):
            howlate.watch_loop(**{"loop": asyncio.new_event_loop(), **asked})
    with pytest.raises(RuntimeError):
        howlate.watch_loop()
