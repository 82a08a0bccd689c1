"""How late Linux runs your code, and why.

    import howlate

    result = howlate.cyclic(period="1ms", policy=["other", "fifo:80"], load=["idle", "cpu"], duration="10s")
    for one in result:
        print(one.label, one.planned_ns)

Times are integer nanoseconds. The numbers are those of the program howlate, which this package carries.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from howlate.version import __version__ as __version__

if TYPE_CHECKING:
    from howlate import aio as aio
    from howlate.comparison import Comparison as Comparison
    from howlate.condition import Condition as Condition
    from howlate.errors import HowlateError as HowlateError
    from howlate.errors import Inconclusive as Inconclusive
    from howlate.errors import LimitExceeded as LimitExceeded
    from howlate.event_loop import LateCallback as LateCallback
    from howlate.event_loop import LoopWatch as LoopWatch
    from howlate.event_loop import watch_loop as watch_loop
    from howlate.finding import Diagnosis as Diagnosis
    from howlate.finding import Finding as Finding
    from howlate.histogram import Histogram as Histogram
    from howlate.loop import Loop as Loop
    from howlate.loop import snap as snap
    from howlate.measure import compare as compare
    from howlate.measure import cyclic as cyclic
    from howlate.measure import doctor as doctor
    from howlate.measure import notify as notify
    from howlate.measure import run as run
    from howlate.measure import sleep as sleep
    from howlate.measure import watch as watch
    from howlate.measure import why as why
    from howlate.program import HowlateNotFound as HowlateNotFound
    from howlate.program import find_howlate_bin as find_howlate_bin
    from howlate.recording import Recording as Recording
    from howlate.recording import read as read
    from howlate.result import Cause as Cause
    from howlate.result import ConditionResult as ConditionResult
    from howlate.result import Result as Result
    from howlate.result import Summary as Summary
    from howlate.thread_settings import Refused as Refused
    from howlate.thread_settings import Settings as Settings
    from howlate.thread_settings import realtime as realtime
    from howlate.thread_settings import sleep_until as sleep_until

#: Where each name is, so that importing the package loads only what is used of it.
_HOMES = {
    "aio": "",
    "comparison": "Comparison",
    "condition": "Condition",
    "errors": "HowlateError Inconclusive LimitExceeded",
    "event_loop": "LateCallback LoopWatch watch_loop",
    "finding": "Diagnosis Finding",
    "histogram": "Histogram",
    "loop": "Loop snap",
    "measure": "compare cyclic doctor notify run sleep watch why",
    "program": "HowlateNotFound find_howlate_bin",
    "recording": "Recording read",
    "result": "Cause ConditionResult Result Summary",
    "thread_settings": "Refused Settings realtime sleep_until",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = ["__version__", "aio", *sorted(_HOME)]


def __getattr__(name: str) -> object:
    if name == "aio":
        return importlib.import_module("howlate.aio")
    if name not in _HOME:
        raise AttributeError(f"module 'howlate' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"howlate.{_HOME[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
