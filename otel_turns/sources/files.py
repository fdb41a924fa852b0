"""Recorded telemetry in files, read piece by piece.

Comes in: paths (files, folders, patterns, "-" for standard input). Goes out: `Batch`es of items, with the
problems that were met. What a file holds its content says, never its name: JSON lines as a Collector's file
exporter writes them (traces, logs and metrics mixed), JSON documents over several lines, a JSON array of
requests, one binary request, or many behind their lengths; any of them packed by gzip or zstd. A file that is
none of these is a problem with line and reason, and reading goes on with the next. Memory is bounded by the
longest request, not by the file. It never raises for what a file holds.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from glob import glob, has_magic
from typing import IO, Final

from otel_turns.errors import SourceError
from otel_turns.sources.otlp.wire import DEFAULT_LIMITS, WireLimits
from otel_turns.sources.recording import Batch, Problem, read_recording
from otel_turns.sources.unpacked import READ_ERRORS, unpacked

__all__ = ["Batch", "Problem", "Progress", "read_files", "reads_from"]

Progress = Callable[[int, "int | None"], None]
"""Called with bytes read so far and the total, None where that is unknown (standard input, a pipe)."""

_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".pb", ".binpb", ".proto", ".otlp", ".bin")
_PACKED: Final = ("", ".gz", ".zst", ".zstd")


def read_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    limits: WireLimits = DEFAULT_LIMITS,
    on_progress: Progress | None = None,
) -> Iterator[Batch]:
    """The content of all files, in the order given (folders and patterns sorted by name), each file once.

    Raises nothing for what a file holds or where it cannot be read: that is a `Problem` of its batch.
    Spans come parsed. `on_progress` is called when more was read, and at the end of each file.
    """
    files, missing = _expand([os.fspath(p) for p in paths])
    for problem in missing:
        yield Batch(problem.path, problems=[problem])
    sizes = [_size(path) for path in files]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    before = 0
    for path, size in zip(files, sizes, strict=True):
        reached = 0
        failed = "cannot be opened"
        try:
            with _opened(path) as raw:
                failed = "cannot be read on"
                for batch in read_recording(path, unpacked(raw), limits):
                    yield batch
                    if on_progress is not None and (place := _position(raw)) > reached:
                        reached = place
                        on_progress(before + reached, total)
        except SourceError as error:
            yield Batch(path, problems=[Problem(path, str(error))])
        except EOFError:
            reason = "the packed data is cut off; what stands before it was read"
            yield Batch(path, problems=[Problem(path, reason)])
        except READ_ERRORS as error:
            yield Batch(path, problems=[Problem(path, f"{failed}: {_words(error)}")])
        before += reached if size is None else size
        if on_progress is not None:
            on_progress(before, total)


def reads_from(paths: Sequence[str], target: str) -> bool:
    """Whether `target`, the path of a file to be written, is among the files that `read_files` would read."""
    try:
        written = os.stat(target)
    except OSError:
        return False  # there is none yet
    if not stat.S_ISREG(written.st_mode):
        return False
    for path in _expand(paths)[0]:
        with suppress(OSError):
            if path != "-" and os.path.samestat(os.stat(path), written):
                return True
    return False


@contextmanager
def _opened(path: str) -> Generator[IO[bytes], None, None]:
    if path == "-":
        if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] # None where it is closed
            raise SourceError("standard input is closed")
        yield sys.stdin.buffer  # not ours to close
        return
    with open(path, "rb") as raw:
        yield raw


def _expand(paths: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """Files in order, each once, and what names none."""
    files = _Files()
    missing: list[Problem] = []
    for path in paths:
        if path == "-" or os.path.isfile(path):
            files.add(path)
        elif os.path.isdir(path):
            inside = _inside(path)
            if not inside:
                missing.append(
                    Problem(path, "no telemetry files in this folder (*.json, *.jsonl, *.pb, packed or not)")
                )
            for one in inside:
                files.add(one)
        elif os.path.exists(path):
            files.add(path)  # a pipe or device
        else:
            found = (
                sorted(f for f in glob(path, recursive=True) if os.path.isfile(f)) if has_magic(path) else []
            )
            if not found:
                missing.append(
                    Problem(path, "no file matches" if has_magic(path) else "there is no such file")
                )
            for one in found:
                files.add(one)
    return files.paths, missing


class _Files:
    """Paths of files, each file once, whatever names it has."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self._known: set[object] = set()

    def add(self, path: str) -> None:
        identity: object = path
        try:
            if path != "-":
                status = os.stat(path)
                identity = status.st_dev, status.st_ino
        except OSError:
            pass  # reading it will say why
        if identity not in self._known:
            self._known.add(identity)
            self.paths.append(path)


def _inside(folder: str) -> list[str]:
    names = tuple(suffix + packed for suffix in _SUFFIXES for packed in _PACKED)
    found: list[str] = []
    for top, folders, files in os.walk(folder):
        folders.sort()
        paths = (os.path.join(top, name) for name in sorted(files) if name.lower().endswith(names))
        # A pipe among the files would be waited for without end. A link that leads nowhere is told.
        found.extend(path for path in paths if os.path.isfile(path) or not os.path.exists(path))
    return found


def _size(path: str) -> int | None:
    """Bytes of a file; None for standard input and whatever else has no end that is known."""
    try:
        return os.path.getsize(path) if path != "-" and os.path.isfile(path) else None
    except OSError:
        return 0


def _position(raw: IO[bytes]) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):
        return 0


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
