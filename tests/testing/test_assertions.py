"""Assertions pass where the Turn holds what they say, and fail with what it holds instead."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.model import Turn
from otel_turns.testing import (
    ANYTHING,
    Operation,
    called_subagent,
    called_tool,
    no_failed_actions,
    not_called_tool,
    operations,
    replied,
    reply,
    tool_order,
)


def started(id_: str, name: str, input_: Any = None, kind: str = "tool") -> dict[str, Any]:
    what: dict[str, Any] = {"kind": kind, "name": name}
    if kind == "tool":
        what["input"] = input_
    return {"type": "operation.started", "operationId": id_, "operation": what}


def finished(id_: str, output: Any = None, status: str = "completed", kind: str = "tool") -> dict[str, Any]:
    return {
        "type": "operation.finished",
        "operationId": id_,
        "kind": kind,
        "output": output,
        "status": status,
    }


def said(text: str, role: str = "assistant") -> dict[str, Any]:
    return {"type": "message", "role": role, "text": text}


def turn(*events: dict[str, Any], issues: list[dict[str, str]] | None = None) -> dict[str, Any]:
    made: dict[str, Any] = {"events": list(events), "status": "completed"}
    if issues is not None:
        made["otel"] = {"evidence": {"complete": not issues, "issues": issues}}
    return made


WEATHER = turn(
    said("Weather in Paris?", "user"),
    said("Let me look."),
    started("1", "get_weather", {"city": "Paris", "id": 7}),
    started("2", "get_time", {"city": "Tokyo"}),
    finished("2", "09:30"),
    finished("1", {"sky": "clear"}),
    started("3", "ask", {"q": "x"}),
    started("a", "researcher", kind="subagent"),
    finished("a", "found", kind="subagent"),
    finished("3", "refused", status="rejected"),
    said("It is clear."),
)


def test_calls_are_found_by_name_input_and_status() -> None:
    called_tool(WEATHER, "get_weather")
    called_tool(WEATHER, "get_weather", input={"city": "Paris", "id": 7}, status="completed", times=1)
    called_tool(WEATHER, "ask", status="rejected")
    called_tool(WEATHER, "send_email", times=0)


def test_anything_stands_for_a_value_that_does_not_matter() -> None:
    calls = called_tool(WEATHER, "get_weather", input={"city": "Paris", "id": ANYTHING})
    assert calls == [
        Operation("1", "tool", "get_weather", {"city": "Paris", "id": 7}, {"sky": "clear"}, "completed")
    ]
    assert repr(ANYTHING) == "ANYTHING"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("get_news", {}),
        ("get_weather", {"input": {"city": "Rome"}}),
        ("get_weather", {"status": "failed"}),
        ("get_weather", {"times": 2}),
        ("researcher", {}),
    ],
)
def test_a_call_that_is_not_there_fails_and_lists_those_that_are(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match=r"get_time\(\{'city': 'Tokyo'\}\) completed"):
        called_tool(WEATHER, name, **options)


def test_no_call_is_said_as_nothing() -> None:
    with pytest.raises(AssertionError, match="in: nothing"):
        called_tool(turn(), "get_weather")


def test_not_called() -> None:
    not_called_tool(WEATHER, "send_email")
    with pytest.raises(AssertionError, match="expected no call of ask"):
        not_called_tool(WEATHER, "ask")


def test_not_called_is_not_said_of_a_turn_that_lacks_something() -> None:
    lacking = turn(issues=[{"code": "orphan_spans", "message": "a parent never came"}])
    with pytest.raises(AssertionError, match="orphan_spans: a parent never came"):
        not_called_tool(lacking, "send_email")
    with pytest.raises(AssertionError, match="cannot say that no action failed"):
        no_failed_actions(lacking)
    not_called_tool(lacking, "send_email", incomplete_ok=True)
    no_failed_actions(lacking, incomplete_ok=True)
    not_called_tool(turn(issues=[]), "send_email")


def test_order_is_a_subsequence_of_the_starts() -> None:
    tool_order(WEATHER, ["get_weather", "ask"])
    tool_order(WEATHER, [])
    with pytest.raises(AssertionError, match=r"found \['get_weather', 'get_time', 'ask'\]"):
        tool_order(WEATHER, ["ask", "get_weather"])
    with pytest.raises(AssertionError, match="expected the tools in the order"):
        tool_order(WEATHER, ["ask", "ask"])


def test_subagents_are_no_tools() -> None:
    assert called_subagent(WEATHER, "researcher", status="completed")[0].output == "found"
    with pytest.raises(AssertionError, match="expected subagent ask, found: researcher"):
        called_subagent(WEATHER, "ask")


def test_a_refusal_is_no_failure() -> None:
    no_failed_actions(WEATHER)
    with pytest.raises(AssertionError, match=r"expected no failed action, found: ask\(None\) failed"):
        no_failed_actions(turn(started("1", "ask"), finished("1", status="failed")))


def test_a_reply_is_what_the_agent_said() -> None:
    assert reply(WEATHER) == "Let me look.\n\nIt is clear."
    replied(WEATHER, "clear")
    with pytest.raises(AssertionError, match="expected a reply that contains 'Weather in Paris'"):
        replied(WEATHER, "Weather in Paris")


def test_a_call_that_never_ended_has_no_status() -> None:
    assert operations(turn(started("1", "ask")))[0].status is None


def test_an_id_that_starts_again_is_another_operation() -> None:
    twice = turn(started("1", "a"), finished("1", "x"), started("1", "b"), finished("1", "y"), finished("9"))
    assert [(o.name, o.output) for o in operations(twice)] == [("a", "x"), ("b", "y")]


def test_the_pydantic_type_serves_as_well() -> None:
    called_tool(
        Turn.model_validate(WEATHER), "get_weather", input={"city": "Paris", "id": 7}, status="completed"
    )
