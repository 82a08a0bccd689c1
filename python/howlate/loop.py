"""Marks a periodic loop, so that `howlate watch -- python3 program.py` measures each of its turns (iterations), and a running
`howlate record` keeps those that miss their deadline: that were not done a period after they were due.

    from howlate import Loop

    loop = Loop("control", 1_000_000)  # its name; its period in nanoseconds
    while True:
        wait_for_the_next_turn()  # by time.sleep or a timerfd
        with loop.turn():  # or loop.wake() and loop.done()
            work()

Named parts show where a long turn was long:

        with loop.span("plan"):
            plan()

If the program knows when the turn was due: loop.turn(nanoseconds of time.monotonic_ns()), or loop.wake_at.
Under howlate, a turn costs two readings of a clock and an entry in a ring of shared memory: no system call, no lock.
Without howlate, each call is one branch, and Loop() three system calls. A loop belongs to one thread at a time; a fork gives each side its own.
`snap("why")` asks a recorder to keep what all CPUs have just done. `howlate.h` does this for C and C++, with the same memory layout. For Linux, Python 3.8 or later; without dependencies: copied
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

# Layout of the shared memory: a head, then rings. Sizes in bytes; places in words of 64 bits from the start of the head or ring.
_FIRST, _RING, _RINGS, _LOCKED, _CAPACITY, _LETTERS = 65_536, 131_072, 64, 16, 4_096, 32
_MAGIC, _LOCKED_TAKEN, _SPANS = 64, 67, 68
_THREAD, _PERIOD, _NAME, _CLOCK, _WRITTEN, _READ, _LOST, _TURNS = 0, 1, 2, 6, 8, 16, 24, 64
_SPAN_WRITTEN, _SPAN_LOST, _SPAN_READ = 9, 10, 17
_SPAN_NAMES, _SPAN_KINDS, _SPAN_TIMES, _SPAN_CAPACITY = 12_352, 16, 12_480, 1_952
_LENGTH = _FIRST + (_RINGS + _LOCKED) * _RING
# Sizes of a recorder message's fields, in bytes: its kind, the thread's name, the reason.
_KIND, _COMM, _REASON = 8, 16, 128

# The memory that this process shares with a recorder, and the connection, whose end tells the recorder that the program has ended.
# If two threads add an entry at the same time, the first one counts.
_shared: List[Tuple[int, socket.socket]] = []

# Number of forks that led to this process: a ring belongs to the process that reserved it.
_forks = 0


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class Loop:
    """A loop that howlate measures if it started the program, or if a recorder runs."""

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
        """A loop with this name, truncated to 31 bytes, and a period in nanoseconds; 0: without a fixed period."""
        self._name = _letters(name)
        self._period = _nanoseconds(period)
        self._written = self._read = self._expected = self._woke = 0
        self._spans: Dict[str, Span] = {}
        self._join()

    def wake(self) -> None:
        """Begins a turn."""
        if self._ring is not None:
            self._begin(0)

    def wake_at(self, expected: int) -> None:
        """Begins a turn that was due at `expected`, in nanoseconds of time.monotonic_ns()."""
        if self._ring is not None:
            self._begin(_nanoseconds(expected))

    def done(self) -> None:
        """Ends the work of the turn."""
        if self._ring is not None and self._woke:
            self._put(time.monotonic_ns())

    def turn(self, expected: int = 0) -> "Turn":
        """A turn for `with`, which ends however the block is left.

        `expected` is when it was due, in nanoseconds of time.monotonic_ns(); 0: unknown.
        """
        return Turn(self, expected)

    def span(self, name: str) -> "Span":
        """A named part of a turn: `with loop.span("plan"):`. Parts with the same name, truncated to 31 bytes, are added up in a turn.

        At most 16 names per loop are measured; howlate names the first one beyond them.
        """
        span = self._spans.get(name)
        if span is None:
            span = Span(self, name)
            if len(self._spans) < _SPAN_KINDS:  # so that generated names do not fill the memory
                self._spans[name] = span
        return span

    def is_measured(self) -> bool:
        """Whether howlate measures this loop."""
        return self._ring is not None

    def _begin(self, expected: int) -> None:
        now = time.monotonic_ns()
        if self._woke:
            self._put(0)
        self._expected, self._woke = expected, now

    def _put(self, done: int) -> None:
        """Writes the current turn, or counts it as lost if the ring is full."""
        if self._forks != _forks:  # after a fork: ring and turn are the parent's
            return self._join()
        ring: Any = self._ring
        written = self._written
        if written == 0:  # howlate reads a ring only once it has a thread
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
            # Python has no memory barrier. If the processor reorders these stores, howlate may read an impossible turn, which it
            # counts as lost.
            self._written = ring[_WRITTEN] = written + 1
        self._woke = 0

    def _join(self) -> None:
        """Reserves a ring, also after a fork; without howlate, the loop is not measured."""
        self._ring: Optional[Any] = None
        self._memory: Optional[mmap.mmap] = None
        self._forks = _forks
        self._reads_spans = False
        self._written = self._read = self._expected = self._woke = 0
        try:
            started = os.environ.get("HOWLATE_LOOPS")
            file = _share_memory() if started is None else int(started)
            self._memory = _reserve(file)
        except (ValueError, OSError):
            return
        if self._memory is None:
            return
        ring = memoryview(self._memory).cast("Q")
        for word in range(0, len(ring), mmap.PAGESIZE // 8):
            ring[word] = 0  # touches the page, so that no turn has a page fault
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
    """A named part of a turn, for `with`; see `Loop.span`."""

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
        # After a fork, the ring is the parent's.
        if began and self._ring is self._loop._ring and self._loop._forks == _forks:
            self._put(began, time.monotonic_ns())

    def _put(self, began: int, ended: int) -> None:
        """Writes a span, or counts it as lost if the ring is full."""
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
        """Finds or adds the name in the ring. One place beyond the last keeps the first name for which there was no room."""
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
    """Asks a running `howlate record` to keep what all CPUs have just done; `reason` is truncated to 127 bytes.

    Returns whether the request was sent. Does not wait; the recorder limits requests per minute.
    """
    text = reason.encode(errors="replace")[: _REASON - 1]
    try:
        with open("/proc/thread-self/comm", "rb") as file:
            name = file.read().strip()
        message = struct.pack(f"={_KIND}sQ{_COMM}s{_REASON}s", b"snap1", time.monotonic_ns(), name, text)
        with _recorder() as recorder:
            recorder.send(message)
    except OSError:
        return False
    return True


def _recorder() -> socket.socket:
    """A connection to the recorder. OSError: none runs, or its backlog is full."""
    recorder = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        recorder.connect(os.environ.get("HOWLATE_RECORDER", "/run/howlate/record"))
    except OSError:
        recorder.close()
        raise
    return recorder


def _share_memory() -> int:
    """The memory for this process's loops, shared with the recorder by the first call."""
    if not _shared:
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
        _shared.append((file, recorder))
    return _shared[0][0]


