"""Settings of the calling thread: set, read back, put back."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, List, Tuple

import pytest

import howlate
from howlate.thread_settings import nanoseconds

PRCTL = ctypes.CDLL(None).prctl


def settings() -> Tuple[Any, ...]:
    """What the kernel says, apart from the package."""
    locked = next(line for line in open("/proc/self/status") if line.startswith("VmLck"))
    priority = os.sched_getparam(0).sched_priority
    return os.sched_getscheduler(0), priority, os.sched_getaffinity(0), PRCTL(30, 0, 0, 0, 0), locked.split()[1] == "0"


def may_be_realtime() -> bool:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True


needs_realtime = pytest.mark.skipif(not may_be_realtime(), reason="real-time priorities are refused here")


@needs_realtime
def test_what_was_asked_is_in_force_within_and_nothing_of_it_after() -> None:
    before, cpu = settings(), min(os.sched_getaffinity(0))
    with howlate.realtime(priority=7, cpus=[cpu]) as asked:
        assert asked.refused == () and asked.policy == "fifo:7" and asked.cpus == (cpu,)
        assert settings()[:3] == (os.SCHED_FIFO, 7, {cpu})
        assert asked.memory_locked is True and not settings()[4]
    assert settings() == before


def test_the_slack_of_a_thread_that_stays_normal() -> None:
    before = settings()
    with howlate.realtime(priority=None, slack="2us", lock_memory=False) as asked:
        assert asked.slack_ns == 2_000 == settings()[3] and asked.policy == "other" and asked.memory_locked is None
    assert settings() == before


@needs_realtime
def test_an_exception_and_one_within_another_put_everything_back() -> None:
    before = settings()
    with pytest.raises(ZeroDivisionError):
        with howlate.realtime(priority=5):
            with howlate.realtime(priority=9):
                assert os.sched_getparam(0).sched_priority == 9
            assert os.sched_getparam(0).sched_priority == 5 and not settings()[4]
            raise ZeroDivisionError
    assert settings() == before


@needs_realtime
def test_threads_that_began_within_are_put_back_too() -> None:
    policies: List[int] = []
    go, began = threading.Event(), threading.Event()

    def work() -> None:
        policies.append(os.sched_getscheduler(0))
        began.set()
        go.wait()
        policies.append(os.sched_getscheduler(0))

    thread = threading.Thread(target=work)
    with howlate.realtime(priority=3, lock_memory=False):
        thread.start()
        began.wait()
    go.set()
    thread.join()
    assert policies == [os.SCHED_FIFO, os.SCHED_OTHER]


def test_what_is_refused_is_told_and_changes_nothing_else() -> None:
    before = settings()
    with howlate.realtime(priority=None, cpus=[4095], lock_memory=False) as asked:
        assert [one.setting for one in asked.refused] == ["cpus"]
        assert "4095" in str(asked.refused[0]) and "EINVAL" in asked.refused[0].reason
        assert asked.slack_ns in (0, 1)
    assert settings() == before
    with pytest.raises(howlate.HowlateError, match="cpus 4095 was refused"):
        howlate.realtime(priority=None, cpus=[4095], strict=True).__enter__()
    assert settings() == before


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes root to become nobody")
def test_without_the_right_to_it_the_policy_is_refused_with_what_would_help() -> None:
    # A module of the standard library that is not loaded yet may be out of nobody's reach.
    script = """
import os, resource, traceback, linecache, howlate
howlate.realtime, howlate.sleep_until
resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 4096))
os.setgid(65534); os.setuid(65534)
with howlate.realtime(priority=80) as asked:
    print([one.setting for one in asked.refused], asked.slack_ns, asked.policy, "ulimit -r 80" in str(asked.refused[1]))
"""
    said = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said == "['lock_memory', 'policy'] 1 other True\n"


def test_another_thread_cannot_leave_it() -> None:
    one, failed = howlate.realtime(priority=None, lock_memory=False), []

    def leave() -> None:
        try:
            one.__exit__()
        except RuntimeError as error:
            failed.append(str(error))

    one.__enter__()
    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    assert "was entered by thread" in failed[0]
    with pytest.raises(RuntimeError, match="in use already"):
        one.__enter__()
    one.__exit__()


@pytest.mark.parametrize(
    ("asked", "error"),
    [({"priority": 0}, ValueError), ({"priority": 100}, ValueError), ({"priority": "fifo"}, TypeError), ({"priority": True}, TypeError),
     ({"slack": "1"}, ValueError), ({"slack": 0}, ValueError), ({"slack": 1.5}, TypeError)],
)  # fmt: skip
def test_wrong_requests_are_told_before_anything_is_set(asked: Any, error: type) -> None:
    before = settings()
    with pytest.raises(error):
        howlate.realtime(**asked)
    assert settings() == before


def test_lengths_have_a_unit() -> None:
    assert [nanoseconds(one) for one in ("1ns", "1.5us", "2 ms", "1s", 7)] == [1, 1_500, 2_000_000, 10**9, 7]


@pytest.mark.parametrize("spin", [0, "200us"])
def test_a_sleep_never_ends_early_and_says_how_late_it_was(spin: Any) -> None:
    for _ in range(20):
        until = time.monotonic_ns() + 1_000_000
        late = howlate.sleep_until(until, spin=spin)
        assert late >= 0 and time.monotonic_ns() >= until + late
    past = time.monotonic_ns() - 5_000_000
    assert howlate.sleep_until(past) >= 5_000_000
    with pytest.raises(TypeError, match="whole nanoseconds"):
        howlate.sleep_until(time.monotonic())  # type: ignore[arg-type]


def test_signals_interrupt_a_sleep_only_where_their_handler_raises() -> None:
    handled: List[int] = []
    signal.signal(signal.SIGALRM, lambda *_: handled.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    until = time.monotonic_ns() + 100_000_000
    assert howlate.sleep_until(until) >= 0 and handled == [1] and time.monotonic_ns() >= until

    def stop(*_: object) -> None:
        raise InterruptedError("stop")

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    with pytest.raises(InterruptedError):
        howlate.sleep_until(time.monotonic_ns() + 60_000_000_000)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
