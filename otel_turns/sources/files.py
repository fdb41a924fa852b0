"""Recorded telemetry in files, read piece by piece.

Comes in: paths (files, folders, patterns, "-" for standard input). Goes out: `Batch`es of items, with the
problems that were met. What a file holds is found out from its content, never from its name: JSON lines as a
Collector's file exporter writes them (traces, logs and metrics mixed), one JSON document, a JSON array of
requests, one binary request, or many behind each other with their lengths (4 bytes, big-endian, as the file
exporter writes them, or a varint); any of them packed by gzip or zstd. A file that is none of these is named
with line and reason, and reading goes on with the next. Memory is bounded by the longest line or message, not
by the file.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from glob import glob, has_magic
from typing import IO, Any, Final, cast

import orjson

from otel_turns.errors import MalformedTelemetry, SourceError
from otel_turns.model.item import Item
from otel_turns.sources.otlp.decode import decode_logs, decode_traces
from otel_turns.sources.otlp.wire import DEFAULT_LIMITS, WireLimits

__all__ = ["Batch", "Problem", "Progress", "read_files"]

Progress = Callable[[int, "int | None"], None]
"""Called with bytes read so far and the total, None where that is unknown (standard input)."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or a part of it, was not read. `line` is 1-based, None where the file has no lines."""

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"


@dataclass(slots=True)
class Batch:
    """What one line or message held. `metrics`: metric requests that were passed over."""

    path: str
    items: Sequence[Item] = ()
    problems: list[Problem] = field(default_factory=list[Problem])
    metrics: int = 0


_SUFFIXES: Final = (".json", ".jsonl", ".ndjson", ".pb", ".binpb", ".proto", ".otlp", ".bin")
_PACKED: Final = ("", ".gz", ".zst", ".zstd")
_WHOLE: Final = 512 * 1024 * 1024
"""The longest document, line or message that is read at once, in bytes."""
_TOP: Final = re.compile(rb'\s*\{\s*"resource_?(spans|logs|metrics)"', re.IGNORECASE)
_READ_ERRORS = (OSError, EOFError, zlib.error)


def read_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    limits: WireLimits = DEFAULT_LIMITS,
    on_progress: Progress | None = None,
) -> Iterator[Batch]:
    """The content of all files, in the order given (folders and patterns sorted by name).

    Raises nothing for what a file holds or where it cannot be read: that is a `Problem` of its batch.
    """
    files, missing = _expand([os.fspath(p) for p in paths])
    for problem in missing:
        yield Batch(problem.path, problems=[problem])
    sizes = [0 if path == "-" else _size(path) for path in files]
    total = None if "-" in files else sum(sizes)
    before = 0
    for path, size in zip(files, sizes, strict=True):
        try:
            raw: IO[bytes] = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115 - closed below
        except OSError as error:
            yield Batch(path, problems=[Problem(path, f"cannot be opened: {error.strerror}")])
            continue
        try:
            for batch in _File(path, raw, limits).batches():
                yield batch
                if on_progress is not None:
                    on_progress(before + _position(raw), total)
        except SourceError as error:
            yield Batch(path, problems=[Problem(path, str(error))])
        except _READ_ERRORS as error:
            yield Batch(path, problems=[Problem(path, f"cannot be read on: {_words(error)}")])
        finally:
            if path != "-":
                raw.close()
        before += size
        if on_progress is not None:
            on_progress(before, total)


def _expand(paths: Sequence[str]) -> tuple[list[str], list[Problem]]:
    """Files in order, each once, and what names none."""
    files: dict[str, None] = {}
    missing: list[Problem] = []
    for path in paths:
        if path == "-" or os.path.isfile(path):
            files.setdefault(path)
        elif os.path.isdir(path):
            inside = _inside(path)
            if not inside:
                missing.append(
                    Problem(path, "no telemetry files in this folder (*.json, *.jsonl, *.pb, packed or not)")
                )
            for one in inside:
                files.setdefault(one)
        elif os.path.exists(path):
            files.setdefault(path)  # a pipe or device
        else:
            found = (
                sorted(f for f in glob(path, recursive=True) if os.path.isfile(f)) if has_magic(path) else []
            )
            if not found:
                missing.append(
                    Problem(path, "no file matches" if has_magic(path) else "there is no such file")
                )
            for one in found:
                files.setdefault(one)
    return list(files), missing


