"""The functions of `howlate` for programs that use asyncio: `await howlate.aio.cyclic(…)`.

They take and return the same. A task that is cancelled ends its measurement early, waits for that, and is cancelled.
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


async def _measured(
    name: str,
    options: Any,
    check: bool,
    progress: Optional[bool],
    operands: Sequence[str] = (),
    last: Sequence[str] = (),
) -> Result:
    with command.Measurement(name, operands, options, last) as measurement:
        return measurement.result(await process.run_async(measurement.words, progress), check)


async def cyclic(*, check: bool = True, progress: Optional[bool] = False, **options: Option) -> Result:
    """How late periodic threads wake; see `howlate.cyclic`."""
    return await _measured("cyclic", options, check, progress)


async def sleep(
    length: Option = None,
    call: Option = None,
    *,
    check: bool = True,
    progress: Optional[bool] = False,
    **options: Option,
) -> Result:
    """How late sleeps return; see `howlate.sleep`."""
    return await _measured("sleep", {"for": length, "call": call, **options}, check, progress)


async def notify(
    mechanism: Option = None, *, check: bool = True, progress: Optional[bool] = False, **options: Option
) -> Result:
    """How long one process needs to wake another; see `howlate.notify`."""
    return await _measured("notify", {"mechanism": mechanism, **options}, check, progress)


async def run(
    plan: Union[str, os.PathLike[str]], *, check: bool = True, progress: Optional[bool] = False, **options: Option
) -> Result:
    """A whole experiment; see `howlate.run`."""
    return await _measured("run", options, check, progress, [os.fspath(plan)])


async def watch(
    program: Union[int, str, Sequence[str]],
    *,
    check: bool = True,
    progress: Optional[bool] = False,
    **options: Option,
) -> Result:
    """How late the threads of a program are; see `howlate.watch`."""
    return await _measured("watch", options, check, progress, **command.watched(program))


async def why(*, check: bool = True, progress: Optional[bool] = False, **options: Option) -> Result:
    """Where lateness comes from on this machine; see `howlate.why`."""
    return await _measured("why", options, check, progress)


async def compare(base: Comparable, /, *news: Comparable, check: bool = False, **options: Option) -> Comparison:
    """Is there a difference? See `howlate.compare`."""
    with command.Comparing([base, *news], options) as measurement:
        return measurement.result(await process.run_async(measurement.words, progress=False), check)


async def doctor(**options: Option) -> Diagnosis:
    """What on this machine makes wake-ups late; see `howlate.doctor`."""
    return command.diagnosis(await process.run_async(["doctor", "--json", *words(options)], progress=False))
