"""The buffer against a model that looks at everything each time, and its promises under a budget that is
too small.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from otel_turns.model.span import LogRecord, Span
from otel_turns.traces.buffer import ITEM_COST, TOMBSTONE_COST, TRACE_COST, Settled, TraceBuffer

LINGER, IDLE, MAX_AGE, REOPEN_FOR = 2, 20, 50, 30


@dataclass(frozen=True, eq=False)
class Piece:
    """An item with its own identity: two with the same ids are two deliveries of one span."""

    trace_id: bytes | None
    span_id: bytes | None
    local_root: bool
    size: int

    def load(self) -> Span | LogRecord:
        raise AssertionError("the buffer never parses")


def piece(trace: int, span: int, size: int = 10) -> Piece:
    if trace < 0:
        return Piece(None, None, False, size)
    return Piece(trace.to_bytes(16, "big"), span.to_bytes(8, "big"), span == 0, size)


PIECES = st.builds(piece, st.integers(-1, 3), st.integers(0, 5), st.integers(0, 40))


@dataclass
class Known:
    """Everything that ever happened to one trace."""

    state: str = "new"  # new, open, kept, gone
    items: list[tuple[int, Piece]] = field(default_factory=list[tuple[int, Piece]])
    opened: int = 0
    touched: int = 0
    settled_at: int = 0
    holds: int = 0
    ended: bool = False
    revision: int = 0
    unseen: int = 0
    forgotten: int = 0


class BufferMachine(RuleBasedStateMachine):
    """Any sequence of calls, without a budget that bites: the same settlements as the model says."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.buffer = TraceBuffer(
            linger=LINGER, idle=IDLE, max_age=MAX_AGE, reopen_for=REOPEN_FOR, clock=lambda: self.now
        )
        self.traces: dict[bytes | None, Known] = {}
        self.accepted = self.duplicates = self.settled = 0

    def known(self, trace_id: bytes | None) -> Known:
        return self.traces.setdefault(trace_id, Known())

    def open(self, known: Known) -> None:
        if known.state != "open":
            if known.state != "kept":
                known.items, known.holds = [], 0
            known.state, known.opened, known.touched, known.unseen = "open", self.now, self.now, 0

    @rule(seconds=st.integers(1, 25))
    def time_passes(self, seconds: int) -> None:
        self.now += seconds

    @rule(pieces=st.lists(PIECES, max_size=6))
    def items_come(self, pieces: list[Piece]) -> None:
        fresh = 0
        for item in pieces:
            known = self.known(item.trace_id)
            held = [p.span_id for _, p in known.items] if known.state in ("open", "kept") else []
            if item.span_id is not None and item.span_id in held:
                continue
            self.open(known)
            known.items.append((self.now, item))
            known.touched = self.now
            known.unseen += 1
            known.ended |= item.local_root
            fresh += 1
        self.accepted += len(pieces)
        self.duplicates += len(pieces) - fresh
        # A duplicate alone is no sign of life; next to new items of its trace it changes nothing either.
        assert self.buffer.add(pieces) == fresh

    @rule(trace=st.integers(0, 3))
    def a_span_starts(self, trace: int) -> None:
        trace_id = trace.to_bytes(16, "big")
        known = self.known(trace_id)
        if known.state != "kept":
            self.open(known)
        known.holds += 1
        self.buffer.hold(trace_id)

    @rule(trace=st.integers(0, 3))
    def a_span_ends(self, trace: int) -> None:
        trace_id = trace.to_bytes(16, "big")
        known = self.known(trace_id)
        if known.state in ("open", "kept") and known.holds:
            known.holds -= 1
            if known.state == "open" and not known.holds:
                if known.items:
                    known.touched = self.now
                else:
                    known.state = "gone" if known.revision else "new"
        self.buffer.release(trace_id)

    def reason(self, known: Known) -> str | None:
        if not known.holds and known.ended and known.touched + LINGER <= self.now:
            return "ended"
        if not known.holds and not known.ended and known.touched + IDLE <= self.now:
            return "idle"
        return "max_age" if known.opened + MAX_AGE <= self.now else None

    def settle(self, trace_id: bytes | None, known: Known, reason: str) -> list[tuple[object, ...]]:
        if not known.items:
            known.state, known.holds = ("gone" if known.revision else "new"), 0
            return []
        items = tuple(id(p) for _, p in known.items)
        out: list[tuple[object, ...]] = [(trace_id, items, known.revision, reason, known.forgotten)]
        known.revision += 1
        self.settled += known.unseen
        known.unseen = 0
        known.state, known.settled_at = "kept", self.now
        if trace_id is None:
            known.items = [(at, p) for at, p in known.items if at + REOPEN_FOR > self.now]
            if not known.items:
                known.state = "gone"
        return out

    @staticmethod
    def seen(out: list[Settled]) -> Counter[tuple[object, ...]]:
        return Counter(
            (s.trace_id, tuple(id(item) for item in s.items), s.revision, s.reason, s.forgotten) for s in out
        )

    @rule()
    def what_is_due_is_collected(self) -> None:
        expected: Counter[tuple[object, ...]] = Counter()
        for trace_id, known in self.traces.items():
            if known.state == "open" and (reason := self.reason(known)):
                expected.update(self.settle(trace_id, known, reason))
        for trace_id, known in self.traces.items():
            if known.state == "kept" and known.settled_at + REOPEN_FOR <= self.now:
                if known.holds:
                    known.settled_at = self.now
                else:
                    known.state = "gone"
                    known.forgotten += 0 if trace_id is None else len(known.items)
        assert self.seen(self.buffer.due()) == expected

    @rule()
    def everything_is_collected(self) -> None:
        expected: Counter[tuple[object, ...]] = Counter()
        for trace_id, known in self.traces.items():
            if known.state == "open":
                expected.update(self.settle(trace_id, known, "drain"))
        assert self.seen(self.buffer.drain()) == expected

    @invariant()
    def every_item_is_somewhere(self) -> None:
        c = self.buffer.counters
        unseen = sum(known.unseen for known in self.traces.values())
        assert (c.accepted, c.duplicates, c.settled, c.open, c.ready) == (
            self.accepted,
            self.duplicates,
            self.settled,
            unseen,
            0,
        )
        assert c.accepted == c.settled + c.ready + c.open + c.duplicates

    @invariant()
    def every_byte_is_counted(self) -> None:
        held = [known for known in self.traces.values() if known.state in ("open", "kept")]
        gone = sum(known.state == "gone" for known in self.traces.values())
        items = [p for known in held for _, p in known.items]
        assert self.buffer.held_bytes == (
            len(held) * TRACE_COST + sum(p.size + ITEM_COST for p in items) + gone * TOMBSTONE_COST
        )

    @invariant()
    def the_next_time_is_the_first_at_which_something_changes(self) -> None:
        times: list[int] = []
        for known in self.traces.values():
            if known.state == "open":
                times.append(known.opened + MAX_AGE)
                if not known.holds:
                    times.append(known.touched + (LINGER if known.ended else IDLE))
            elif known.state == "kept":
                times.append(known.settled_at + REOPEN_FOR)
        assert self.buffer.next_due() == min(times, default=None)