def _inside(folder: str) -> list[str]:
    names = tuple(suffix + packed for suffix in _SUFFIXES for packed in _PACKED)
    found: list[str] = []
    for top, folders, files in os.walk(folder):
        folders.sort()
        found.extend(os.path.join(top, name) for name in sorted(files) if name.lower().endswith(names))
    return found


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _position(raw: IO[bytes]) -> int:
    try:
        return raw.tell()
    except (OSError, ValueError):
        return 0


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class _File:
    """One open file."""

    def __init__(self, path: str, raw: IO[bytes], limits: WireLimits) -> None:
        self._path = path
        self._limits = limits
        self._stream = _unpacked(raw)

    def batches(self) -> Iterator[Batch]:
        head = self._stream.peek(64)[:64]
        text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if not head:
            return
        if not text or text[:1] in (b"{", b"["):
            yield from self._json()
        elif _is_text(head):
            raise SourceError("line 1: this is neither OTLP JSON nor OTLP protobuf")
        else:
            yield from self._binary(head)

    # --- JSON -----------------------------------------------------------------------------------------------

    def _json(self) -> Iterator[Batch]:
        number = 0
        good = 0
        while line := self._stream.readline(_WHOLE):
            number += 1
            body = line.strip()
            if number == 1:
                body = body.removeprefix(b"\xef\xbb\xbf").lstrip()
            if not body:
                continue
            torn = not line.endswith(b"\n")
            if not good and not _is_whole(body):
                yield from self._document(line, number)
                return
            batch = self._request(body, number)
            if batch.problems and torn and not batch.items and good:
                batch.problems = [
                    Problem(self._path, "the last line is cut off; the lines before it were read", number)
                ]
            good += 1
            yield batch

    def _document(self, begun: bytes, number: int) -> Iterator[Batch]:
        """A JSON document of several lines, or an array of requests."""
        rest = self._stream.read(_WHOLE)
        body = (begun + rest).removeprefix(b"\xef\xbb\xbf")
        try:
            parsed: Any = orjson.loads(body)
        except ValueError as error:
            at = getattr(error, "lineno", number)
            yield Batch(self._path, problems=[Problem(self._path, "this is not JSON", at)])
            return
        requests = cast("list[Any]", parsed) if isinstance(parsed, list) else [parsed]
        for request in requests:
            yield self._request(orjson.dumps(request), number)

    def _request(self, body: bytes, line: int | None) -> Batch:
        """One JSON request."""
        batch = Batch(self._path)
        try:
            kinds = _kinds(body)
            if not kinds:
                batch.problems.append(
                    Problem(
                        self._path, "this JSON is no OTLP request: no resourceSpans or resourceLogs", line
                    )
                )
            for kind in kinds:
                if kind == "metrics":
                    batch.metrics += 1
                    continue
                decoded = (decode_traces if kind == "spans" else decode_logs)(body, "json", self._limits)
                batch.items = [*batch.items, *decoded.items] if batch.items else decoded.items
                batch.problems.extend(Problem(self._path, str(r), line) for r in decoded.rejections)
        except MalformedTelemetry as error:
            batch.problems.append(Problem(self._path, str(error), line))
        return batch

    # --- protobuf -------------------------------------------------------------------------------------------

    def _binary(self, head: bytes) -> Iterator[Batch]:
        if len(head) > 4 and head[0] < 0x10 and head[4] == 0x0A and int.from_bytes(head[:4], "big") > 4:
            yield from self._delimited(_four_bytes)
            return
        body = self._stream.read(_WHOLE)
        try:
            yield self._message(body)
        except MalformedTelemetry as error:
            self._stream = io.BufferedReader(io.BytesIO(body))
            first = list(self._delimited(_varint))
            if len(first) == 1 and first[0].problems:
                raise SourceError(str(error)) from None
            yield from first

    def _delimited(self, length_of: Callable[[IO[bytes]], int | None]) -> Iterator[Batch]:
        number = 0
        while True:
            number += 1
            size = length_of(self._stream)
            if size is None:
                return
            body = self._stream.read(size) if 0 <= size <= _WHOLE else b""
            if len(body) != size:
                reason = f"message {number} is cut off" + (
                    "; the messages before it were read" if number > 1 else ""
                )
                yield Batch(self._path, problems=[Problem(self._path, reason)])
                return
            try:
                yield self._message(body)
            except MalformedTelemetry as error:
                yield Batch(self._path, problems=[Problem(self._path, f"message {number}: {error}")])

    def _message(self, body: bytes) -> Batch:
        try:
            decoded = decode_traces(body, "protobuf", self._limits)
        except MalformedTelemetry as error:
            try:
                decoded = decode_logs(body, "protobuf", self._limits)
            except MalformedTelemetry:
                raise error from None
        problems = [Problem(self._path, str(r)) for r in decoded.rejections]
        return Batch(self._path, decoded.items, problems)


