"""Results as tables of other libraries, each loaded only when it is asked for."""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING, Any, Dict, Iterator, List

from howlate.errors import HowlateError
from howlate.result import numbers

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from howlate.recording import Sample
    from howlate.result import Result

#: Properties of a condition that are no scalars.
_NESTED = ("on_host", "tuned")


def rows(result: Result) -> List[Dict[str, Any]]:
    """One row for each condition: its properties, `count`, `missed_periods`, and of every planned wake-up `p50_ns`, ….

    Properties that no condition has are left out, so that every row has the same columns.
    """
    conditions = [dataclasses.asdict(one.condition) for one in result]
    used = [name for name in (conditions[0] if conditions else ()) if name not in _NESTED]
    used = [name for name in used if any(one[name] is not None for one in conditions)]
    found: List[Dict[str, Any]] = []
    for one, condition in zip(result, conditions):
        row = {name: condition[name] for name in used}
        row.update(label=one.label, ran_as=one.ran_as, count=one.count, missed_periods=one.missed_periods)
        row.update({f"{name}_ns": value for name, value in numbers(one.planned_ns).items()})
        found.append(row)
    return found


def library(name: str, extra: str) -> Any:
    """A library that is not needed otherwise. Raises `ImportError` that says what to type."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is needed for this: pip install 'howlate[{extra}]' ({error})") from error


def to_pandas(result: Result) -> pandas.DataFrame:
    """The rows as a data frame."""
    frame: pandas.DataFrame = library("pandas", "pandas").DataFrame(rows(result))
    return frame


def to_polars(result: Result) -> polars.DataFrame:
    """The rows as a data frame."""
    frame: polars.DataFrame = library("polars", "polars").DataFrame(rows(result), infer_schema_length=None)
    return frame


def to_arrow(result: Result) -> pyarrow.Table:
    """The rows as a table."""
    table: pyarrow.Table = library("pyarrow", "arrow").Table.from_pylist(rows(result))
    return table


def samples(result: Result) -> Iterator[Sample]:
    """Every wake-up: from the Parquet file of `samples_out`, or of sleeps from the recording."""
    from howlate.recording import Sample

    if result.samples_file is None:
        if result.recording is None:
            raise HowlateError("this result has no recording: it was read from JSON")
        yield from result.recording.samples()
        return
    library("pyarrow", "arrow")
    table = library("pyarrow.parquet", "arrow").read_table(result.samples_file)
    columns = [table.column(name).to_pylist() for name in ("condition", "round", "expected_ns", "ran_ns")]
    yield from map(Sample._make, zip(*columns))
