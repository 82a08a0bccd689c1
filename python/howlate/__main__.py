"""`python -m howlate`: the program itself, in place of Python."""

from __future__ import annotations

import os
import sys

from howlate.program import HowlateNotFound, find_howlate_bin


def main() -> None:
    """Becomes the program, so that signals and its exit status are its own."""
    try:
        program = find_howlate_bin()
    except HowlateNotFound as error:
        sys.exit(f"error: {error}")
    os.execvp(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
