"""The turns of one session are numbered only where their order is known and the first of them is here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from otel_turns.assembly.memory import Memory
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.session import number_turns
from otel_turns.assembly.story import assemble
from otel_turns.assembly.tree import Read
from otel_turns.model.facts import Role, ToolResult
from otel_turns.model.span import Resource
from tests.assembly.stage import agent, call, chat, handed, said, span, tool, user
from tests.assembly.stage import turn as turn_of


def told(*reads: Read, partial: Iterable[str] = ()) -> list[tuple[str, int | None]]:
    """Session and number of each turn, in order of time."""
    made = assemble(reads, AssemblyOptions(), Memory())
    number_turns(((one.record, one.goes_on) for one in made), set(partial))
    return [(o.get("sessionId", ""), o.get("turnNumber")) for o in (one.record["otel"] for one in made)]


def turn(at: int, session: str | None = "s", **more: Any) -> Iterator[Read]:
    """An agent that answers once, in a trace of its own."""
    name = more.pop("name", f"t{at}")
    inputs = more.pop("inputs", None)
    yield agent(f"agent {name}", at, at + 10, trace=name, session_id=session, agent_name="a", **more)
    yield chat(f"chat {name}", at + 1, at + 9, "hi", parent=f"agent {name}", trace=name, inputs=inputs)


def test_in_order_of_time_and_each_session_by_itself() -> None:
    reads = [*turn(40), *turn(20, "other"), *turn(0), *turn(60, "other"), *turn(80, None)]
    assert told(*reads) == [("s", 1), ("other", 1), ("s", 2), ("other", 2), ("", None)]


def test_a_history_that_the_user_answers_says_that_the_first_turn_is_elsewhere() -> None:
    history = [user("one"), said("first"), user("two")]
    assert told(*turn(0, inputs=history)) == [("s", None)]
    assert told(*turn(0), *turn(20, inputs=history)) == [("s", 1), ("s", 2)]


def test_a_request_that_shows_its_own_later_messages_is_no_later_turn() -> None:
    """Some instrumentations serialize late: replies behind the last words of the user are its own."""
    assert told(*turn(0, inputs=[user("one"), said("first")])) == [("s", 1)]


def test_messages_of_the_agent_from_before_say_it_too() -> None:
    history = [user("one"), said("first"), user("two")]
    reads = [
        agent("agent", 0, 10, session_id="s", inputs=history, new_from=2),
        chat("c", 1, 2, "x", parent="agent"),
    ]
    assert told(*reads) == [("s", None)]
    reads[0].facts.new_from = 0
    assert told(*reads) == [("s", 1)]


def test_a_result_of_a_call_that_nobody_asked_for_here_says_it_too() -> None:
    answered = [user("rm"), said(call("c1", "rm")), handed(ToolResult("c1", "rm", "done"))]
    assert told(*turn(0, inputs=answered)) == [("s", None)]


def test_a_result_of_a_call_of_this_turn_does_not() -> None:
    answered = [user("rm"), said(call("c1", "rm")), handed(ToolResult("c1", "rm", "done"))]
    reads = [
        agent("agent", 0, 10, session_id="s"),
        chat("c", 1, 2, call("c1", "rm"), parent="agent", inputs=[user("rm")]),
        tool("rm", 3, 4, "c1", parent="agent"),
        chat("d", 5, 6, "gone", parent="agent", inputs=answered),
    ]
    assert told(*reads) == [("s", 1)]


@pytest.mark.parametrize("mark", [{"resumes": True}, {"continues": "c9"}])
def test_a_run_that_goes_on_with_a_paused_one_is_not_the_first(mark: dict[str, Any]) -> None:
    assert told(*turn(0, **mark)) == [("s", None)]


def test_two_turns_that_begin_at_once_have_no_order() -> None:
    assert told(*turn(0, name="x"), *turn(0, name="y"), *turn(20, "other")) == [
        ("s", None),
        ("s", None),
        ("other", 1),
    ]


def test_a_session_that_two_services_name_may_be_two() -> None:
    other = Resource({"service.name": "another"})
    assert told(*turn(0), *turn(20, resource=other)) == [("s", None), ("s", None)]


def test_a_session_of_which_turns_were_told_before_has_no_numbers() -> None:
    assert told(*turn(0), *turn(20, "other"), partial=["s"]) == [("s", None), ("other", 1)]


def test_the_session_is_the_agents_own_before_that_of_a_subagent() -> None:
    reads = [
        agent("agent", 0, 20, agent_name="main"),
        tool("ask", 2, 9, parent="agent"),
        agent("sub", 3, 8, parent="ask", agent_name="sub", session_id="inner"),
        chat("inner chat", 4, 5, "x", parent="sub", session_id="inner"),
        chat("chat", 10, 12, "y", parent="agent", session_id="outer"),
    ]
    assert turn_of(reads)["otel"]["sessionId"] == "outer"


def test_the_session_may_stand_on_a_span_around_the_turn() -> None:
    reads = [
        span("request", Role.STEP, 0, 20, session_id="around"),
        agent("agent", 1, 19, parent="request"),
        chat("chat", 2, 3, "x", parent="agent"),
    ]
    assert turn_of(reads)["otel"]["sessionId"] == "around"
