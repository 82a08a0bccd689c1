"""What was measured, as the program says it (docs/result.schema.json). Times are nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple

from howlate.condition import Condition
from howlate.schema import build, json_name

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from howlate.plot import Plots
    from howlate.recording import Recording, Sample


@dataclass(frozen=True)
class Summary:
    """Latencies in nanoseconds. Percentiles are within 1 %; minimum, mean and maximum are exact."""

    min: int
    mean: float
    stddev: float
    p50: int
    p90: int
    p95: int
    p99: int
    p99_9: int
    p99_99: int
    max: int
    #: Whoever measured did not tell latencies of this and more apart: a number that is not below it is a lower bound.
    clipped_at: Optional[int] = None


@dataclass(frozen=True)
class Interval:
    """An interval in nanoseconds, with 95 % confidence."""

    low: int
    high: int


@dataclass(frozen=True)
class Worst:
    """One of the worst wake-ups: when the thread ran, on `CLOCK_MONOTONIC`, and how late."""

    at_ns: int
    latency_ns: int


@dataclass(frozen=True)
class Caveat:
    """Something to know before the numbers are used."""

    #: Its kind, such as `policy_refused`.
    caveat: str
    text: str
    remedy: Optional[str] = None
    #: All of it, with what belongs to its kind.
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Explanation:
    """What the numbers mean."""

    kind: str
    text: str
    guest: Optional[str] = None
    #: All of it, with its numbers.
    details: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class InForce:
    """What the kernel confirmed of a measured thread."""

    tid: int
    policy: str
    slack_ns: int
    cpus: str
    memory_locked: bool
    priority: Optional[int] = None
    nice: Optional[int] = None
    runtime_ns: Optional[int] = None
    deadline_period_ns: Optional[int] = None
    slice_ns: Optional[int] = None
    dma_latency_us: Optional[int] = None


@dataclass(frozen=True)
class Usage:
    """What a measured thread used."""

    elapsed_ns: int
    user_ns: int
    system_ns: int
    minor_faults: int
    major_faults: int
    voluntary_switches: int
    involuntary_switches: int


@dataclass(frozen=True)
class CauseRemedy:
    """What `howlate doctor` found that bears on a cause, and what to do about it."""

    finding: str
    found: str
    apply: Tuple[str, ...]
    undo: Tuple[str, ...]
    #: What has to be so for it to help, where no event tells.
    only_if: Optional[str] = None


@dataclass(frozen=True)
class Cause:
    """What one cause contributed to the late wake-ups."""

    kind: str
    late_ns: int
    #: The same as a share of all lateness, 0 to 1.
    share: float
    #: In how many of the late wake-ups.
    wakeups: int
    max_ns: int
    name: Optional[str] = None
    part: Optional[str] = None
    pid: Optional[int] = None
    #: Whether it is a thread of real-time priority; older recordings do not tell.
    real_time: bool = False
    #: Whether it is a thread of the late thread's own program; only told of watched programs.
    own: bool = False
    #: Its real-time priority, where it has one and that was read.
    priority: Optional[int] = None
    #: The system call that the thread slept in meanwhile; empty where it did not, or where that was not seen.
    call: str = ""
    #: The thread of its own program that it waited for meanwhile, where that was kept from going on.
    through: str = ""
    #: Threads between the two: it waited for the first of them, each for the next, and the last for `through`.
    via: Tuple[str, ...] = ()
    remedy: Optional[CauseRemedy] = None

    @property
    def label(self) -> str:
        """Its name, or what kind of thing it is."""
        return self.name or (self.part or self.kind).replace("_", " ")


@dataclass(frozen=True)
class Late:
    """The late wake-ups, of which causes are given."""

    above_ns: int
    count: int
    total_ns: int
    unexplained_ns: int


@dataclass(frozen=True)
class Part:
    """One part of the way over all wake-ups."""

    part: str
    mean_ns: int
    p50_ns: int
    p99_ns: int
    max_ns: int


@dataclass(frozen=True)
class Segment:
    """A piece of one late wake-up."""

    part: str
    kind: str
    from_ns: int
    ns: int
    name: str = ""
    pid: Optional[int] = None
    #: Whether it is a thread of real-time priority; older recordings do not tell.
    real_time: bool = False
    #: Whether it is a thread of the late thread's own program; only told of watched programs.
    own: bool = False
    #: Its real-time priority, where it has one and that was read.
    priority: Optional[int] = None
    #: The system call that the thread slept in meanwhile; empty where it did not, or where that was not seen.
    call: str = ""
    #: The thread of its own program that it waited for meanwhile, where that was kept from going on.
    through: str = ""
    #: Its id.
    through_pid: Optional[int] = None
    #: Threads between the two: it waited for the first of them, each for the next, and the last for `through`.
    via: Tuple[str, ...] = ()
    #: Whether only its length is known: several stretches of one name, whose order among other such parts is not.
    merged: bool = False


@dataclass(frozen=True)
class Explained:
    """One late wake-up from the time asked for to its end, without a gap."""

    at_ns: int
    latency_ns: int
    parts: Tuple[Segment, ...]
    cpu: Optional[int] = None


@dataclass(frozen=True)
class Why:
    """Why the wake-ups of a condition were late."""

    tracer: str
    decomposed: int
    not_decomposed: int
    lost_events: int
    clamped: int
    parts: Tuple[Part, ...]
    late: Late
    #: The most first.
    causes: Tuple[Cause, ...]
    worst: Tuple[Explained, ...]
    not_decomposed_because: Optional[Mapping[str, int]] = None
    probe_effect_ns: Optional[Mapping[str, int]] = None


@dataclass(frozen=True)
class Limit:
    """A `--fail-above`, and what became of it."""

    limit: str
    statistic: str
    #: Nanoseconds, or a count of periods for `missed`.
    above: int
    #: What was found, likewise.
    value: Optional[int]
    #: `kept`, `exceeded` or `unknown`.
    verdict: str
    #: Why it is unknown.
    reason: Optional[str] = None
    #: How often such runs exceed it by chance, and how long a run must be so that few do.
    gate: Optional[Mapping[str, Any]] = None


@dataclass(frozen=True)
class ConditionResult:
    """What was measured under one condition (`results[]` of the JSON)."""

    condition: Condition
    count: int
    missed_periods: int
    unfinished: bool
    #: The wake-ups that happened.
    latency_ns: Optional[Summary]
    usage: Usage
    worst: Tuple[Worst, ...]
    caveats: Tuple[Caveat, ...]
    in_force: Optional[InForce] = None
    #: How many wake-ups `corrected_ns` is of; not of what another program measured, which does not say it.
    planned: Optional[int] = None
    #: Of periodic work: every planned wake-up, missed ones included.
    corrected_ns: Optional[Summary] = None
    p50_interval_ns: Optional[Interval] = None
    p99_interval_ns: Optional[Interval] = None
    corrected_p50_interval_ns: Optional[Interval] = None
    corrected_p99_interval_ns: Optional[Interval] = None
    max_exceeded_at_most_one_in: Optional[int] = None
    ran_as: Optional[str] = None
    warm_up: Optional[int] = None
    why: Optional[Why] = None
    #: Each `--fail-above`; empty without one.
    limits: Tuple[Limit, ...] = ()
    send_ns: Optional[Summary] = None
    sender_in_force: Optional[InForce] = None
    found_awake: Optional[int] = None
    irregular: Optional[Mapping[str, int]] = None
    load_effect: Optional[Mapping[str, Any]] = None
    rhythm: Optional[Mapping[str, Any]] = None
    runtime: Optional[str] = None
    #: How often, and how soon, the maximum may be exceeded.
    larger: Optional[Mapping[str, Any]] = None
    #: What is known of that which the run was to go on until.
    until: Optional[Mapping[str, Any]] = None

    @property
    def planned_ns(self) -> Optional[Summary]:
        """Every planned wake-up, missed ones included: what tables show first."""
        return self.corrected_ns or self.latency_ns

    @property
    def label(self) -> str:
        """The condition in one line, by the policy that ran."""
        label = self.condition.label
        return (
            label.replace(self.condition.policy_label, f"{self.ran_as} (refused: {self.condition.policy_label})", 1)
            if self.ran_as
            else label
        )


@dataclass(frozen=True)
class Result:
    """What one measurement found: the numbers, the sentences and the caveats of the program."""

    format: int
    howlate: str
    command: str
    arguments: Tuple[str, ...]
    started: str
    #: `done`, `interrupted`, `stopped_above`, `program_ended`, `cut_off` or `not_restored`; `None` when it was killed.
    ended: Optional[str]
    seed: int
    system: Mapping[str, Any]
    instrument: Mapping[str, Any]
    caveats: Tuple[Caveat, ...]
    #: What the numbers mean, in sentences.
    insights: Tuple[str, ...]
    explanations: Tuple[Explanation, ...]
    results: Tuple[ConditionResult, ...]
    guests: Tuple[Mapping[str, Any], ...] = ()
    nodes: Tuple[Mapping[str, Any], ...] = ()
    rankings: Tuple[Mapping[str, Any], ...] = ()
    #: What the run was to go on until, and what is known of that.
    until: Optional[Mapping[str, Any]] = None
    #: Steps in the lateness of sleeps, of a sweep over lengths; the shortest length first.
    steps: Optional[Tuple[Mapping[str, Any], ...]] = None
    #: What those were looked for in.
    staircases: Tuple[Mapping[str, Any], ...] = ()
    #: Late wake-ups that come back, the most certain first: with `period_ns`, `p`, `members` of `of`, `culprit` and `text`.
    periodicity: Tuple[Mapping[str, Any], ...] = ()
    #: From the beginning to moments that somebody who watched has marked.
    marks_ns: Tuple[int, ...] = ()
    #: Files beside the recording that say what all CPUs did around late wake-ups, of a run with `keep`.
    timelines: Tuple[Mapping[str, Any], ...] = ()
    #: How many entries the JSON leaves out of its lists; absent here, as this package asks for all of it.
    omitted: Optional[Mapping[str, int]] = None
    #: The program's exit status: 0 done and within limits, 1 a limit was exceeded, 3 not everything was as asked, or it was ended early.
    status: int = field(default=0, metadata={"own": True})
    #: What the program said besides, in its words.
    words: str = field(default="", metadata={"own": True})
    #: The recording, with the histograms.
    recording: Optional[Recording] = field(default=None, repr=False, compare=False, metadata={"own": True})
    #: Where every single wake-up is, if that was asked for by `samples_out`.
    samples_file: Optional[str] = field(default=None, metadata={"own": True})
    #: The JSON as the program printed it.
    json: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False, metadata={"own": True})

    def __iter__(self) -> Iterator[ConditionResult]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, index: int) -> ConditionResult:
        return self.results[index]

    @property
    def causes(self) -> Tuple[Tuple[Condition, Cause], ...]:
        """Every cause with its condition; empty where nothing was traced (`why=True`)."""
        return tuple((one.condition, cause) for one in self.results if one.why for cause in one.why.causes)

    @property
    def plot(self) -> Plots:
        """Pictures: `.plot()`, `.plot.percentiles()`, `.histogram()`, `.time()`, `.causes()`; needs matplotlib."""
        from howlate.plot import Plots

        return Plots(self)

    def rows(self) -> List[Dict[str, Any]]:
        """One row for each condition: its properties, its counts, and its numbers in nanoseconds."""
        from howlate.tables import rows

        return rows(self)

    def samples(self) -> Iterator[Sample]:
        """Every single wake-up: of sleeps as recorded, of others where `samples_out` was given (needs pyarrow)."""
        from howlate.tables import samples

        return samples(self)

    def to_pandas(self) -> pandas.DataFrame:
        """`rows()` as a data frame; needs `pip install howlate[pandas]`."""
        from howlate.tables import to_pandas

        return to_pandas(self)

    def to_polars(self) -> polars.DataFrame:
        """`rows()` as a data frame; needs `pip install howlate[polars]`."""
        from howlate.tables import to_polars

        return to_polars(self)

    def to_arrow(self) -> pyarrow.Table:
        """`rows()` as a table; needs `pip install howlate[arrow]`."""
        from howlate.tables import to_arrow

        return to_arrow(self)

    def __str__(self) -> str:
        """The table and the sentences; `repr()` has everything."""
        from howlate.text import result_text

        return result_text(self)

    def _repr_html_(self) -> str:
        from howlate.html import result_page

        return result_page(self)


def from_json(document: Mapping[str, Any], **own: Any) -> Result:
    """A result from the program's JSON; `own` is what the JSON does not have."""
    from dataclasses import replace

    return replace(build(Result, document), json=document, **own)


def numbers(summary: Optional[Summary]) -> Dict[str, Optional[float]]:
    """A summary by the names of the JSON; nothing but `None` of nothing. Where it was clipped only if it was."""
    was_clipped = summary is not None and summary.clipped_at is not None
    names = [name for name in Summary.__dataclass_fields__ if name != "clipped_at" or was_clipped]
    return {json_name(name): getattr(summary, name) if summary else None for name in names}
