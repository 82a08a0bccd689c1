"""Where the program is that this package carries."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Iterator, Optional

from howlate.errors import HowlateError
from howlate.version import __version__

#: A program to use in place of the package's own: for development, and where a distribution brings it.
VARIABLE = "HOWLATE_BIN"


class HowlateNotFound(HowlateError, FileNotFoundError):
    """The program is in none of the places where installers put it; the text lists them."""


def find_howlate_bin() -> str:
    """The path of the program.

    Raises `HowlateNotFound`, a `FileNotFoundError`, with every place that was looked at.
    """
    named = os.environ.get(VARIABLE)
    places = [Path(named)] if named else list(dict.fromkeys(_places()))
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    listed = "\n".join(f"  {place}" for place in places)
    remedy = f"{VARIABLE} names it" if named else "to have it: pip install --force-reinstall howlate"
    raise HowlateNotFound(f"the program howlate is in none of these places:\n{listed}\nhint: {remedy}")


def _places() -> Iterator[Path]:
    """Where installers put programs, the most likely first."""
    scripts = [
        sysconfig.get_path("scripts"),
        # A virtual environment that sees the packages of the Python below it.
        sysconfig.get_path("scripts", vars={"base": sys.base_prefix}),
    ]
    yield from (Path(folder) / "howlate" for folder in scripts if folder)
    package = Path(__file__).parent
    prefix = _prefix(package)
    if prefix:  # pip install --prefix
        yield prefix / "bin/howlate"
    yield package.parent / "bin/howlate"  # pip install --target
    user = sysconfig.get_path("scripts", scheme=_user_scheme())
    if user:
        yield Path(user) / "howlate"


def _prefix(package: Path) -> Optional[Path]:
    """What is above `lib/python3.X/site-packages/howlate`, or Debian's `dist-packages`."""
    above = package.parents
    if len(above) < 4 or above[0].name not in ("site-packages", "dist-packages"):
        return None
    is_lib = above[1].name.startswith("python") and above[2].name in ("lib", "lib64")
    return above[3] if is_lib else None


def _user_scheme() -> str:
    if sys.version_info >= (3, 10):
        return sysconfig.get_preferred_scheme("user")
    return "posix_user"


@functools.lru_cache(maxsize=None)
def program() -> str:
    """The path of the program, known to be of this package's version.

    Raises `HowlateNotFound`, or `HowlateError` for another version, whose results this package may not know.
    """
    path = find_howlate_bin()
    try:
        said = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except OSError as error:
        raise HowlateError(f"{path} does not start: {error.strerror}") from error
    words = said.stdout.decode(errors="replace").split()
    found = words[1] if len(words) > 1 and words[0] == "howlate" else "no version"
    if found != __version__:
        raise HowlateError(
            f"{path} is another version: it says {found}, and this package is {__version__}\n"
            f"hint: pip install --force-reinstall howlate=={__version__}"
        )
    return path
