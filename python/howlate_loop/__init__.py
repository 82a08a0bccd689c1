"""The old name of `howlate.Loop`, kept for programs that import it."""

from howlate.loop import Loop as Loop
from howlate.loop import __version__ as __version__

__all__ = ["Loop"]
