"""The pyperf hook."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict

import pytest

from howlate.pyperf_hook import Hook, told


def test_a_benchmark_has_who_took_its_cpu_in_its_metadata() -> None:
    hook = Hook()
    for _ in range(3):
        with hook:
            sum(range(100_000))
    metadata: Dict[str, Any] = {}
    hook.teardown(metadata)
    assert metadata["howlate_waited_ns"] >= 0
    assert isinstance(metadata["howlate_culprits"], str) and metadata["howlate_culprits"]
    assert hook._top is None or hook._top.returncode == 0


def test_culprits_add_up_over_tables_and_the_most_is_first() -> None:
    def table(name: str, nanos: int, kind: str = "cpu") -> Dict[str, Any]:
        return {"tracer": "bpf", "processes": [{"waits": [{"kind": kind, "behind": [{"name": name, "ns": nanos}]}]}]}

    assert (
        told([table("a", 1_000_000), table("b", 5_000_000), table("a", 7_000_000), table("c", 9, "disk")])
        == "a 8 ms, b 5 ms"
    )
    unnamed = {"tracer": "bpf", "processes": [{"waits": [{"kind": "cpu", "behind": [{"ns": 3_000_000}]}]}]}
    assert told([unnamed, table("a", 1_000_000)]) == "leaving idle 3 ms, a 1 ms"
    assert told([{"tracer": "bpf", "processes": []}]) == "nobody"
    assert told([{"tracer": "proc", "processes": []}]).startswith("not known: it takes root")


def test_without_the_program_it_says_so(monkeypatch: Any) -> None:
    from howlate.program import program

    program.cache_clear()
    monkeypatch.setenv("HOWLATE_BIN", "/is/not/there")
    metadata: Dict[str, Any] = {}
    try:
        Hook().teardown(metadata)
    finally:
        program.cache_clear()
    assert metadata["howlate_culprits"].startswith("not known: the program howlate is in none")


def test_pyperf_itself_keeps_what_the_hook_found(tmp_path: Path) -> None:
    pyperf = pytest.importorskip("pyperf")
    hooks = importlib.import_module("pyperf._hooks")
    if "howlate" not in list(hooks.get_hook_names()):
        pytest.skip("the package is not installed: pyperf finds hooks by their entry points")
    out = tmp_path / "bench.json"
    command = [
        sys.executable,
        "-m",
        "pyperf",
        "timeit",
        "--quiet",
        "--hook",
        "howlate",
        "-p1",
        "-n2",
        "-w1",
        "-l100",
        "-o",
        out,
        "sum(range(999))",
    ]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    metadata = pyperf.BenchmarkSuite.load(str(out)).get_benchmarks()[0].get_runs()[-1].get_metadata()
    assert metadata["howlate_waited_ns"] >= 0 and metadata["howlate_culprits"], metadata
