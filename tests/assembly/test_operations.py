"""Operations: one out of many witnesses (SEMANTICS, section 3)."""

from __future__ import annotations

import pytest

from otel_turns.assembly.memory import Memory
from otel_turns.model.facts import MISSING, Decision, Question, Role, ToolResult
from tests.assembly.stage import (
    SPANS_FOR_RUNS,
    agent,
    call,
    chat,
    codes,
    handed,
    said,
    span,
    story,
    tool,
    turn,
    turns,
    user,
)

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}


def test_the_executing_span_wins_over_the_reply_that_asked() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "weather", {"city": "Pari"}), parent="a"),
            tool("weather", 20, 30, "1", {"t": 18}, parent="a", arguments=PARIS),
        ]
    )
    started, finished = record["events"]
    assert started["operation"] == {"kind": "tool", "name": "weather", "input": PARIS}
    assert finished == {
        "type": "operation.finished",
        "operationId": "1",
        "kind": "tool",
        "output": {"t": 18},
        "status": "completed",
    }


def test_without_a_run_the_next_request_tells_the_result() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c1", 1, 10, call("1", "weather", PARIS), parent="a", inputs=[user("hi")]),
            chat(
                "c2",
                50,
                60,
                "done",
                parent="a",
                inputs=[
                    user("hi"),
                    said(call("1", "weather", PARIS)),
                    handed(ToolResult("1", None, {"t": 18})),
                ],
            ),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:done"]
    assert record["events"][1]["output"] == {"t": 18}
    times = [int(t) for t in record["otel"]["eventTimes"]]
    assert (
        times[1] - times[0]
    ) == 40_000_000  # from the end of the reply to the start of the request that carries it


def test_parallel_runs_without_ids_are_joined_by_their_arguments_and_never_crossed() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "weather", PARIS), call("2", "weather", ROME), parent="a"),
            tool("weather#rome", 20, 30, None, "rome!", parent="a", arguments=ROME),
            tool("weather#paris", 21, 40, None, "paris!", parent="a", arguments=PARIS),
        ]
    )
    by_id = {e["operationId"]: e["output"] for e in record["events"] if e["type"] == "operation.finished"}
    assert by_id == {"1": "paris!", "2": "rome!"}
    assert story(record)[-2:] == ["end:2:completed", "end:1:completed"]


def test_a_call_that_never_ran_has_only_a_start() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, call("1", "rm", {}), parent="a")])
    assert story(record) == ["start:1"]
    assert codes(record) == {"operation_unfinished"}
    assert record["otel"]["evidence"]["complete"] is False


def test_a_result_proves_a_call_that_nobody_saw() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c1", 1, 10, "hm", parent="a", inputs=[user("hi")]),
            chat(
                "c2",
                20,
                30,
                "done",
                parent="a",
                inputs=[user("hi"), said("hm"), handed(ToolResult("9", "ls", "x"))],
            ),
        ]
    )
    assert story(record) == ["say:hm", "start:9", "end:9:completed", "say:done"]
    assert record["events"][1]["operation"]["input"] is None
    assert "operation_unstarted" in codes(record)


def test_the_same_id_again_after_its_finish_is_a_new_operation() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), parent="a"),
            tool("f#1", 20, 30, "1", parent="a", failed=True, error="no", result=MISSING),
            tool("f#2", 40, 50, "1", "yes", parent="a"),
        ]
    )
    assert story(record) == ["start:1", "end:1:failed", "start:1", "end:1:completed"]


def test_ids_that_restart_in_each_reply_stay_apart() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c1", 1, 10, call("call_1", "f", {"n": 1}), parent="a"),
            tool("f#1", 11, 12, "call_1", "one", parent="a", arguments={"n": 1}),
            chat("c2", 20, 30, call("call_1", "f", {"n": 2}), parent="a"),
            tool("f#2", 31, 32, "call_1", "two", parent="a", arguments={"n": 2}),
        ]
    )
    inputs = [e["operation"]["input"] for e in record["events"] if e["type"] == "operation.started"]
    outputs = [e["output"] for e in record["events"] if e["type"] == "operation.finished"]
    assert inputs == [{"n": 1}, {"n": 2}]
    assert outputs == ["one", "two"]


@pytest.mark.parametrize("inner_id", ["1", None])
def test_a_client_and_a_server_span_are_one_operation(inner_id: str | None) -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), parent="a"),
            tool("f#client", 20, 40, "1", parent="a", scope="client"),
            tool("f#server", 25, 35, inner_id, parent="f#client", scope="server"),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed"]


def test_a_refused_call_is_rejected_and_not_failed() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "rm", {}), parent="a"),
            tool("rm", 20, 30, "1", parent="a", failed=True, rejected=True, error="denied", result=MISSING),
        ]
    )
    assert story(record) == ["start:1", "end:1:rejected"]
    assert record["events"][1]["output"] == "denied"
    assert record["status"] == "completed"


def test_a_decision_of_a_human_rejects_the_call_it_names() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "rm", {}), parent="a", inputs=[user("hi")]),
            chat(
                "c2",
                20,
                30,
                "ok",
                parent="a",
                inputs=[user("hi"), said(call("1", "rm", {})), handed(ToolResult("1", "rm", "no"))],
                decisions=[Decision(False, "1")],
            ),
        ]
    )
    assert story(record) == ["start:1", "end:1:rejected", "say:ok"]


