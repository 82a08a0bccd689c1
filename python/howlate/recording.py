"""A recording: the file that a measurement leaves, with every histogram in it (docs/recording.md)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from howlate.condition import Condition
from howlate.errors import HowlateError
from howlate.histogram import Histogram
from howlate.program import program
from howlate.schema import build

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from howlate.plot import Plots
    from howlate.result import Result

#: The format that this package knows.
FORMAT = 1


class Sample(NamedTuple):
    """One wake-up; nanoseconds of `CLOCK_MONOTONIC`."""

    #: Index into the conditions.
    condition: int
    round: int
    expected_ns: int
    ran_ns: int

    @property
    def latency_ns(self) -> int:
        """How late it was; negative when it was early."""
        return self.ran_ns - self.expected_ns


@dataclass(frozen=True)
class Block:
    """What one condition measured in a stretch of time; nanoseconds of `CLOCK_MONOTONIC`."""

    condition: int
    round: int
    from_ns: int
    until_ns: int
    missed_periods: int
    latency: Histogram
    #: What missed periods would have been late.
    swallowed: Optional[Histogram]
    #: When each of the worst ran, and how late.
    worst: Tuple[Tuple[int, int], ...]
    #: Of sleeps, each one: when it was expected, and how late it was.
    series: Tuple[Tuple[int, int], ...] = field(repr=False)
    lost: int = 0


@dataclass(frozen=True)
class Recording:
    """A recording, read. `result` is what the program says of it."""

    path: str
    header: Mapping[str, Any]
    conditions: Tuple[Condition, ...]
    blocks: Tuple[Block, ...] = field(repr=False)
    #: All other lines, each an object with one key.
    lines: Tuple[Mapping[str, Any], ...] = field(repr=False)
    #: `done`, `interrupted`, …; `None` when the run was killed, and the last line may be missing.
    ended: Optional[str]
    text: bytes = field(repr=False, compare=False)

    def of(self, condition: int) -> List[Block]:
        """The blocks of a condition, by its index."""
        return [block for block in self.blocks if block.condition == condition]

    def latency(self, condition: int) -> Histogram:
        """The latencies of the wake-ups of a condition that happened."""
        return Histogram.merged(block.latency for block in self.of(condition))

    def planned(self, condition: int) -> Histogram:
        """The latencies of all its planned wake-ups, those included that missed periods would have had."""
        blocks = self.of(condition)
        swallowed = (block.swallowed for block in blocks if block.swallowed)
        return Histogram.merged([*(block.latency for block in blocks), *swallowed])

    def samples(self) -> Iterator[Sample]:
        """Every sleep in order: recordings of `sleep` have them, at most 100 000 of a turn.

        Raises `HowlateError` for recordings that are a summary.
        """
        if not any(block.series for block in self.blocks):
            raise HowlateError(
                f"{self.path} is a summary: it has no single wake-ups\nhint: measure with samples_out='run.parquet'"
            )
        for block in self.blocks:
            for since, latency in block.series:
                expected = block.from_ns + since
                yield Sample(block.condition, block.round, expected, expected + latency)

    @cached_property
    def result(self) -> Result:
        """What the program says of it. Status 3 is in `Result.status`: reading raises nothing for it."""
        from howlate.result import from_json

        with AsFile(self.text) as path:
            command = [program(), "show", "--json", "--details", path]
            ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        said = ended.stderr.decode(errors="replace").strip().replace(path, self.path)
        if ended.returncode not in (0, 1, 3):
            raise HowlateError(said)
        return from_json(json.loads(ended.stdout), status=ended.returncode, words=said, recording=self)

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes it to a file that does not exist yet. Raises `FileExistsError`."""
        with open(path, "xb") as file:
            file.write(self.text)

    @property
    def plot(self) -> Plots:
        """Pictures: `.plot()`, `.plot.percentiles()`, `.histogram()`, `.time()`, `.causes()`; needs matplotlib."""
        return self.result.plot

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each condition; needs `pip install howlate[pandas]`."""
        return self.result.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """One row for each condition; needs `pip install howlate[polars]`."""
        return self.result.to_polars()

    def to_arrow(self) -> pyarrow.Table:
        """One row for each condition; needs `pip install howlate[arrow]`."""
        return self.result.to_arrow()

    def _repr_html_(self) -> str:
        return self.result._repr_html_()


class AsFile:
    """A recording's bytes as a file for the program, removed afterwards."""

    def __init__(self, text: bytes) -> None:
        self._text = text

    def __enter__(self) -> str:
        self._folder = tempfile.TemporaryDirectory(prefix="howlate-python-")
        path = Path(self._folder.name, "recording.jsonl")
        path.write_bytes(self._text)
        return str(path)

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


