"""Turns of a loop that are measured within the process: when each was due, when it woke. For tests of programs.

Every planned turn counts: those that a late one took the time of are missed, with the latency that they would have had.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from typing import Any, Dict, Iterator, List, Mapping, Optional, Tuple, Union

from howlate.histogram import Histogram
from howlate.thread_settings import Settings, nanoseconds, sleep_until

#: As many of the worst turns of a block are kept, as in every recording.
_WORST = 10
#: A block is at least this long.
_BLOCK_NS = 100_000_000


@dataclass(frozen=True)
class Limit:
    """A limit that turns must keep: `p99.9<500us`, `max<2ms`, `missed<1`."""

    text: str
    #: `max`, `mean`, `missed`, or a percentile.
    statistic: str
    below: int

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Raises `ValueError` for what is no limit."""
        match = (
            re.fullmatch(r"\s*(p\d{1,2}(?:\.\d+)?|max|mean|missed)\s*<\s*(.+?)\s*", text)
            if isinstance(text, str)
            else None
        )
        if not match:
            raise ValueError(
                f"{text!r} is no limit; write a statistic and what it must stay below, such as 'p99.9<500us', 'max<2ms' or 'missed<1'"
            )
        if match[1] != "missed":
            return cls(text, match[1], nanoseconds(match[2]))
        if not match[2].isdigit():
            raise ValueError(f"{text!r}: missed turns are a number, such as 'missed<1'")
        return cls(text, match[1], int(match[2]))

    @property
    def needed(self) -> int:
        """Turns that are needed, so that at least one lies beyond a percentile."""
        if not self.statistic.startswith("p"):
            return 1
        return math.ceil(round(100 / (100 - float(self.statistic[1:])), 6))

    def value(self, turns: Turns) -> float:
        """What the turns have: nanoseconds, or missed turns."""
        planned = turns.planned()
        if self.statistic == "missed":
            return turns.missed
        if self.statistic == "mean":
            return planned.mean_ns or 0.0
        return planned.max_ns if self.statistic == "max" else planned.percentile(float(self.statistic[1:])) or 0


@dataclass
class _Block:
    from_ns: int
    until_ns: int = 0
    missed: int = 0
    latency: Histogram = field(default_factory=Histogram)
    swallowed: Histogram = field(default_factory=Histogram)
    worst: List[Tuple[int, int]] = field(default_factory=list)

    def to_json(self, condition: int) -> Mapping[str, Any]:
        worst = sorted(self.worst, reverse=True)[:_WORST]
        return {
            "condition": condition,
            "round": 0,
            "from_ns": self.from_ns,
            "until_ns": self.until_ns,
            "latency": self.latency.to_json(),
            "missed_periods": self.missed,
            "swallowed": self.swallowed.to_json(),
            "worst": [{"at_ns": at, "latency_ns": late} for late, at in worst],
        }


class Turns:
    """A loop of `turns` turns, one each `period`: iterated, each turn begins when it is due."""

    def __init__(self, name: str, period: Union[str, int], turns: int) -> None:
        self.name, self.period_ns = name, nanoseconds(period)
        if self.period_ns < 1 or isinstance(turns, bool) or not isinstance(turns, int) or turns < 1:
            raise ValueError(f"a loop has a period above 0 and at least one turn, and not {period!r} and {turns!r}")
        self._turns = turns
        self.settings: Optional[Settings] = None
        self.blocks: List[_Block] = []

    def __iter__(self) -> Iterator[int]:
        period, turn = self.period_ns, 0
        due = time.monotonic_ns() + period
        block = self._begin(due - period)
        while turn < self._turns:
            late = sleep_until(due)
            woke = due + late
            if woke - block.from_ns >= _BLOCK_NS:
                block = self._begin(woke)
            # As many as there are still to come; the rest would have been after the end.
            missed = min(late // period, self._turns - turn - 1)
            self._count(block, woke, late, missed)
            yield turn
            turn += 1 + missed
            due += (1 + missed) * period

    def _begin(self, at: int) -> _Block:
        self.blocks.append(_Block(at))
        return self.blocks[-1]

    def _count(self, block: _Block, woke: int, late: int, missed: int) -> None:
        block.latency.record(late)
        block.missed += missed
        block.until_ns = woke
        for one in range(1, missed + 1):
            block.swallowed.record(late - one * self.period_ns)
        block.worst.append((late, woke))
        if len(block.worst) > 4 * _WORST:
            block.worst = sorted(block.worst, reverse=True)[:_WORST]

    @property
    def missed(self) -> int:
        """Turns that did not take place, since a late one took their time."""
        return sum(block.missed for block in self.blocks)

    def planned(self) -> Histogram:
        """The lateness of every planned turn."""
        return Histogram.merged(part for block in self.blocks for part in (block.latency, block.swallowed))


def lines(header: Mapping[str, Any], loops: List[Turns], arguments: List[str]) -> List[Dict[str, Any]]:
    """A recording of these loops, each a condition of its own, beneath a header that describes this machine."""
    found: List[Dict[str, Any]] = [{"header": {**header, "command": "watch", "arguments": arguments, "conditions": []}}]
    for index, loop in enumerate(loops):
        blocks = [block for block in loop.blocks if block.latency.count]
        settings = loop.settings
        if not blocks or settings is None:
            continue
        policy = _policy(settings.policy)
        condition = {"kind": "watch", "mechanism": "loop", **policy, "thread": 0, "name": loop.name, "load": "idle"}
        found.append({"condition": {**condition, "kernel": header["system"]["kernel"]}})
        in_force = {"tid": settings.tid, **policy, "slack_ns": settings.slack_ns, "cpus": _cpus(settings.cpus)}
        in_force["memory_locked"] = bool(settings.memory_locked)
        begin, end = blocks[0].from_ns, blocks[-1].until_ns
        found.append({"started": {"condition": index, "round": 0, "at_ns": begin, "in_force": in_force}})
        found += [{"block": block.to_json(index)} for block in blocks]
        found.append({"finished": {"condition": index, "round": 0, "at_ns": end}})
    found.append({"end": {"at_ns": time.monotonic_ns(), "how": "done"}})
    return found


def _policy(label: str) -> Dict[str, Any]:
    name, _, priority = label.partition(":")
    if priority:
        return {"policy": name, "priority": int(priority)}
    return {"policy": name, "nice": 0} if name == "other" else {"policy": name}


def _cpus(cpus: Tuple[int, ...]) -> str:
    return ",".join(map(str, cpus))
