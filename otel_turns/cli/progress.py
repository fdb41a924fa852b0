"""A bar on the terminal for work that takes long.

Comes in: how many bytes of how many have been read. Goes out: a bar on standard error, where that is a
terminal and the work has taken longer than a second; nothing else, and never anything on standard output.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator
from typing import Final

__all__ = ["progress"]

_PATIENCE: Final = 1.0
_REDRAW: Final = 0.1


@contextlib.contextmanager
def progress(
    label: str, *, clock: Callable[[], float] = time.monotonic
) -> Generator[Callable[[int, int | None], None] | None, None, None]:
    """A function that is told the bytes read and those in all (None: unknown); None where nobody looks."""
    if not sys.stderr.isatty():
        yield None
        return
    began = drawn = clock()
    with contextlib.ExitStack() as shown:
        advance: Callable[[int, int | None], None] | None = None

        def told(done: int, total: int | None) -> None:
            nonlocal advance, drawn
            now = clock()
            if now - began < _PATIENCE or now - drawn < _REDRAW:
                return
            drawn = now
            if advance is None:
                advance = shown.enter_context(_bar(label))
            advance(done, total)

        yield told


@contextlib.contextmanager
def _bar(label: str) -> Generator[Callable[[int, int | None], None], None, None]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