def read(path: Union[str, os.PathLike[str]]) -> Recording:
    """Reads a recording; a folder or a quoted pattern (`results/*.jsonl`) is the one that its recordings make together.

    Raises `FileNotFoundError`, and `HowlateError` for what is no recording, is empty, or has a later format.
    """
    named = os.fspath(path)
    if os.path.isdir(named) or (not os.path.exists(named) and set(named) & set("*?[")):
        return _merged(named)
    return parse(Path(named).read_bytes(), named)


def _merged(named: str) -> Recording:
    with tempfile.TemporaryDirectory(prefix="howlate-python-") as folder:
        whole = os.path.join(folder, "merged.jsonl")
        command = [program(), "merge", f"--out={whole}", "--", named]
        ended = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        if ended.returncode not in (0, 3):
            raise HowlateError(ended.stderr.decode(errors="replace").strip())
        return parse(Path(whole).read_bytes(), named)


def parse(text: bytes, path: str) -> Recording:
    """A recording from its bytes; `path` is what it is called."""
    lines = _lines(text, path)
    header = _header(lines, path)
    conditions = [build(Condition, one) for one in header.get("conditions", [])]
    blocks: List[Block] = []
    others: List[Mapping[str, Any]] = []
    ended = None
    for line in lines[1:]:
        if "block" in line:
            blocks.append(_block(line["block"]))
        elif "condition" in line:
            conditions.append(build(Condition, line["condition"]))
        elif "end" in line:
            ended = line["end"]["how"]
        else:
            others.append(line)
    return Recording(path, header, tuple(conditions), tuple(blocks), tuple(others), ended, text)


def _lines(text: bytes, path: str) -> List[Mapping[str, Any]]:
    """Every line that is whole. Of a run that was killed the last one may not be."""
    if not text.strip():
        raise HowlateError(f"{path} is empty: it is no recording")
    lines: List[Mapping[str, Any]] = []
    raw = text.split(b"\n")
    for number, line in enumerate(raw, 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            if number == len(raw) and lines:
                break
            raise HowlateError(f"{path} is no recording of howlate: line {number}: {error}") from error
        if not isinstance(value, dict):
            raise HowlateError(f"{path} is no recording of howlate: line {number} is no object")
        lines.append(value)
    return lines


def _header(lines: List[Mapping[str, Any]], path: str) -> Mapping[str, Any]:
    header = lines[0].get("header") if lines else None
    if not isinstance(header, dict):
        raise HowlateError(f"{path} is no recording of howlate: line 1 is not a header")
    if header.get("format") != FORMAT:
        raise HowlateError(
            f"{path} has format {header.get('format')}, written by howlate {header.get('howlate')}; this package knows "
            f"{FORMAT}\nhint: pip install --upgrade howlate"
        )
    return header


def _block(stored: Dict[str, Any]) -> Block:
    try:
        swallowed = stored.get("swallowed")
        return Block(
            condition=stored["condition"],
            round=stored["round"],
            from_ns=stored["from_ns"],
            until_ns=stored["until_ns"],
            missed_periods=stored.get("missed_periods", 0),
            latency=Histogram.from_json(stored["latency"]),
            swallowed=Histogram.from_json(swallowed) if swallowed else None,
            worst=tuple((one["at_ns"], one["latency_ns"]) for one in stored.get("worst", ())),
            series=tuple((since, late) for since, late in stored.get("series") or ()),
            lost=stored.get("lost", 0),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HowlateError(f"a block of the recording is damaged: {error!r}") from error
