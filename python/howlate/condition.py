"""Under which circumstances wake-ups were measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping, Optional

#: Lengths by the name of their unit, the longest first; nanoseconds.
_UNITS = (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000))


def length(nanos: int) -> str:
    """A length as it is typed: `1ms`."""
    for unit, size in _UNITS:
        if nanos and nanos % size == 0:
            return f"{nanos // size}{unit}"
    return f"{nanos}ns"


#: What a thread of a watched program is late after: one thread may be woken in several ways.
_LATE_AFTER = {
    "timer": "its timer",
    "event": "being woken",
    "handed_on": "another's timer",
    "loop": "its due time",
}


@dataclass(frozen=True)
class Condition:
    """One combination of circumstances. Times are nanoseconds; what does not apply is `None`."""

    #: `cyclic`, `sleep`, `notify`, `watch` or `foreign`.
    kind: str
    #: The way to wait or to notify, the language, or what makes a watched thread run.
    mechanism: str
    policy: str
    load: str
    kernel: str
    #: Which of the threads that run side by side, from 0.
    thread: int = 0
    period_ns: Optional[int] = None
    target_ns: Optional[int] = None
    after_ns: Optional[int] = None
    priority: Optional[int] = None
    nice: Optional[int] = None
    runtime_ns: Optional[int] = None
    deadline_period_ns: Optional[int] = None
    clock: Optional[str] = None
    dithered: bool = False
    slack_ns: Optional[int] = None
    cpu: Optional[int] = None
    sender_cpu: Optional[int] = None
    between: Optional[str] = None
    receiver: Optional[str] = None
    placement: Optional[str] = None
    round_trip: Optional[bool] = None
    name: Optional[str] = None
    node: Optional[str] = None
    on_host: Optional[Mapping[str, Any]] = None
    tuned: Optional[Mapping[str, Any]] = None
    says_policy: Optional[bool] = None
    says_load: Optional[bool] = None

    @property
    def length_ns(self) -> Optional[int]:
        """The period, the length asked for, or the time before each notification; `None` where there is none."""
        return next((time for time in (self.period_ns, self.target_ns, self.after_ns) if time is not None), None)

    @property
    def policy_label(self) -> str:
        """The policy as it is typed: `fifo:80`."""
        if self.priority is not None:
            return f"{self.policy}:{self.priority}"
        if self.policy == "deadline" and self.runtime_ns and self.deadline_period_ns:
            return f"deadline:{length(self.runtime_ns)}/{length(self.deadline_period_ns)}"
        return f"nice:{self.nice}" if self.policy == "other" and self.nice else self.policy

    @property
    def label(self) -> str:
        """The whole condition in one line."""
        parts = [self.name or self.mechanism, self.policy_label]
        if self.kind == "watch" and self.mechanism in _LATE_AFTER:
            parts.insert(1, f"after {_LATE_AFTER[self.mechanism]}")
        if self.length_ns:
            parts.append(length(self.length_ns))
        if self.clock is not None:
            parts.append(f"clock {self.clock}")
        if self.dithered:
            parts.append("dithered")
        if self.slack_ns is not None:
            parts.append(f"slack {length(self.slack_ns)}")
        if self.kind != "watch":
            parts.append("idle" if self.load == "idle" else f"load {self.load}")
        if self.cpu is not None:
            parts.append(f"CPU {self.cpu}")
        parts += [self.node] if self.node else []
        return " · ".join(parts)