TestBufferMachine = BufferMachine.TestCase
TestBufferMachine.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)


STEPS = st.one_of(
    st.lists(st.builds(piece, st.integers(-1, 12), st.integers(0, 6), st.integers(0, 3_000)), max_size=8),
    st.integers(1, 30),
    st.just("due"),
)

# Less than the items may come to, and enough for a tombstone of each trace.
ROOMY = 14 * 16 * TOMBSTONE_COST


@given(steps=st.lists(STEPS, max_size=60), budget=st.one_of(st.integers(1, 12_000), st.just(ROOMY)))
def test_under_any_budget_each_item_is_handed_out_and_each_revision_follows_the_last(
    steps: list[list[Piece] | int | str], budget: int
) -> None:
    now = 0
    buffer = TraceBuffer(
        linger=LINGER,
        idle=IDLE,
        max_age=MAX_AGE,
        reopen_for=REOPEN_FOR,
        budget_bytes=budget,
        clock=lambda: now,
    )
    out: list[Settled] = []
    given_items: list[Piece] = []
    for step in steps:
        if isinstance(step, int):
            now += step
        elif isinstance(step, str):
            out += buffer.due()
        else:
            buffer.add(step)
            given_items += step
            counters = buffer.counters
            assert (
                counters.accepted == counters.settled + counters.ready + counters.open + counters.duplicates
            )
            assert counters.ready or buffer.held_bytes <= budget
    out += buffer.drain()

    handed_out = {id(item) for settled in out for item in settled.items}
    assert handed_out <= {id(item) for item in given_items}
    assert len(handed_out) == len(given_items) - buffer.counters.duplicates
    by_trace: dict[bytes | None, list[Settled]] = {}
    for settled in out:
        assert {item.trace_id for item in settled.items} == {settled.trace_id}
        by_trace.setdefault(settled.trace_id, []).append(settled)
    for settlements in by_trace.values():
        revisions = [settled.revision for settled in settlements]
        assert revisions == list(range(len(revisions))) or budget < ROOMY
    assert buffer.counters.ready == buffer.counters.open == 0
    assert buffer.counters.settled == len(handed_out)
