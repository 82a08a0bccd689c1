"""What the tests share. The program is the one that `HOWLATE_BIN` names, or the package's own."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

import howlate

pytest_plugins = ["pytester"]

# Shells have it ignored by what runs behind, which programs that are started inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)

#: The repository.
ROOT = Path(os.environ.get("HOWLATE_ROOT", Path(__file__).parents[2]))
RECORDINGS = sorted((ROOT / "testdata/recordings/v1").glob("*.jsonl"))


def recording(name: str) -> howlate.Recording:
    return howlate.read(ROOT / "testdata/recordings/v1" / f"{name}.jsonl")


@pytest.fixture(scope="session")
def short() -> howlate.Result:
    """A measurement of a moment."""
    return howlate.cyclic(threads=1, samples=150, no_save=True)


@pytest.fixture(autouse=True)
def own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs are not kept among those of whoever runs the tests."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
