"""What `print` shows of a result: the table and the sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Sequence

from howlate.html import HEADINGS, ROWS, cells

if TYPE_CHECKING:
    from howlate.result import Result


def result_text(result: Result) -> str:
    """A row for each condition, then what the numbers mean and what to know, a line each."""
    rows = [HEADINGS, *(cells(one) for one in result.results[:ROWS])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = [_line(row, widths) for row in rows]
    more = len(result) - ROWS
    lines += [f"{more} more conditions are in `.results`."] if more > 0 else []
    noted = [f"! {caveat.text}" for caveat in result.caveats]
    return "\n".join([*lines, *(["", *result.insights] if result.insights else []), *noted])


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers = (f"{cell:{'<' if column == 0 else '>'}{widths[column]}}" for column, cell in enumerate(row))
    return "  ".join([first, *numbers])
