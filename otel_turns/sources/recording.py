"""One file of recorded telemetry, whatever its form.

Comes in: a stream of what is in the file, unpacked. Goes out: `Batch`es, one a request: its items, and the
`Problem`s that were met. Text and protobuf are told apart by control characters, which JSON never holds and
protobuf cannot do without. One bad line or message leaves the others; a file that does not begin with a good
one, and has none near its beginning, is no telemetry. Memory is bounded by the longest request.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from otel_turns.errors import MalformedTelemetry, SourceError
from otel_turns.model.item import Item
from otel_turns.model.json_text import JSONDecodeError, loads
from otel_turns.sources.framing import LONGEST, framing_of, messages
from otel_turns.sources.otlp.decode import Decoded, OtherSignal, decode_logs, decode_traces
from otel_turns.sources.otlp.json import read_logs, read_spans
from otel_turns.sources.otlp.json_values import Table
from otel_turns.sources.otlp.wire import WireLimits

__all__ = ["Batch", "Problem", "read_recording"]


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
    """What one request held. `metrics`: requests of other signals that were passed over."""

    path: str
    items: Sequence[Item] = ()
    problems: list[Problem] = field(default_factory=list[Problem])
    metrics: int = 0


def read_recording(path: str, stream: io.BufferedReader, limits: WireLimits) -> Iterator[Batch]:
    """The requests of one file. `path` only names it. `stream.peek` gives the first 512 bytes.

    Raises what reading raises, and `SourceError` where a request is too long to be held.
    """
    reading = _Reading(path, stream, limits)
    yield from reading.batches()
    if reading.untold:
        yield Batch(path, problems=[Problem(path, f"{reading.untold} more problems like these")])


_BOM: Final = b"\xef\xbb\xbf"
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r"))
_NO_TELEMETRY: Final = "this is neither OTLP JSON nor OTLP protobuf"
_MOST_PROBLEMS: Final = 100
_BEGINS: Final = b'{"resource'
"""How a line begins that is a request of its own."""

_PATIENCE: Final = 1_000
"""Behind a first line that is no telemetry, one that begins as a request is looked for in so many lines: a
file that was cut off at its beginning has its first line torn."""

_READ: Final = {
    "resourceSpans": read_spans,
    "resource_spans": read_spans,
    "resourceLogs": read_logs,
    "resource_logs": read_logs,
}
_UNREAD: Final = frozenset({"resourceMetrics", "resource_metrics", "resourceProfiles", "resource_profiles"})
_DECODE: Final[dict[str, Callable[[bytes, WireLimits], Decoded]]] = {
    "traces": lambda body, limits: decode_traces(body, "protobuf", limits, eager=True),
    "logs": lambda body, limits: decode_logs(body, "protobuf", limits),
}


class _Reading:
    """How far one file was read."""

    def __init__(self, path: str, stream: io.BufferedReader, limits: WireLimits) -> None:
        self._path = path
        self._stream = stream
        self._limits = limits
        self._signal = "traces"
        self._lines = False  # each line is a request; else requests may go over several lines
        self._is_telemetry = False
        self._told = 0
        self.untold = 0

    def batches(self) -> Iterator[Batch]:
        head = self._stream.peek(512)[:512]
        if len(head.translate(None, _CONTROLS)) < len(head):
            return self._binary(head)
        return self._text()

    def _batch(self, items: Sequence[Item] = (), metrics: int = 0) -> Batch:
        return Batch(self._path, items, metrics=metrics)

    def _tell(self, batch: Batch, reasons: Sequence[object], line: int | None = None) -> Batch:
        """Adds problems, as long as there are not too many of one file."""
        room = max(0, _MOST_PROBLEMS - self._told)
        batch.problems.extend(Problem(self._path, str(reason), line) for reason in reasons[:room])
        self._told += len(reasons[:room])
        self.untold += len(reasons[room:])
        return batch

    # --- JSON -----------------------------------------------------------------------------------------------

    def _text(self) -> Iterator[Batch]:
        document = _Document()
        number = passed = 0
        while line := self._stream.readline(LONGEST + 1):
            number += 1
            if passed:
                if not line.startswith(_BEGINS):
                    passed += 1
                    if passed > _PATIENCE:
                        return
                    continue
                passed, self._lines = 0, True
            if number == 1:
                line = line.removeprefix(_BOM)
            if document.cannot_hold(line):
                # What was begun is a broken line, then, and each line is a request.
                yield self._tell(self._batch(), ["this is no JSON: the line is cut off"], document.line)
                document = _Document()
                self._lines = True
            if not document and not line.strip():
                continue
            document.add(line, number)
            if document.may_end(line):
                batch = self._parsed(document, last=False)
                if batch is not None:
                    yield batch
                    document = _Document()
                    passed = 0 if self._is_telemetry else 1
        if document:
            batch = self._parsed(document, last=True)
            if batch is not None:
                yield batch

    def _parsed(self, document: _Document, *, last: bool) -> Batch | None:
        """The requests of a document; None where it goes on in the next line."""
        text, line = document.text, document.line
        batch = self._batch()
        try:
            parsed: Any = loads(text)
        except JSONDecodeError as error:
            whole_line = text.endswith(b"\n")
            # The parser gives no place in text that is not UTF-8, as at the end of what was cut in a letter.
            cut = error.pos >= len(error.doc) and (bool(error.doc) or not whole_line)
            if cut and not last and not (self._lines and whole_line):
                document.failed()
                return None
            if cut and last:
                what = "the last line" if self._lines else "the JSON document that begins here"
                rest = "; what stands before it was read" if self._is_telemetry else ""
                return self._tell(batch, [f"{what} is cut off{rest}"], line)
            if not self._is_telemetry and text.lstrip()[:1] not in (b"{", b"["):
                return self._tell(batch, [_NO_TELEMETRY], line)
            # The parser's message quotes nothing.
            reason = f"this is no JSON: {error.msg} in column {error.colno}"
            return self._tell(batch, [reason], line + error.lineno - 1)
        self._lines = self._lines or document.lines == 1
        for request in cast("list[Any]", parsed) if isinstance(parsed, list) else [parsed]:
            self._request(request, line, batch)
        return batch

    def _request(self, request: Any, line: int, batch: Batch) -> None:
        names: set[str] = set(cast("dict[str, Any]", request)) if isinstance(request, dict) else {""}
        known = [read for name, read in _READ.items() if name in names]
        batch.metrics += bool(names & _UNREAD)
        if not names or known or names & _UNREAD:
            self._is_telemetry = True
        else:
            reason = "this JSON is no OTLP request: it has no resourceSpans, resourceLogs or resourceMetrics"
            self._tell(batch, [reason], line)
        for read in known:
            try:
                items, rejected = read(cast("Table", request), self._limits)
            except MalformedTelemetry as error:
                self._tell(batch, [error], line)
            else:
                batch.items = [*batch.items, *items]
                self._tell(batch, rejected, line)

    # --- protobuf -------------------------------------------------------------------------------------------

    def _binary(self, head: bytes) -> Iterator[Batch]:
        framing = framing_of(head)
        proven = False  # a message was read that is more than empty
        for number, body in enumerate(messages(self._stream, framing), 1):
            where = "" if framing == "single" else f"message {number}: "
            if body is None:
                reason = f"{where}it is cut off; the {number - 1} before it were read"
                yield self._tell(self._batch(), [reason if number > 1 else _NO_TELEMETRY])
                return
            try:
                batch = self._message(body, where)
            except MalformedTelemetry as error:
                reason = f"{where}{error}" if proven else f"{_NO_TELEMETRY}: {error}"
                yield self._tell(self._batch(), [reason])
                if not proven:
                    return
            else:
                proven = proven or bool(body)
                yield batch
        if not proven:  # nothing but zeros
            yield self._tell(self._batch(), [_NO_TELEMETRY])

    def _message(self, body: bytes, where: str) -> Batch:
        try:
            decoded = _DECODE[self._signal](body, self._limits)
        except OtherSignal as error:
            if error.signal == "metrics":
                return self._batch(metrics=1)
            self._signal = error.signal
            decoded = _DECODE[self._signal](body, self._limits)
        return self._tell(self._batch(decoded.items), [f"{where}{reason}" for reason in decoded.rejections])


class _Document:
    """Lines that may be one JSON document. Parsing is tried where one may end, and rarely again."""

    def __init__(self) -> None:
        self.line = 0
        self.lines = 0
        self._pieces: list[bytes] = []
        self._size = 0
        self._try_from = 0

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, line: bytes, number: int) -> None:
        """Adds a line. Raises `SourceError` past `LONGEST`."""
        self.line = self.line or number
        self.lines += 1
        self._pieces.append(line)
        self._size += len(line)
        if self._size > LONGEST:
            raise SourceError(f"line {self.line}: more than {LONGEST} bytes in one request")

    def cannot_hold(self, line: bytes) -> bool:
        """Whether `line` begins a request of its own, and so what was begun before is none."""
        return (
            bool(self._pieces) and line.startswith(_BEGINS) and not self._pieces[0].lstrip().startswith(b"[")
        )

    def may_end(self, line: bytes) -> bool:
        """Whether the document may end with `line`: with its first, or where a brace closes at the margin."""
        return self.lines == 1 or (self._size >= self._try_from and line[:1] in (b"}", b"]"))

    def failed(self) -> None:
        """It did not end. Tried again once it is twice as long, so that all tries cost no more than two."""
        self._try_from = 0 if self.lines == 1 else 2 * self._size

    @property
    def text(self) -> bytes:
        """All lines."""
        if len(self._pieces) > 1:
            self._pieces = [b"".join(self._pieces)]
        return self._pieces[0]
