"""NormalizedEvents among span events: every spelling and form, and what is not one."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.normalized import read_normalized
from otel_turns.model.facts import Convention, Facts
from otel_turns.model.normalized import (
    Custom,
    Done,
    Error,
    MessageDelta,
    NormalizedEvent,
    RuntimeStep,
    SkillActivation,
    StreamStart,
    ToolCallComplete,
    ToolCallDelta,
    ToolResult,
    Usage,
    to_fields,
    to_wire,
    wire_name,
)
from otel_turns.model.span import SpanEvent
from tests.dialects.spans import event, span, text

EVENTS: list[NormalizedEvent] = [
    StreamStart("r1"),
    MessageDelta("Hello"),
    ToolCallDelta(0, "c1", "get_weather", '{"ci'),
    ToolCallComplete(0, "c1", "get_weather", '{"city": "Paris"}'),
    ToolResult("c1", "get_weather", "18", True),
    SkillActivation("pdf", "activated"),
    Custom("x", "whatever", {"a": 1}),
    Error("boom", None),
    Usage(12, 3, 15, 4, None),
    RuntimeStep(1, "started"),
    Done(),
]


def read(*events: SpanEvent) -> Facts:
    facts = Facts(Convention(""))
    read_normalized(span(events=events), facts)
    return facts


@pytest.mark.parametrize("told", EVENTS, ids=wire_name)
def test_an_event_named_after_a_variant_carries_its_fields(told: NormalizedEvent) -> None:
    facts = read(event(wire_name(told), to_fields(told), 7))
    assert facts.normalized == [(7, told)]
    assert facts.marks == []


@pytest.mark.parametrize(
    "name",
    [
        "message.delta",
        "message_delta",
        "MessageDelta",
        "normalized.message.delta",
        "uar.message_delta",
        "uar.MessageDelta",
    ],
)
def test_every_spelling_of_a_name(name: str) -> None:
    assert read(event(name, {"text": "a"})).normalized == [(5_000, MessageDelta("a"))]


@pytest.mark.parametrize("name", ["NormalizedEvent", "normalized_event"])
@pytest.mark.parametrize("holder", ["event", "data", "payload", "body", "json"])
@pytest.mark.parametrize("form", ["adjacent", "internal", "external"])
@pytest.mark.parametrize("structured", [False, True])
def test_a_carrier_holds_the_event_in_any_form(name: str, holder: str, form: Any, structured: bool) -> None:
    told = ToolResult("c1", "f", '{"a": 1}', False)
    wire = to_wire(told, form)
    assert read(event(name, {holder: wire if structured else text(wire)})).normalized == [(5_000, told)]


def test_the_order_of_the_span_is_kept() -> None:
    facts = read(event("message.delta", {"text": "a"}, 5), event("message.delta", {"text": "b"}, 5))
    assert [told for _, told in facts.normalized] == [MessageDelta("a"), MessageDelta("b")]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("message.delta", {}),
        ("tool_result", {"id": "c1"}),
        ("tool_call.complete", {"call_index": "first", "id": "c", "name": "f", "arguments_json": "{}"}),
        ("uar.usage", {"prompt_tokens": "many", "completion_tokens": 1}),
        ("NormalizedEvent", {"data": "{not json"}),
        ("NormalizedEvent", {"data": text({"type": "unheard.of"})}),
        ("NormalizedEvent", {}),
    ],
)
def test_a_malformed_event_is_skipped_and_marked(name: str, fields: dict[str, Any]) -> None:
    facts = read(event(name, fields, 3), event("message.delta", {"text": "fine"}, 4))
    assert facts.normalized == [(4, MessageDelta("fine"))]
    assert [(mark.time, mark.kind) for mark in facts.marks] == [(3, "malformed")]


def test_the_mark_names_the_place_and_no_value() -> None:
    [mark] = read(event("message.delta", {"text": ["secret"]})).marks
    assert "MessageDelta.text" in mark.value
    assert "secret" not in mark.value


@pytest.mark.parametrize("name", ["error", "usage", "custom", "Error"])
def test_an_everyday_word_that_cannot_be_read_may_be_anybodys(name: str) -> None:
    assert read(event(name, {"code": 7})).marks == []
    assert len(read(event(name, {"code": 7}), event("message.delta", {"text": "a"})).marks) == 1


@pytest.mark.parametrize("name", ["exception", "gen_ai.choice", "message", "", "normalizedevents", "delta"])
def test_other_events_are_left_alone(name: str) -> None:
    facts = read(event(name, {"text": "a"}))
    assert (facts.normalized, facts.marks) == ([], [])
