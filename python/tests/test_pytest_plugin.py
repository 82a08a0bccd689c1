"""The pytest plugin by pytest itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import howlate
from howlate.turns import Limit, Turns

TESTS = """
import pytest

@pytest.mark.limit_lateness("p99<100s", "missed<100000")
def test_within(howlate_loop):
    assert list(howlate_loop("1ms", 200))[0] == 0

@pytest.mark.limit_lateness("max<1ns")
def test_exceeded(howlate_loop):
    for turn in howlate_loop("1ms", 100):
        pass

@pytest.mark.limit_lateness("p99.9<100s")
def test_too_few(howlate_loop):
    for turn in howlate_loop("1ms", 100):
        pass

@pytest.mark.limit_lateness("max<100s", cpus=[4095])
def test_refused(howlate_loop):
    for turn in howlate_loop("1ms", 10):
        pass

@pytest.mark.limit_lateness("max<100s")
def test_no_turn(howlate_loop):
    pass

@pytest.mark.limit_lateness("max<100s")
def test_fails_by_itself(howlate_loop):
    for turn in howlate_loop("1ms", 10):
        raise ValueError("of its own")

def test_without_limits(howlate_loop):
    for turn in howlate_loop("1ms", 10):
        break
"""


@pytest.fixture
def plugged(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """Pytest in a folder of its own, with the plugin as an installation has it, or as it is."""
    from importlib.metadata import entry_points

    found = entry_points()
    groups: Any = found.select(group="pytest11") if hasattr(found, "select") else found.get("pytest11", [])
    if not any(one.value == "howlate.pytest_plugin" for one in groups):
        monkeypatch.setenv("PYTEST_PLUGINS", "howlate.pytest_plugin")
    return pytester


def run(pytester: pytest.Pytester, *words: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess("-rs", "--strict-markers", *words)


def test_a_limit_passes_fails_or_skips_and_never_passes_for_want_of_turns(plugged: pytest.Pytester) -> None:
    plugged.makepyfile(TESTS)
    result = run(plugged)
    result.assert_outcomes(passed=2, failed=2, skipped=3)
    result.stdout.fnmatch_lines(
        ["*test_exceeded loop: max is * limit max<1ns", "*howlate: lateness of every planned turn*"]
    )
    result.stdout.fnmatch_lines_random(
        [
            "*test_within loop*within*",
            "*test_exceeded loop*exceeded*",
            "*inconclusive: p99.9 takes 1000 turns*",
            "*inconclusive: cpus 4095 was refused*",
            "*inconclusive: the test took no turn*",
        ]
    )


@pytest.mark.parametrize(
    ("marker", "said"),
    [
        ('"p99.9<soon"', "'soon' is no length"),
        ('"max>1ms"', "is no limit"),
        ('"missed<x"', "missed turns are a number"),
        ("", "at least one limit"),
        ('"max<1s", policy="rr:1"', "policy is 'other'"),
    ],
)
def test_a_marker_that_cannot_be_read_is_an_error(plugged: pytest.Pytester, marker: str, said: str) -> None:
    plugged.makepyfile(f"import pytest\n@pytest.mark.limit_lateness({marker})\ndef test_it(howlate_loop): pass\n")
    result = run(plugged)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{said}*"])


def test_a_marker_without_the_fixture_is_an_error(plugged: pytest.Pytester) -> None:
    plugged.makepyfile('import pytest\n@pytest.mark.limit_lateness("max<1s")\ndef test_it(): pass\n')
    result = run(plugged)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*which this test does not take*"])


LOOP = 'def test_it(howlate_loop):\n    for turn in howlate_loop("1ms", 200): pass\n'


def test_runs_are_saved_as_recordings_and_compared(plugged: pytest.Pytester) -> None:
    plugged.makepyfile(LOOP)
    result = run(plugged, "--howlate-compare")
    result.stdout.fnmatch_lines(["nothing to compare with*"])
    assert run(plugged, "--howlate-save", "fir/st").ret == 0 and run(plugged, "--howlate-autosave").ret == 0
    saved = sorted(Path(plugged.path, ".howlate").glob("*/*.jsonl"))
    assert [path.name for path in saved] == ["0001_fir_st.jsonl", "0002_run.jsonl"]
    read = howlate.read(saved[0])
    assert read.latency(0).count + sum(block.missed_periods for block in read.blocks) == 200
    assert read.conditions[0].name and read.conditions[0].name.endswith("::test_it loop") and read.result[0].latency_ns
    result = run(plugged, "--howlate-compare=1", "--howlate-compare-fail=p99:5%")
    result.stdout.fnmatch_lines(["compared with*0001_fir_st.jsonl:*"])
    assert run(plugged, "--howlate-compare=9").ret == 1


#: A comparison in which the real-time policy is the base: whatever the machine does now, the other is worse.
WORSE = """
import howlate, howlate.measure
worse = howlate.compare({recording!r}, by="policy", base="fifo:80")
howlate.measure.compare = lambda *_: worse
"""


def test_what_got_worse_fails_the_run(plugged: pytest.Pytester) -> None:
    plugged.makepyfile(LOOP)
    assert run(plugged, "--howlate-save", "base").ret == 0
    plugged.makeconftest(WORSE.format(recording=str(ROOT / "testdata/recordings/v1/policies.jsonl")))
    result = run(plugged, "--howlate-compare", "--howlate-compare-fail=p99:5%")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["FAILED p99:5%:*p99 is * higher than *", "compared*verdict", "*p99*worse"])
    assert result.ret == 1
    assert run(plugged, "--howlate-compare", "--howlate-compare-fail=p99:1000s").ret == 0
    assert run(plugged, "--howlate-compare", "--howlate-compare-fail=p99:100000000%").ret == 0


@pytest.mark.parametrize(
    "words", [["--howlate-compare-fail=p99:5%"], ["--howlate-compare", "--howlate-compare-fail=p98:5%"]]
)
def test_wrong_options_are_told(plugged: pytest.Pytester, words: "list[str]") -> None:
    result = run(plugged, *words)
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--howlate-compare*"])


def test_every_planned_turn_counts() -> None:
    import time

    loop = Turns("x", "2ms", 300)
    taken = []
    for turn in loop:
        taken.append(turn)
        if len(taken) == 1:
            time.sleep(0.02)
    assert loop.planned().count == 300 == len(taken) + loop.missed and loop.missed >= 8
    assert taken == sorted(taken) and taken[2] - taken[1] >= 10, (
        "the turn after the sleep is late, and has taken the time of nine"
    )
    assert loop.planned().min_ns >= 0


def test_limits_are_read() -> None:
    assert [(one.statistic, one.below, one.needed) for one in map(Limit.parse, ["p99.9<500us", "max<2 ms", "missed<1", "p50<1s"])] == [
        ("p99.9", 500_000, 1000), ("max", 2_000_000, 1), ("missed", 1, 1), ("p50", 10**9, 2),
    ]  # fmt: skip
