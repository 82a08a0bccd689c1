"""Measurements for real. No test here asserts a duration."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import howlate
from howlate import measure, options, process
from howlate.program import program


def test_a_measurement_is_a_result_with_its_recording(short: howlate.Result) -> None:
    assert (short.command, short.status, short.ended) == ("cyclic", 0, "done")
    one = short[0]
    assert one.count + one.missed_periods >= 150 and one.latency_ns and one.latency_ns.min >= 0
    assert short.recording and short.recording.latency(0).count == one.count
    assert short.recording.result.results == short.results


def test_lists_multiply_and_every_command_is_there(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    found = howlate.sleep(["1ms", "2ms"], call=["nanosleep", "ppoll"], samples=10, rounds=2, out=out)
    assert sorted({(one.condition.target_ns, one.condition.mechanism) for one in found}) == [
        (1_000_000, "nanosleep"), (1_000_000, "ppoll"), (2_000_000, "nanosleep"), (2_000_000, "ppoll"),
    ]  # fmt: skip
    assert howlate.read(out).result.results == found.results
    assert len(list(found.samples())) == sum(one.count for one in found)
    with pytest.raises(FileExistsError):
        howlate.sleep("1ms", samples=10, out=out)
    notified = howlate.notify("pipe", after="1ms", samples=20, rounds=1, no_save=True)
    assert notified[0].condition.kind == "notify"
    watched = howlate.watch([sys.executable, "-c", "import time\nfor _ in range(200): time.sleep(0.001)"], no_save=True)
    assert any(one.condition.kind == "watch" for one in watched)


def test_a_plan_is_run(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[[cyclic]]\nthreads = 1\nsamples = 20\n")
    assert howlate.run(plan, out=tmp_path / "p.jsonl", no_save=True)[0].condition.kind == "cyclic"


def test_doctor_finds_what_the_program_finds() -> None:
    found = howlate.doctor()
    assert found["timer_slack"].id == "timer_slack" and len(found) > 10
    assert all(one.remedy for one in found.to_mend)
    with pytest.raises(KeyError):
        found["no_such_finding"]


def test_the_exit_status_is_an_exception_with_the_programs_words() -> None:
    with pytest.raises(howlate.LimitExceeded, match=r"limit exceeded: max is .* limit 1 ns") as exceeded:
        howlate.cyclic(threads=1, samples=20, fail_above="max>1ns", no_save=True)
    assert exceeded.value.result is not None and len(exceeded.value.result) == 1
    found = howlate.cyclic(threads=1, samples=20, fail_above=["max>1ns", "missed>0"], no_save=True, check=False)
    assert found.status == 1 and "limit" in found.words
    with pytest.raises(howlate.HowlateError, match="unexpected argument '--polcy'") as wrong:
        howlate.cyclic(polcy="fifo:80")
    assert type(wrong.value) is howlate.HowlateError
    with pytest.raises(howlate.Inconclusive):
        howlate.compare(
            howlate.cyclic(threads=1, samples=20, no_save=True),
            howlate.cyclic(threads=1, samples=20, no_save=True),
            check=True,
        )


@pytest.mark.parametrize("value", [1.5, True, object(), ["1ms", 2.5], b"1ms", {"a": 1.5}])
def test_wrong_types_are_told_before_anything_is_measured(value: Any) -> None:
    if value is True:
        with pytest.raises(TypeError, match="json is no option"):
            howlate.cyclic(json=True)
        return
    with pytest.raises(TypeError, match="period is text"):
        howlate.cyclic(period=value)


def test_options_are_words_of_the_command_line() -> None:
    asked = {"policy": ["other", "fifo:80"], "for_": datetime.timedelta(milliseconds=1.5), "why": True, "out": Path("a b"),
             "cpus": [0, 1], "late_above": None, "aligned": False, "fail_above": ["max>1ms", "missed>0"]}  # fmt: skip
    assert options.words(asked) == [
        "--policy=other,fifo:80", "--for=1500us", "--why", "--out=a b", "--cpus=0,1", "--fail-above=max>1ms", "--fail-above=missed>0",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["cyclic", "sleep", "notify", "watch"])
def test_named_options_are_those_of_the_program(name: str) -> None:
    import inspect

    said = subprocess.run([program(), name, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    known = {word.replace("-", "_") for word in re.findall(r"--([a-z-]+)", said)}
    ours = set(inspect.signature(getattr(measure, name)).parameters) - {"check", "progress", "more", "program"}
    assert {"for" if one == "length" else one for one in ours} <= known


def interrupted_after_its_start(path: Path) -> None:
    """Ctrl-C once the recording has begun."""
    while not path.exists() or b"started" not in path.read_bytes():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_keeps_the_result(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    threading.Thread(target=interrupted_after_its_start, args=[out]).start()
    found = howlate.cyclic(threads=1, duration="10m", out=out)
    assert found.ended == "interrupted" and found.status == 3
    assert howlate.read(out).ended == "interrupted"


def test_where_python_is_killed_the_measurement_ends_as_by_ctrl_c(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    python = subprocess.Popen(
        [sys.executable, "-c", f"import howlate; howlate.cyclic(threads=1, duration='10m', out={str(out)!r})"]
    )
    while not out.exists() or b"started" not in out.read_bytes():
        time.sleep(0.01)
    python.kill()
    python.wait()
    for _ in range(3000):
        if b'"end"' in out.read_bytes():
            break
        time.sleep(0.01)
    assert howlate.read(out).ended == "interrupted"


def test_a_cancelled_task_ends_its_measurement(tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"

    async def measured() -> None:
        task = asyncio.create_task(howlate.aio.cyclic(threads=1, duration="10m", out=out))
        while not out.exists() or b"started" not in out.read_bytes():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(measured())
    assert howlate.read(out).ended == "interrupted"


def test_tasks_measure_beside_others() -> None:
    async def both() -> Any:
        return await asyncio.gather(
            howlate.aio.sleep("1ms", samples=5, no_save=True),
            howlate.aio.doctor(),
            howlate.aio.compare(*[RECORDED] * 2),
        )

    from conftest import ROOT

    RECORDED = ROOT / "testdata/recordings/v1/idle-before.jsonl"
    slept, found, compared = asyncio.run(both())
    assert slept[0].count == 5 and found["timer_slack"] and compared.verdict


def test_progress_of_a_terminal_is_one_line_in_a_notebook() -> None:
    text = "\r\x1b[?7l\x1b[K━━━╸        \x1b[2m1.2 s left · turn 1 of 2 · fifo:80\x1b[0m\r\n\x1b[Kso far\r\n"
    assert process.progress_line(text) == "1.2 s left · turn 1 of 2 · fifo:80"
    assert process.progress_line("nothing\n") is None
    assert process.messages("\x1b[?7lbar\r\n\x1b[31merror\x1b[0m: no\r\nhint: do\r\n") == "error: no\nhint: do"


def test_a_terminal_sees_the_programs_own_progress() -> None:
    script = "import howlate; r = howlate.cyclic(threads=1, samples=1500, no_save=True); print('got', len(r))"
    command = ["script", "-qec", f'{sys.executable} -c "{script}"', "/dev/null"]
    seen = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False).stdout.decode(
        errors="replace"
    )
    assert " left · " in seen and "got 1" in seen, seen


def test_importing_loads_nothing_that_is_not_used() -> None:
    script = "import sys; before = set(sys.modules); import howlate; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()
    ours = [name for name in loaded if name.startswith("howlate")]
    assert ours == ["howlate", "howlate.version"], loaded
    assert not {"numpy", "matplotlib", "pandas", "asyncio", "ctypes", "subprocess"} & set(loaded)


def test_every_public_name_is_there() -> None:
    for name in howlate.__all__:
        assert getattr(howlate, name) is not None
    assert set(howlate.__all__) <= set(dir(howlate))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        howlate.nothing  # type: ignore[attr-defined]


def test_of_another_version_nothing_is_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "howlate"
    other.write_text("#!/bin/sh\necho howlate 0.0.7\n")
    other.chmod(0o755)
    program.cache_clear()
    monkeypatch.setenv("HOWLATE_BIN", str(other))
    try:
        with pytest.raises(howlate.HowlateError, match=r"it says 0\.0\.7, and this package is"):
            howlate.doctor()
    finally:
        program.cache_clear()


def test_a_program_that_is_not_there_is_told_with_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from howlate import program as found

    monkeypatch.delenv("HOWLATE_BIN", raising=False)
    monkeypatch.setattr(found, "_places", lambda: iter([tmp_path / "a/howlate", tmp_path / "b/howlate"]))
    with pytest.raises(FileNotFoundError) as missing:
        howlate.find_howlate_bin()
    assert "a/howlate" in str(missing.value) and "b/howlate" in str(missing.value)
    monkeypatch.setenv("HOWLATE_BIN", str(tmp_path / "c"))
    with pytest.raises(howlate.HowlateNotFound, match="HOWLATE_BIN names it"):
        howlate.find_howlate_bin()


def test_results_are_json(short: howlate.Result) -> None:
    assert json.loads(json.dumps(short.json))["command"] == "cyclic"
