"""Recordings read by the package say what the program says of them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import RECORDINGS, ROOT, recording

import howlate
from howlate import loop
from howlate.histogram import Histogram
from howlate.recording import parse
from howlate.result import numbers


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_numbers_from_the_histograms_are_the_programs_to_the_last_digit(path: Path) -> None:
    read = howlate.read(path)
    compared = 0
    for index, one in enumerate(read.result):
        assert one.condition == read.conditions[index]
        for summary, histogram in ((one.latency_ns, read.latency(index)), (one.corrected_ns, read.planned(index))):
            if summary is not None:
                assert histogram.summary() == numbers(summary)
                compared += 1
        assert one.count == read.latency(index).count
    assert compared


def test_there_are_recordings() -> None:
    assert len(RECORDINGS) >= 12


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_histograms_are_written_as_they_were_read(path: Path) -> None:
    blocks = [json.loads(line)["block"] for line in path.read_text().splitlines() if line.startswith('{"block"')]
    for block in blocks:
        assert Histogram.from_json(block["latency"]).to_json() == block["latency"]


def test_a_histogram_counts_what_it_is_given() -> None:
    one = Histogram()
    assert one.quantile(0.5) is None and one.summary() is None
    for latency in (-5, 0, 255, 256, 1_000_000, 3_600_000_000_001):
        one.record(latency)
    assert (one.count, one.early, one.min_ns, one.max_ns) == (6, 1, -5, 3_600_000_000_001)
    assert one.quantile(0) == 0 and one.quantile(1) == 3_600_000_000_001
    again = Histogram.from_json(json.loads(json.dumps(one.to_json())))
    assert again == one
    with pytest.raises(ValueError, match="between 0 and 1"):
        one.quantile(99)
    both = Histogram.merged([one, again])
    assert (both.count, both.early, both.sum_ns, both.min_ns, both.max_ns) == (12, 2, 2 * one.sum_ns, -5, one.max_ns)


def test_sleeps_are_there_one_by_one_and_others_say_how() -> None:
    read = recording("sleep")
    samples = list(read.samples())
    assert len(samples) == sum(read.latency(at).count for at in range(len(read.conditions)))
    assert max(one.latency_ns for one in samples) == max(read.latency(at).max_ns for at in range(len(read.conditions)))
    with pytest.raises(howlate.HowlateError, match="samples_out"):
        next(recording("cyclic").samples())


def test_a_folder_is_one_recording(tmp_path: Path) -> None:
    parts = [recording("idle-before"), recording("idle-after")]
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.jsonl")
    merged = howlate.read(tmp_path)
    wakeups = sum(merged.latency(at).count for at in range(len(merged.conditions)))
    assert wakeups == sum(part.latency(0).count for part in parts)


def test_a_killed_run_counts_as_far_as_it_goes() -> None:
    assert recording("killed").ended is None
    whole = recording("cyclic")
    cut = parse(whole.text[:-20], "cut")
    assert cut.ended is None and len(cut.blocks) == len(whole.blocks)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"hello", "no recording of howlate: line 1"),
        (b"[]\n", "line 1 is no object"),
        (b'{"block":{}}\n', "line 1 is not a header"),
        (b'{"header":{"format":9,"howlate":"7.0.0"}}\n', "format 9, written by howlate 7.0.0"),
        (b'{"header":{"format":1}}\n{"block":{"condition":0}}\n', "a block of the recording is damaged"),
        (b'{"header":{"format":1}}\nnonsense\n{}\n', "line 2"),
    ],
)
def test_what_is_no_recording_is_told(tmp_path: Path, text: bytes, said: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(text)
    with pytest.raises(howlate.HowlateError, match=said):
        howlate.read(path)


def test_a_damaged_distribution_is_told() -> None:
    stored = recording("cyclic").blocks[0].latency.to_json()
    for change in ({"count": stored["count"] + 1}, {"hdr": stored["hdr"][:-8]}, {"hdr": "AAAA"}, {"hdr": "?"}):
        with pytest.raises(howlate.HowlateError, match="distribution"):
            Histogram.from_json({**stored, **change})


def test_a_file_that_is_not_there_is_an_error_of_the_file() -> None:
    with pytest.raises(FileNotFoundError):
        howlate.read("is/not/there.jsonl")


def test_names_are_those_of_the_cargo_package() -> None:
    assert f'version = "{howlate.__version__}"' in (ROOT / "Cargo.toml").read_text()
    assert loop.__version__ == howlate.__version__


def test_a_recording_of_ten_million_wakeups_is_as_long_as_a_short_one() -> None:
    """Its length depends on its blocks: 1024 at most. How long reading takes is printed, and not judged."""
    block = json.loads(next(line for line in recording("cyclic").text.splitlines() if line.startswith(b'{"block"')))
    histogram = Histogram()
    for step in range(400):
        histogram.record(20_000 + step * 997, 10_000_000 // 1024 // 400 + 1)
    block["block"]["latency"] = histogram.to_json()
    header = next(iter(recording("cyclic").text.splitlines()))
    text = b"\n".join([header, *[json.dumps(block).encode()] * 1024])
    began = time.perf_counter()
    read = parse(text, "long")
    whole = read.latency(0)
    print(f"{whole.count} wake-ups in {time.perf_counter() - began:.2f} s")
    assert whole.count >= 10_000_000 and whole.quantile(0.5)
