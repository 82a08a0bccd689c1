"""What makes a thread of Python punctual: `realtime()` sets it for the calling thread and undoes it, `sleep_until()` waits.

The system calls are Linux's; each setting is read back, and what is given back is what the kernel confirmed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import threading
import time
from dataclasses import dataclass, field
from typing import Callable, Iterable, List, Optional, Set, Tuple, Union

from howlate.errors import HowlateError

#: <linux/prctl.h>, <linux/mman.h>, <linux/capability.h>, <linux/time.h>
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_MCL_CURRENT, _MCL_FUTURE, _CAP_IPC_LOCK = 1, 2, 14
_CLOCK_MONOTONIC, _TIMER_ABSTIME = 1, 1

_NANOS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

_libc = ctypes.CDLL(None, use_errno=True)


class _Timespec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanos", ctypes.c_long)]


_clock_nanosleep = _libc.clock_nanosleep
_clock_nanosleep.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.POINTER(_Timespec), ctypes.c_void_p]
_prctl = _libc.prctl
_prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4


def nanoseconds(length: Union[str, int]) -> int:
    """A length with its unit (`"1ms"`), or a whole number of nanoseconds. Raises `ValueError`, `TypeError`."""
    if isinstance(length, int) and not isinstance(length, bool):
        return length
    if not isinstance(length, str):
        raise TypeError(f"a length is text such as '1ms', or whole nanoseconds, and not {length!r}")
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)\s*", length)
    if not match:
        raise ValueError(f"{length!r} is no length: a number and ns, us, ms or s, such as '1ms'")
    return round(float(match[1]) * _NANOS[match[2]])


@dataclass(frozen=True)
class Refused:
    """A setting that the kernel did not take."""

    #: `policy`, `slack`, `lock_memory` or `cpus`.
    setting: str
    asked: str
    in_force: str
    #: The kernel's error.
    reason: str
    #: What would help.
    remedy: str

    def __str__(self) -> str:
        return f"{self.setting} {self.asked} was refused ({self.reason}): {self.in_force} is in force; {self.remedy}"


@dataclass(frozen=True)
class Settings:
    """What the kernel confirmed of a thread."""

    tid: int
    #: As it is typed: `other`, `fifo:80`.
    policy: str
    #: Nanoseconds; 0 under a real-time policy.
    slack_ns: int
    cpus: Tuple[int, ...]
    #: Whether all memory of the process is locked; `None` unless requested: the kernel does not report it.
    memory_locked: Optional[bool]
    refused: Tuple[Refused, ...] = field(default=())


_POLICIES = {
    os.SCHED_OTHER: "other",
    os.SCHED_BATCH: "batch",
    os.SCHED_IDLE: "idle",
    os.SCHED_FIFO: "fifo",
    os.SCHED_RR: "rr",
    6: "deadline",
    7: "ext",
}


def _policy_of(tid: int) -> str:
    policy = os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK
    name = _POLICIES.get(policy, str(policy))
    return f"{name}:{os.sched_getparam(tid).sched_priority}" if name in ("fifo", "rr") else name


def _get_slack() -> int:
    slack: int = _prctl(_PR_GET_TIMERSLACK, 0, 0, 0, 0)
    return slack


def _set_slack(nanos: int) -> None:
    if _prctl(_PR_SET_TIMERSLACK, nanos, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _all_threads() -> Set[int]:
    return {int(name) for name in os.listdir("/proc/self/task")}


class _Memory:
    """Locked memory belongs to the process: it stays locked until the last `realtime()` has ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._was_locked = False

    def lock(self) -> None:
        with self._lock:
            if self._users == 0:
                self._was_locked = _status("VmLck") != "0 kB"
                self._lock_all()
            self._users += 1

    def _lock_all(self) -> None:
        # Where there is a limit, what is allocated later would fail rather than not be locked.
        is_limited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] != resource.RLIM_INFINITY
        may_lock_all = int(_status("CapEff") or "0", 16) >> _CAP_IPC_LOCK & 1
        future = 0 if is_limited and not may_lock_all else _MCL_FUTURE
        if _libc.mlockall(_MCL_CURRENT | future) != 0:
            error = ctypes.get_errno()
            self._unlock_all()  # a part of it may be locked
            raise OSError(error, os.strerror(error))

    def unlock(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._unlock_all()

    def _unlock_all(self) -> None:
        if not self._was_locked:  # by other code of this process, which still needs it
            _libc.munlockall()


_memory = _Memory()


def _status(name: str) -> str:
    """A value of `/proc/self/status`; empty where there is none."""
    with open("/proc/self/status") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith(name + ":")), "")


