"""Which spans make one Turn (SEMANTICS, section 2)."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.assembly.tree import Read
from otel_turns.model import normalized as n
from otel_turns.model.facts import Message, Role, Text, ToolResult
from otel_turns.model.span import KIND_SERVER, Resource
from tests.assembly.stage import (
    T0,
    agent,
    call,
    chat,
    codes,
    handed,
    ident,
    record_of,
    said,
    span,
    story,
    tool,
    turn,
    turns,
    user,
)

PARIS, ROME = {"city": "Paris"}, {"city": "Rome"}
REMOTE_PARENT = 0x300
"""OTLP span flags: it is known whether the parent is in another process, and it is."""


def stories(reads: list[Read]) -> list[list[str]]:
    return [story(record) for record in turns(reads)]


def root_of(record: dict[str, Any]) -> str:
    return record["otel"]["rootSpanId"]


# --- agents -------------------------------------------------------------------------------------------------


def test_each_trace_with_an_agent_is_a_turn_of_its_own() -> None:
    reads = [
        agent("b", 50, 60, trace="two"),
        chat("d", 51, 52, "second", trace="two", parent="b"),
        agent("a", 0, 10, trace="one"),
        chat("c", 1, 2, "first", trace="one", parent="a"),
    ]
    assert stories(reads) == [["say:first"], ["say:second"]]


def test_the_topmost_invocation_is_the_root_whatever_stands_above_it() -> None:
    record = turn(
        [
            span("GET /ask", Role.STEP, 0, 100, kind=KIND_SERVER),
            span("handler", Role.STEP, 1, 99, parent="GET /ask"),
            agent("a", 2, 98, parent="handler"),
            chat("c", 3, 10, "hello", parent="a"),
        ]
    )
    assert root_of(record) == ident("a", 8).hex()
    assert record["otel"]["turnId"] == ident("t", 16).hex() + ident("a", 8).hex()
    assert record["otel"]["agent"] == {"name": "a"}


def test_a_workflow_of_several_agents_is_one_turn() -> None:
    record = turn(
        [
            span("flow", Role.WORKFLOW, 0, 100),
            agent("writer", 1, 40, parent="flow"),
            chat("c", 2, 10, "a draft", parent="writer"),
            agent("editor", 41, 99, parent="flow"),
            chat("d", 42, 50, "a text", parent="editor"),
        ]
    )
    assert root_of(record) == ident("flow", 8).hex()
    assert story(record) == ["say:a draft", "agent:editor", "say:a text", "agent-end:completed"]


def test_siblings_below_a_request_that_is_no_agent_are_two_turns_in_order_of_time() -> None:
    reads = [
        span("POST /", Role.STEP, 0, 100, kind=KIND_SERVER),
        agent("later", 50, 90, parent="POST /", agent_name="a"),
        chat("d", 51, 60, "two", parent="later"),
        agent("first", 1, 40, parent="POST /", agent_name="a"),
        chat("c", 2, 10, "one", parent="first"),
    ]
    records = turns(reads)
    assert [story(r) for r in records] == [["say:one"], ["say:two"]]
    assert [root_of(r) for r in records] == [ident(name, 8).hex() for name in ("first", "later")]


def test_the_same_agent_directly_inside_is_the_agent_again() -> None:
    record = turn(
        [
            agent("outer", 0, 100, agent_name="a"),
            agent("inner", 1, 99, parent="outer", agent_name="a"),
            chat("c", 2, 10, "hello", parent="inner"),
        ]
    )
    assert story(record) == ["say:hello"]


def test_the_same_agent_beside_the_first_in_one_workflow_is_the_agent_again() -> None:
    record = turn(
        [
            span("flow", Role.WORKFLOW, 0, 100),
            agent("one", 1, 40, parent="flow", agent_name="a"),
            chat("c", 2, 10, "paused", parent="one"),
            agent("two", 50, 90, parent="flow", agent_name="a"),
            chat("d", 51, 60, "resumed", parent="two"),
        ]
    )
    assert story(record) == ["say:paused", "say:resumed"]


def test_the_same_agent_behind_a_tool_is_a_sub_agent() -> None:
    record = turn(
        [
            agent("outer", 0, 100, agent_name="a"),
            chat("c", 1, 10, call("1", "ask", {}), parent="outer"),
            tool("ask", 20, 60, "1", "deep", parent="outer"),
            agent("inner", 21, 59, parent="ask", agent_name="a"),
            chat("d", 22, 30, "deep", parent="inner"),
        ]
    )
    assert story(record) == ["start:1", "agent:a", "agent-end:completed", "end:1:completed"]


def test_another_agent_inside_is_a_sub_agent() -> None:
    record = turn(
        [
            agent("outer", 0, 100),
            agent("inner", 1, 50, parent="outer"),
            chat("c", 2, 10, "found", parent="inner"),
            chat("d", 60, 70, "told", parent="outer"),
        ]
    )
    assert story(record) == ["agent:inner", "agent-end:completed", "say:told"]


def test_a_span_that_only_builds_an_agent_is_nothing() -> None:
    record = turn(
        [
            span("create_agent", Role.NOTHING, 0, 1, agent_name="b"),
            agent("a", 2, 50, parent="create_agent"),
            span("build", Role.NOTHING, 3, 4, parent="a", agent_name="helper"),
            chat("c", 5, 10, "hello", parent="a"),
        ]
    )
    assert story(record) == ["say:hello"]
    assert root_of(record) == ident("a", 8).hex()


def test_a_trace_that_only_builds_an_agent_is_no_turn() -> None:
    assert turns([span("create_agent", Role.NOTHING, 0, 1, agent_name="b")]) == []


# --- a local root that is no agent --------------------------------------------------------------------------

EVERY_KIND_OF_WORK = [
    pytest.param(chat("w", 10, 20, "hi", parent="main"), ["say:hi"], id="inference"),
    pytest.param(tool("w", 10, 20, "1", parent="main"), ["start:1", "end:1:completed"], id="tool"),
    pytest.param(
        span("w", Role.STEP, 10, 20, parent="main", normalized=[(T0, n.MessageDelta("hi"))]),
        ["say:hi"],
        id="normalized",
    ),
]


@pytest.mark.parametrize(("work", "told"), EVERY_KIND_OF_WORK)
def test_without_an_agent_the_local_root_is_the_turn(work: Read, told: list[str]) -> None:
    record = turn(
        [span("main", Role.STEP, 0, 100), span("step", Role.STEP, 1, 99, parent="main"), work],
    )
    assert root_of(record) == ident("main", 8).hex()
    assert story(record) == told


def test_a_trace_without_agent_work_is_no_turn() -> None:
    assert turns([span("GET /", Role.STEP, 0, 10), span("db", Role.STEP, 1, 9, parent="GET /")]) == []


EVERYDAY: list[n.NormalizedEvent] = [
    n.Done(),
    n.Error("disk full"),
    n.Usage(1, 2, 3),
    n.Custom("app", "click", {}),
    n.RuntimeStep(1, "started"),
]


@pytest.mark.parametrize("event", EVERYDAY, ids=lambda e: type(e).__name__)
def test_events_with_everyday_names_alone_are_no_agent_work(event: n.NormalizedEvent) -> None:
    assert turns([span("job", Role.STEP, 0, 10, normalized=[(T0, event)])]) == []


def test_a_chain_with_everyday_names_alone_is_no_agent_work() -> None:
    assert turns([span("job", Role.CHAIN, 0, 10, normalized=[(T0, n.Done())])]) == []


def test_a_request_that_repeats_a_finished_conversation_and_adds_words_of_the_user_begins_a_turn() -> None:
    reads = [
        span("main", Role.STEP, 0, 100),
        chat("c", 1, 10, "Hello.", parent="main", inputs=[user("hi")]),
        chat("d", 20, 30, "Sure.", parent="main", inputs=[user("hi"), said("Hello."), user("help me")]),
    ]
    one, two = turns(reads)
    assert story(one) == ["say:Hello."]
    assert story(two) == ["say:Sure."]
    assert root_of(one) == ident("main", 8).hex()
    assert root_of(two) == ident("d", 8).hex()


def test_a_request_that_hands_in_results_goes_on_with_the_turn() -> None:
    reads = [
        span("main", Role.STEP, 0, 100),
        chat("c", 1, 10, call("1", "f", {}), parent="main", inputs=[user("hi")]),
        chat(
            "d",
            20,
            30,
            "Done.",
            parent="main",
            inputs=[user("hi"), said(call("1", "f", {})), handed(ToolResult("1", "f", "x"))],
        ),
    ]
    assert stories(reads) == [["start:1", "end:1:completed", "say:Done."]]


def test_a_new_request_that_repeats_nothing_stays_in_the_turn() -> None:
    reads = [
        span("main", Role.STEP, 0, 100),
        chat("c", 1, 10, "a plan", parent="main", inputs=[user("plan")]),
        chat("d", 20, 30, "the work", parent="main", inputs=[user("work")]),
    ]
    assert stories(reads) == [["say:a plan", "say:the work"]]


def test_under_an_agent_a_conversation_that_goes_on_is_one_turn() -> None:
    reads = [
        agent("a", 0, 100),
        chat("c", 1, 10, "Hello.", parent="a", inputs=[user("hi")]),
        chat("d", 20, 30, "Sure.", parent="a", inputs=[user("hi"), said("Hello."), user("go on")]),
    ]
    assert stories(reads) == [["say:Hello.", "say:Sure."]]


def test_runs_between_two_turns_of_one_local_root_belong_to_the_turn_that_asked() -> None:
    reads = [
        span("main", Role.STEP, 0, 100),
        chat("c", 1, 10, call("1", "f", {}), parent="main", inputs=[user("hi")]),
        tool("f", 11, 12, "1", "x", parent="main"),
        chat(
            "d",
            20,
            30,
            "Done.",
            parent="main",
            inputs=[user("hi"), said(call("1", "f", {})), handed(ToolResult("1", "f", "x"))],
        ),
        chat(
            "e",
            40,
            50,
            "Again.",
            parent="main",
            inputs=[
                user("hi"),
                said(call("1", "f", {})),
                handed(ToolResult("1", "f", "x")),
                said("Done."),
                user("more"),
            ],
        ),
    ]
    assert stories(reads) == [["start:1", "end:1:completed", "say:Done."], ["say:Again."]]


# --- orphans and entries ------------------------------------------------------------------------------------


def test_orphans_whose_common_parent_never_came_are_one_turn() -> None:
    record = turn(
        [
            chat("c", 1, 10, call("1", "f", {}), parent="lost"),
            tool("f", 11, 20, "1", parent="lost"),
            chat("d", 21, 30, "Done.", parent="lost"),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Done."]
    assert "root_missing" in codes(record)
    assert record["otel"]["evidence"]["complete"] is False


def test_orphaned_agents_of_one_lost_parent_are_one_turn() -> None:
    record = turn(
        [
            agent("a", 1, 40, parent="lost"),
            chat("c", 2, 10, "one", parent="a"),
            agent("b", 50, 90, parent="lost"),
            chat("d", 51, 60, "two", parent="b"),
        ]
    )
    assert story(record) == ["say:one", "agent:b", "say:two", "agent-end:completed"]
    assert "root_missing" in codes(record)


def test_orphans_of_different_traces_are_not_joined() -> None:
    reads = [
        chat("c", 1, 10, "one", parent="lost", trace="one"),
        chat("d", 1, 10, "two", parent="lost", trace="two"),
    ]
    assert sorted(stories(reads)) == [["say:one"], ["say:two"]]


def test_an_orphan_within_the_time_of_the_turn_of_its_trace_belongs_to_it() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, call("1", "f", {}), parent="a"),
            tool("f", 20, 30, "1", parent="lost step"),
            chat("d", 40, 50, "Done.", parent="another lost step"),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Done."]
    assert codes(record) == {"orphan_spans"}
    assert record["otel"]["evidence"]["complete"] is False


def test_an_orphaned_agent_within_the_time_of_the_turn_is_a_sub_agent_of_it() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "wait", parent="a"),
            agent("b", 20, 30, parent="lost tool"),
            chat("d", 21, 29, "found", parent="b"),
        ]
    )
    assert story(record) == ["say:wait", "agent:b", "agent-end:completed"]
    assert "orphan_spans" in codes(record)


@pytest.mark.parametrize("how", [{"kind": KIND_SERVER}, {"flags": REMOTE_PARENT}], ids=["server", "remote"])
def test_a_span_whose_parent_is_in_another_process_is_a_local_root(how: dict[str, Any]) -> None:
    reads = [
        span("POST /a", Role.STEP, 0, 50, parent="elsewhere", **how),
        chat("c", 1, 10, "one", parent="POST /a"),
        span("POST /b", Role.STEP, 60, 90, parent="elsewhere", **how),
        chat("d", 61, 70, "two", parent="POST /b"),
    ]
    records = turns(reads)
    assert [story(r) for r in records] == [["say:one"], ["say:two"]]
    assert [root_of(r) for r in records] == [ident(name, 8).hex() for name in ("POST /a", "POST /b")]
    assert [codes(r) for r in records] == [set(), set()]


# --- requests that are traces of their own ------------------------------------------------------------------

ASKED = [user("weather?"), said(call("1", "weather", PARIS))]


def test_a_request_that_hands_in_the_results_of_an_earlier_one_goes_on_with_its_turn() -> None:
    record = turn(
        [
            chat("c", 1, 10, call("1", "weather", PARIS), trace="one", inputs=[user("weather?")]),
            chat("d", 20, 30, "Mild.", trace="two", inputs=[*ASKED, handed(ToolResult("1", None, "18"))]),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Mild."]
    assert root_of(record) == ident("c", 8).hex()
    assert record["otel"]["traceId"] == ident("one", 16).hex()


def test_results_alone_go_on_with_the_turn_that_asked_for_their_id() -> None:
    record = turn(
        [
            chat("c", 1, 10, call("1", "weather", PARIS), trace="one", inputs=[user("weather?")]),
            chat("d", 20, 30, "Mild.", trace="two", inputs=[handed(ToolResult("1", None, "18"))]),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Mild."]


def test_calls_whose_ids_differ_are_matched_by_name_and_arguments() -> None:
    record = turn(
        [
            chat(
                "c",
                1,
                10,
                call("item_1", "weather", PARIS),
                call("item_2", "weather", ROME),
                trace="one",
                inputs=[user("hi")],
            ),
            chat(
                "d",
                20,
                30,
                "Mild.",
                trace="two",
                inputs=[
                    user("hi"),
                    said(call("b", "weather", ROME), call("a", "weather", PARIS)),
                    handed(ToolResult("b", None, "in Rome"), ToolResult("a", None, "in Paris")),
                ],
            ),
        ]
    )
    outputs = {e["operationId"]: e["output"] for e in record["events"] if e["type"] == "operation.finished"}
    assert outputs == {"item_1": "in Paris", "item_2": "in Rome"}
    assert story(record)[-1] == "say:Mild."


def test_calls_without_ids_are_matched_by_order_when_the_counts_agree() -> None:
    record = turn(
        [
            chat(
                "c",
                1,
                10,
                call(None, "weather", PARIS),
                call(None, "time", PARIS),
                trace="one",
                inputs=[user("hi")],
            ),
            chat(
                "d",
                20,
                30,
                "So.",
                trace="two",
                inputs=[
                    user("hi"),
                    said(call(None, "weather"), call(None, "time")),
                    handed(ToolResult(None, None, "mild"), ToolResult(None, None, "noon")),
                ],
            ),
        ]
    )
    by_name = {
        e["operationId"]: e["operation"]["name"] for e in record["events"] if e["type"] == "operation.started"
    }
    told = {
        by_name[e["operationId"]]: e["output"] for e in record["events"] if e["type"] == "operation.finished"
    }
    assert told == {"weather": "mild", "time": "noon"}
    assert story(record)[-1] == "say:So."


def test_a_reply_that_was_not_captured_is_joined_by_the_history() -> None:
    record = turn(
        [
            chat("c", 1, 10, trace="one", inputs=[user("weather?")]),
            chat("d", 20, 30, "Mild.", trace="two", inputs=[*ASKED, handed(ToolResult("1", None, "18"))]),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Mild."]


def test_a_previous_response_id_goes_on_with_that_response() -> None:
    record = turn(
        [
            chat("c", 1, 10, call("x", "f", {}), trace="one", inputs=[user("hi")], response_id="resp_1"),
            chat(
                "d",
                20,
                30,
                "Done.",
                trace="two",
                inputs=[handed(ToolResult("y", None, "18"))],
                previous_response_id="resp_1",
            ),
        ]
    )
    assert story(record) == ["start:x", "end:x:completed", "say:Done."]


def test_a_new_question_of_the_user_is_a_new_turn_also_with_a_previous_response_id() -> None:
    reads = [
        chat("c", 1, 10, "Hello.", trace="one", inputs=[user("hi")], response_id="resp_1"),
        chat("d", 20, 30, "Sure.", trace="two", inputs=[user("more")], previous_response_id="resp_1"),
    ]
    assert stories(reads) == [["say:Hello."], ["say:Sure."]]


def test_the_next_question_of_a_stitched_conversation_is_a_turn_of_its_own() -> None:
    history = [*ASKED, handed(ToolResult("1", None, "18"))]
    reads = [
        chat("c", 1, 10, call("1", "weather", PARIS), trace="one", inputs=[user("weather?")]),
        chat("d", 20, 30, "Mild.", trace="two", inputs=history),
        chat("e", 40, 50, "Bye.", trace="three", inputs=[*history, said("Mild."), user("bye")]),
    ]
    assert stories(reads) == [["start:1", "end:1:completed", "say:Mild."], ["say:Bye."]]


def _conversation(name: str, city: str, at: float, **more: Any) -> list[Read]:
    """Two requests, both naming their call `call_0`: clients may number calls anew in each conversation."""
    question = user(f"weather in {city}?")
    asked = call("call_0", "weather", {"city": city})
    return [
        chat(f"{name}1", at, at + 5, asked, trace=f"{name}1", inputs=[question], **more),
        chat(
            f"{name}2",
            at + 20,
            at + 25,
            f"Mild in {city}.",
            trace=f"{name}2",
            inputs=[question, said(asked), handed(ToolResult("call_0", None, f"18 in {city}"))],
            **more,
        ),
    ]


def test_two_conversations_at_once_are_never_mixed_also_with_equal_call_ids() -> None:
    reads = [*_conversation("p", "Paris", 1), *_conversation("r", "Rome", 2)]
    assert stories(reads) == [
        ["start:call_0", "end:call_0:completed", "say:Mild in Paris."],
        ["start:call_0", "end:call_0:completed", "say:Mild in Rome."],
    ]
    for record, city in zip(turns(reads), ("Paris", "Rome"), strict=True):
        assert record["events"][1]["output"] == f"18 in {city}"


def test_two_equal_conversations_of_different_sessions_are_not_mixed() -> None:
    reads = [
        *_conversation("p", "Paris", 1, session_id="one"),
        *_conversation("r", "Paris", 2, session_id="two"),
    ]
    records = turns(reads)
    assert [r["otel"]["sessionId"] for r in records] == ["one", "two"]
    assert [story(r)[-1] for r in records] == ["say:Mild in Paris."] * 2
    assert [len(set(r["otel"]["eventSpans"])) for r in records] == [2, 2]


def test_the_convention_s_own_prompt_id_groups_first() -> None:
    reads = [
        chat("c", 1, 10, "one", trace="one", group="p1"),
        chat("d", 20, 30, "two", trace="two", group="p2"),
        chat("e", 40, 50, "three", trace="three", group="p1"),
    ]
    assert sorted(stories(reads)) == [["say:one", "say:three"], ["say:two"]]


def test_requests_of_a_trace_with_an_agent_are_not_stitched_to_other_traces() -> None:
    reads = [
        agent("a", 0, 15, trace="one"),
        chat("c", 1, 10, call("1", "weather", PARIS), trace="one", parent="a", inputs=[user("weather?")]),
        agent("b", 18, 40, trace="two"),
        chat(
            "d",
            20,
            30,
            "Mild.",
            trace="two",
            parent="b",
            inputs=[*ASKED, handed(ToolResult("1", None, "18"))],
        ),
    ]
    assert len(turns(reads)) == 2


def test_an_executing_span_alone_in_its_trace_joins_the_turn_that_asked_for_its_id() -> None:
    record = turn(
        [
            chat("c", 1, 10, call("1", "weather", PARIS), trace="one", inputs=[user("weather?")]),
            tool("weather", 12, 18, "1", {"t": 18}, trace="run", arguments=PARIS),
            chat("d", 20, 30, "Mild.", trace="two", inputs=[*ASKED, handed(ToolResult("1", None, "18"))]),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed", "say:Mild."]
    assert record["events"][1]["output"] == {"t": 18}


def test_an_executing_span_alone_joins_an_agent_s_turn_by_its_id() -> None:
    record = turn(
        [
            agent("a", 0, 100, trace="one"),
            chat("c", 1, 10, call("1", "weather", PARIS), trace="one", parent="a"),
            tool("weather", 12, 18, "1", {"t": 18}, trace="run", arguments=PARIS),
        ]
    )
    assert story(record) == ["start:1", "end:1:completed"]


def test_an_executing_span_that_nobody_asked_for_is_a_turn_of_its_own() -> None:
    reads = [
        chat("c", 1, 10, call("1", "weather", PARIS), trace="one", inputs=[user("weather?")]),
        tool("other", 12, 18, "9", "x", trace="run"),
    ]
    assert stories(reads) == [["start:1"], ["start:9", "end:9:completed"]]


# --- side requests ------------------------------------------------------------------------------------------


def test_a_side_request_in_a_trace_of_its_own_is_no_turn_and_counts_in_none() -> None:
    record = turn(
        [
            agent("a", 0, 100, trace="one"),
            chat("c", 1, 10, "hello", trace="one", parent="a", usage=(10, 2)),
            chat("title", 20, 30, "A greeting", trace="two", side=True, usage=(500, 50)),
        ]
    )
    assert story(record) == ["say:hello"]
    assert record["usage"] == {"inputTokens": 10, "outputTokens": 2, "requests": 1}


def test_a_side_request_with_the_prompt_s_own_id_is_still_none() -> None:
    reads = [
        chat("c", 1, 10, "hello", trace="one", group="p1"),
        chat("title", 20, 30, "A greeting", trace="two", side=True, group="p2"),
    ]
    assert stories(reads) == [["say:hello"]]


# --- log records --------------------------------------------------------------------------------------------


def test_log_records_without_spans_are_grouped_by_the_prompt_s_id() -> None:
    reads = [
        record_of(10, Role.INFERENCE, group="p1", outputs=[said(call("1", "f", {}))]),
        record_of(20, Role.TOOL, group="p1", tool_name="f", call_id="1", arguments={}, result="x", began=12),
        record_of(15, Role.INFERENCE, group="p2", outputs=[said("other")]),
        record_of(30, Role.INFERENCE, group="p1", outputs=[said("Done.")]),
    ]
    assert stories(reads) == [["start:1", "end:1:completed", "say:Done."], ["say:other"]]


def test_a_turn_of_log_records_has_an_id_by_its_group_and_names_no_span() -> None:
    one = turn([record_of(10, Role.INFERENCE, group="p1", outputs=[said("hello")])])
    same = turn([record_of(99, Role.INFERENCE, group="p1", outputs=[said("hello again")])])
    other = turn([record_of(10, Role.INFERENCE, group="p2", outputs=[said("hello")])])
    assert one["otel"]["turnId"] == same["otel"]["turnId"] != other["otel"]["turnId"]
    assert (one["otel"]["traceId"], one["otel"]["rootSpanId"]) == ("", "")
    assert one["otel"]["eventSpans"] == [""]


def test_log_records_of_a_turn_s_group_join_its_spans() -> None:
    record = turn(
        [
            agent("a", 0, 100, group="p1"),
            chat("c", 1, 10, "hello", parent="a"),
            record_of(50, Role.TOOL, group="p1", tool_name="f", call_id="1", arguments={}, result="x"),
        ]
    )
    assert story(record) == ["say:hello", "start:1", "end:1:completed"]


def test_an_application_s_own_log_records_are_no_turn() -> None:
    assert turns([record_of(10, Role.STEP, group="p1")]) == []


# --- sessions -----------------------------------------------------------------------------------------------


def test_the_session_is_the_conversation_of_whichever_span_names_it() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "hello", parent="a", session_id="thread-1")])
    assert record["otel"]["sessionId"] == "thread-1"


def test_without_a_conversation_id_there_is_no_session() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "hello", parent="a")])
    assert "sessionId" not in record["otel"]


def test_the_service_of_the_root_is_named() -> None:
    resource = Resource({"service.name": "shop", "service.version": "1.2"})
    record = turn([agent("a", 0, 100, resource=resource), chat("c", 1, 10, "hi", parent="a")])
    assert record["otel"]["service"] == {"name": "shop", "version": "1.2"}


def test_a_system_message_is_no_part_of_the_history_that_is_compared() -> None:
    reads = [
        chat("c", 1, 10, call("1", "weather", PARIS), trace="one", inputs=[user("weather?")]),
        chat(
            "d",
            20,
            30,
            "Mild.",
            trace="two",
            inputs=[Message("system", [Text("Be brief.")]), *ASKED, handed(ToolResult("1", None, "18"))],
        ),
    ]
    assert stories(reads) == [["start:1", "end:1:completed", "say:Mild."]]


def test_a_resume_below_a_run_that_had_ended_is_a_turn_of_its_own() -> None:
    first, second = turns(
        [
            agent("root", 0, 20),
            chat("c", 1, 10, call("1", "rm", {}), parent="root"),
            agent("again", 50, 90, parent="root", agent_name="root", resumes=True),
            tool("rm", 60, 70, "1", parent="again"),
            chat("d", 71, 80, "gone", parent="again"),
        ]
    )
    assert story(first) == ["start:1"]
    assert story(second) == ["start:1", "end:1:completed", "say:gone"]


def test_an_invocation_that_answers_a_call_of_another_trace_stands_below_it() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "task", {}), parent="root"),
            tool("task", 20, 60, "1", parent="root"),
            agent("worker", 25, 55, trace="other", called_by="1"),
            chat("d", 26, 30, "inner", parent="worker", trace="other"),
        ]
    )
    assert story(record) == ["start:1", "agent:worker", "agent-end:completed", "end:1:completed"]
