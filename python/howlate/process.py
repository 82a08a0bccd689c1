"""Runs the program: its messages, its progress, Ctrl-C.

The program's standard output goes to a file, its standard error through here. Where somebody looks on, that is a terminal of
its own, so that the program shows its progress; a terminal gets it as it is, a notebook its first line. Ctrl-C is handed on
to the program, which ends early and keeps what it measured.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import termios
from dataclasses import dataclass
from typing import IO, Any, Optional, Protocol, Sequence

from howlate.program import program

#: What colours text and moves the cursor on a terminal.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
#: The last bytes of the program's messages are kept: this many.
_TAIL_BYTES = 64 * 1024


#: <linux/prctl.h>
_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl


def _end_with_python() -> None:
    """In the child: SIGINT when the parent dies, or rather the thread that started it, which is also the one that waits."""
    _prctl(_PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)


@dataclass(frozen=True)
class Outcome:
    """How the program ended."""

    status: int
    output: bytes
    #: Its messages, without progress.
    words: str
    #: Whether Ctrl-C ended it early.
    interrupted: bool


class _Show(Protocol):
    """Where progress is shown."""

    def __call__(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class _Terminal:
    """The user's terminal: the output is passed on unchanged."""

    def __init__(self, stream: IO[str]) -> None:
        self._file = stream.fileno()
        stream.flush()

    def __call__(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._file, data) :]

    def close(self) -> None:
        pass


class _Notebook:
    """A cell of a notebook: the line that says how much is left."""

    def __init__(self, display: Any) -> None:
        self._handle = display({"text/plain": "howlate: starting"}, raw=True, display_id=True)
        self._text, self._shown = "", ""

    def __call__(self, data: bytes) -> None:
        self._text = (self._text + data.decode(errors="replace"))[-_TAIL_BYTES:]
        line = progress_line(self._text)
        if line and line != self._shown:
            self._shown = line
            self._handle.update({"text/plain": f"howlate: {line}"}, raw=True)

    def close(self) -> None:
        self._handle.update({"text/plain": "howlate: done"}, raw=True)


def progress_line(text: str) -> Optional[str]:
    """The last complete line that says how much is left, without bar and colours."""
    lines = _CONTROL.sub("", text).replace("\r", "\n").split("\n")[:-1]
    said = next((line for line in reversed(lines) if " left · " in line), None)
    return said.lstrip("━╸╺─ ").strip() if said else None


def messages(text: str) -> str:
    """What the program said that is no progress: nothing of it moves the cursor."""
    lines = (line for line in re.split(r"\r?\n", text) if not re.search(r"\x1b\[[0-9]*[AJK]|\x1b\[\?", line))
    return "\n".join(_CONTROL.sub("", line).replace("\r", "") for line in lines).strip()


def _notebook_display() -> Optional[Any]:
    """IPython's `display`, in a notebook."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import display

    shell = get_ipython()
    return display if shell is not None and getattr(shell, "kernel", None) is not None else None


def _watcher(is_wanted: Optional[bool]) -> Optional[_Show]:
    """Where to show progress; `None`: nowhere."""
    if is_wanted is False:
        return None
    display = _notebook_display()
    if display is not None:
        return _Notebook(display)
    try:
        return _Terminal(sys.stderr) if sys.stderr.isatty() else None
    except (AttributeError, ValueError):  # there is none, or it is closed
        return None


class _Running:
    """The program while it runs."""

    def __init__(self, words: Sequence[str], progress: Optional[bool]) -> None:
        self._show = _watcher(progress)
        self._tail = bytearray()
        self._output = tempfile.TemporaryFile()
        self.interrupted = False
        self.errors, theirs = os.openpty() if self._show else os.pipe()
        if isinstance(self._show, _Terminal):
            _copy_size(theirs)
        try:
            # In its own session, so that Ctrl-C reaches it only through this process, and once.
            self.child = subprocess.Popen(
                [program(), *words],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=theirs,
                start_new_session=True,
                preexec_fn=_end_with_python,
            )
        except BaseException:
            os.close(self.errors)
            raise
        finally:
            os.close(theirs)

    def take(self) -> bool:
        """Reads its output; whether there may be more."""
        try:
            data = os.read(self.errors, 65536)
        except BlockingIOError:
            return True
        except OSError:  # the other end of a terminal is closed
            return False
        self._tail += data
        del self._tail[:-_TAIL_BYTES]
        if self._show:
            self._show(data)
        return bool(data)

    def interrupt(self) -> None:
        """Sends SIGINT, so that it ends early."""
        self.interrupted = True
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)

    def outcome(self) -> Outcome:
        """Waits for its end."""
        status = self.child.wait()
        os.close(self.errors)
        if self._show:
            self._show.close()
        self._output.seek(0)
        output = self._output.read()
        self._output.close()
        return Outcome(status, output, messages(self._tail.decode(errors="replace")), self.interrupted)


def _copy_size(terminal: int) -> None:
    """Gives it the size of the terminal in use."""
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
        if sys.version_info >= (3, 11):
            termios.tcsetwinsize(terminal, (size.lines, size.columns))
        else:
            import fcntl
            import struct

            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", size.lines, size.columns, 0, 0))
    except (OSError, termios.error):
        pass  # it then takes 100 columns


def run(words: Sequence[str], progress: Optional[bool] = None) -> Outcome:
    """Runs the program to its end. Ctrl-C ends it early; another one, a second later, at once."""
    running = _Running(words, progress)
    more = True
    while more:
        try:
            while more:
                more = running.take()
        except KeyboardInterrupt:
            running.interrupt()
        except BaseException:
            running.child.kill()
            running.child.wait()
            raise
    while True:
        try:
            return running.outcome()
        except KeyboardInterrupt:
            running.interrupt()


async def run_async(words: Sequence[str], progress: Optional[bool] = None) -> Outcome:
    """Runs the program beside other asyncio tasks. If cancelled, it ends the program early, waits for that, and is cancelled."""
    running = _Running(words, progress)
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    os.set_blocking(running.errors, False)

    def take() -> None:
        if not running.take():
            loop.remove_reader(running.errors)
            if not ended.done():
                ended.set_result(None)

    loop.add_reader(running.errors, take)
    cancelled: Optional[asyncio.CancelledError] = None
    while not ended.done():
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError as error:
            cancelled = error
            running.interrupt()
    outcome = await loop.run_in_executor(None, running.outcome)
    if cancelled:
        raise cancelled
    return outcome
