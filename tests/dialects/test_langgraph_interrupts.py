"""LangGraph's pauses: what was asked of a human, and what the human said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.langgraph_interrupts import (
    assign_calls,
    interrupted,
    read_decisions,
    read_interrupts,
    resume_of,
)
from otel_turns.model.facts import MISSING, Decision, Question, ToolCall
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import exception, span

ID = "0123456789abcdef0123456789abcdef"
MIDDLEWARE: dict[str, Any] = {
    "action_requests": [
        {"name": "send_email", "args": {"to": "a@example.org"}, "description": "Approve?"},
        {"name": "get_time", "args": {}},
    ],
    "review_configs": [
        {"action_name": "send_email", "allowed_decisions": ["approve", "reject"]},
        {"action_name": "get_time", "allowed_decisions": ["approve"]},
    ],
}
ASKED = [
    Question(
        ID,
        "send_email",
        {"to": "a@example.org"},
        "Approve?",
        [{"id": "approve"}, {"id": "reject"}],
        time=7,
    ),
    Question(ID, "get_time", {}, None, [{"id": "approve"}], time=7),
]


@pytest.mark.parametrize(
    "text",
    [
        f"(Interrupt(value={MIDDLEWARE!r}, id='{ID}'),)",
        f"GraphInterrupt((Interrupt(value={MIDDLEWARE!r}, id='{ID}'),))",
        f"GraphInterrupt((Interrupt(value={MIDDLEWARE!r}, id='{ID}'),))"
        'Traceback (most recent call last):\n  File "x.py", line 1\n',
        json.dumps([{"id": ID, "value": MIDDLEWARE}]),
        json.dumps([{"id": ID, "value": MIDDLEWARE}], indent=2)
        + "\n\nGraphInterrupt: [\n    at f (x.js:1:2)",
    ],
)
def test_the_middlewares_question_in_every_form(text: str) -> None:
    assert read_interrupts(text, 7) == ASKED


def test_the_javascript_middleware_writes_camel_case() -> None:
    value = {
        "actionRequests": [{"name": "f", "args": {"a": 1}}],
        "reviewConfigs": [{"actionName": "f", "allowedDecisions": ["approve"]}],
    }
    text = json.dumps([{"id": ID, "value": value}])
    assert read_interrupts(text) == [Question(ID, "f", {"a": 1}, None, [{"id": "approve"}])]


@pytest.mark.parametrize(
    ("value", "question"),
    [
        ("Really?", Question(ID, prompt="Really?")),
        (
            {"question": "Send it?", "action": "send_email", "args": {"to": "a"}},
            Question(ID, "send_email", {"to": "a"}, "Send it?"),
        ),
        (
            {"message": "Which?", "options": ["red", {"id": "blue", "label": "Blue"}]},
            Question(ID, prompt="Which?", options=[{"id": "red"}, {"id": "blue", "label": "Blue"}]),
        ),
        ({"question": "Go?", "cost": 3}, Question(ID, input={"cost": 3}, prompt="Go?")),
        (42, Question(ID, input=42)),
        (
            {
                "action_request": {"action": "f", "args": {"a": 1}},
                "config": {"allow_accept": True, "allow_edit": False},
                "description": "Look.",
            },
            Question(ID, "f", {"a": 1}, "Look.", [{"id": "accept"}]),
        ),
    ],
)
def test_questions_as_people_write_them(value: Any, question: Question) -> None:
    assert read_interrupts(f"(Interrupt(value={value!r}, id='{ID}'),)") == [question]


def test_several_interrupts_are_several_questions() -> None:
    text = "(Interrupt(value='A?', id='1'), Interrupt(value='B?', id='2'))"
    assert [(q.id, q.prompt) for q in read_interrupts(text)] == [("1", "A?"), ("2", "B?")]


def test_an_unreadable_value_leaves_the_id() -> None:
    text = f"(Interrupt(value=<object at 0x7f>, id='{ID}'),)"
    assert [question.id for question in read_interrupts(text)] == [ID]


def test_an_unreadable_interrupt_is_one_question_without_words() -> None:
    assert read_interrupts("GraphInterrupt(", 3) == [Question(time=3)]


def test_a_span_that_ended_with_an_interrupt() -> None:
    words = "(Interrupt(value='A?', id='1'),)"
    assert interrupted(span(events=[exception(words, "langgraph.errors.GraphInterrupt")])) == words
    assert interrupted(span({"error.type": "GraphInterrupt"}, status=STATUS_ERROR, message=words)) == words
    assert interrupted(span(status=STATUS_ERROR, message=f"GraphInterrupt({words})")) is not None


def test_other_spans() -> None:
    assert interrupted(span()) is None
    assert interrupted(span(status=STATUS_ERROR, message="KeyboardInterrupt")) is None
    assert interrupted(span(events=[exception("Interrupt of service", "ValueError")])) is None


def test_questions_find_their_calls_each_once() -> None:
    calls = [
        ToolCall("c1", "f", {"a": 1}),
        ToolCall("c2", "f", {"a": 2}),
        ToolCall("c3", "f", {"a": 2}),
        ToolCall("c4", "g", {}),
    ]
    questions = [
        Question(action="f", input={"a": 2}),
        Question(action="f", input={"a": 2}),
        Question(action="g"),
        Question(action="h"),
        Question(prompt="free"),
    ]
    assign_calls(questions, calls)
    assert [question.call_id for question in questions] == ["c2", "c3", "c4", None, None]


def test_an_edited_question_names_no_call_where_several_could_be_meant() -> None:
    questions = [Question(action="f", input={"a": 9})]
    assign_calls(questions, [ToolCall("c1", "f", {"a": 1}), ToolCall("c2", "f", {"a": 2})])
    assert questions[0].call_id is None


def test_resumption() -> None:
    command: dict[str, Any] = {"graph": None, "update": None, "resume": {"decisions": []}, "goto": []}
    assert resume_of(command) == {"decisions": []}
    assert resume_of({"input": command}) == {"decisions": []}
    assert resume_of({"messages": []}) is MISSING
    assert resume_of({"resume": "my CV"}) is MISSING
    assert resume_of({**command, "resume": None}) is MISSING
    assert resume_of("resume") is MISSING


@pytest.mark.parametrize(
    ("resume", "decisions"),
    [
        (
            {"decisions": [{"type": "approve"}, {"type": "reject", "message": "Too late."}]},
            [Decision(True), Decision(False, reason="Too late.")],
        ),
        (
            {"decisions": [{"type": "edit", "edited_action": {"name": "f", "args": {"a": 1}}}]},
            [Decision(True)],
        ),
        ("yes", [Decision(True)]),
        ("No.", [Decision(False)]),
        (True, [Decision(True)]),
        (False, [Decision(False)]),
        ("I think it is fine", []),
        (None, []),
        ({"approved": False, "reason": "No."}, [Decision(False, reason="No.")]),
        ([{"type": "accept"}], [Decision(True)]),
        ({ID: "no"}, [Decision(False, question_id=ID)]),
        ({"city": "Paris"}, []),
    ],
)
def test_decisions(resume: Any, decisions: list[Decision]) -> None:
    assert read_decisions(resume) == decisions


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.sampled_from(["yes", "no"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "decisions",
                    "type",
                    "approved",
                    "message",
                    "action_requests",
                    "review_configs",
                    "name",
                    "args",
                    "action_name",
                    "options",
                    "allowed_decisions",
                    "action_request",
                    "config",
                    "allow_x",
                    "question",
                    "input",
                    "resume",
                    "update",
                    "id",
                    "value",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_every_value_of_an_interrupt_is_at_least_one_question(value: Any) -> None:
    for text in (f"(Interrupt(value={value!r}, id='1'),)", json.dumps([{"id": "1", "value": value}])):
        found = read_interrupts(text)
        assert found
        assert all(isinstance(question, Question) for question in found)
    resume_of(value)
    assert all(isinstance(decision, Decision) for decision in read_decisions(value))


@given(st.text(max_size=40))
def test_any_text_is_at_least_one_question(text: str) -> None:
    assert read_interrupts(text)