def _letters(name: str) -> bytes:
    """The bytes of a name, without the final zero byte."""
    return name.encode(errors="replace").split(b"\0")[0][: _LETTERS - 1]


def _nanoseconds(time: int) -> int:
    """A time as an unsigned 64-bit integer. Rejects fractions, as seconds would be mistaken for nanoseconds."""
    try:
        return min(max(operator.index(time), 0), 2**64 - 1)
    except TypeError:
        raise TypeError(f"nanoseconds are whole numbers, such as 1_000_000 for 1 ms, and not {time!r}") from None


def _reserve(file: int) -> Optional[mmap.mmap]:
    """The next free ring of the memory behind `file`; None if all are in use, or it is not howlate's memory."""
    if os.fstat(file).st_size != _LENGTH:
        return None
    head = memoryview(mmap.mmap(file, mmap.PAGESIZE)).cast("Q")
    if head[_MAGIC] != int.from_bytes(b"howlate1", sys.byteorder):
        return None
    number = _number(file, head)
    return mmap.mmap(file, _RING, offset=_FIRST + (_RINGS + number) * _RING) if number < _LOCKED else None


def _number(file: int, head: Any) -> int:
    """Number of the next ring. Python has no atomic increment in shared memory, so the counter is guarded by a file lock."""
    own = os.open(f"/proc/self/fd/{file}", os.O_RDWR)  # a lock belongs to an open file, so this opens its own
    try:
        fcntl.flock(own, fcntl.LOCK_EX)
        number: int = head[_LOCKED_TAKEN]
        head[_LOCKED_TAKEN] = number + 1
        fcntl.flock(own, fcntl.LOCK_UN)
    finally:
        os.close(own)
    return number
