"""What the documentation shows runs as it stands."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT


def examples() -> "list[str]":
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), flags=re.DOTALL)


def test_the_pages_examples_run_one_after_the_other(tmp_path: Path) -> None:
    for name in ("pandas", "matplotlib"):
        pytest.importorskip(name)
    assert len(examples()) >= 6
    script = tmp_path / "examples.py"
    script.write_text("import matplotlib\nmatplotlib.use('agg')\n" + "\n".join(examples()))
    ran = subprocess.run(
        [sys.executable, script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout
    assert (
        "clock_nanosleep" in ran.stdout and "handler" in ran.stdout and (tmp_path / "sleep.png").stat().st_size > 5_000
    ), ran.stdout


def test_the_notebook_runs_headless_and_shows_its_results(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(ROOT / "python/examples/sleep.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": tmp_path}}
    ).execute()
    shown = json.dumps([cell.get("outputs", []) for cell in notebook.cells])
    assert "howlate: done" in shown, "the line of progress"
    for kind, text in (("text/html", "<table>"), ("text/html", "<svg"), ("image/png", ""), ("text/plain", "fifo")):
        outputs = [
            output["data"][kind]
            for cell in notebook.cells
            for output in cell.get("outputs", [])
            if kind in output.get("data", {})
        ]
        assert any(text in output for output in outputs), (kind, text)


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = json.loads((ROOT / "python/examples/sleep.ipynb").read_text())
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook["cells"])
