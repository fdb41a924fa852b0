"""What the producer writes on a span is what a reader finds there, within what an SDK keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.trace import INVALID_SPAN, Span

from otel_turns.model.normalized import parse_fields
from otel_turns.model.variants import (
    CitationAdded,
    Custom,
    Done,
    Error,
    MemoryUpdate,
    MessageDelta,
    NormalizedEvent,
    ReasoningDelta,
    RuntimeStep,
    SandboxOutput,
    SkillActivation,
    StreamStart,
    ThinkingDelta,
    ToolCallComplete,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from otel_turns.producer import Recorder, RecorderCounts, record

EVERY = [
    StreamStart("req_1"),
    MessageDelta("Hello"),
    ThinkingDelta("hm"),
    ReasoningDelta("so"),
    CitationAdded({"url": "https://example.com", "spans": [1, 2]}),
    MemoryUpdate("key", "value", "append"),
    SkillActivation("pdf", "activated"),
    Custom("acme", "heat", {"deep": [1, None]}),
    Custom("acme", "nothing", None),
    ToolCallDelta(0, "c1", "search", '{"q":'),
    ToolCallDelta(0),
    ToolCallComplete(0, "c1", "search", '{"q": 1}'),
    ToolResult("c1", "search", "[]", False),
    SandboxOutput("stderr", "oops\n"),
    Error("broke", "e42"),
    Error("broke"),
    Usage(10, 5, 15, 3, 2),
    Usage(10, 5, 15),
    RuntimeStep(1, "started"),
    Done(),
]

NAMES = {
    "StreamStart": "stream.start",
    "MessageDelta": "message.delta",
    "ThinkingDelta": "thinking.delta",
    "ReasoningDelta": "reasoning.delta",
    "CitationAdded": "citation.added",
    "MemoryUpdate": "memory.update",
    "SkillActivation": "skill.activation",
    "Custom": "custom",
    "ToolCallDelta": "tool_call.delta",
    "ToolCallComplete": "tool_call.complete",
    "ToolResult": "tool_result",
    "SandboxOutput": "sandbox.output",
    "Error": "error",
    "Usage": "usage",
    "RuntimeStep": "runtime.step",
    "Done": "done",
}
"""The wire names; SEMANTICS section 6 for those that are documented."""


@pytest.fixture
def span() -> Iterator[Any]:
    span = new_span()
    yield span
    span.end()


def new_span() -> Any:
    provider = TracerProvider(resource=Resource({}), shutdown_on_exit=False)
    return provider.get_tracer("agent").start_span("chat")


def events(span: Any) -> Sequence[Event]:
    assert isinstance(span, ReadableSpan)
    return span.events


def found(span: Any) -> list[NormalizedEvent]:
    return [parse_fields(event.name, event.attributes or {}) for event in events(span)]


def ticking() -> Any:
    """A clock whose every reading is 1 ns later, from 1."""
    return iter(range(1, 10_000)).__next__


@pytest.mark.parametrize("event", EVERY, ids=repr)
def test_every_variant_is_written_and_read_back(span: Any, event: NormalizedEvent) -> None:
    record(span, event)
    assert found(span) == [event]
    assert events(span)[0].name == NAMES[type(event).__name__]


def test_an_event_stands_at_its_time(span: Span) -> None:
    record(span, Done(), time_unix_nano=123)
    record(span, Done())
    assert events(span)[0].timestamp == 123
    assert events(span)[1].timestamp > 1_600_000_000_000_000_000


def test_numbers_past_64_bits_with_sign_are_written_as_digits(span: Any) -> None:
    record(span, ToolCallDelta(2**64 - 1))
    assert found(span) == [ToolCallDelta(2**64 - 1)]
    assert events(span)[0].attributes == {"call_index": str(2**64 - 1)}


def test_a_span_that_does_not_record_is_left_alone() -> None:
    record(INVALID_SPAN, Done())
    with Recorder(INVALID_SPAN) as recorder:
        recorder.record(MessageDelta("x"))
    assert recorder.counts == RecorderCounts(recorded=0, written=0, superseded=0)


def test_deltas_are_joined_until_another_kind_comes_at_the_time_of_the_first(span: Any) -> None:
    with Recorder(span, clock=ticking()) as recorder:
        for piece in ("It ", "is ", "18."):
            recorder.record(MessageDelta(piece))
        for piece in ("a", "b"):
            recorder.record(ThinkingDelta(piece))
        recorder.record(ReasoningDelta("c"))
        recorder.record(Done())
    assert found(span) == [MessageDelta("It is 18."), ThinkingDelta("ab"), ReasoningDelta("c"), Done()]
    assert [event.timestamp for event in events(span)] == [1, 2, 3, 4]
    assert recorder.counts == RecorderCounts(recorded=7, written=4, superseded=0)


def test_leaving_writes_the_rest_also_after_an_error(span: Any) -> None:
    def break_off() -> None:
        with Recorder(span) as recorder:
            recorder.record(MessageDelta("half"))
            raise KeyError

    with pytest.raises(KeyError):
        break_off()
    assert found(span) == [MessageDelta("half")]


def test_a_thousand_deltas_fit_into_what_an_sdk_keeps(span: Any) -> None:
    with Recorder(span) as recorder:
        for n in range(1_000):
            recorder.record(MessageDelta(f"{n} "))
    assert found(span) == [MessageDelta("".join(f"{n} " for n in range(1_000)))]
    assert span.dropped_events == 0


def test_a_joined_delta_is_written_when_it_is_large(span: Any) -> None:
    with Recorder(span, max_chars=4, clock=ticking()) as recorder:
        for piece in ("ab", "cd", "e"):
            recorder.record(MessageDelta(piece))
    assert found(span) == [MessageDelta("abcd"), MessageDelta("e")]
    assert [event.timestamp for event in events(span)] == [1, 2]


def test_parallel_calls_are_joined_call_by_call(span: Any) -> None:
    with Recorder(span, clock=ticking()) as recorder:
        recorder.record(ToolCallDelta(0, "c0", "add", '{"a"'))
        recorder.record(ToolCallDelta(1, "c1"))
        recorder.record(ToolCallDelta(0, arguments_delta=": 1}"))
        recorder.record(ToolCallDelta(1, name="mul", arguments_delta="{}"))
        recorder.record(MessageDelta("x"))
    assert found(span) == [
        ToolCallDelta(0, "c0", "add", '{"a": 1}'),
        ToolCallDelta(1, "c1", "mul", "{}"),
        MessageDelta("x"),
    ]
    assert [event.timestamp for event in events(span)] == [1, 2, 3]


def test_a_whole_call_stands_for_its_deltas(span: Any) -> None:
    with Recorder(span) as recorder:
        recorder.record(ToolCallDelta(0, "c0", "add", "{"))
        recorder.record(ToolCallDelta(0, arguments_delta="}"))
        recorder.record(ToolCallDelta(1, "c1", "mul", "{"))
        recorder.record(ToolCallComplete(0, "c0", "add", "{}"))
    assert found(span) == [ToolCallDelta(1, "c1", "mul", "{"), ToolCallComplete(0, "c0", "add", "{}")]
    assert recorder.counts == RecorderCounts(recorded=4, written=2, superseded=2)


def test_a_whole_call_with_another_id_does_not_stand_for_them(span: Any) -> None:
    with Recorder(span) as recorder:
        recorder.record(ToolCallDelta(0, "c0", "add", "{"))
        recorder.record(ToolCallComplete(0, "c9", "add", "{}"))
    assert found(span) == [ToolCallDelta(0, "c0", "add", "{"), ToolCallComplete(0, "c9", "add", "{}")]


def test_a_new_call_of_the_same_index_is_not_joined_to_the_old_one(span: Any) -> None:
    with Recorder(span) as recorder:
        recorder.record(ToolCallDelta(0, "c0", "add", "{}"))
        recorder.record(ToolCallDelta(0, "c1", "add", "[]"))
    assert found(span) == [ToolCallDelta(0, "c0", "add", "{}"), ToolCallDelta(0, "c1", "add", "[]")]


def test_output_is_joined_stream_by_stream_in_order(span: Any) -> None:
    with Recorder(span) as recorder:
        for stream, data in (("stdout", "a"), ("stdout", "b"), ("stderr", "!"), ("stdout", "c")):
            recorder.record(SandboxOutput(stream, data))
    assert found(span) == [
        SandboxOutput("stdout", "ab"),
        SandboxOutput("stderr", "!"),
        SandboxOutput("stdout", "c"),
    ]


def text_of(stream: Sequence[NormalizedEvent]) -> list[tuple[str, str]]:
    """What each run of one kind of text says: what a reader makes of a stream, however it is cut."""
    runs: list[tuple[str, str]] = []
    for event in stream:
        if isinstance(event, MessageDelta | ThinkingDelta | ReasoningDelta):
            kind = type(event).__name__
            if runs and runs[-1][0] == kind:
                runs[-1] = (kind, runs[-1][1] + event.text)
            else:
                runs.append((kind, event.text))
        else:
            runs.append((type(event).__name__, repr(event)))
    return runs


@given(
    stream=st.lists(
        st.builds(MessageDelta, st.text(max_size=3))
        | st.builds(ThinkingDelta, st.text(max_size=3))
        | st.builds(ReasoningDelta, st.text(max_size=3))
        | st.builds(RuntimeStep, st.integers(0, 9), st.sampled_from(["started", "finished"])),
        max_size=40,
    ),
    max_chars=st.integers(1, 12),
)
def test_joining_changes_no_text_and_no_order(stream: list[NormalizedEvent], max_chars: int) -> None:
    span = new_span()
    with Recorder(span, max_chars=max_chars) as recorder:
        for event in stream:
            recorder.record(event)
    assert text_of(found(span)) == text_of(stream)
    assert recorder.counts.recorded == len(stream)
    assert recorder.counts.written == len(events(span))
    span.end()
