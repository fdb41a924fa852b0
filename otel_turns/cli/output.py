"""Where `convert` writes: a file that appears when it is whole, or standard output as it comes.

Comes in: records as plain dicts. Goes out: JSON lines. A file is written beside its target with mode 0600
and takes the target's name at the end, so that a reader never sees half of it and a failed run leaves the
old one alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, BinaryIO

from otel_turns.errors import SinkError
from otel_turns.sinks.encoding import encode_record

__all__ = ["json_lines"]


@contextlib.contextmanager
def json_lines(target: str, *, bare: bool = False) -> Generator[Callable[[dict[str, Any]], None], None, None]:
    """A function that writes one record as one line; `-` is standard output; `bare` leaves `otel` out.

    Raises `SinkError` where the target cannot be written, before anything is read.
    """
    with _standard_output() if target == "-" else _file(Path(target)) as stream:
        put = stream.write

        def write(record: dict[str, Any]) -> None:
            put(encode_record(record, bare=bare).data)
            put(b"\n")

        yield write


@contextlib.contextmanager
def _standard_output() -> Generator[BinaryIO, None, None]:
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] # None where it is closed
        raise SinkError("standard output is closed; name a file with -o")
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


@contextlib.contextmanager
def _file(target: Path) -> Generator[BinaryIO, None, None]:
    try:
        special = target.exists() and not stat.S_ISREG(target.stat().st_mode)
        if special and target.is_dir():
            raise SinkError(f"{target}: is a directory; name a file in it")
        partial = target if special else target.with_name(f".{target.name}.{os.getpid()}.partial")
        flags = os.O_WRONLY if special else os.O_WRONLY | os.O_CREAT | os.O_EXCL
        stream = os.fdopen(os.open(partial, flags, 0o600), "wb", buffering=1 << 16)
    except OSError as error:
        raise SinkError(f"{target}: cannot be written: {error.strerror or error}") from error
    try:
        with stream:
            yield stream
        if not special:
            partial.replace(target)
    except BaseException as error:
        if not special:
            partial.unlink(missing_ok=True)
        if isinstance(error, OSError):  # a full disk: what is read tells its own errors
            raise SinkError(f"{target}: cannot be written: {error.strerror or error}") from None
        raise