def _unpacked(raw: IO[bytes]) -> io.BufferedReader:
    stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
    magic = stream.peek(4)[:4]
    if magic[:2] == b"\x1f\x8b":
        return io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=stream)), 1 << 20)
    if magic == b"\x28\xb5\x2f\xfd":
        return io.BufferedReader(cast("io.RawIOBase", _zstd(stream)), 1 << 20)
    return stream


def _zstd(stream: IO[bytes]) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        return cast("Any", zstd).ZstdFile(stream)
    except ImportError:
        pass
    try:
        import zstandard
    except ImportError:
        raise SourceError("packed by zstd; install otel_turns[zstd], or Python 3.14") from None
    return zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)


def _is_text(head: bytes) -> bool:
    return all(32 <= byte < 127 or byte in (9, 10, 13) for byte in head)


def _is_whole(body: bytes) -> bool:
    """Whether a line is a JSON object by itself, and not the first line of a longer document."""
    if body[:1] != b"{" or body[-1:] != b"}":
        return False
    if _TOP.match(body):
        return True
    try:
        orjson.loads(body)
    except ValueError:
        return False
    return True


def _kinds(body: bytes) -> list[str]:
    """Which requests a JSON object holds: "spans", "logs", "metrics"."""
    found = _TOP.match(body)
    if found and body.count(b"resource") == 1:
        return [found.group(1).decode().lower()]
    if found and not any(body.count(word) for word in _OTHERS[found.group(1).lower()]):
        return [found.group(1).decode().lower()]
    try:
        parsed: Any = orjson.loads(body)
    except ValueError:
        raise MalformedTelemetry("this is not JSON") from None
    if not isinstance(parsed, dict):
        raise MalformedTelemetry("this JSON is no object")
    names = {name.replace("_", "").lower() for name in cast("dict[str, Any]", parsed)}
    if not names:
        return ["spans"]
    return [kind for kind in ("spans", "logs", "metrics") if "resource" + kind in names]


_OTHERS: Final = {
    b"spans": (b'"resourceLogs"', b'"resourceMetrics"', b'"resource_logs"'),
    b"logs": (b'"resourceSpans"', b'"resourceMetrics"', b'"resource_spans"'),
    b"metrics": (b'"resourceSpans"', b'"resourceLogs"'),
}


def _four_bytes(stream: IO[bytes]) -> int | None:
    head = stream.read(4)
    if not head:
        return None
    return int.from_bytes(head, "big") if len(head) == 4 else -1


def _varint(stream: IO[bytes]) -> int | None:
    size = 0
    for shift in range(0, 35, 7):
        byte = stream.read(1)
        if not byte:
            return None if shift == 0 else -1
        size |= (byte[0] & 0x7F) << shift
        if byte[0] < 0x80:
            return size
    return -1
