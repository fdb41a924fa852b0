"""The whole way: items in, Turns out. The only module that knows every stage.

`convert` reads files to their end. `Pipeline` is fed by live sources: it buffers until a trace settles, reads
it once, makes its Turns and hands them to the sinks; a Turn that changes because more of it arrived is sent
again with a higher revision.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from otel_turns.assembly.memory import Memory
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.session import number_turns
from otel_turns.assembly.story import Told, assemble
from otel_turns.assembly.trail import Trail
from otel_turns.assembly.tree import Read
from otel_turns.dialects.registry import Registry
from otel_turns.errors import MalformedTelemetry
from otel_turns.model.facts import Role
from otel_turns.model.item import Item
from otel_turns.model.span import LogRecord, Span
from otel_turns.traces.buffer import Settled, TraceBuffer

if TYPE_CHECKING:
    from otel_turns.sinks.base import Sink

__all__ = ["AssemblyOptions", "Pipeline", "Summary", "convert", "read_items"]

CostOf = Callable[[dict[str, Any]], "float | None"]
_SECOND = 1_000_000_000


@dataclass(slots=True)
class Summary:
    """What a conversion met. `rejected`: one line a problem, naming file, line and reason."""

    turns: int = 0
    spans: int = 0
    logs: int = 0
    rejected: list[str] = field(default_factory=list[str])


def read_items(items: Iterable[Item], registry: Registry) -> tuple[list[Read], list[str]]:
    """Parses each item and has it read by the dialects; what cannot be parsed is left out and told in the
    second list.
    """
    reads: list[Read] = []
    bad: list[str] = []
    read_span, read_log = registry.read, registry.read_log
    for item in items:
        try:
            source = item.load()
        except MalformedTelemetry as error:
            bad.append(str(error))
            continue
        if isinstance(source, Span):
            reads.append(Read(source, read_span(source)))
        else:
            facts = read_log(source)
            if facts is not None:
                reads.append(Read(source, facts))
    return reads, bad


def convert(
    paths: Sequence[str],
    write: Callable[[dict[str, Any]], None],
    *,
    options: AssemblyOptions | None = None,
    on_progress: Callable[[int, int | None], None] | None = None,
    limits: Any = None,
    budget_bytes: int = 96 * 1024 * 1024,
    registry: Registry | None = None,
    trail: Trail | None = None,
) -> Summary:
    """Converts files of telemetry; `write` gets each record, in order of time within what is held at once.

    Everything is held until the end, so that traces are complete and requests in several traces find each
    other, up to
    `budget_bytes`; beyond it the traces that nothing was added to for longest are converted first. The turns
    of a session are numbered where it is whole.
    `on_progress` gets bytes done and the total where it is known. `trail` is told what became of each span.
    Problems are collected, never raised;
    raises only what `write` raises.
    """
    from otel_turns.sources.files import read_files

    chosen = options or AssemblyOptions()
    reading = registry or Registry()
    summary = Summary()
    stock = _Stock(reading, chosen, write, summary, budget_bytes, trail)
    extra: dict[str, Any] = {} if limits is None else {"limits": limits}
    for batch in read_files(paths, on_progress=on_progress, **extra):
        for item in batch.items:
            if item.span_id is None:
                summary.logs += 1
            else:
                summary.spans += 1
        summary.rejected.extend(str(problem) for problem in batch.problems)
        stock.add(batch.items)
    stock.finish()
    return summary


class _Stock:
    """Traces of a conversion that are not written yet, the least recently added to first."""

    def __init__(
        self,
        registry: Registry,
        options: AssemblyOptions,
        write: Callable[[dict[str, Any]], None],
        summary: Summary,
        budget: int,
        trail: Trail | None = None,
    ) -> None:
        self._registry, self._options, self._write, self._summary, self._budget = (
            registry,
            options,
            write,
            summary,
            budget,
        )
        self._trail = trail
        self._traces: OrderedDict[bytes | None, list[Item]] = OrderedDict()
        self._size = 0
        self._memory = Memory()
        self._revisions: dict[str, int] = {}
        self._partial: set[str] = set()

    def add(self, items: Iterable[Item]) -> None:
        traces = self._traces
        for item in items:
            held = traces.get(item.trace_id)
            if held is None:
                traces[item.trace_id] = [item]
            else:
                held.append(item)
                traces.move_to_end(item.trace_id)
            self._size += item.size + 200
        if self._size > self._budget:
            self._write_some()

    def finish(self) -> None:
        chunk = list(self._traces.values())
        self._traces.clear()
        self._tell([item for items in chunk for item in items], last=True)

    def _write_some(self) -> None:
        """Writes the older half; what stays may still grow. Records without a trace stay to the end, they are
        small.
        """
        target = self._budget // 2
        chosen: list[Item] = []
        for trace_id in list(self._traces):
            if self._size <= target:
                break
            if trace_id is None:
                continue
            items = self._traces.pop(trace_id)
            self._size -= sum(i.size + 200 for i in items)
            chosen.extend(items)
        self._tell(chosen)

    def _tell(self, items: list[Item], last: bool = False) -> None:
        reads, bad = read_items(items, self._registry)
        self._summary.rejected.extend(bad)
        made = assemble(reads, self._options, self._memory, self._trail)
        if not last:
            self._partial.update(s for one in made if (s := one.record["otel"].get("sessionId")) is not None)
        elif not self._summary.rejected:
            number_turns(((one.record, one.goes_on) for one in made), self._partial)
        for told in made:
            record = told.record
            turn_id = record["otel"]["turnId"]
            seen = self._revisions.get(turn_id)
            if seen is not None:
                record["otel"]["revision"] = seen + 1
            self._revisions[turn_id] = record["otel"]["revision"]
            self._summary.turns += 1
            self._write(record)


@dataclass(slots=True)
class _Story:
    """A trace whose turn may go on in another. `reads`: what was read of it, until assembly uses it up."""

    items: Sequence[Item]
    reads: list[Read] | None
    size: int
    until: int


class Pipeline:
    """The live way. All methods may be called from any thread; one lock guards the buffer, another the making
    of Turns.

    linger_s, idle_s, max_age_s, budget_bytes: when a trace settles and how much may be held
    (`traces.buffer.TraceBuffer`). stitch_s: how long a bare request whose calls are unanswered waits for the
    next request in another trace. cost_usd: called with each record; what it returns becomes `usage.costUSD`.
    The only way a cost gets in. redact: called with each record before any sink; may change it.
    """

    def __init__(
        self,
        sinks: Sequence[Sink],
        *,
        linger_s: float = 2.0,
        idle_s: float = 60.0,
        max_age_s: float = 600.0,
        budget_bytes: int = 256 * 1024 * 1024,
        stitch_s: float = 30.0,
        options: AssemblyOptions | None = None,
        cost_usd: CostOf | None = None,
        redact: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        registry: Registry | None = None,
        clock: Callable[[], int] | None = None,
    ) -> None:
        self._sinks = list(sinks)
        self._clock = clock or time.monotonic_ns
        self._buffer = TraceBuffer(
            linger=int(linger_s * _SECOND),
            idle=int(idle_s * _SECOND),
            max_age=int(max_age_s * _SECOND),
            budget_bytes=budget_bytes,
            clock=self._clock,
        )
        self._stitch = int(stitch_s * _SECOND)
        self._budget = budget_bytes
        self._options = options or AssemblyOptions()
        self._cost, self._redact = cost_usd, redact
        self._registry = registry or Registry()
        self._memory = Memory()
        self._gate = threading.Lock()
        self._making = threading.Lock()
        self._stories: OrderedDict[bytes | None, _Story] = OrderedDict()
        self._stories_size = 0
        # All that is held is joined at once, so not at every tick: a busy stream would join without end.
        self._unjoined = False
        self._next_join = 0
        self._sent: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._closed = False
        self.turns = 0
        self.malformed = 0
        self.failed = 0

    # --- in -------------------------------------------------------------------------------------------------

    def accept(self, items: Iterable[Item]) -> None:
        """Buffers items; quick, assembles nothing."""
        with self._gate:
            self._buffer.add(items)

    def hold(self, trace_id: bytes) -> None:
        """A local span of the trace began."""
        with self._gate:
            self._buffer.hold(trace_id)

    def release(self, trace_id: bytes) -> None:
        """A local span of the trace ended."""
        with self._gate:
            self._buffer.release(trace_id)

    def would_refuse(self, nbytes: int) -> bool:
        """Whether a request of this size should be answered "try again later"."""
        with self._gate:
            full = self._buffer.would_exceed(nbytes)
        return full or any(getattr(sink, "full", False) for sink in self._sinks)

    @property
    def counters(self) -> dict[str, int]:
        """Items and Turns so far: accepted = settled + open + duplicates + ..., see `TraceBuffer`."""
        with self._gate:
            counted = self._buffer.counters
        out = {name: int(getattr(counted, name)) for name in counted.__dataclass_fields__}
        out.update(turns=self.turns, malformed=self.malformed, failed=self.failed)
        return out

    # --- out ------------------------------------------------------------------------------------------------

    def tick(self) -> float | None:
        """Makes the Turns of what is due. Returns seconds until more is due, or None where nothing waits."""
        with self._gate:
            due = self._buffer.due()
        with self._making:
            self._settle(due)
        with self._gate:
            following = self._buffer.next_due()
        waits = [s.until for s in self._stories.values()]
        if following is not None:
            waits.append(following)
        if self._unjoined:
            waits.append(self._next_join)
        return None if not waits else max(0.0, (min(waits) - self._clock()) / _SECOND)

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Makes the Turns of everything that is held, whole or not, and flushes the sinks. False where time
        ran out.
        """
        until = self._clock() + int(timeout_s * _SECOND)
        with self._gate:
            due = self._buffer.drain()
        with self._making:
            self._settle(due, last=True)
        done = True
        for sink in self._sinks:
            left = max(0.0, (until - self._clock()) / _SECOND)
            done = sink.flush(left) and done
        return done

    def close(self, timeout_s: float = 5.0) -> bool:
        """Flushes and closes the sinks; calling it again does nothing."""
        if self._closed:
            return True
        self._closed = True
        done = self.flush(timeout_s)
        for sink in self._sinks:
            sink.close()
        return done

    # --- inside ---------------------------------------------------------------------------------------------

    def _settle(self, due: Sequence[Settled], last: bool = False) -> None:
        for settled in due:
            reads, bad = read_items(settled.items, self._registry)
            self.malformed += len(bad)
            if settled.trace_id in self._stories or _is_part(reads):
                self._keep(settled.trace_id, settled.items, reads)
                self._unjoined = True
            else:
                self._tell(assemble(reads, self._options, self._memory), settled)
        if last:
            if self._stories:
                self._join(last)
        elif self._unjoined and self._clock() >= self._next_join:
            self._join(False)
        elif self._stories:
            self._expire()

    def _keep(self, trace_id: bytes | None, items: Sequence[Item], reads: list[Read]) -> None:
        size = sum(i.size for i in items)
        old = self._stories.pop(trace_id, None)
        if old is not None:
            self._stories_size -= old.size
        self._stories[trace_id] = _Story(items, reads, size, self._clock() + self._stitch)
        self._stories_size += size
        while self._stories_size > self._budget // 4 and len(self._stories) > 1:
            _, gone = self._stories.popitem(last=False)
            self._stories_size -= gone.size
            self._tell(assemble(self._reads(gone), self._options, self._memory), None)

    def _join(self, last: bool) -> None:
        """Makes the Turns of all bare traces that are held; those that may still go on wait, unless it is the
        last call.
        """
        self._unjoined = False
        self._next_join = self._clock() + _SECOND
        reads = [read for story in self._stories.values() for read in self._reads(story)]
        told = assemble(reads, self._options, self._memory)
        now = self._clock()
        waiting: set[bytes | None] = set()
        for one in told:
            expired = all(s.until <= now for t in one.traces if (s := self._stories.get(t)) is not None)
            if one.open and not last and not expired:
                waiting |= one.traces
            else:
                self._tell([one], None)
        if last:
            return
        # What was told and cannot go on need not be held; records without a trace may belong to any.
        over = [t for t, s in self._stories.items() if t not in waiting and (t is not None or s.until <= now)]
        for trace_id in over:
            self._stories_size -= self._stories.pop(trace_id).size

    def _reads(self, story: _Story) -> list[Read]:
        """What the dialects read in a story; assembly uses facts up, so they are read anew then."""
        reads, story.reads = story.reads, None
        return reads if reads is not None else read_items(story.items, self._registry)[0]

    def _expire(self) -> None:
        if any(s.until <= self._clock() for s in self._stories.values()):
            self._join(False)

    def _tell(self, told: Sequence[Told], settled: Settled | None) -> None:
        for one in told:
            record = one.record
            otel = record["otel"]
            if settled is not None:
                _remark_settling(otel, settled)
            digest = hash(orjson.dumps(record))
            turn_id = otel["turnId"]
            sent = self._sent.get(turn_id)
            if sent is not None:
                if sent[1] == digest:
                    continue
                otel["revision"] = sent[0] + 1
            self._sent[turn_id] = (otel["revision"], digest)
            self._sent.move_to_end(turn_id)
            while len(self._sent) > 100_000:
                self._sent.popitem(last=False)
            self._emit(record)

    def _emit(self, record: dict[str, Any]) -> None:
        try:
            if self._cost is not None:
                cost = self._cost(record)
                if cost is not None:
                    record.setdefault("usage", {})["costUSD"] = cost
            if self._redact is not None:
                record = self._redact(record)
        except Exception:
            self.failed += 1
            return
        self.turns += 1
        for sink in self._sinks:
            sink.write(record)


