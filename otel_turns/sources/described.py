"""An unexpected error in words that may be logged.

Comes in: an exception. Goes out: its type and where it was raised. Never its message, which may quote what
an agent said; for the same reason nothing here logs a traceback.
"""

from __future__ import annotations

import traceback
from pathlib import Path

__all__ = ["described"]

_FRAMES = 3


def described(error: BaseException) -> str:
    """`ValueError at pipeline.py:210 < feed.py:330`: the type, and where it was raised, innermost first."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(frames))
    name = type(error).__name__
    return f"{name} at {places}" if places else name
