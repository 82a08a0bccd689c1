"""Is there a difference, how large is it, and could it have been seen? As `howlate compare` says it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Iterator, Mapping, Optional, Tuple

from howlate.condition import Condition
from howlate.schema import build


@dataclass(frozen=True)
class Difference:
    """What differs between the two conditions, by its values."""

    property: str
    base: str
    new: str


@dataclass(frozen=True)
class Statistic:
    """One number of the two conditions. Times are nanoseconds; what is not known is `None`."""

    #: `p50`, `p99`, `p99.9` or `max`.
    statistic: str
    #: `better`, `worse`, `not_distinguishable`, `equivalent` or `inconclusive`.
    verdict: str
    base_ns: Optional[float] = None
    new_ns: Optional[float] = None
    #: New minus base.
    difference_ns: Optional[float] = None
    interval_ns: Optional[Tuple[float, ...]] = None
    #: The smallest difference that would have been seen.
    detectable_ns: Optional[float] = None
    p: Optional[float] = None
    #: The same with regard to how many were tested.
    p_corrected: Optional[float] = None
    units: Optional[Tuple[int, ...]] = None
    unit_wakeups: Optional[int] = None
    reason: Optional[Any] = None
    settled_by: Optional[Mapping[str, Any]] = None
    #: All of it.
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Compared:
    """One pair of conditions."""

    base: Condition
    new: Condition
    differs: Tuple[Difference, ...]
    design: str
    statistics: Tuple[Statistic, ...]
    new_recording: Optional[str] = None
    recording: Optional[int] = None
    #: All of it: what was left out, the same in per cent, and the maxima.
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Comparison:
    """What `howlate compare` found."""

    #: The worst verdict of all.
    verdict: str
    #: The answer in a sentence.
    answer: str
    confidence: float
    base: str
    news: Tuple[str, ...]
    compared: Tuple[Compared, ...]
    #: What to type where anything is inconclusive.
    settle: Optional[Any] = None
    #: All of it.
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: The program's exit status: 0, 1 where anything is worse, 3 where anything is inconclusive.
    status: int = field(default=0, metadata={"own": True})
    #: Further messages of the program.
    words: str = field(default="", metadata={"own": True})

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.compared)

    def __len__(self) -> int:
        return len(self.compared)

    def _repr_html_(self) -> str:
        from howlate.html import comparison_page

        return comparison_page(self)


def from_json(document: Mapping[str, Any], status: int = 0, words: str = "") -> Comparison:
    """A comparison from the program's JSON."""
    return replace(build(Comparison, document), status=status, words=words)
