"""Results as tables, pictures and HTML."""

from __future__ import annotations

import builtins
import os
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import RECORDINGS, ROOT, recording

import howlate
from howlate import plot
from howlate.html import micros
from howlate.program import program
from howlate.recording import parse


def test_every_library_has_the_same_rows() -> None:
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    for path in RECORDINGS:
        result = howlate.read(path).result
        rows = result.rows()
        assert isinstance(result.to_pandas(), pandas.DataFrame) and isinstance(result.to_polars(), polars.DataFrame)
        assert result.to_arrow().to_pylist() == rows and isinstance(result.to_arrow(), pyarrow.Table)
        assert result.to_polars().to_dicts() == rows
        assert list(result.to_pandas()["p99_ns"].dropna()) == [
            row["p99_ns"] for row in rows if row["p99_ns"] is not None
        ]
        assert [row["max_ns"] for row in rows] == [one.planned_ns and one.planned_ns.max for one in result]


def test_every_wakeup_of_a_parquet_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    with_parquet = os.environ.get("HOWLATE_WITH_PARQUET")
    if not with_parquet:
        pytest.skip("HOWLATE_WITH_PARQUET names no program with Parquet: `cargo xtask test` builds one")
    program.cache_clear()
    monkeypatch.setenv("HOWLATE_BIN", with_parquet)
    try:
        result = howlate.cyclic(threads=1, samples=50, samples_out=tmp_path / "s.parquet", no_save=True)
    finally:
        program.cache_clear()
    samples = list(result.samples())
    assert len(samples) == result[0].count
    assert max(one.latency_ns for one in samples) == result[0].latency_ns.max  # type: ignore[union-attr]


def test_a_library_that_is_missing_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    result = recording("sleep").result

    def without(name: str, *more: Any, **others: Any) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr("importlib.import_module", without)
    for call, extra in ((result.to_pandas, "pandas"), (result.to_polars, "polars"), (result.to_arrow, "arrow")):
        with pytest.raises(ImportError, match=rf"pip install 'howlate\[{extra}\]'"):
            call()
    assert builtins.__import__


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_what_is_printed_is_the_table_and_the_sentences(path: Path) -> None:
    result = howlate.read(path).result
    first, *lines = str(result).splitlines()
    assert first.split() == ["latency,", "µs", "median", "p99", "p99.9", "max", "missed", "wake-ups"]
    for one, line in zip(result, lines):
        assert line.startswith(one.label) and line.endswith(str(one.count)), line
    assert all(text in lines for text in result.insights)
    assert repr(result).startswith("Result(")


def test_rows_of_one_watched_thread_say_what_woke_it() -> None:
    labels = [one.label for one in recording("watch").result]
    assert labels == ["control · after its timer · other", "follower · after being woken · other"], labels


@pytest.fixture
def axes() -> Any:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as pyplot

    yield pyplot.subplots()[1]
    pyplot.close("all")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_pictures_are_drawn_of_every_recording_on_the_axes_given(path: Path, axes: Any, tmp_path: Path) -> None:
    result = howlate.read(path).result
    for name in ("percentiles", "histogram", "time"):
        axes.clear()
        assert getattr(result.plot, name)(axes) is axes
        assert axes.get_title(loc="left") and "µs" in axes.get_xlabel() + axes.get_ylabel()
        assert axes.lines or axes.patches
        axes.figure.savefig(tmp_path / f"{name}.png")


def test_the_largest_latency_is_where_the_percentiles_end(axes: Any) -> None:
    result = recording("policies").result
    result.plot(axes)
    ends = sorted(line.get_ydata()[-1] for line in axes.lines)
    assert ends == sorted(one.planned_ns.max / 1000 for one in result if one.planned_ns)
    assert sorted(line.get_xdata()[-1] for line in axes.lines) == sorted(
        float(one.count + one.missed_periods) for one in result
    )


def test_a_histogram_counts_every_planned_wakeup(axes: Any) -> None:
    result = recording("cyclic").result
    result.plot.histogram(axes)
    drawn = sum(patch.get_data().values.sum() for patch in axes.patches)
    assert drawn == sum(one.count + one.missed_periods for one in result)


def test_causes_are_shares_of_what_was_traced(axes: Any) -> None:
    result = recording("why").result
    assert result.plot.causes(axes) is axes
    assert sum(patch.get_width() for patch in axes.patches) == pytest.approx(
        100 * sum(cause.share for _, cause in result.causes)
    )
    with pytest.raises(howlate.HowlateError, match="why=True"):
        recording("sleep").result.plot.causes(axes)


def test_colours_are_the_pages() -> None:
    css = (ROOT / "crates/presentation/report/src/chart/colours.css").read_text()
    light = dict(re.findall(r"--([a-z0-9]+): (#[0-9a-f]{6});", css.split("@media")[0]))
    assert plot.COLOURS == tuple(light[f"s{number}"] for number in range(6))
    assert (plot.REST, plot.INK, plot.LINE) == (light["rest"], light["ink"], light["line"])


def test_a_notebook_shows_table_sentences_and_picture() -> None:
    page = recording("policies")._repr_html_()
    result = recording("policies").result
    assert "<svg" in page and "<script" not in page
    for one in result:
        assert one.planned_ns and one.label in page and f"<td>{micros(one.planned_ns.p50)}</td>" in page
    assert all(re.sub("<.*?>", "", text)[:20] in page for text in result.insights)
    assert "better" in howlate.compare(recording("policies"), by="policy")._repr_html_()
    assert "<table>" in howlate.doctor()._repr_html_()


def test_names_in_html_are_text(tmp_path: Path) -> None:
    text = recording("watch").text.replace(b'"name":"control"', b'"name":"<b>x"')
    page = parse(text, "x").result._repr_html_()
    assert "&lt;b&gt;x" in page.split("<svg")[0] and "<b>x" not in page


@pytest.mark.parametrize(
    ("nanos", "text"),
    [(0, "0.00"), (1_234, "1.23"), (74_249, "74.2"), (849_000, "849"), (2_884_000, "2 880"), (None, "–")],
)
def test_microseconds_have_three_digits(nanos: Any, text: str) -> None:
    assert micros(nanos).replace("\N{NO-BREAK SPACE}", " ") == text
