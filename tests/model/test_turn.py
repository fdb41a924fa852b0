"""The public types take exactly the shapes of the event stream reference, and give them back unchanged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from pydantic import TypeAdapter, ValidationError

from otel_turns.model import turn as t
from otel_turns.model.turn import MISSING, StreamEvent, Turn
from tests.model.examples import EVENTS, TURN, USAGE, turn
from tests.model.strategies import turns

CORPUS = Path(__file__).parents[1] / "corpus"
ANY_EVENT: TypeAdapter[Any] = TypeAdapter(StreamEvent)
CLASSES = {
    "message": t.MessageEvent,
    "operation.started tool": t.OperationStarted,
    "operation.finished tool": t.ToolOperationFinished,
    "operation.started subagent": t.OperationStarted,
    "operation.finished subagent": t.SubagentOperationFinished,
    "skill.loaded": t.SkillLoaded,
    "input.requested": t.InputRequested,
    "thinking": t.ThinkingEvent,
    "compaction": t.CompactionEvent,
    "error": t.ErrorEvent,
}
# As the reference marks them: what is written with a question mark.
OPTIONAL = {
    "message": {"loc"},
    "operation.started tool": {"operation.tool"},
    "operation.finished tool": {"output"},
    "operation.started subagent": {"operation.remoteUrl"},
    "operation.finished subagent": {"output"},
    "skill.loaded": {"operationId"},
    "input.requested": {"request.id", "request.action", "request.input", "request.prompt", "request.options"},
    "thinking": set[str](),
    "compaction": {"reason"},
    "error": set[str](),
}
# Any JSON value stands here, and null is one.
NULLABLE = {"operation.input", "output", "request.input"}


def paths(event: dict[str, Any], before: str = "") -> list[str]:
    found: list[str] = []
    for name, value in event.items():
        found.append(before + name)
        if name in ("operation", "request"):
            found += paths(value, f"{name}.")
    return found


def parts(event: dict[str, Any], path: str) -> tuple[dict[str, Any], str]:
    *outer, last = path.split(".")
    for name in outer:
        event = event[name]
    return event, last


def refused(event: dict[str, Any]) -> bool:
    try:
        ANY_EVENT.validate_python(event)
    except ValidationError:
        return True
    return False


@pytest.mark.parametrize("name", EVENTS)
def test_each_variant_is_read_and_written_unchanged(name: str) -> None:
    event = ANY_EVENT.validate_python(EVENTS[name])
    assert type(event) is CLASSES[name]
    assert event.to_dict() == EVENTS[name]
    assert ANY_EVENT.validate_json(event.to_json()) == event


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in EVENTS for path in paths(EVENTS[name])])
def test_a_member_may_be_left_out_only_where_the_reference_says_so(name: str, path: str) -> None:
    event = json.loads(json.dumps(EVENTS[name]))
    holder, last = parts(event, path)
    del holder[last]
    assert refused(event) == (path not in OPTIONAL[name])
    if path in OPTIONAL[name]:
        assert ANY_EVENT.validate_python(event).to_dict() == event


@pytest.mark.parametrize(("name", "path"), [(name, path) for name in EVENTS for path in paths(EVENTS[name])])
def test_null_is_taken_only_where_any_json_stands(name: str, path: str) -> None:
    event = json.loads(json.dumps(EVENTS[name]))
    holder, last = parts(event, path)
    holder[last] = None
    assert refused(event) == (path not in NULLABLE)


@pytest.mark.parametrize(
    ("name", "inner"),
    [
        *((name, None) for name in EVENTS),
        ("operation.started tool", "operation"),
        ("operation.started subagent", "operation"),
        ("input.requested", "request"),
    ],
)
def test_a_member_that_no_shape_has_is_refused(name: str, inner: str | None) -> None:
    event = json.loads(json.dumps(EVENTS[name]))
    (event if inner is None else event[inner])["more"] = 1
    assert refused(event)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "tool.called", "name": "x"},
        {**EVENTS["message"], "role": "system"},
        {**EVENTS["message"], "text": 5},
        {**EVENTS["message"], "loc": "main.py"},
        {**EVENTS["operation.finished tool"], "kind": "skill"},
        {**EVENTS["operation.finished tool"], "status": "waiting"},
        {**EVENTS["operation.finished subagent"], "status": "rejected"},
        {
            **EVENTS["operation.started tool"],
            "operation": {"kind": "tool", "name": "x", "input": 1, "tool": "Read"},
        },
        {
            **EVENTS["operation.started subagent"],
            "operation": {"kind": "subagent", "name": "x", "input": 1},
        },
    ],
)
def test_what_the_reference_does_not_know_is_refused(event: dict[str, Any]) -> None:
    assert refused(event)


def test_tool_names_are_the_canonical_ones() -> None:
    assert set(get_args(t.ToolName)) == {
        *("file_read", "file_write", "file_edit", "shell", "web_fetch", "web_search"),
        *("glob", "grep", "list_dir", "agent_task", "unknown"),
    }


def test_null_output_and_no_output_are_two_things() -> None:
    event = {k: v for k, v in EVENTS["operation.finished tool"].items() if k != "output"}
    absent = ANY_EVENT.validate_python(event)
    null = ANY_EVENT.validate_python({**event, "output": None})
    assert absent.output is MISSING
    assert null.output is None
    assert absent != null
    assert "output" not in absent.to_dict()
    assert null.to_dict()["output"] is None
    assert json.loads(null.to_json()) == {**event, "output": None}


def test_null_data_and_no_data_are_two_things() -> None:
    assert Turn.model_validate(turn()).data is MISSING
    assert Turn.model_validate_json('{"events":[],"data":null,"status":"failed"}').data is None
    assert Turn(events=[], status="failed", data=None).to_json() == (
        '{"events":[],"data":null,"status":"failed"}'
    )
    assert Turn(events=[], status="failed").to_json() == '{"events":[],"status":"failed"}'


def test_a_turn_made_in_python_has_the_wire_form() -> None:
    made = Turn(
        events=[
            t.MessageEvent(role="assistant", text="hé"),
            t.OperationStarted(operationId="c1", operation=t.ToolOperation(name="ls", input=None)),
            t.ToolOperationFinished(operationId="c1", status="rejected"),
        ],
        status="waiting",
        usage=t.Usage(requests=1),
    )
    assert made.to_json() == (
        '{"events":[{"type":"message","role":"assistant","text":"hé"},'
        '{"type":"operation.started","operationId":"c1","operation":{"kind":"tool","name":"ls","input":null}},'
        '{"type":"operation.finished","operationId":"c1","kind":"tool","status":"rejected"}],'
        '"status":"waiting","usage":{"requests":1}}'
    )


@pytest.mark.parametrize("name", USAGE)
def test_each_count_is_optional_and_never_null(name: str) -> None:
    rest = {k: v for k, v in USAGE.items() if k != name}
    assert t.Usage.model_validate(rest).to_dict() == rest
    with pytest.raises(ValidationError):
        t.Usage.model_validate({**USAGE, name: None})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("inputTokens", -1),
        ("inputTokens", "5"),
        ("inputTokens", True),
        ("inputTokens", 1.5),
        ("costUSD", "0.1"),
        ("costUSD", -0.1),
        ("costUSD", float("inf")),
        ("estimatedCostUSD", 1.0),
    ],
)
def test_usage_takes_numbers_only(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        t.Usage.model_validate({name: value})


@pytest.mark.parametrize(
    "value", [float("nan"), float("-inf"), "\ud800", {"\ud800": 1}, {1: 2}, (1,), object()]
)
@pytest.mark.parametrize("depth", [0, 1, 5])
def test_data_takes_json_only(value: Any, depth: int) -> None:
    for _ in range(depth):
        value = {"a": [value]}
    with pytest.raises(ValidationError):
        Turn.model_validate(turn(data=value))


def test_json_keeps_its_types_and_its_order() -> None:
    data = '{"b":1,"a":[1.0,true,null,"",{},[],123456789012345678901234567890]}'
    text = f'{{"events":[],"data":{data},"status":"failed"}}'
    assert Turn.model_validate_json(text).to_json() == text


def test_objects_are_frozen() -> None:
    read = Turn.model_validate(TURN)
    with pytest.raises(ValidationError, match="frozen"):
        read.status = "failed"  # pyright: ignore[reportAttributeAccessIssue]  # the refusal is the point


def test_errors_show_no_content() -> None:
    with pytest.raises(ValidationError) as caught:
        Turn.model_validate(turn({**EVENTS["message"], "text": {"secret": 5}}))
    assert "secret" not in str(caught.value)


def test_each_turn_of_the_corpus_comes_back_unchanged() -> None:
    """The truth of recorded traffic was written by hand and by script, and not by these types."""
    found = [
        truth
        for path in sorted(CORPUS.glob("*.truth.json"))
        for truth in json.loads(path.read_bytes())["turns"]
    ]
    assert len(found) > 100
    for truth in found:
        wanted = {name: truth[name] for name in ("events", "data", "status", "usage") if name in truth}
        assert Turn.model_validate_json(json.dumps(wanted)).to_dict() == wanted


@given(turns)
def test_any_turn_comes_back_unchanged(wanted: dict[str, Any]) -> None:
    read = Turn.model_validate(wanted)
    assert read.to_dict() == wanted
    again = Turn.model_validate_json(read.to_json())
    assert again == read
    assert json.loads(read.to_json()) == wanted
