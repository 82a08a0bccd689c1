"""pyperf: `--hook howlate` records which threads took the CPU from a benchmark, in the metadata of its result.

`howlate_waited_ns`: how long the benchmark was ready to run and had no CPU while it was measured, by the kernel's accounting.
`howlate_culprits`: who had the CPU meanwhile, where the tracer sees it (root), over the whole of the worker process.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from typing import Any, Dict, Optional

from howlate.errors import HowlateError
from howlate.program import program

#: How long howlate may take to begin, in looks of 10 ms: it loads its programs into the kernel.
_LOOKS = 1500
_CULPRITS = 5


class Hook:
    """A worker of pyperf: entered and left around each value, torn down at its end."""

    def __init__(self) -> None:
        self._waited = self._before = 0
        self._output = tempfile.TemporaryFile()
        self._words = tempfile.TemporaryFile()
        self._top: Optional[subprocess.Popen[bytes]] = None
        try:
            command = [program(), "top", f"--process={os.getpid()}", "--json", "--details", "--interval=1s"]
            self._top = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._output, stderr=self._words)
        except (HowlateError, OSError) as error:
            self._refused = str(error)
        self._wait_until_it_sees()

    def _wait_until_it_sees(self) -> None:
        """Waits for the first table: howlate does not measure before."""
        for _ in range(_LOOKS):
            if self._top is None or self._top.poll() is not None or os.fstat(self._output.fileno()).st_size:
                break
            time.sleep(0.01)

    def __enter__(self) -> Hook:
        self._before = _waited()
        return self

    def __exit__(self, *_: object) -> None:
        self._waited += _waited() - self._before

    def teardown(self, metadata: Dict[str, Any]) -> None:
        """Adds what was found."""
        metadata["howlate_waited_ns"] = self._waited
        metadata["howlate_culprits"] = self._culprits()
        self._output.close()
        self._words.close()

    def _culprits(self) -> str:
        """Which threads had the CPU, and for how long; or why that is unknown."""
        if self._top is None:
            return f"not known: {self._refused}"
        self._top.send_signal(signal.SIGINT)
        status = self._top.wait()
        self._output.seek(0)
        tables = [json.loads(line) for line in self._output.read().splitlines() if line.strip()]
        if not tables:
            self._words.seek(0)
            return f"not known: howlate top ended with status {status}: {self._words.read().decode(errors='replace').strip()}"
        return told(tables)


def told(tables: "list[Dict[str, Any]]") -> str:
    """`cc1plus 12.3 ms, kworker/0:1 0.2 ms`: who had the CPU while the process waited for it."""
    if all(table["tracer"] != "bpf" for table in tables):
        return "not known: it takes root, or setcap cap_bpf,cap_perfmon+ep on the program"
    took: Dict[str, int] = {}
    for table in tables:
        for process in table["processes"]:
            for wait in process["waits"]:
                for behind in wait.get("behind", ()) if wait["kind"] == "cpu" else ():
                    # Without a name where the CPU was idle, and had to wake up.
                    name = behind.get("name", "leaving idle")
                    took[name] = took.get(name, 0) + behind["ns"]
    most = sorted(took, key=lambda name: -took[name])[:_CULPRITS]
    return ", ".join(f"{name} {took[name] / 1e6:.3g} ms" for name in most) or "nobody"


def _waited() -> int:
    """How long this thread was ready to run without a CPU; nanoseconds."""
    try:
        with open("/proc/thread-self/schedstat") as file:
            return int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
