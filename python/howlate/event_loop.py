"""Which callback of an asyncio loop did not come back, with its stack.

A thread beside the loop asks it to come by every `late_above`, and looks at its stack when it does not. What `howlate watch` sees
from outside as a thread that is late is here a function with a name; whether it worked, slept or waited for a CPU is the
kernel's word (`/proc/self/task/TID/schedstat`).
"""

from __future__ import annotations

import asyncio
import collections
import logging
import os
import sys
import threading
import time
import traceback
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable, Deque, Optional, Tuple, Union

from howlate.thread_settings import nanoseconds

_logger = logging.getLogger("howlate")

#: Reports that are kept; further ones are counted.
_MOST_REPORTS = 100


@dataclass(frozen=True)
class LateCallback:
    """A callback that kept the loop from everything else. Times are nanoseconds."""

    #: What it is called: the function that the loop called, or the coroutine of the task.
    callback: str
    #: The task's name, where it is a task.
    task: Optional[str]
    #: Its Python stack when it was found, the callback first; as `traceback` formats it.
    stack: Tuple[str, ...]
    #: When the watch's callback was scheduled, in `time.monotonic_ns()`.
    at_ns: int
    #: How long it did not; the callback may have begun up to `late_above` earlier.
    late_ns: int
    #: Of this, how long its thread ran; `None` where the kernel does not say.
    ran_ns: Optional[int]
    #: How long it waited for a CPU. The rest it slept: in a blocking call.
    waited_ns: Optional[int]
    #: How late the watching thread itself was: something held Python's lock (GIL), or the CPU.
    watcher_late_ns: int

    @property
    def reason(self) -> str:
        """What most of the time was."""
        if self.ran_ns is None or self.waited_ns is None:
            return "not known"
        slept = max(self.late_ns - self.ran_ns - self.waited_ns, 0)
        most = max(self.ran_ns, self.waited_ns, slept)
        if most == self.ran_ns:
            return "it worked"
        return "it waited for a CPU" if most == self.waited_ns else "it slept in a blocking call"

    def __str__(self) -> str:
        task = f" (task {self.task})" if self.task else ""
        head = f"{self.callback}{task} kept the event loop for {self.late_ns / 1e6:.3g} ms: {self.reason}"
        return "\n".join([head, *(line.rstrip() for line in self.stack)])


class LoopWatch:
    """Watches one event loop; ends with `stop()`, or as a `with`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, late_above_ns: int, on_late: Callable[[LateCallback], Any]
    ) -> None:
        self._loop, self._late_above, self._on_late = loop, late_above_ns, on_late
        #: The most recent reports.
        self.reports: Deque[LateCallback] = collections.deque(maxlen=_MOST_REPORTS)
        #: How many there were.
        self.count = 0
        #: How often a callback was scheduled.
        self.beats = 0
        self._tid = self._ident = 0
        self._has_run = False
        self._ran_at = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="howlate-loop", daemon=True)
        self._thread.start()

    def __enter__(self) -> LoopWatch:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends the watch; reports stay."""
        self._stopped.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _come(self) -> None:
        """Runs in the loop."""
        self._ran_at = time.monotonic_ns()
        if not self._ident:
            self._tid = threading.get_native_id()
            self._ident = threading.get_ident()
        self._has_run = True

    def _watch(self) -> None:
        # The loop's thread is unknown until its first callback.
        while not self._ident:
            if not self._ask() or self._stopped.wait(self._late_above / 1e9):
                return
        used = _Schedstat(self._tid)
        try:
            while not self._stopped.is_set():
                scheduled, before = time.monotonic_ns(), used.read()
                if not self._ask() or self._stopped.wait(self._late_above / 1e9):
                    break
                if not self._has_run and self._loop.is_running():
                    self._inspect(scheduled, before, used)
        finally:
            used.close()

    def _ask(self) -> bool:
        """Schedules a callback in the loop; false if the loop is closed."""
        self._has_run = False
        try:
            self._loop.call_soon_threadsafe(self._come)
        except RuntimeError:  # it is closed
            return False
        self.beats += 1
        return True

    def _inspect(self, scheduled: int, before: Optional[Tuple[int, int]], schedstat: _Schedstat) -> None:
        """Reads the stack of the blocking callback, waits for its end, and reports it."""
        found = time.monotonic_ns()
        frame = sys._current_frames().get(self._ident)
        callback, task = _called(frame), _task(self._loop)
        stack = tuple(traceback.format_list(_own(frame)))
        del frame
        self._wait()
        if not self._has_run:  # this was stopped, or the loop closed, before it did
            return
        late, after = self._ran_at - scheduled, schedstat.read()
        used = (after[0] - before[0], after[1] - before[1]) if before and after else (None, None)
        watcher_late = max(found - scheduled - self._late_above, 0)
        self._report(LateCallback(callback, task, stack, scheduled, late, used[0], used[1], watcher_late))

    def _wait(self) -> None:
        while not self._has_run and not self._stopped.wait(0.001) and not self._loop.is_closed():
            pass

    def _report(self, report: LateCallback) -> None:
        self.count += 1
        self.reports.append(report)
        try:
            self._on_late(report)
        except Exception:
            _logger.exception("on_late of howlate.watch_loop failed")


