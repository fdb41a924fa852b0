"""Files of Turns: one JSON object a line, as `convert` and the file sink write them, also gzipped.

Comes in: a path, or `-`. Goes out: numbered lines as bytes. Also tells files of Turns from files of
telemetry, by their first line alone.
"""

from __future__ import annotations

import contextlib
import gzip
import sys
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

import orjson

from otel_turns.errors import SourceError

__all__ = ["holds_turns", "numbered_lines"]

_GZIP: Final = b"\x1f\x8b"
_TELEMETRY: Final = (b'"resourceSpans"', b'"resourceLogs"', b'"resource_spans"', b'"resource_logs"')
_TURN: Final = (b'"events"', b'"status"')


def numbered_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """Each line that is not blank, with its number. Raises `SourceError` where the file cannot be read."""
    try:
        with _opened(path) as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise SourceError(f"{path}: cannot be read: {reason}") from error


def holds_turns(path: str) -> bool:
    """Whether this is a file of Turns, and not of telemetry; what is neither is left to who reads
    telemetry.
    """
    if path == "-":
        # Standard input can be read once only: this looks at what has arrived, and takes nothing.
        head = sys.stdin.buffer.peek(1)  # type: ignore[attr-defined] # a BufferedReader has it
        return not any(word in head for word in _TELEMETRY) and all(word in head for word in _TURN)
    if not Path(path).is_file():
        return False
    try:
        first = next(numbered_lines(path), (0, b""))[1]
        content: object = orjson.loads(first)
    except (SourceError, orjson.JSONDecodeError):
        return False
    return isinstance(content, dict) and {"events", "status"} <= cast("dict[str, Any]", content).keys()


@contextlib.contextmanager
def _opened(path: str) -> Generator[BinaryIO, None, None]:
    if path == "-":
        yield sys.stdin.buffer
        return
    with Path(path).open("rb") as raw:
        zipped = raw.read(2) == _GZIP
        raw.seek(0)
        if zipped:
            with gzip.open(raw) as stream:
                yield cast("BinaryIO", stream)
        else:
            yield raw
