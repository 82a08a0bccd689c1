"""Measuring: each function is the command of the same name, its keyword arguments are the command's options.

Times are text with a unit (`"1ms"`, `"100us"`), or a `timedelta`. Lists are measured in every combination, in turns of random
order. All return when the measurement is over; Ctrl-C ends it early, and the result has what was measured by then.

All raise `HowlateError` where it could not be done, and, unless `check=False`, `LimitExceeded` where a limit of `fail_above` was
exceeded, and `Inconclusive` where not everything was as asked, such as a policy that was refused. Their `result` is the result.

`progress`: `None` shows it on a terminal and in a notebook, `False` nowhere.
"""

from __future__ import annotations

import os
from typing import Any, Optional, Sequence, Union

from howlate import command, process
from howlate.command import Comparable
from howlate.comparison import Comparison
from howlate.finding import Diagnosis
from howlate.options import Option, words
from howlate.result import Result


def _measured(
    name: str, operands: Sequence[str], check: bool, progress: Optional[bool], options: Any, last: Sequence[str] = ()
) -> Result:
    with command.Measurement(name, operands, options, last) as asked:
        return asked.result(process.run(asked.words, progress), check)


def cyclic(
    *,
    period: Option = None,
    policy: Option = None,
    load: Option = None,
    cpus: Option = None,
    threads: Option = None,
    slack: Option = None,
    duration: Option = None,
    samples: Option = None,
    why: bool = False,
    fail_above: Option = None,
    out: Option = None,
    check: bool = True,
    progress: Optional[bool] = None,
    **more: Option,
) -> Result:
    """How late periodic threads wake: what cyclictest measures. `more` are further options of `howlate cyclic`.

    howlate.cyclic(period="1ms", policy=["other", "fifo:80"], load=["idle", "cpu"], duration="10s")
    """
    options = {
        "period": period, "policy": policy, "load": load, "cpus": cpus, "threads": threads, "slack": slack,
        "duration": duration, "samples": samples, "why": why, "fail_above": fail_above, "out": out, **more,
    }  # fmt: skip
    return _measured("cyclic", [], check, progress, options)


def sleep(
    length: Option = None,
    call: Option = None,
    *,
    policy: Option = None,
    load: Option = None,
    cpus: Option = None,
    slack: Option = None,
    duration: Option = None,
    samples: Option = None,
    why: bool = False,
    fail_above: Option = None,
    out: Option = None,
    check: bool = True,
    progress: Optional[bool] = None,
    **more: Option,
) -> Result:
    """How late sleeps return, by length, call or language (`call="python"`). `more` are further options of `howlate sleep`.

    howlate.sleep(["1ms", "10ms"], call=["clock_nanosleep", "python"])
    """
    options = {
        "for": length, "call": call, "policy": policy, "load": load, "cpus": cpus, "slack": slack,
        "duration": duration, "samples": samples, "why": why, "fail_above": fail_above, "out": out, **more,
    }  # fmt: skip
    return _measured("sleep", [], check, progress, options)


def notify(
    mechanism: Option = None,
    *,
    after: Option = None,
    policy: Option = None,
    load: Option = None,
    samples: Option = None,
    why: bool = False,
    fail_above: Option = None,
    out: Option = None,
    check: bool = True,
    progress: Optional[bool] = None,
    **more: Option,
) -> Result:
    """How long one process needs to wake another, by mechanism. `more` are further options of `howlate notify`.

    howlate.notify(["pipe", "futex"], after="1ms")
    """
    options = {
        "mechanism": mechanism, "after": after, "policy": policy, "load": load, "samples": samples, "why": why,
        "fail_above": fail_above, "out": out, **more,
    }  # fmt: skip
    return _measured("notify", [], check, progress, options)


def run(
    plan: Union[str, os.PathLike[str]],
    *,
    out: Option = None,
    check: bool = True,
    progress: Optional[bool] = None,
    **more: Option,
) -> Result:
    """A whole experiment, from a plan file or by the name of one that comes with howlate. `more` are options of `howlate run`."""
    return _measured("run", [os.fspath(plan)], check, progress, {"out": out, **more})


def watch(
    program: Union[int, str, Sequence[str]],
    *,
    duration: Option = None,
    fail_above: Option = None,
    out: Option = None,
    check: bool = True,
    progress: Optional[bool] = None,
    **more: Option,
) -> Result:
    """How late the threads of a program are: of a process by id or name, or of a command, a list of words, that is started.

    `more` are options of `howlate watch`. Ends with the program, after `duration`, or with Ctrl-C.

        howlate.watch(["python3", "loop.py"])
    """
    options = {"duration": duration, "fail_above": fail_above, "out": out, **more}
    return _measured("watch", check=check, progress=progress, options=options, **command.watched(program))


def why(*, out: Option = None, check: bool = True, progress: Optional[bool] = None, **more: Option) -> Result:
    """Where lateness comes from on this machine, in about 30 s: `Result.causes`. `more` are options of `howlate why`."""
    return _measured("why", [], check, progress, {"out": out, **more})


def compare(base: Comparable, /, *news: Comparable, check: bool = False, **more: Option) -> Comparison:
    """Is there a difference, and how large is it? Of recordings, or with `by="policy"` of the conditions of one.

    `more` are options of `howlate compare`, such as `margin="5us"`. The verdict is in the result; with `check=True` something
    worse raises `LimitExceeded`, and too little to say anything `Inconclusive`.
    """
    with command.Comparing([base, *news], more) as asked:
        return asked.result(process.run(asked.words, progress=False), check)


def doctor(**more: Option) -> Diagnosis:
    """What on this machine makes wake-ups late, why, and what to do about it: a sequence of findings."""
    return command.diagnosis(process.run(["doctor", "--json", *words(more)], progress=False))
