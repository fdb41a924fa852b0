"""NormalizedEvents of a span, variant by variant (SEMANTICS, section 6)."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.assembly.tree import Read
from otel_turns.model import normalized as n
from otel_turns.model.facts import MISSING, Mark, Role, TokenUsage
from tests.assembly.stage import (
    MS,
    T0,
    agent,
    call,
    chat,
    codes,
    ident,
    said,
    span,
    story,
    think,
    tool,
    turn,
    user,
)

PARIS = {"city": "Paris"}


def stream(*events: n.NormalizedEvent, role: Role = Role.STEP, **more: Any) -> Read:
    """A span whose events come one a millisecond, the first at 1."""
    told = [(T0 + at * MS, event) for at, event in enumerate(events, start=1)]
    return span("s", role, 0, 100, normalized=told, **more)


def told(*events: n.NormalizedEvent, **more: Any) -> dict[str, Any]:
    return turn([stream(*events, **more)])


def times(record: dict[str, Any]) -> list[int]:
    """In milliseconds."""
    return [(int(t) - T0) // MS for t in record["otel"]["eventTimes"]]


# --- text and thinking --------------------------------------------------------------------------------------


def test_deltas_are_joined_and_timed_at_the_first() -> None:
    record = told(n.StreamStart("r"), n.MessageDelta("Hel"), n.MessageDelta("lo"), n.MessageDelta(" you"))
    assert story(record) == ["say:Hello you"]
    assert times(record) == [2]


def test_an_event_of_the_vocabulary_between_deltas_ends_the_message() -> None:
    record = told(
        n.MessageDelta("Wait."),
        n.ToolCallComplete(0, "1", "f", "{}"),
        n.ToolResult("1", "f", "ok"),
        n.MessageDelta("Done."),
    )
    assert story(record) == ["say:Wait.", "start:1", "end:1:completed", "say:Done."]


@pytest.mark.parametrize(
    "between",
    [
        n.CitationAdded({"url": "x"}),
        n.MemoryUpdate("k", "v"),
        n.SandboxOutput("stdout", "x"),
        n.Custom("app", "progress", 5),
        n.Usage(1, 1, 2),
        n.SkillActivation("pdf", "failed"),
    ],
    ids=lambda e: type(e).__name__,
)
def test_what_is_no_event_does_not_split_a_message(between: n.NormalizedEvent) -> None:
    assert story(told(n.MessageDelta("Hel"), between, n.MessageDelta("lo"))) == ["say:Hello"]


@pytest.mark.parametrize("boundary", [n.StreamStart("r2"), n.RuntimeStep(2, "started")])
def test_a_boundary_ends_what_the_deltas_before_it_were_building(boundary: n.NormalizedEvent) -> None:
    assert story(told(n.MessageDelta("one"), boundary, n.MessageDelta("two"))) == ["say:one", "say:two"]


def test_a_stream_start_is_no_count_of_requests() -> None:
    record = told(n.StreamStart("r1"), n.MessageDelta("x"), n.Usage(1, 2, 3), n.StreamStart("r2"))
    assert record["usage"] == {"inputTokens": 1, "outputTokens": 2}


def test_thinking_and_reasoning_are_not_mixed_in_one_event() -> None:
    record = told(
        n.ThinkingDelta("I "), n.ThinkingDelta("think"), n.ReasoningDelta("so "), n.ReasoningDelta("it is")
    )
    assert story(record) == ["think:I think", "think:so it is"]
    assert times(record) == [1, 3]


def test_thinking_ends_a_message() -> None:
    record = told(n.MessageDelta("one"), n.ThinkingDelta("hm"), n.MessageDelta("two"))
    assert story(record) == ["say:one", "think:hm", "say:two"]


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_empty_message_is_no_event(text: str) -> None:
    assert story(told(n.MessageDelta(text), n.ToolCallComplete(0, "1", "f", "{}"))) == ["start:1"]


def test_events_of_one_time_stand_in_the_order_of_the_span() -> None:
    events = [n.MessageDelta("one"), n.ThinkingDelta("hm"), n.MessageDelta("two")]
    record = turn([span("s", Role.STEP, 0, 10, normalized=[(T0, e) for e in events])])
    assert story(record) == ["say:one", "think:hm", "say:two"]


def test_deltas_of_two_spans_are_two_messages() -> None:
    reads = [
        agent("a", 0, 100),
        span("one", Role.STEP, 1, 10, parent="a", normalized=[(T0 + 2 * MS, n.MessageDelta("one"))]),
        span("two", Role.STEP, 11, 20, parent="a", normalized=[(T0 + 12 * MS, n.MessageDelta("two"))]),
    ]
    assert story(turn(reads)) == ["say:one", "say:two"]


def test_the_stream_of_a_sub_agent_is_its_output_and_no_message() -> None:
    reads = [
        agent("root", 0, 200),
        chat("c", 0, 1, "Wait.", parent="root"),
        agent("sub", 2, 150, parent="root"),
        stream(n.ThinkingDelta("hm"), n.MessageDelta("found"), parent="sub"),
    ]
    record = turn(reads)
    assert story(record) == ["say:Wait.", "agent:sub", "agent-end:completed"]
    assert record["events"][2]["output"] == "found"


def test_the_same_text_as_events_and_as_attributes_of_one_span_counts_once() -> None:
    reads = [
        agent("a", 0, 100),
        stream(
            n.ThinkingDelta("hm"),
            n.MessageDelta("Hel"),
            n.MessageDelta("lo"),
            role=Role.INFERENCE,
            parent="a",
            outputs=[said(think("hm"), "Hello")],
            usage=TokenUsage(1, 1),
        ),
    ]
    assert story(turn(reads)) == ["think:hm", "say:Hello"]


# --- calls and results --------------------------------------------------------------------------------------


def test_a_complete_call_and_its_result_are_a_pair_with_their_own_times() -> None:
    record = told(
        n.StreamStart("r"),
        n.ToolCallComplete(0, "1", "weather", '{"city": "Paris"}'),
        n.RuntimeStep(1, "finished"),
        n.ToolResult("1", "weather", '{"t": 18}'),
    )
    assert record["events"] == [
        {
            "type": "operation.started",
            "operationId": "1",
            "operation": {"kind": "tool", "name": "weather", "input": PARIS},
        },
        {
            "type": "operation.finished",
            "operationId": "1",
            "kind": "tool",
            "output": {"t": 18},
            "status": "completed",
        },
    ]
    assert times(record) == [2, 4]


def test_content_that_is_no_json_stays_text() -> None:
    record = told(n.ToolCallComplete(0, "1", "f", "{}"), n.ToolResult("1", "f", "18 degrees"))
    assert record["events"][1]["output"] == "18 degrees"


def test_arguments_that_are_no_json_stay_text_with_evidence() -> None:
    record = told(n.ToolCallComplete(0, "1", "f", '{"city": '), n.ToolResult("1", "f", "x"))
    assert record["events"][0]["operation"]["input"] == '{"city": '
    assert "unparsable_json" in codes(record)


def test_a_result_without_success_is_failed() -> None:
    record = told(n.ToolCallComplete(0, "1", "f", "{}"), n.ToolResult("1", "f", "no", success=False))
    assert story(record) == ["start:1", "end:1:failed"]
    assert record["status"] == "completed"


def test_a_result_whose_call_nobody_saw_stands_with_a_start_of_its_own() -> None:
    record = told(n.MessageDelta("x"), n.ToolResult("9", "f", "ok"))
    assert story(record) == ["say:x", "start:9", "end:9:completed"]
    assert record["events"][1]["operation"] == {"kind": "tool", "name": "f", "input": None}
    assert "operation_unstarted" in codes(record)


def test_deltas_are_superseded_by_the_complete_call() -> None:
    record = told(
        n.ToolCallDelta(0, "1", "f", '{"a"'),
        n.ToolCallDelta(0, None, None, ": 1}"),
        n.ToolCallComplete(0, "1", "f", '{"a": 2}'),
        n.ToolResult("1", "f", "x"),
    )
    assert [e["operation"]["input"] for e in record["events"] if "operation" in e] == [{"a": 2}]
    assert "truncated_value" not in codes(record)


def test_a_call_whose_stream_broke_off_is_used_as_far_as_it_came() -> None:
    record = told(
        n.ToolCallDelta(0, None, "f", '{"a"'),
        n.ToolCallDelta(1, "2", "g", "{}"),
        n.ToolCallDelta(0, "1", None, ": 1}"),
    )
    assert [(e["operationId"], e["operation"]["input"]) for e in record["events"]] == [
        ("1", {"a": 1}),
        ("2", {}),
    ]
    assert "truncated_value" in codes(record)
    assert record["otel"]["evidence"]["complete"] is False


def test_one_index_in_two_batches_is_two_calls() -> None:
    record = told(
        n.ToolCallDelta(0, "1", "f", "{}"),
        n.ToolCallDelta(0, "2", "g", "{}"),
    )
    assert [e["operationId"] for e in record["events"]] == ["1", "2"]


def test_the_executing_span_joins_the_call_of_the_stream() -> None:
    reads = [
        agent("a", 0, 100),
        stream(
            n.ToolCallComplete(0, "1", "weather", '{"city": "Pari"}'),
            n.ToolResult("1", "weather", "told"),
            parent="a",
        ),
        tool("weather", 20, 30, "1", "seen", parent="a", arguments=PARIS),
    ]
    record = turn(reads)
    assert story(record) == ["start:1", "end:1:completed"]
    assert record["events"][0]["operation"]["input"] == PARIS
    assert record["events"][1]["output"] == "seen"
    assert times(record) == [20, 30]


def test_the_stream_fills_what_the_executing_span_lacks() -> None:
    reads = [
        agent("a", 0, 100),
        stream(
            n.ToolCallComplete(0, "1", "weather", '{"city": "Paris"}'),
            n.ToolResult("1", "weather", "told"),
            parent="a",
        ),
        tool("weather", 20, 30, "1", MISSING, parent="a", arguments=MISSING),
    ]
    record = turn(reads)
    assert record["events"][0]["operation"]["input"] == PARIS
    assert record["events"][1]["output"] == "told"


def test_the_arguments_of_the_stream_win_over_those_of_the_reply() -> None:
    reads = [
        agent("a", 0, 200),
        chat("c", 0, 1, call("1", "weather", {"city": "Pari"}), parent="a"),
        stream(n.ToolCallComplete(0, "1", "weather", '{"city": "Paris"}'), parent="a"),
    ]
    record = turn(reads)
    assert [e["operation"]["input"] for e in record["events"]] == [PARIS]


def test_the_same_id_again_after_its_result_is_a_new_operation() -> None:
    record = told(
        n.ToolCallComplete(0, "1", "f", '{"n": 1}'),
        n.ToolResult("1", "f", "no", success=False),
        n.ToolCallComplete(0, "1", "f", '{"n": 2}'),
        n.ToolResult("1", "f", "yes"),
    )
    assert story(record) == ["start:1", "end:1:failed", "start:1", "end:1:completed"]
    assert [e["operation"]["input"] for e in record["events"] if "operation" in e] == [{"n": 1}, {"n": 2}]


def test_the_same_call_or_result_told_twice_is_one() -> None:
    record = told(
        n.ToolCallComplete(0, "1", "f", "{}"),
        n.ToolCallComplete(0, "1", "f", "{}"),
        n.ToolResult("1", "f", "x"),
        n.ToolResult("1", "f", "x"),
    )
    assert story(record) == ["start:1", "end:1:completed"]


# --- skills -------------------------------------------------------------------------------------------------


def test_an_activation_is_one_event_at_its_first_status_that_is_no_failure() -> None:
    record = told(
        n.SkillActivation("pdf", "activated"),
        n.SkillActivation("pdf", "running"),
        n.SkillActivation("pdf", "complete"),
    )
    assert record["events"] == [{"type": "skill.loaded", "skill": "pdf"}]
    assert times(record) == [1]


def test_an_activation_after_the_end_of_one_is_another() -> None:
    record = told(
        n.SkillActivation("pdf", "activated"),
        n.SkillActivation("pdf", "complete"),
        n.SkillActivation("pdf", "activated"),
    )
    assert story(record) == ["skill:pdf", "skill:pdf"]


def test_a_failure_alone_gives_nothing() -> None:
    record = told(n.MessageDelta("x"), n.SkillActivation("pdf", "failed"))
    assert story(record) == ["say:x"]


# --- errors and the end -------------------------------------------------------------------------------------


def test_an_error_fails_the_turn() -> None:
    record = told(n.MessageDelta("Wait."), n.Error("lost", "503"))
    assert story(record) == ["say:Wait.", "error:lost"]
    assert record["status"] == "failed"


def test_a_later_done_says_that_the_turn_completed() -> None:
    record = told(n.Error("lost"), n.MessageDelta("Again."), n.Done())
    assert story(record) == ["error:lost", "say:Again."]
    assert record["status"] == "completed"


def test_an_error_behind_a_done_fails_the_turn() -> None:
    assert told(n.MessageDelta("x"), n.Done(), n.Error("lost"))["status"] == "failed"


def test_an_error_that_the_span_repeats_as_its_own_is_told_once() -> None:
    record = told(n.MessageDelta("x"), n.Error("lost"), failed=True, error="lost")
    assert story(record) == ["say:x", "error:lost"]
    assert record["status"] == "failed"


# --- what no event says -------------------------------------------------------------------------------------


def test_the_rest_is_kept_as_annotations_in_order_with_time_and_span() -> None:
    record = told(
        n.MessageDelta("x"),
        n.CitationAdded({"url": "https://example.test/", "title": "A page"}),
        n.MemoryUpdate("name", "Ada", "append"),
        n.SandboxOutput("stderr", "oops"),
        n.Custom("app", "progress", {"percent": 50}),
    )
    assert story(record) == ["say:x"]
    where = ident("s", 8).hex()
    assert record["otel"]["annotations"] == [
        {
            "timeUnixNano": str(T0 + 2 * MS),
            "spanId": where,
            "type": "citation.added",
            "data": {"url": "https://example.test/", "title": "A page"},
        },
        {
            "timeUnixNano": str(T0 + 3 * MS),
            "spanId": where,
            "type": "memory.update",
            "data": {"key": "name", "value": "Ada", "operation": "append"},
        },
        {
            "timeUnixNano": str(T0 + 4 * MS),
            "spanId": where,
            "type": "sandbox.output",
            "data": {"stream": "stderr", "data": "oops"},
        },
        {
            "timeUnixNano": str(T0 + 5 * MS),
            "spanId": where,
            "type": "custom",
            "data": {"source": "app", "event_name": "progress", "payload": {"percent": 50}},
        },
    ]
    assert record["otel"]["evidence"]["complete"] is False  # no usage was reported


def test_without_any_there_are_no_annotations() -> None:
    assert "annotations" not in told(n.MessageDelta("x"))["otel"]


def test_an_annotation_of_a_dialect_is_kept_the_same_way() -> None:
    mark = Mark(T0 + 5 * MS, "annotation", {"type": "retrieval", "data": [1]})
    record = turn([agent("a", 0, 100, marks=[mark]), chat("c", 1, 10, "x", parent="a")])
    assert record["otel"]["annotations"] == [
        {
            "timeUnixNano": str(T0 + 5 * MS),
            "spanId": ident("a", 8).hex(),
            "type": "retrieval",
            "data": [1],
        }
    ]


# --- Customs that are events --------------------------------------------------------------------------------

APPROVAL = {
    "id": "q",
    "action": "deploy",
    "input": {"to": "prod"},
    "prompt": "Deploy?",
    "options": [{"id": "y"}],
}


@pytest.mark.parametrize(
    ("name", "payload", "event"),
    [
        ("compaction", {"reason": "full"}, {"type": "compaction", "reason": "full"}),
        ("compaction", None, {"type": "compaction"}),
        ("skill.loaded", {"skill": "pdf"}, {"type": "skill.loaded", "skill": "pdf"}),
        (
            "skill.loaded",
            {"skill": "pdf", "operationId": "1"},
            {"type": "skill.loaded", "skill": "pdf", "operationId": "1"},
        ),
        ("input.requested", {"request": APPROVAL}, {"type": "input.requested", "request": APPROVAL}),
        ("input.requested", APPROVAL, {"type": "input.requested", "request": APPROVAL}),
        ("stream_event", {"type": "compaction"}, {"type": "compaction"}),
        ("stream_event", {"type": "thinking", "text": "hm"}, {"type": "thinking", "text": "hm"}),
        (
            "stream_event",
            {"type": "message", "role": "assistant", "text": "Hello"},
            {"type": "message", "role": "assistant", "text": "Hello"},
        ),
        (
            "stream_event",
            {"type": "input.requested", "request": APPROVAL},
            {"type": "input.requested", "request": APPROVAL},
        ),
    ],
)
def test_a_custom_with_a_documented_name_is_that_event(
    name: str, payload: Any, event: dict[str, Any]
) -> None:
    record = told(n.MessageDelta("x"), n.Custom("app", name, payload), n.MessageDelta("y"))
    assert record["events"] == [
        {"type": "message", "role": "assistant", "text": "x"},
        event,
        {"type": "message", "role": "assistant", "text": "y"},
    ]
    assert "annotations" not in record["otel"]
    assert "malformed_event" not in codes(record)


def test_a_question_of_a_custom_waits() -> None:
    record = told(n.MessageDelta("x"), n.Custom("app", "input.requested", {"action": "deploy"}))
    assert record["status"] == "waiting"


def test_a_question_of_a_custom_whose_call_was_answered_does_not_wait() -> None:
    record = told(
        n.ToolCallComplete(0, "1", "deploy", "{}"),
        n.Custom("app", "input.requested", {"action": "deploy"}),
        n.ToolResult("1", "deploy", "done"),
        n.Done(),
    )
    assert story(record) == ["start:1", "ask:deploy", "end:1:completed"]
    assert record["status"] == "completed"


def test_whole_operations_are_merged_with_their_other_witnesses() -> None:
    started = {
        "type": "operation.started",
        "operationId": "1",
        "operation": {"kind": "tool", "name": "weather", "input": PARIS},
    }
    finished = {
        "type": "operation.finished",
        "operationId": "1",
        "kind": "tool",
        "output": {"t": 18},
        "status": "rejected",
    }
    record = told(
        n.ToolCallComplete(0, "1", "weather", '{"city": "Paris"}'),
        n.Custom("app", "stream_event", started),
        n.Custom("app", "stream_event", finished),
    )
    assert record["events"] == [started, finished]


def test_a_whole_sub_agent_is_told_as_it_is() -> None:
    started = {
        "type": "operation.started",
        "operationId": "agent:1",
        "operation": {"kind": "subagent", "name": "researcher"},
    }
    finished = {
        "type": "operation.finished",
        "operationId": "agent:1",
        "kind": "subagent",
        "output": "found",
        "status": "completed",
    }
    record = told(
        n.Custom("app", "stream_event", started),
        n.Custom("app", "stream_event", finished),
        n.MessageDelta("x"),
    )
    assert record["events"][:2] == [started, finished]
    assert story(record)[2:] == ["say:x"]


def test_a_whole_operation_that_nobody_finished_is_told_by_the_evidence() -> None:
    started = {
        "type": "operation.started",
        "operationId": "agent:1",
        "operation": {"kind": "subagent", "name": "researcher"},
    }
    record = told(n.MessageDelta("x"), n.Custom("app", "stream_event", started))
    assert "operation_unfinished" in codes(record)


def test_a_whole_error_is_an_error_like_any_other() -> None:
    record = told(n.MessageDelta("x"), n.Custom("app", "stream_event", {"type": "error", "message": "lost"}))
    assert story(record) == ["say:x", "error:lost"]
    assert record["status"] == "failed"


def test_whole_words_of_the_user_are_no_event() -> None:
    payload = {"type": "message", "role": "user", "text": "hi"}
    record = told(n.MessageDelta("x"), n.Custom("app", "stream_event", payload))
    assert story(record) == ["say:x"]


# --- malformed and dropped ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("stream_event", {"type": "shout", "text": "SECRET"}),
        ("stream_event", {"type": "message", "role": "assistant"}),
        ("stream_event", {"type": "message", "role": "assistant", "text": 5}),
        ("stream_event", "SECRET"),
        ("stream_event", {"type": "operation.finished", "operationId": "agent:1", "kind": "subagent"}),
        (
            "stream_event",
            {"type": "operation.finished", "operationId": "9", "kind": "subagent", "status": "completed"},
        ),
        ("skill.loaded", {"skill": 5}),
        ("skill.loaded", None),
        ("input.requested", "SECRET"),
        ("input.requested", {"request": {"action": 5}}),
        ("compaction", {"reason": ["SECRET"]}),
    ],
)
def test_a_malformed_custom_is_skipped_with_evidence_and_never_stops_a_turn(name: str, payload: Any) -> None:
    record = told(n.MessageDelta("x"), n.Custom("app", name, payload), n.MessageDelta("y"))
    assert story(record) == ["say:xy"]
    assert "malformed_event" in codes(record)
    assert record["otel"]["evidence"]["complete"] is False
    assert all("SECRET" not in i["message"] for i in record["otel"]["evidence"]["issues"])


def test_a_malformed_event_is_told_and_the_others_are_used() -> None:
    mark = Mark(T0 + MS, "malformed", "ToolResult.id: this field is missing")
    record = told(n.MessageDelta("x"), marks=[mark])
    assert story(record) == ["say:x"]
    issues = [i for i in record["otel"]["evidence"]["issues"] if i["code"] == "malformed_event"]
    assert issues == [
        {
            "code": "malformed_event",
            "message": "ToolResult.id: this field is missing",
            "spanId": ident("s", 8).hex(),
        }
    ]


def test_a_span_that_dropped_events_makes_the_turn_incomplete() -> None:
    record = told(n.MessageDelta("x"), n.Usage(1, 1, 2), dropped_events=7)
    assert codes(record) == {"span_events_dropped"}
    assert record["otel"]["evidence"]["complete"] is False


def test_user_words_of_a_request_beside_a_stream_are_no_events() -> None:
    reads = [
        agent("a", 0, 100),
        stream(n.MessageDelta("Hello"), role=Role.INFERENCE, parent="a", inputs=[user("hi")]),
    ]
    assert story(turn(reads)) == ["say:Hello"]