def watch_loop(
    loop: Optional[asyncio.AbstractEventLoop] = None,
    late_above: Union[str, int] = "10ms",
    on_late: Optional[Callable[[LateCallback], Any]] = None,
) -> LoopWatch:
    """Reports each callback that keeps an asyncio loop for longer than `late_above`, while it still does.

    `loop`: the running one if left out; any that has `call_soon_threadsafe`, uvloop's as well. `on_late` is called with each
    report, in a thread of its own; if left out it is logged as a warning of the logger `howlate`. A callback is found for sure if it
    takes twice `late_above`. Costs a wake-up of the loop each `late_above`.

        with howlate.watch_loop(late_above="10ms") as watch:
            await serve()
    """
    if loop is None:
        loop = asyncio.get_running_loop()
    if not hasattr(loop, "call_soon_threadsafe"):
        raise TypeError(f"an event loop of asyncio is watched, and not {loop!r}")
    nanos = nanoseconds(late_above)
    if nanos < 1_000_000:
        raise ValueError(f"late_above is at least 1ms, and not {late_above!r}: what finds it takes about as long")
    return LoopWatch(loop, nanos, on_late or (lambda report: _logger.warning("%s", report)))


class _Schedstat:
    """How long a thread has run and has waited for a CPU, nanoseconds: kept open, as it is read at every beat."""

    def __init__(self, tid: int) -> None:
        try:
            self._file = os.open(f"/proc/self/task/{tid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # a kernel without it
            self._file = -1

    def read(self) -> Optional[Tuple[int, int]]:
        try:
            ran, waited, _ = os.pread(self._file, 80, 0).split()
            return int(ran), int(waited)
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)


def _frames(frame: Optional[FrameType]) -> "list[FrameType]":
    """From the outermost to the innermost."""
    found = []
    while frame:
        found.append(frame)
        frame = frame.f_back
    return found[::-1]


def _is_asyncio(frame: FrameType) -> bool:
    return os.path.dirname(frame.f_code.co_filename) == os.path.dirname(asyncio.__file__)


def _within(frame: Optional[FrameType]) -> "list[FrameType]":
    """What the loop called: behind its last frame in `asyncio` that calls callbacks."""
    frames = _frames(frame)
    runs = [at for at, called in enumerate(frames) if _is_asyncio(called) and called.f_code.co_name == "_run"]
    return frames[runs[-1] + 1 :] if runs else []


def _own(frame: Optional[FrameType]) -> traceback.StackSummary:
    return traceback.StackSummary.extract((called, called.f_lineno) for called in _within(frame))


def _called(frame: Optional[FrameType]) -> str:
    """The outermost function of the program's own."""
    within = _within(frame)
    own = [called for called in within if not _is_asyncio(called)]
    if not own:
        return within[-1].f_code.co_name if within else "no callback of Python"
    code = own[0].f_code
    return getattr(code, "co_qualname", code.co_name)


def _task(loop: asyncio.AbstractEventLoop) -> Optional[str]:
    try:
        task = asyncio.current_task(loop)
    except RuntimeError:
        return None
    return task.get_name() if task else None
