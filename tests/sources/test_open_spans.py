"""A trace is held once for each open span and released once for each that ends, and never for others."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import SpanContext

from otel_turns.sources.open_spans import OpenSpans


def context(span_id: int, trace_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False)


def trace(trace_id: int) -> bytes:
    return trace_id.to_bytes(16, "big")


def test_holds_what_started_and_releases_it_when_it_has_ended() -> None:
    spans = OpenSpans()
    spans.started(context(1, 7))
    assert spans.changes() == ([trace(7)], [])
    spans.ended(1)
    assert spans.changes() == ([], [trace(7)])
    assert spans.changes() == ([], [])


def test_a_span_within_one_round_needs_no_hold() -> None:
    spans = OpenSpans()
    spans.started(context(1, 7))
    spans.ended(1)
    assert spans.changes() == ([], [])


def test_a_span_whose_start_was_not_seen_releases_nothing() -> None:
    spans = OpenSpans()
    spans.started(context(1, 7))
    spans.changes()
    spans.ended(2)
    assert spans.changes() == ([], [])


def test_of_spans_that_never_end_the_oldest_are_let_go() -> None:
    spans = OpenSpans(most=2)
    for n in (1, 2, 3):
        spans.started(context(n, n))
    assert spans.changes() == ([trace(1), trace(2), trace(3)], [trace(1)])
    spans.ended(1)
    assert spans.changes() == ([], [])


@given(st.lists(st.tuples(st.sampled_from(["start", "end", "round"]), st.integers(1, 8))))
def test_no_trace_is_ever_released_more_often_than_held_and_all_are_in_the_end(
    steps: list[tuple[str, int]],
) -> None:
    spans = OpenSpans()
    held: Counter[bytes] = Counter()

    def settle() -> None:
        holds, releases = spans.changes()
        held.update(holds)
        held.subtract(releases)
        assert min(held.values(), default=0) >= 0

    started: set[int] = set()
    for what, n in steps:
        if what == "start" and n not in started:  # ids are unique
            started.add(n)
            spans.started(context(n, n % 3))
        elif what == "end":
            spans.ended(n)
        else:
            settle()
    for n in range(1, 9):
        spans.ended(n)
    settle()
    assert not any(held.values())