class realtime:
    """Makes the calling thread punctual within a `with`: what `howlate doctor` and `tune` recommend for a thread.

        with howlate.realtime(priority=80, cpus=[1]) as settings:
            for refused in settings.refused:
                print(refused)
            loop()

    `priority`: of `SCHED_FIFO`, 1 to 99; `None` leaves the policy. `slack`: timer slack, which matters where the policy was
    refused; `None` leaves it. `lock_memory`: no page fault interrupts the loop; of the whole process. `cpus`: where it may run.

    What the kernel refuses is in `settings.refused`, with what would help, and changes nothing else; `strict=True` raises
    `HowlateError` instead. When the block ends, however it does, everything is as it was, also of threads that began within
    and inherited it; child processes keep what they inherited. It belongs to the thread that entered it.
    """

    def __init__(
        self,
        priority: Optional[int] = 80,
        slack: Optional[Union[str, int]] = "1ns",
        lock_memory: bool = True,
        cpus: Optional[Iterable[int]] = None,
        *,
        strict: bool = False,
    ) -> None:
        if priority is not None and (isinstance(priority, bool) or not isinstance(priority, int)):
            raise TypeError(f"priority is a whole number, 1 to 99, or None, and not {priority!r}")
        if priority is not None and not 1 <= priority <= 99:
            raise ValueError(f"priority is 1 to 99, and not {priority}")
        self._priority, self._lock_memory, self._strict = priority, lock_memory, strict
        self._slack = None if slack is None else nanoseconds(slack)
        self._cpus = None if cpus is None else sorted(set(cpus))
        if self._slack is not None and self._slack < 1:
            raise ValueError("slack is at least 1 ns; 0 would mean the default of 50 µs")
        self._undo: List[Callable[[], None]] = []
        self._tid = 0

    def __enter__(self) -> Settings:
        if self._tid:
            raise RuntimeError("this realtime() is in use already: make one for each `with`")
        self._tid = threading.get_native_id()
        self._threads = _all_threads()
        refused: List[Refused] = []
        try:
            # The policy last: what comes before may take long, and should not take it at a high priority.
            for step in (self._apply_memory, self._apply_cpus, self._apply_slack, self._apply_policy):
                refusal = step()
                refused += [refusal] if refusal else []
            if refused and self._strict:
                raise HowlateError("\n".join(str(refusal) for refusal in refused))
        except BaseException:
            self._put_back()
            raise
        return self._settings(tuple(refused))

    def __exit__(self, *_: object) -> None:
        if threading.get_native_id() != self._tid:
            raise RuntimeError(
                f"realtime() was entered by thread {self._tid} and is left by {threading.get_native_id()}: "
                "a thread's settings can be put back by itself alone. It still has them"
            )
        self._put_back()

    def _settings(self, refused: Tuple[Refused, ...]) -> Settings:
        locked = "lock_memory" not in [refusal.setting for refusal in refused] if self._lock_memory else None
        cpus = tuple(sorted(os.sched_getaffinity(0)))
        return Settings(self._tid, _policy_of(0), _get_slack(), cpus, locked, refused)

    def _put_back(self) -> None:
        """Restores in reverse order; continues after an error."""
        failed: List[str] = []
        while self._undo:
            try:
                self._undo.pop()()
            except OSError as error:
                failed.append(str(error))
        self._tid = 0
        if failed:
            raise HowlateError("not everything could be put back: " + "; ".join(failed))

    def _apply_memory(self) -> Optional[Refused]:
        if not self._lock_memory:
            return None
        try:
            _memory.lock()
        except OSError as error:
            return Refused(
                "lock_memory",
                "all",
                "pages may be missing",
                _reason(error),
                "raise the limit: ulimit -l unlimited, or LimitMEMLOCK=infinity in a unit",
            )
        self._undo.append(_memory.unlock)
        return None

    def _apply_cpus(self) -> Optional[Refused]:
        if self._cpus is None:
            return None
        before = os.sched_getaffinity(0)
        asked = ",".join(map(str, self._cpus))
        try:
            os.sched_setaffinity(0, self._cpus)
        except (OSError, ValueError, OverflowError) as error:
            there = ",".join(map(str, sorted(before)))
            return Refused(
                "cpus",
                asked or "none",
                there,
                _reason(error),
                "choose from those that the cpuset allows: howlate doctor --details",
            )
        self._undo.append(lambda: self._for_threads(lambda tid: os.sched_setaffinity(tid, before)))
        found = os.sched_getaffinity(0)
        if found != set(self._cpus):  # the kernel leaves out those that are not there
            return Refused(
                "cpus",
                asked,
                ",".join(map(str, sorted(found))),
                "some of them are not there, or not allowed",
                "choose from those that the cpuset allows",
            )
        return None

    def _apply_slack(self) -> Optional[Refused]:
        before = _get_slack()
        if self._slack is None or before == 0:  # a real-time policy has none
            return None
        try:
            _set_slack(self._slack)
        except OSError as error:
            return Refused(
                "slack",
                f"{self._slack} ns",
                f"{before} ns",
                _reason(error),
                "it needs no privilege: a seccomp filter may forbid it",
            )
        self._undo.append(lambda: self._put_back_slack(before))
        return None

    def _put_back_slack(self, before: int) -> None:
        _set_slack(before)
        for tid in self._began_within():
            try:
                with open(f"/proc/{tid}/timerslack_ns", "w") as file:
                    file.write(str(before))
            except OSError:
                pass  # it needs CAP_SYS_NICE; a shorter slack harms nobody

    def _apply_policy(self) -> Optional[Refused]:
        if self._priority is None:
            return None
        before, parameter, name = os.sched_getscheduler(0), os.sched_getparam(0), _policy_of(0)
        if before & ~os.SCHED_RESET_ON_FORK == 6:
            return Refused(
                "policy",
                f"fifo:{self._priority}",
                name,
                "a deadline thread could not be put back",
                "leave it as it is: priority=None",
            )
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO | before & os.SCHED_RESET_ON_FORK, os.sched_param(self._priority))
        except OSError as error:
            remedy = f"run as root, or raise the limit: ulimit -r {self._priority}, or LimitRTPRIO={self._priority} in a unit"
            return Refused("policy", f"fifo:{self._priority}", name, _reason(error), remedy)
        self._undo.append(
            lambda: self._for_threads(lambda tid: os.sched_setscheduler(tid, before, parameter), _policy_of(0))
        )
        return None

    def _began_within(self) -> Set[int]:
        """Threads that were started inside the `with`, and may have inherited the settings."""
        return _all_threads() - self._threads - {self._tid}

    def _for_threads(self, put_back: Callable[[int], None], policy: Optional[str] = None) -> None:
        """Puts a setting of this thread back, and that of threads which inherited it; those that chose another keep it."""
        put_back(0)
        for tid in self._began_within():
            try:
                if policy is None or _policy_of(tid) == policy:
                    put_back(tid)
            except ProcessLookupError:
                pass


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno is not None:
        return f"{os.strerror(error.errno)}, {errno.errorcode.get(error.errno, error.errno)}"
    return str(error)


def sleep_until(until_ns: int, spin: Union[str, int] = 0) -> int:
    """Sleeps until a time of `time.monotonic_ns()`; returns how late it woke, in nanoseconds.

    The wait is the kernel's for an absolute time (`clock_nanosleep`), so that nothing is lost between asking for the time and
    going to sleep; a time that has passed returns at once, with its lateness. `spin`: wakes so much earlier and reads the clock
    until it is time, which takes a CPU for that long.

        due = time.monotonic_ns()
        while running:
            due += 1_000_000
            late = howlate.sleep_until(due)
    """
    if not isinstance(until_ns, int):
        raise TypeError(f"until is whole nanoseconds of time.monotonic_ns(), and not {until_ns!r}")
    wake = until_ns - nanoseconds(spin)
    if wake > 0:
        asked = _Timespec(*divmod(wake, 1_000_000_000))
        while True:
            failed = _clock_nanosleep(_CLOCK_MONOTONIC, _TIMER_ABSTIME, asked, None)
            if failed == 0:
                break
            if failed != errno.EINTR:  # a handler of Python has run by now, and may have raised
                raise OSError(failed, os.strerror(failed))
    now = time.monotonic_ns()
    while now < until_ns:
        now = time.monotonic_ns()
    return now - until_ns
