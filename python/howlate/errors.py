"""What goes wrong, in the program's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional, Union

if TYPE_CHECKING:
    from howlate.comparison import Comparison
    from howlate.result import Result


class HowlateError(Exception):
    """It could not be done; the text says why, and what to do. The program's exit status 2."""


class _Ended(HowlateError):
    """The program did what was asked, and ended with a status that says more."""

    def __init__(self, words: str, result: Optional[Union[Result, Comparison]] = None) -> None:
        super().__init__(words)
        #: What was measured or compared all the same.
        self.result = result


class LimitExceeded(_Ended):
    """A limit was exceeded, or `compare` found something worse. The program's exit status 1."""


class Inconclusive(_Ended):
    """Not everything was as asked, or too little was measured to say. The program's exit status 3."""
