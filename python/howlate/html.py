"""What a notebook shows of a result: the table, the sentences, and the program's own picture."""

from __future__ import annotations

import subprocess
from html import escape
from typing import TYPE_CHECKING, Iterable, Optional

from howlate.program import program

if TYPE_CHECKING:
    from howlate.comparison import Comparison
    from howlate.result import ConditionResult, Result

#: Above this number of conditions, a table is too long to read.
ROWS = 32

#: What stands above the cells of a condition.
HEADINGS = ("latency, µs", "median", "p99", "p99.9", "max", "missed", "wake-ups")

_STYLE = (
    "<style>.howlate td,.howlate th{text-align:right;padding:.15em .7em;font-variant-numeric:tabular-nums}"
    ".howlate td:first-child,.howlate th:first-child{text-align:left}.howlate svg{max-width:100%;height:auto}</style>"
)


def micros(nanos: Optional[float]) -> str:
    """Microseconds with three significant digits: `74.2`, `2 880`."""
    if nanos is None:
        return "–"
    if nanos < 0:
        return "−" + micros(-nanos)
    value = nanos / 1000
    if value < 1000:
        return f"{value:#.3g}".rstrip(".")
    step = 10 ** (len(str(int(value))) - 3)
    return f"{round(value / step) * step:,}".replace(",", "\N{NO-BREAK SPACE}")


def result_page(result: Result) -> str:
    """Table, sentences, caveats and picture, as HTML that needs nothing else."""
    insights = "".join(f"<p>{escape(text)}</p>" for text in result.insights)
    caveats = "".join(f"<li>{escape(caveat.text)}</li>" for caveat in result.caveats)
    caveats = f"<details><summary>What to know</summary><ul>{caveats}</ul></details>" if caveats else ""
    return f'{_STYLE}<div class="howlate">{_table(result)}{insights}{picture(result) or ""}{caveats}</div>'


def comparison_page(comparison: Comparison) -> str:
    """The answer, and every number that was compared."""
    head = _row("th", ["µs", "", "base", "new", "difference", "verdict"])
    body = "".join(
        _row("td", [one.new.label, number.statistic, *map(micros, numbers), number.verdict.replace("_", " ")])
        for one in comparison
        for number in one.statistics
        for numbers in [(number.base_ns, number.new_ns, number.difference_ns)]
    )
    answer = f"<p><b>{escape(comparison.answer)}</b></p>"
    return f'{_STYLE}<div class="howlate">{answer}<table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _table(result: Result) -> str:
    head = _row("th", HEADINGS)
    body = "".join(_row("td", cells(one)) for one in result.results[:ROWS])
    more = len(result) - ROWS
    left_out = f"<p>{more} more conditions are in <code>.results</code>.</p>" if more > 0 else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{left_out}"


def _row(cell: str, texts: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"


def cells(one: ConditionResult) -> "list[str]":
    """A condition's cells, below `HEADINGS`."""
    summary, planned = one.planned_ns, one.count + one.missed_periods
    # As everywhere in howlate: no p99 of fewer than 100, no p99.9 of fewer than 1 000.
    numbers = (
        summary.p50 if summary else None,
        summary.p99 if summary and planned >= 100 else None,
        summary.p99_9 if summary and planned >= 1000 else None,
        summary.max if summary else None,
    )
    return [one.label, *map(micros, numbers), str(one.missed_periods), str(one.count)]


def picture(result: Result, chart: str = "density") -> Optional[str]:
    """The program's own picture as SVG; `None` where it draws none of this."""
    if result.recording is None:
        return None
    from howlate.recording import AsFile

    with AsFile(result.recording.text) as path:
        words = [program(), "report", path, "--chart", chart, "--format", "svg", "-o", "-"]
        drawn = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    text = drawn.stdout.decode(errors="replace")
    return text[text.find("<svg") :] if drawn.returncode in (0, 3) and "<svg" in text else None
