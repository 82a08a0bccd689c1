"""Marks a periodic loop, so that `howlate watch -- python3 program.py` measures each of its turns, and a running
`howlate record` keeps those that miss their deadline: that were not done a period after they were due.

    from howlate import Loop

    loop = Loop("control", 1_000_000)  # its name; its period in nanoseconds
    while True:
        wait_for_the_next_turn()  # time.sleep, a timerfd, whatever it is
        with loop.turn():  # or loop.wake() and loop.done()
            work()

A long turn says where it was long if its parts have names:

        with loop.span("plan"):
            plan()

Where the program knows the time that it asked for: loop.turn(nanoseconds of time.monotonic_ns()), or loop.wake_at.
Under howlate, a turn costs two readings of a clock and an entry in a ring of shared memory: no system call, no lock.
Without howlate, each call is one branch, and Loop() three system calls. A loop belongs to one thread at a time; a fork gives each side its own.
`snap("why")` asks a recorder to keep what all CPUs have just done. `howlate.h` is the same for C and C++, and has the same memory. For Linux, Python 3.8 or later; needs nothing else: copied
beside a program as `howlate_loop.py`, this file is a module of its own.
"""

import fcntl
import mmap
import operator
import os
import socket
import struct
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

__version__ = "0.1.0"
__all__ = ["Loop", "Span", "Turn", "snap"]

# The memory: a head, then rings. Sizes in bytes; places in words of 64 bits, from the head's or the ring's first.
_FIRST, _RING, _RINGS, _LOCKED, _CAPACITY, _LETTERS = 65_536, 131_072, 64, 16, 4_096, 32
_MAGIC, _LOCKED_TAKEN, _SPANS = 64, 67, 68
_THREAD, _PERIOD, _NAME, _CLOCK, _WRITTEN, _READ, _LOST, _TURNS = 0, 1, 2, 6, 8, 16, 24, 64
_SPAN_WRITTEN, _SPAN_LOST, _SPAN_READ = 9, 10, 17
_SPAN_NAMES, _SPAN_KINDS, _SPAN_TIMES, _SPAN_CAPACITY = 12_352, 16, 12_480, 1_952
_LENGTH = _FIRST + (_RINGS + _LOCKED) * _RING
# What a recorder is sent, in bytes: what it is, the time, the thread's name, why.
_KIND, _COMM, _REASON = 8, 16, 128

# The memory that this process has handed to a recorder, and the connection by whose end that knows the program's. Of two threads
# at the same time the first counts.
_handed: List[Tuple[int, socket.socket]] = []