def _is_part(reads: Sequence[Read]) -> bool:
    """Whether a trace may be a part of a Turn only: no agent in it, and its root is agent work itself, or ids
    join it.
    """
    if any(r.facts.role in (Role.AGENT, Role.WORKFLOW) for r in reads):
        return any(r.facts.group for r in reads)
    for read in reads:
        if isinstance(read.source, LogRecord):
            if read.source.trace_id is None:
                return True
        elif read.source.parent_id is None and read.facts.role in (Role.INFERENCE, Role.TOOL):
            return True
        if read.facts.group:
            return True
    return False


def _remark_settling(otel: dict[str, Any], settled: Settled) -> None:
    issues = otel["evidence"]["issues"]
    if settled.reason == "over_limit":
        issues.append(
            {"code": "over_limit", "message": "the memory budget was reached before this trace was complete"}
        )
    if settled.forgotten:
        issues.append(
            {
                "code": "late_spans",
                "message": "spans came after this turn was sent and its earlier spans are no longer held",
            }
        )
    if settled.reason in ("idle", "max_age") and not any(item.local_root for item in settled.items):
        issues.append({"code": "root_missing", "message": "the root of this trace did not come in time"})
    if any(i["code"] in ("over_limit", "late_spans", "root_missing") for i in issues):
        otel["evidence"]["complete"] = False
