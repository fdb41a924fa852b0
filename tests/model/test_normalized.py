"""Every spelling and form of a NormalizedEvent is read into the same variant, and nothing is guessed."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.model import normalized as n
from tests.model.strategies import json_objects, json_values, texts

# As the variant document and the wire names have it: class, wire name, fields of an example.
VARIANTS: dict[str, tuple[str, n.NormalizedEvent, dict[str, Any]]] = {
    "StreamStart": ("stream.start", n.StreamStart("r1"), {"request_id": "r1"}),
    "MessageDelta": ("message.delta", n.MessageDelta("a"), {"text": "a"}),
    "ThinkingDelta": ("thinking.delta", n.ThinkingDelta("b"), {"text": "b"}),
    "ReasoningDelta": ("reasoning.delta", n.ReasoningDelta(""), {"text": ""}),
    "CitationAdded": (
        "citation.added",
        n.CitationAdded({"index": 0, "url": "doc:1", "title": "One"}),
        {"index": 0, "url": "doc:1", "title": "One"},
    ),
    "MemoryUpdate": (
        "memory.update",
        n.MemoryUpdate("k", "v", "append"),
        {"key": "k", "value": "v", "operation": "append"},
    ),
    "SkillActivation": (
        "skill.activation",
        n.SkillActivation("pdf", "activated"),
        {"name": "pdf", "status": "activated"},
    ),
    "Custom": (
        "custom",
        n.Custom("x", "whatever", {"a": [1, None]}),
        {"source": "x", "event_name": "whatever", "payload": {"a": [1, None]}},
    ),
    "ToolCallDelta": (
        "tool_call.delta",
        n.ToolCallDelta(1, "c1", "ls", '{"pa'),
        {"call_index": 1, "id": "c1", "name": "ls", "arguments_delta": '{"pa'},
    ),
    "ToolCallComplete": (
        "tool_call.complete",
        n.ToolCallComplete(0, "c1", "ls", "{}"),
        {"call_index": 0, "id": "c1", "name": "ls", "arguments_json": "{}"},
    ),
    "ToolResult": (
        "tool_result",
        n.ToolResult("c1", "ls", "no such file", False),
        {"id": "c1", "name": "ls", "content": "no such file", "success": False},
    ),
    "SandboxOutput": ("sandbox.output", n.SandboxOutput("stdout", "hi"), {"stream": "stdout", "data": "hi"}),
    "Error": (
        "error",
        n.Error("exploded", "MAX_ITERATIONS"),
        {"message": "exploded", "code": "MAX_ITERATIONS"},
    ),
    "Usage": (
        "usage",
        n.Usage(240, 60, 300, 80, 5),
        {
            "prompt_tokens": 240,
            "completion_tokens": 60,
            "total_tokens": 300,
            "cached_tokens": 80,
            "cache_creation_tokens": 5,
        },
    ),
    "RuntimeStep": ("runtime.step", n.RuntimeStep(3, "finished"), {"step": 3, "kind": "finished"}),
    "Done": ("done", n.Done(), {}),
}
# What the document calls an Option, and what its wire form gives a default.
OPTIONAL: dict[str, dict[str, Any]] = {
    "MemoryUpdate": {"operation": "set"},
    "ToolCallDelta": {"id": None, "name": None, "arguments_delta": None},
    "ToolResult": {"success": True},
    "Error": {"code": None},
    "Usage": {"total_tokens": 300, "cached_tokens": None, "cache_creation_tokens": None},
}
NULLABLE = {("Custom", "payload")}
FIELDS = [
    (name, field) for name in VARIANTS if name != "CitationAdded" for field in VARIANTS[name][2]
]  # a citation's fields are not told

FORMS = get_args(Literal["adjacent", "internal", "external"])

u32 = st.integers(min_value=0, max_value=2**32 - 1)
usize = st.integers(min_value=0, max_value=2**64 - 1)
maybe = st.none() | texts
events: st.SearchStrategy[Any] = st.one_of(
    st.builds(n.StreamStart, texts),
    st.builds(n.MessageDelta, texts),
    st.builds(n.ThinkingDelta, texts),
    st.builds(n.ReasoningDelta, texts),
    st.builds(n.CitationAdded, json_objects.filter(lambda c: c and "type" not in c and "data" not in c)),
    st.builds(n.MemoryUpdate, texts, texts, texts),
    st.builds(n.SkillActivation, texts, texts),
    st.builds(n.Custom, texts, texts, json_values),
    st.builds(n.ToolCallDelta, usize, maybe, maybe, maybe),
    st.builds(n.ToolCallComplete, usize, texts, texts, texts),
    st.builds(n.ToolResult, texts, texts, texts, st.booleans()),
    st.builds(n.SandboxOutput, texts, texts),
    st.builds(n.Error, texts, maybe),
    st.builds(n.Usage, u32, u32, u32, st.none() | u32, st.none() | u32),
    st.builds(n.RuntimeStep, u32, st.sampled_from(["started", "finished"])),
    st.just(n.Done()),
)


def malformed(call: Any, *arguments: Any) -> n.MalformedEvent:
    with pytest.raises(n.MalformedEvent) as caught:
        call(*arguments)
    return caught.value


def test_there_are_the_16_variants_in_the_document_order() -> None:
    order = [
        "StreamStart",
        "MessageDelta",
        "ThinkingDelta",
        "ReasoningDelta",
        "CitationAdded",
        "MemoryUpdate",
        "SkillActivation",
        "Custom",
        "ToolCallDelta",
        "ToolCallComplete",
        "ToolResult",
        "SandboxOutput",
        "Error",
        "Usage",
        "RuntimeStep",
        "Done",
    ]
    assert list(n.VARIANTS) == order
    assert list(get_args(n.VariantName)) == order
    assert {each.__name__ for each in get_args(n.NormalizedEvent)} == set(order)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "CitationAdded"])
def test_each_variant_has_the_document_fields(name: str) -> None:
    assert [field.name for field in dataclasses.fields(VARIANTS[name][1])] == list(VARIANTS[name][2])
    assert not hasattr(VARIANTS[name][1], "__dict__")


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("prefix", ["", "normalized.", "uar."])
def test_a_name_is_known_in_each_spelling(name: str, prefix: str) -> None:
    wire = VARIANTS[name][0]
    for spelling in (wire, wire.replace(".", "_"), wire.replace("_", "."), name):
        assert n.variant_name(prefix + spelling) == name
        assert n.parse_fields(prefix + spelling, VARIANTS[name][2]) == VARIANTS[name][1]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gen_ai.choice",
        "exception",
        "Message.Delta",
        "messagedelta",
        "MESSAGE_DELTA",
        "uar.",
        "xuar.done",
        "log",
    ],
)
def test_another_name_is_no_variant(name: str) -> None:
    assert n.variant_name(name) is None
    assert "names no variant" in str(malformed(n.parse_fields, name, {}))


@pytest.mark.parametrize("name", VARIANTS)
def test_all_forms_of_an_event_are_read(name: str) -> None:
    wire, event, fields = VARIANTS[name]
    snake = wire.replace(".", "_")
    assert n.parse_wire({"type": wire, "data": fields}) == event
    assert n.parse_wire({"type": snake, **fields}) == event
    assert n.parse_wire({name: fields}) == event
    assert n.parse_wire({wire: fields}) == event
    assert n.parse_wire({"type": f"uar.{name}", "data": fields}) == event
    assert n.parse_json(json.dumps({"type": wire, "data": fields})) == event
    assert n.parse_json(json.dumps({name: fields}).encode()) == event


@pytest.mark.parametrize(
    "value", ["Done", "done", {"type": "done"}, {"type": "Done", "data": None}, {"Done": None}]
)
def test_a_variant_without_fields_is_read_from_its_name(value: Any) -> None:
    assert n.parse_wire(value) == n.Done()


@pytest.mark.parametrize("name", VARIANTS)
def test_events_are_written_in_the_three_forms(name: str) -> None:
    wire, event, fields = VARIANTS[name]
    if name == "Done":
        wanted = ({"type": "done"}, {"type": "done"}, "Done")
    else:
        wanted = (
            {"type": wire, "data": fields},
            {"type": wire.replace(".", "_"), **fields},
            {name: fields},
        )
    assert tuple(n.to_wire(event, form) for form in FORMS) == wanted
    assert n.to_wire(event) == wanted[0]
    assert n.wire_name(event) == wire


@given(events, st.sampled_from(FORMS))
def test_any_event_comes_back_from_each_form(event: Any, form: Any) -> None:
    assert n.parse_wire(n.to_wire(event, form)) == event
    assert n.parse_json(json.dumps(n.to_wire(event, form))) == event


@given(events)
def test_any_event_comes_back_from_a_span_event(event: Any) -> None:
    attributes = n.to_fields(event)
    assert all(isinstance(value, (str, bool, int)) for value in attributes.values())
    assert n.parse_fields(n.wire_name(event), attributes) == event


@pytest.mark.parametrize(("name", "field"), FIELDS)
@pytest.mark.parametrize("absent", ["missing", "null"])
def test_an_absent_field_is_an_error_or_has_its_default(name: str, field: str, absent: str) -> None:
    fields = dict(VARIANTS[name][2])
    if absent == "missing":
        del fields[field]
    else:
        fields[field] = None
    optional = OPTIONAL.get(name, {})
    if field in optional:
        event = n.parse_wire({name: fields})
        assert event == dataclasses.replace(VARIANTS[name][1], **{field: optional[field]})
    elif absent == "null" and (name, field) in NULLABLE:
        assert n.parse_wire({name: fields}) == n.Custom("x", "whatever", None)
    else:
        error = malformed(n.parse_wire, {name: fields})
        assert (error.variant, error.field) == (name, field)
        assert str(error) == f"{name}.{field}: this field is missing"


@pytest.mark.parametrize(("name", "field"), [each for each in FIELDS if each not in NULLABLE])
@pytest.mark.parametrize(
    "wrong", [[], {}, ["s3cret"], {"s3cret": 1}, b"s3cret", -1, 0.5, float("nan"), 2**64]
)
def test_a_wrong_type_is_an_error_that_shows_no_value(name: str, field: str, wrong: Any) -> None:
    error = malformed(n.parse_wire, {name: {**VARIANTS[name][2], field: wrong}})
    assert (error.variant, error.field) == (name, field)
    assert str(error).startswith(f"{name}.{field}: this is not ")
    assert "s3cret" not in str(error)


@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("MessageDelta", "text", 5),
        ("MessageDelta", "text", True),
        ("ToolResult", "content", {"temp_c": 18}),
        ("ToolResult", "success", 1),
        ("ToolResult", "success", "yes"),
        ("Usage", "prompt_tokens", "many"),
        ("Usage", "prompt_tokens", True),
        ("Usage", "prompt_tokens", "-1"),
        ("Usage", "prompt_tokens", "1.0"),
        ("Usage", "prompt_tokens", "²"),
        ("Usage", "prompt_tokens", ""),
        ("Usage", "prompt_tokens", 2**32),
        ("ToolCallDelta", "call_index", "x"),
        ("RuntimeStep", "kind", "paused"),
        ("RuntimeStep", "kind", 1),
    ],
)
def test_types_are_strict(name: str, field: str, value: Any) -> None:
    error = malformed(n.parse_wire, {name: {**VARIANTS[name][2], field: value}})
    assert (error.variant, error.field) == (name, field)


@pytest.mark.parametrize(
    ("name", "field", "value", "wanted"),
    [
        ("Usage", "prompt_tokens", "240", 240),
        ("Usage", "cached_tokens", "0", 0),
        ("Usage", "prompt_tokens", 240.0, 240),
        ("Usage", "prompt_tokens", 2**32 - 1, 2**32 - 1),
        ("ToolCallDelta", "call_index", str(2**64 - 1), 2**64 - 1),
        ("ToolResult", "success", "false", False),
        ("ToolResult", "success", "True", True),
        ("RuntimeStep", "kind", "Started", "started"),
        ("RuntimeStep", "kind", "Finished", "finished"),
        ("RuntimeStep", "kind", "step_started", "started"),
        ("RuntimeStep", "kind", "finish", "finished"),
    ],
)
def test_what_stores_do_to_values_is_undone(name: str, field: str, value: Any, wanted: Any) -> None:
    event = n.parse_wire({name: {**VARIANTS[name][2], field: value}})
    assert getattr(event, field) == wanted
    assert type(getattr(event, field)) is type(wanted)


def test_a_total_that_is_absent_is_the_sum() -> None:
    assert n.parse_fields("usage", {"prompt_tokens": 7, "completion_tokens": 5}) == n.Usage(7, 5, 12)


def test_a_total_that_is_given_is_not_corrected() -> None:
    fields = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 99}
    assert n.parse_fields("usage", fields) == n.Usage(7, 5, 99)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "CitationAdded"])
def test_fields_that_a_variant_does_not_have_are_ignored(name: str) -> None:
    wire, event, fields = VARIANTS[name]
    assert n.parse_fields(wire, {**fields, "cost_usd": 0.42}) == event
    assert n.parse_wire({"type": wire, "data": {**fields, "cost_usd": 0.42}, "seq": 5}) == event


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        [],
        {},
        "MessageDelta",
        "Unknown",
        {"type": "unknown", "data": {}},
        {"type": 5, "data": {}},
        {"Unknown": {}},
        {"MessageDelta": {"text": "a"}, "Done": None},
        {"MessageDelta": "a"},
        {"type": "message.delta"},
        {"type": "message.delta", "data": "a"},
        {"type": "message.delta", "data": None},
        {"type": "citation.added"},
        {"type": "citation.added", "data": {}},
        {"data": {"text": "a"}},
    ],
)
def test_what_is_no_event_is_malformed(value: Any) -> None:
    malformed(n.parse_wire, value)


@pytest.mark.parametrize("text", ["", "{not json", "[" * 100_000, '{"type": NaN}', b"\xff"])
def test_what_is_no_json_is_malformed(text: str | bytes) -> None:
    assert str(malformed(n.parse_json, text)) == "NormalizedEvent: this is not JSON"


@given(json_values | st.fixed_dictionaries({"type": st.sampled_from(list(VARIANTS)), "data": json_values}))
def test_no_json_value_raises_anything_else(value: Any) -> None:
    try:
        event = n.parse_wire(value)
    except n.MalformedEvent:
        return
    assert n.parse_wire(n.to_wire(event)) == event


def test_internal_output_of_a_sandbox_is_not_taken_for_the_adjacent_form() -> None:
    assert n.parse_wire({"type": "sandbox_output", "stream": "stderr", "data": "x"}) == n.SandboxOutput(
        "stderr", "x"
    )


@pytest.mark.parametrize("citation", [{"type": "web", "url": "doc:1"}, {"data": {"url": "doc:1"}}])
def test_a_citation_that_the_internal_form_cannot_hold_is_refused(citation: dict[str, Any]) -> None:
    event = n.CitationAdded(citation)
    with pytest.raises(ValueError, match="internally tagged"):
        n.to_wire(event, "internal")
    assert n.parse_wire(n.to_wire(event)) == event


@pytest.mark.parametrize(
    "attributes",
    [
        {"index": 0, "url": "doc:1"},
        {"citation": '{"index": 0, "url": "doc:1"}'},
        {"citation": {"index": 0, "url": "doc:1"}},
    ],
)
def test_a_citation_is_read_from_its_fields_or_from_json(attributes: dict[str, Any]) -> None:
    assert n.parse_fields("citation.added", attributes) == n.CitationAdded({"index": 0, "url": "doc:1"})


@pytest.mark.parametrize("attributes", [{}, {"citation": "{"}, {"citation": "[1]"}, {"citation": 5}])
def test_a_citation_of_nothing_is_malformed(attributes: dict[str, Any]) -> None:
    assert malformed(n.parse_fields, "citation.added", attributes).variant == "CitationAdded"


@pytest.mark.parametrize(
    ("attribute", "payload"),
    [
        ('{"a": 1}', {"a": 1}),
        ('"text"', "text"),
        ("null", None),
        ("plain words", "plain words"),
        ("NaN", "NaN"),
        ({"a": 1}, {"a": 1}),
        (5, 5),
    ],
)
def test_a_payload_is_parsed_where_it_is_json(attribute: Any, payload: Any) -> None:
    fields = {"source": "x", "event_name": "e", "payload": attribute}
    assert n.parse_fields("custom", fields) == n.Custom("x", "e", payload)


def test_a_payload_that_attributes_cannot_hold_is_null() -> None:
    assert n.parse_fields("custom", {"source": "x", "event_name": "e"}) == n.Custom("x", "e", None)


def test_a_payload_in_json_stays_as_it_is() -> None:
    fields = {"source": "x", "event_name": "e", "payload": '{"a": 1}'}
    assert n.parse_wire({"Custom": fields}) == n.Custom("x", "e", '{"a": 1}')
