"""Keyword arguments as options of the command line.

`period="1ms"` is `--period=1ms`, `policy=["other", "fifo:80"]` is `--policy=other,fifo:80`, `why=True` is `--why`. What is `None` or
`False` is left out. Names are those of the program, which refuses others in its own words.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable as Several
from collections.abc import Mapping as Names
from typing import Any, Iterable, List, Mapping, Optional, Union

#: What an option may be: text, a number, a path, a length, several of them, or whether it is given at all.
Scalar = Union[str, int, "os.PathLike[str]", datetime.timedelta]
Option = Optional[Union[Scalar, bool, Iterable[Scalar]]]

#: Options that are given once for each value, rather than as a list.
_REPEATED = {"fail_above", "label", "pair", "thread", "kernel"}


def words(options: Mapping[str, Option]) -> List[str]:
    """The words for the command line. Raises `TypeError` for what no option can be."""
    said: List[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            said.append(option)
        elif isinstance(value, (str, int, os.PathLike, datetime.timedelta)):
            said.append(f"{option}={_text(name, value)}")
        else:
            texts = _texts(name, value)
            said += [f"{option}={text}" for text in (texts if name in _REPEATED else [",".join(texts)])]
    return said


def _texts(name: str, values: Any) -> List[str]:
    if isinstance(values, (bytes, Names)) or not isinstance(values, Several):
        raise _wrong(name, values)
    return [_text(name, value) for value in values]


def _text(name: str, value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        micros = value // datetime.timedelta(microseconds=1)
        return f"{micros}us"
    if isinstance(value, (str, int)) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise _wrong(name, value)


def _wrong(name: str, value: object) -> TypeError:
    return TypeError(f"{name} is text such as '1ms', a whole number, a timedelta, or a list of them, and not {value!r}")
