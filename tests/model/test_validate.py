"""Each thing that can be wrong with a record is named by its path, and content is never shown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.model.record import Record
from otel_turns.model.validate import iter_problems
from tests.model.examples import EVENTS, OTEL, RECORD, TURN, finished, record, started, turn
from tests.model.strategies import json_values

QUESTION = EVENTS["input.requested"]


def problems(value: Any, **options: Any) -> list[str]:
    return list(iter_problems(value, **options))


def paths(value: Any, **options: Any) -> list[str]:
    return [problem.split(": ")[0] for problem in problems(value, **options)]


@pytest.mark.parametrize("right", [TURN, RECORD, turn(), record(), Record.model_validate(RECORD)])
def test_what_is_right_has_no_problem(right: Any) -> None:
    assert problems(right) == []


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        ({"type": "message", "role": "assistant"}, "events[1].text: is missing"),
        ({**EVENTS["message"], "role": "tool"}, "events[1].role: must be 'assistant' or 'user'"),
        ({**EVENTS["message"], "text": None}, "events[1].text: must be text"),
        (
            {**EVENTS["message"], "loc": {"a": float("nan")}},
            "events[1].loc: holds NaN or Infinity, which JSON does not have",
        ),
        ({**EVENTS["message"], "loc": None}, "events[1].loc: must be left out and not be null"),
        ({**EVENTS["thinking"], "more": 1}, "events[1].more: is no member of this object"),
        ({**EVENTS["thinking"], "a secret": 1}, "events[1].?: is no member of this object"),
        ({"text": "x"}, "events[1].type: is missing"),
        ("message", "events[1]: must be an object"),
        (
            {"type": "operation.started", "operationId": "a", "operation": {"kind": "tool", "name": "n"}},
            "events[1].operation.input: is missing",
        ),
        (
            {
                "type": "operation.started",
                "operationId": "a",
                "operation": {"kind": "tool", "name": "n", "input": {"secret": {"x": "\ud800"}}},
            },
            "events[1].operation.input: holds text that is no valid Unicode",
        ),
        (
            {"type": "operation.started", "operationId": "a", "operation": {"kind": "skill"}},
            "events[1].operation.kind: must be one of 'tool', 'subagent'",
        ),
        (
            {"type": "operation.started", "operationId": "a", "operation": {"name": "x"}},
            "events[1].operation.kind: is missing",
        ),
        (
            {**finished("a", "subagent"), "status": "rejected"},
            "events[1].status: must be 'completed' or 'failed'",
        ),
        ({**finished("a"), "kind": "skill"}, "events[1].kind: must be one of 'tool', 'subagent'"),
        (
            {"type": "input.requested", "request": {"options": [{"id": "a"}, {"label": "b"}]}},
            "events[1].request.options[1].id: is missing",
        ),
        (
            {"type": "input.requested", "request": {"options": "x"}},
            "events[1].request.options: must be a list",
        ),
    ],
)
def test_a_wrong_shape_is_named_by_its_path(event: Any, wanted: str) -> None:
    assert problems(turn(EVENTS["thinking"], event)) == [wanted]


def test_an_unknown_event_is_named_without_its_name() -> None:
    [problem] = problems(turn({"type": "secret"}))
    assert problem.startswith("events[0].type: must be one of 'message', ")
    assert "secret" not in problem


@pytest.mark.parametrize(
    ("otel", "wanted"),
    [
        ({"eventTimes": [5]}, "otel.eventTimes[0]: must be text"),
        ({"eventTimes": ["18446744073709551616"]}, "otel.eventTimes[0]: must be below 2^64"),
        ({"turnNumber": 0}, "otel.turnNumber: must be at least 1"),
        ({"revision": True}, "otel.revision: must be a whole number"),
        ({"agent": None}, "otel.agent: must be left out and not be null"),
        ({"agent": "a"}, "otel.agent: must be an object"),
        ({"traceId": "zz"}, "otel.traceId: must have the form ^([0-9a-f]{32})?$"),
        ({"evidence": {"complete": 1, "issues": []}}, "otel.evidence.complete: must be true or false"),
        (
            {"evidence": {"complete": True, "issues": [{"code": "clock_skew"}]}},
            "otel.evidence.issues[0].message: is missing",
        ),
        (
            {"annotations": [{"timeUnixNano": "1", "spanId": "", "type": "x", "data": {"k": [b""]}}]},
            "otel.annotations[0].data: holds something that JSON does not have",
        ),
    ],
)
def test_a_wrong_origin_is_named_by_its_path(otel: dict[str, Any], wanted: str) -> None:
    assert problems({**RECORD, "otel": {**OTEL, **otel}}) == [wanted]


@pytest.mark.parametrize("value", [None, 5, "x", [], [RECORD]])
def test_what_is_no_object_is_said_so(value: Any) -> None:
    assert problems(value) == ["record: must be an object"]


@given(
    json_values | st.dictionaries(st.sampled_from(["events", "status", "otel", "usage", "data"]), json_values)
)
def test_no_json_makes_it_raise(value: Any) -> None:
    assert all(": " in problem for problem in problems(value))


def test_an_operation_without_its_finish_is_a_problem() -> None:
    assert problems(turn(started("a"))) == [
        "events[0].operationId: has no operation.finished, and no evidence says so"
    ]
    assert paths(record(started("a"), issues=("spans_dropped",))) == ["events[0].operationId"]


def test_evidence_excuses_an_operation_without_its_finish() -> None:
    assert problems(record(started("a"), status="failed", issues=("operation_unfinished",))) == []
    named = record(started("a"), started("b"), status="failed", issues=("operation_unfinished",))
    named["otel"]["evidence"]["issues"][0]["operationId"] = "a"
    assert paths(named) == ["events[1].operationId"]


def test_a_bare_waiting_turn_may_hold_a_pending_operation() -> None:
    assert problems(turn(started("a"), QUESTION, status="waiting")) == []
    assert paths(record(started("a"), QUESTION, status="waiting")) == ["events[0].operationId"]


def test_a_finish_needs_its_start_before_it() -> None:
    assert paths(turn(finished("a"))) == ["events[0].operationId"]
    assert paths(turn(finished("a"), started("a"))) == ["events[0].operationId", "events[1].operationId"]
    assert paths(turn(started("a"), finished("b"))) == ["events[1].operationId", "events[0].operationId"]


def test_a_finish_may_stand_alone_where_the_session_is_folded() -> None:
    lone = turn(finished("a"), started("b"), finished("b"))
    assert problems(lone, resumed_operations="finish") == []
    assert paths(turn(finished("a"), finished("a")), resumed_operations="finish") == ["events[1].operationId"]


def test_start_and_finish_have_one_kind() -> None:
    assert paths(turn(started("a", "subagent"), finished("a"))) == ["events[1].kind"]
    assert problems(turn(started("a", "subagent"), finished("a", "subagent"))) == []


def test_a_second_finish_is_a_problem() -> None:
    assert problems(turn(started("a"), finished("a"), finished("a"))) == [
        "events[2].operationId: is finished already"
    ]


def test_an_id_comes_again_only_after_its_finish() -> None:
    assert problems(turn(started("a"), finished("a"), started("a"), finished("a"))) == []
    assert problems(turn(started("a"), started("a"), finished("a"))) == [
        "events[1].operationId: is that of events[0], which is not finished yet"
    ]


def test_an_id_is_not_shared_by_a_tool_and_a_subagent() -> None:
    both = turn(started("a"), finished("a"), started("a", "subagent"), finished("a", "subagent"))
    assert paths(both) == ["events[2].operationId"]


def test_parallel_operations_may_finish_in_any_order() -> None:
    assert problems(turn(started("a"), started("b"), finished("b"), finished("a"))) == []


def test_a_waiting_turn_asks_something() -> None:
    assert problems(turn(status="waiting")) == ["status: is waiting, and no event is input.requested"]
    assert problems(record(status="waiting")) == ["status: is waiting, and no event is input.requested"]
    assert problems(record(status="waiting", issues=("content_not_captured",))) == []
    assert problems(record(QUESTION, status="waiting")) == []


def test_a_question_that_was_answered_leaves_the_turn_completed() -> None:
    assert problems(record(QUESTION)) == []


@pytest.mark.parametrize("name", ["eventTimes", "eventSpans"])
def test_each_event_has_its_time_and_its_span(name: str) -> None:
    short = record(EVENTS["thinking"], EVENTS["message"])
    short["otel"][name] = short["otel"][name][:1]
    assert problems(short) == [f"otel.{name}: has 1 entries for 2 events"]


def test_complete_and_the_issues_agree() -> None:
    lost = record(issues=("spans_dropped",))
    lost["otel"]["evidence"]["complete"] = True
    assert problems(lost) == ["otel.evidence.complete: is true beside spans_dropped"]
    skewed = record(issues=("clock_skew",))
    skewed["otel"]["evidence"]["complete"] = True
    assert problems(skewed) == []
    silent = record()
    silent["otel"]["evidence"]["complete"] = False
    assert problems(silent) == ["otel.evidence.issues: is empty, and complete is false"]


def test_a_cost_is_no_problem() -> None:
    assert problems(turn(usage={"costUSD": 0.25})) == []


@pytest.mark.parametrize("kind", ["tool", "subagent"])
def test_no_problem_shows_content(kind: str) -> None:
    secret = "s3cret"
    events: list[dict[str, Any]] = [
        {**started(secret, kind), "operation": {"kind": kind, "name": [secret], "input": {secret: b""}}},
        {**finished(secret, kind), "output": {secret: float("inf")}, "status": secret},
        {"type": "input.requested", "request": {"prompt": [secret], secret * 9: 1}},
        {"type": secret},
    ]
    found = problems(turn(*events, status=secret, data={secret: b""}))
    assert len(found) >= 6
    assert secret not in " ".join(found)