def test_a_pause_is_no_finish_and_the_run_after_it_is_the_same_operation() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "rm", {}), parent="a"),
            tool(
                "rm#1",
                20,
                21,
                "1",
                parent="a",
                paused=True,
                failed=True,
                result=MISSING,
                questions=[Question(id="q", call_id="1")],
            ),
            tool("rm#2", 60, 70, "1", "gone", parent="a"),
        ]
    )
    assert story(record) == ["start:1", "ask:rm", "end:1:completed"]
    assert record["status"] == "completed"


def test_a_paused_call_that_nobody_answers_waits() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "rm", {"p": 1}), parent="a"),
            tool(
                "rm",
                20,
                21,
                "1",
                parent="a",
                paused=True,
                failed=True,
                result=MISSING,
                arguments={"p": 1},
                questions=[Question(id="q")],
            ),
        ]
    )
    assert story(record) == ["start:1", "ask:rm"]
    assert record["status"] == "waiting"
    assert record["events"][1]["request"] == {"id": "q", "action": "rm", "input": {"p": 1}}
    assert codes(record) == {"operation_unfinished"}
    assert record["otel"]["evidence"]["complete"] is True  # the call waits; nothing of the turn is missing


def test_a_pending_call_answered_without_a_run_was_refused_where_runs_have_spans() -> None:
    memory = Memory()
    first = [
        agent("a", 0, 30, trace="one", convention=SPANS_FOR_RUNS, session_id="s", waiting=True),
        chat(
            "c",
            1,
            10,
            call("1", "rm", {}),
            parent="a",
            trace="one",
            convention=SPANS_FOR_RUNS,
            questions=[Question(call_id="1")],
        ),
    ]
    history = [user("hi"), said(call("1", "rm", {})), handed(ToolResult("1", "rm", "The user said no."))]
    second = [
        agent("b", 50, 90, trace="two", convention=SPANS_FOR_RUNS, session_id="s", agent_name="a"),
        chat("d", 51, 60, "ok", parent="b", trace="two", convention=SPANS_FOR_RUNS, inputs=history),
    ]
    waiting, resumed = turns([*first, *second], memory=memory)
    assert waiting["status"] == "waiting"
    assert story(resumed) == ["start:1", "end:1:rejected", "say:ok"]


def test_a_result_of_an_earlier_turn_is_only_history() -> None:
    history = [
        user("hi"),
        said(call("1", "f", {})),
        handed(ToolResult("1", "f", "x")),
        said("done"),
        user("more"),
    ]
    record = turn([agent("a", 0, 50), chat("c", 1, 10, "sure", parent="a", inputs=history)])
    assert story(record) == ["say:sure"]


def test_a_delegating_tool_wraps_the_agent_it_reached() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "ask", {"q": 1}), parent="root"),
            tool("ask", 20, 60, "1", MISSING, parent="root", arguments={"q": 1}),
            agent("researcher", 21, 59, parent="ask"),
            chat("d", 22, 30, "inner words", parent="researcher"),
        ]
    )
    assert story(record) == ["start:1", "agent:researcher", "agent-end:completed", "end:1:completed"]
    outputs = [e.get("output") for e in record["events"] if e["type"] == "operation.finished"]
    assert outputs == ["inner words", "inner words"]
    ids = {e["operationId"] for e in record["events"]}
    assert len(ids) == 2


def test_a_tool_that_names_its_agent_without_a_span_of_it_gives_both_pairs() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "task", {}), parent="root"),
            tool("task", 20, 60, "1", "found", parent="root", delegates_to="researcher"),
        ]
    )
    assert story(record) == ["start:1", "agent:researcher", "agent-end:completed", "end:1:completed"]


def test_a_handing_over_tool_is_data_and_no_operation() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "final_result", {"t": 1}), parent="a"),
            tool("final_result", 20, 21, "1", parent="a", arguments={"t": 1}, hands_over=True),
        ]
    )
    assert record["events"] == []
    assert record["data"] == {"t": 1}


def test_a_skill_load_is_no_operation() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "Skill", {"name": "greet"}), "ok", parent="a"),
            tool("Skill", 20, 21, "1", parent="a", skill="greet"),
        ]
    )
    assert story(record) == ["say:ok", "skill:greet"]
    assert record["events"][1]["operationId"] == "1"


def test_a_handoff_makes_the_next_agent_speak() -> None:
    record = turn(
        [
            span("flow", Role.WORKFLOW, 0, 100),
            agent("root", 1, 20, parent="flow"),
            chat("c", 2, 10, call("1", "transfer_to_expert", {}), parent="root"),
            agent("expert", 30, 90, parent="flow"),
            chat("d", 31, 40, "I take over.", parent="expert"),
        ]
    )
    assert story(record) == [
        "start:1",
        "end:1:completed",
        "agent:expert",
        "say:I take over.",
        "agent-end:completed",
    ]


def test_a_run_without_any_witness_of_its_call_gets_an_id_of_its_own_that_says_so() -> None:
    record = turn([agent("a", 0, 100), tool("f", 10, 20, None, parent="a")])
    assert len(record["events"]) == 2
    assert "synthetic_operation_id" in codes(record)
    assert record["events"][0]["operationId"] == record["events"][1]["operationId"]
