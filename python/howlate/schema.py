"""Frozen dataclasses from the JSON that the program prints.

A class has the names of the JSON. What the JSON has and the class does not is left to `details`, where the class has
that, and is otherwise in the JSON only: a program that knows more can still be read.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import functools
import sys
import typing
from typing import Any, Dict, Hashable, Mapping, Type, TypeVar, cast

from howlate.errors import HowlateError

T = TypeVar("T")

#: Names that no attribute can have.
_NAMES = {"p99_9": "p99.9", "p99_99": "p99.99", "p99_9_ns": "p99.9_ns"}


def json_name(attribute: str) -> str:
    """What an attribute is called in the JSON."""
    return _NAMES.get(attribute, attribute)


def build(cls: Type[T], stored: Mapping[str, Any]) -> T:
    """A dataclass from a JSON object. Raises `HowlateError` where a field that it must have is missing."""
    values: Dict[str, Any] = {}
    for name, (kind, is_needed) in _fields(cast(Hashable, cls)).items():
        if name == "details":
            values[name] = stored
        elif stored.get(json_name(name)) is not None:
            values[name] = _value(kind, stored[json_name(name)])
        elif is_needed and json_name(name) not in stored:
            raise HowlateError(f"the program's result has no `{json_name(name)}`: it is no {cls.__name__}")
        elif is_needed:
            values[name] = None
    return cls(**values)


@functools.lru_cache(maxsize=None)
def _fields(cls: Any) -> Dict[str, Any]:
    """Each field that is in the JSON: its type, and whether it has to be there."""
    # Only those that are in the JSON: the types of others may be known to a type checker alone.
    names = vars(sys.modules[cls.__module__])
    kept = (one for one in dataclasses.fields(cls) if not one.metadata.get("own"))

    def is_needed(one: dataclasses.Field[Any]) -> bool:
        return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING

    return {one.name: (_type(one, names), is_needed(one)) for one in kept}


def _type(one: dataclasses.Field[Any], names: Dict[str, Any]) -> Any:
    return eval(one.type, names) if isinstance(one.type, str) else one.type


def _value(kind: Any, stored: Any) -> Any:
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Union:  # Optional
        return _value(inner[0], stored)
    if origin is tuple:
        return tuple(_value(inner[0], one) for one in stored)
    if origin is collections.abc.Mapping or kind is Any:
        return stored
    if dataclasses.is_dataclass(kind):
        return build(kind, stored)  # type: ignore[arg-type]
    return stored