# How many forks lie behind this process: a ring belongs to the one that took it.
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class Loop:
    """A loop that howlate measures, if the program was started by it or a recorder runs."""

    __slots__ = (
        "_name",
        "_period",
        "_ring",
        "_memory",
        "_forks",
        "_written",
        "_read",
        "_expected",
        "_woke",
        "_spans",
        "_reads_spans",
    )

    def __init__(self, name: str, period: int = 0) -> None:
        """A loop of this name, of which 31 bytes count, that is to turn every `period` nanoseconds; 0: at no fixed distance."""
        self._name = _letters(name)
        self._period = _nanoseconds(period)
        self._written = self._read = self._expected = self._woke = 0
        self._spans: Dict[str, Span] = {}
        self._join()

    def wake(self) -> None:
        """A turn begins."""
        if self._ring is not None:
            self._begin(0)

    def wake_at(self, expected: int) -> None:
        """A turn begins that was to begin at `expected`, in nanoseconds of time.monotonic_ns()."""
        if self._ring is not None:
            self._begin(_nanoseconds(expected))

    def done(self) -> None:
        """Its work is done."""
        if self._ring is not None and self._woke:
            self._put(time.monotonic_ns())

    def turn(self, expected: int = 0) -> "Turn":
        """A turn for `with`: it begins there, and is done however the block is left.

        `expected` is when it was to begin, in nanoseconds of time.monotonic_ns(); 0 where the program does not know.
        """
        return Turn(self, expected)

    def span(self, name: str) -> "Span":
        """A part of a turn: `with loop.span("plan"):`. Parts of one name, of which 31 bytes count, are added up for each turn.

        At most 16 names per loop are measured; howlate says which was the first beyond them.
        """
        span = self._spans.get(name)
        if span is None:
            span = Span(self, name)
            if len(self._spans) < _SPAN_KINDS:  # names that are made as it runs take no more memory
                self._spans[name] = span
        return span

    def is_measured(self) -> bool:
        """Whether a howlate measures it."""
        return self._ring is not None

    def _begin(self, expected: int) -> None:
        now = time.monotonic_ns()
        if self._woke:
            self._put(0)
        self._expected, self._woke = expected, now

    def _put(self, done: int) -> None:
        """Hands on the turn that began last, or counts it as lost where the ring is full."""
        if self._forks != _forks:  # that ring is the parent's, and so was the turn
            return self._join()
        ring: Any = self._ring
        written = self._written
        if written == 0:  # from now on howlate looks at the ring
            ring[_THREAD] = os.getpid() << 32 | threading.get_native_id()
        if written - self._read >= _CAPACITY:
            self._read = ring[_READ]
        if written - self._read >= _CAPACITY:
            ring[_LOST] += 1
        else:
            at = _TURNS + written % _CAPACITY * 3
            ring[at] = self._expected
            ring[at + 1] = self._woke
            ring[at + 2] = done
            # Nothing in Python keeps this store behind those. Where a processor turned them round, howlate may find
            # a turn that cannot have been: it counts it as lost.
            self._written = ring[_WRITTEN] = written + 1
        self._woke = 0

    def _join(self) -> None:
        """Joins howlate; where there is none, the loop stays without. Again after a fork."""
        self._ring: Optional[Any] = None
        self._memory: Optional[mmap.mmap] = None
        self._forks = _forks
        self._reads_spans = False
        self._written = self._read = self._expected = self._woke = 0
        try:
            started = os.environ.get("HOWLATE_LOOPS")
            file = _hand() if started is None else int(started)
            self._memory = _take(file)
        except (ValueError, OSError):
            return
        if self._memory is None:
            return
        ring = memoryview(self._memory).cast("Q")
        for word in range(0, len(ring), mmap.PAGESIZE // 8):
            ring[word] = 0  # no turn is to meet a page fault
        start = _NAME * 8
        self._memory[start : start + len(self._name)] = self._name
        ring[_PERIOD] = self._period
        ring[_CLOCK] = 1  # Python cannot read the processor's ticks
        self._reads_spans = bool(memoryview(mmap.mmap(file, mmap.PAGESIZE)).cast("Q")[_SPANS])
        self._ring = ring


class Turn:
    """A turn, for `with`; see `Loop.turn`."""

    __slots__ = ("_loop", "_expected")

    def __init__(self, loop: Loop, expected: int) -> None:
        self._loop, self._expected = loop, expected

    def __enter__(self) -> "Turn":
        self._loop.wake_at(self._expected)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.done()


class Span:
    """A part of a turn, for `with`; see `Loop.span`."""

    __slots__ = ("_loop", "_name", "_ring", "_number", "_began")

    def __init__(self, loop: Loop, name: str) -> None:
        self._loop, self._name = loop, _letters(name) or b"span"
        self._ring: Optional[Any] = None
        self._number = _SPAN_KINDS
        self._began: List[int] = []

    def __enter__(self) -> "Span":
        if self._ring is not self._loop._ring:
            self._join()
        self._began.append(time.monotonic_ns() if self._number < _SPAN_KINDS else 0)
        return self

    def __exit__(self, *_: object) -> None:
        began = self._began.pop()
        # After a fork that ring is the parent's.
        if began and self._ring is self._loop._ring and self._loop._forks == _forks:
            self._put(began, time.monotonic_ns())

    def _put(self, began: int, ended: int) -> None:
        """Hands on what began and ended then, or counts it as lost where there is no room."""
        ring: Any = self._ring
        written = ring[_SPAN_WRITTEN]
        if written - ring[_SPAN_READ] >= _SPAN_CAPACITY:
            ring[_SPAN_LOST] += 1
            return
        at = _SPAN_TIMES + written % _SPAN_CAPACITY * 2
        ring[at] = began
        ring[at + 1] = (ended - began) << 8 | self._number
        ring[_SPAN_WRITTEN] = written + 1

    def _join(self) -> None:
        """Finds its name in the ring, or the next free place. The one behind the last keeps the first name that found none."""
        self._ring, self._number = self._loop._ring, _SPAN_KINDS
        memory = self._loop._memory
        if self._ring is None or memory is None or not self._loop._reads_spans or self._loop._forks != _forks:
            return
        name = self._name.ljust(_LETTERS, b"\0")
        for number in range(_SPAN_KINDS + 1):
            start = _SPAN_NAMES * 8 + number * _LETTERS
            if memory[start : start + _LETTERS] == bytes(_LETTERS):
                memory[start : start + _LETTERS] = name
            if memory[start : start + _LETTERS] == name:
                self._number = number
                return


def snap(reason: str) -> bool:
    """Asks a running `howlate record` to keep what all CPUs have just done, and why: of `reason`, 127 bytes count.

    Returns whether it was asked. It waits for nothing, and a recorder obeys only so many requests a minute.
    """
    why = reason.encode(errors="replace")[: _REASON - 1]
    try:
        with open("/proc/thread-self/comm", "rb") as file:
            name = file.read().strip()
        asked = struct.pack(f"={_KIND}sQ{_COMM}s{_REASON}s", b"snap1", time.monotonic_ns(), name, why)
        with _recorder() as recorder:
            recorder.send(asked)
    except OSError:
        return False
    return True


def _recorder() -> socket.socket:
    """A connection to whoever records. OSError: nobody does, or too many ask."""
    recorder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        recorder.connect(os.environ.get("HOWLATE_RECORDER", "/run/howlate/record"))
    except OSError:
        recorder.close()
        raise
    return recorder


def _hand() -> int:
    """The memory for loops of this process, made and handed to whoever records where that has not happened yet."""
    if not _handed:
        if not hasattr(os, "memfd_create"):
            raise OSError("this Python was built for a C library that is older than memfd_create")
        recorder, file = _recorder(), os.memfd_create("howlate", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(file, _LENGTH)
            fcntl.fcntl(file, 1033, 7)  # F_ADD_SEALS; F_SEAL_SEAL, F_SEAL_SHRINK and F_SEAL_GROW
            head = memoryview(mmap.mmap(file, mmap.PAGESIZE)).cast("Q")
            head[_SPANS], head[_MAGIC] = 1, int.from_bytes(b"howlate1", sys.byteorder)
            with_file = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", file))]
            recorder.sendmsg([b"loops1".ljust(_KIND, b"\0")], with_file)
        except OSError:
            recorder.close()
            os.close(file)
            raise
        _handed.append((file, recorder))
    return _handed[0][0]


def _letters(name: str) -> bytes:
    """What is kept of a name."""
    return name.encode(errors="replace").split(b"\0")[0][: _LETTERS - 1]


def _nanoseconds(time: int) -> int:
    """A time as the memory has it. Seconds would be taken for next to nothing, so no fraction is taken."""
    try:
        return min(max(operator.index(time), 0), 2**64 - 1)
    except TypeError:
        raise TypeError(f"nanoseconds are whole numbers, such as 1_000_000 for 1 ms, and not {time!r}") from None


def _take(file: int) -> Optional[mmap.mmap]:
    """A ring of the memory behind `file`; None when none is left, or that is no memory of howlate."""
    if os.fstat(file).st_size != _LENGTH:
        return None
    head = memoryview(mmap.mmap(file, mmap.PAGESIZE)).cast("Q")
    if head[_MAGIC] != int.from_bytes(b"howlate1", sys.byteorder):
        return None
    number = _number(file, head)
    return mmap.mmap(file, _RING, offset=_FIRST + (_RINGS + number) * _RING) if number < _LOCKED else None


def _number(file: int, head: Any) -> int:
    """The next ring's. Python cannot count in memory that others count in as well, but under a lock of the file."""
    own = os.open(f"/proc/self/fd/{file}", os.O_RDWR)  # a lock belongs to those who opened it together
    try:
        fcntl.flock(own, fcntl.LOCK_EX)
        number: int = head[_LOCKED_TAKEN]
        head[_LOCKED_TAKEN] = number + 1
        fcntl.flock(own, fcntl.LOCK_UN)
    finally:
        os.close(own)
    return number
