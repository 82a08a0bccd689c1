"""The wheel, installed in each way that pip knows, brings a program that the package finds. `HOWLATE_WHEEL` names it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any, Dict

import pytest
from conftest import ROOT

WHEEL = os.environ.get("HOWLATE_WHEEL", "")
pytestmark = pytest.mark.skipif(not WHEEL, reason="HOWLATE_WHEEL names no wheel")

ASK = "import howlate; print(howlate.find_howlate_bin(), howlate.__file__)"


def pip(python: Any, *words: Any, **env: str) -> None:
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--disable-pip-version-check",
        *words,
        WHEEL,
    ]
    subprocess.run(command, check=True, env={**os.environ, **env})


def asked(python: Any, **env: str) -> "list[Path]":
    """Where the program and the package are, as the package says; the program runs."""
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "HOWLATE_BIN", "VIRTUAL_ENV")}
    output = subprocess.run(
        [python, "-c", ASK], stdout=subprocess.PIPE, text=True, check=True, env={**clean, **env}
    ).stdout
    program, package = map(Path, output.split())
    said = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    assert said.startswith("howlate ")
    return [program, package]


def venv(folder: Path, *words: str) -> Path:
    subprocess.run([sys.executable, "-m", "venv", *words, folder], check=True)
    return folder / "bin/python"


def test_in_a_virtual_environment(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv")
    pip(python)
    program, package = asked(python)
    assert program == tmp_path / "venv/bin/howlate" and tmp_path in package.parents
    status = subprocess.run([python, "-m", "howlate", "cyclic", "--polcy"], stderr=subprocess.DEVNULL, check=False)
    assert status.returncode == 2, "its own exit status"


def test_in_a_folder_by_target(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv")
    pip(python, "--target", tmp_path / "there")
    assert asked(python, PYTHONPATH=str(tmp_path / "there"))[0] == tmp_path / "there/bin/howlate"


def test_below_a_prefix(tmp_path: Path) -> None:
    python = venv(tmp_path / "venv")
    pip(python, "--prefix", tmp_path / "there")
    (packages,) = (tmp_path / "there").glob("lib*/python*/site-packages")
    assert asked(python, PYTHONPATH=str(packages))[0] == tmp_path / "there/bin/howlate"


def test_for_a_user(tmp_path: Path) -> None:
    python = Path(os.path.realpath(sys.executable))
    env: Dict[str, str] = {"PYTHONUSERBASE": str(tmp_path / "user"), "PIP_BREAK_SYSTEM_PACKAGES": "1"}
    try:
        pip(python, "--user", **env)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip --user cannot be had of {python}: {error}")
    assert asked(python, **env)[0] == tmp_path / "user/bin/howlate"


def test_a_wheel_has_the_program_the_types_and_the_licences() -> None:
    names = zipfile.ZipFile(WHEEL).namelist()
    for end in (
        "data/scripts/howlate",
        "howlate/py.typed",
        "licenses/LICENSE-MIT",
        "licenses/LICENSE-APACHE",
        "howlate_loop/__init__.py",
    ):
        assert any(name.endswith(end) for name in names), end
    assert not any("tests/" in name for name in names)
    metadata = zipfile.ZipFile(WHEEL).read(next(name for name in names if name.endswith("METADATA"))).decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist") and "extra ==" not in line]
    assert needed == [], "it needs nothing"
    assert "-py3-none-" in Path(WHEEL).name


def test_a_wheel_does_not_depend_on_where_it_was_built() -> None:
    wheel = zipfile.ZipFile(WHEEL)
    # A program that is built for tests names its sources.
    others = [name for name in wheel.namelist() if not name.endswith("scripts/howlate")]
    assert [name for name in others if str(ROOT).encode() in wheel.read(name)] == []
