"""The old name of `howlate.Loop` and `howlate.snap`, kept for programs that import it."""

from howlate.loop import Loop as Loop
from howlate.loop import __version__ as __version__
from howlate.loop import snap as snap

__all__ = ["Loop", "snap"]
