"""Pictures of a result by matplotlib, in the colours of `howlate report`.

Each function draws on `ax`, or on axes of its own, and returns them; none shows anything. Times are on the axes in µs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from howlate.errors import HowlateError
from howlate.tables import library

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from howlate.histogram import Histogram
    from howlate.recording import Recording
    from howlate.result import Result

#: `--s0` to `--s5` of the page, and what is in no series.
COLOURS = ("#0067ac", "#c04a00", "#00795a", "#9c3f92", "#7d6200", "#3d4a57")
REST, INK, LINE = "#8b949e", "#1c2126", "#d5dae0"

#: As many conditions have a colour of their own; further ones are grey, and named together.
_MOST = len(COLOURS)


class Plots:
    """The pictures of a result; called, the percentiles."""

    def __init__(self, result: Result) -> None:
        self._result = result

    def __call__(self, ax: Optional[Axes] = None) -> Axes:
        return self.percentiles(ax)

    def percentiles(self, ax: Optional[Axes] = None) -> Axes:
        """Latency by percentile, of every planned wake-up: 90 %, 99 %, 99.9 %, … at equal distances."""
        ax = _axes(ax, "Latency by percentile")
        ends = [_curve(ax, whole, style) for whole, style in self._series()]
        longest = max(ends, default=1)
        nines = [10**power for power in range(max(len(str(longest)), 2))]
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(nines, [_percent(one) for one in nines])
        ax.minorticks_off()
        ax.set(xlabel="wake-ups that are at most so late", ylabel="latency, µs")
        return _finished(ax)

    def histogram(self, ax: Optional[Axes] = None) -> Axes:
        """How many wake-ups were how late, on logarithmic axes: the common ones and the single late one alike."""
        ax = _axes(ax, "Wake-ups by latency")
        for whole, style in self._series():
            buckets = [one for one in _grouped(whole)]
            edges = [low / 1000 for low, _, _ in buckets] + [buckets[-1][1] / 1000]
            ax.stairs([count for _, _, count in buckets], edges, baseline=0.5, **style)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set(xlabel="latency, µs", ylabel="wake-ups")
        return _finished(ax)

    def time(self, ax: Optional[Axes] = None) -> Axes:
        """The slowest wake-up of each stretch along the run as a dot, its median as a dash."""
        ax, recording = (
            _axes(ax, "The slowest wake-up (dots) and the median (dashes) of each stretch"),
            self._recording(),
        )
        start = min((block.from_ns for block in recording.blocks), default=0)
        for index, style in self._styles():
            blocks = [block for block in recording.of(index) if block.latency.count]
            at = [(block.until_ns - start) / 1e9 for block in blocks]
            ax.plot(at, [block.latency.max_ns / 1000 for block in blocks], ".", markersize=5, **style)
            style.pop("label", None)
            ax.plot(at, [(block.latency.quantile(0.5) or 0) / 1000 for block in blocks], "_", markersize=7, **style)
        ax.set_yscale("log")
        ax.set(xlabel="time since the start, s", ylabel="latency, µs")
        return _finished(ax)

    def causes(self, ax: Optional[Axes] = None) -> Axes:
        """What made the late wake-ups late, as shares of their lateness; needs a result that was traced (`why=True`)."""
        traced = [one for one in self._result if one.why and one.why.causes]
        if not traced:
            raise HowlateError("nothing was traced: measure with why=True")
        ax = _axes(ax, "Causes of the late wake-ups")
        colours = _colours_of_causes(self._result)
        for row, one in enumerate(traced):
            left = 0.0
            for cause in one.why.causes if one.why else ():
                name = cause.label if cause.label in colours else "others"
                ax.barh(row, cause.share * 100, left=left, color=colours[name], label=name, edgecolor="white")
                left += cause.share * 100
        ax.set_yticks(range(len(traced)), [one.label for one in traced])
        ax.invert_yaxis()
        ax.set(xlabel="share of the lateness of late wake-ups, %")
        handles, labels = ax.get_legend_handles_labels()
        named = dict(zip(labels, handles))
        # Below the bars, which take the whole width.
        ax.legend(
            named.values(),
            named.keys(),
            loc="upper center",
            bbox_to_anchor=(0.5, -0.16),
            ncols=4,
            frameon=False,
            fontsize="small",
        )
        return ax

    def _recording(self) -> Recording:
        if self._result.recording is None:
            raise HowlateError("this result has no recording: it was read from JSON")
        return self._result.recording

    def _styles(self) -> List[Tuple[int, Dict[str, Any]]]:
        """The conditions that have wake-ups, the latest among those with a colour, each with how it is drawn."""
        recording = self._recording()
        found = [index for index in range(len(self._result)) if recording.latency(index).count]
        late = sorted(found, key=lambda index: -recording.planned(index).max_ns)[:_MOST]
        coloured = [index for index in found if index in late]
        styles = [(index, {"color": REST, "alpha": 0.5}) for index in found if index not in late]
        named = zip(coloured, COLOURS)
        return styles + [(index, {"color": colour, "label": self._result[index].label}) for index, colour in named]

    def _series(self) -> List[Tuple[Histogram, Dict[str, Any]]]:
        recording = self._recording()
        return [(recording.planned(index), style) for index, style in self._styles()]


def _axes(ax: Optional[Axes], title: str) -> Axes:
    if ax is None:
        # Of pyplot, so that a notebook shows them, and `plt.show()` a script's.
        _, ax = library("matplotlib.pyplot", "plot").subplots(figsize=(9, 4.5), layout="constrained")
    ax.set_title(title, loc="left", color=INK, fontweight="bold")
    ax.grid(color=LINE, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _finished(ax: Axes) -> Axes:
    handles, labels = ax.get_legend_handles_labels()
    named = dict(zip(labels, handles))
    if len(named) > 1:
        ax.legend(named.values(), named.keys(), frameon=False, fontsize="small", loc="best")
    elif named:
        ax.set_title(f"{ax.get_title(loc='left')}\n{next(iter(named))}", loc="left", color=INK, fontweight="bold")
    return ax


def _curve(ax: Axes, whole: Histogram, style: Dict[str, Any]) -> int:
    """One line; how many wake-ups it is of."""
    below, at, late = 0, [1.0], [max(whole.min_ns, 1) / 1000]
    for bucket in whole.buckets():
        below += bucket.count
        left = whole.count - below
        # The largest is drawn where one of all lies beyond.
        at.append(whole.count / left if left else float(whole.count))
        late.append(max(min(bucket.highest, whole.max_ns), 1) / 1000)
    ax.plot(at, late, drawstyle="steps-pre", linewidth=1.6, **style)
    return whole.count


def _percent(one_in: int) -> str:
    """`10` is 90 %, `1000` is 99.9 %."""
    return "0 %" if one_in == 1 else f"{100 - 100 / one_in:.10g} %"


def _grouped(whole: Histogram) -> List[Tuple[int, int, int]]:
    """Counts in ten steps per tenfold, so that a step of few wake-ups is seen: from, until, count."""
    edges: Dict[int, int] = {}
    for bucket in whole.buckets():
        step = _step(max(bucket.lowest, 100))
        edges[step] = edges.get(step, 0) + bucket.count
    steps = range(min(edges), max(edges) + 1)
    return [(round(10 ** (step / 10)), round(10 ** ((step + 1) / 10)), edges.get(step, 0)) for step in steps]


def _step(nanos: int) -> int:
    import math

    return math.floor(math.log10(nanos) * 10)


def _colours_of_causes(result: Result) -> Dict[str, str]:
    """The causes that took most have a colour of their own."""
    together: Dict[str, int] = {}
    for _, cause in result.causes:
        together[cause.label] = together.get(cause.label, 0) + cause.late_ns
    most = sorted(together, key=lambda name: -together[name])[:_MOST]
    return {**dict(zip(most, COLOURS)), "others": REST}
