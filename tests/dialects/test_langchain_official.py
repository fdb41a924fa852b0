"""LangChain through OpenTelemetry's own instrumentation: what it adds to GenAI."""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.langchain_official import GenAILangChain
from otel_turns.model.facts import Facts, Message, Question, Role, Text, ToolCall
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import span, text

SCOPE = "opentelemetry.instrumentation.genai.langchain"
OPERATION = "gen_ai.operation.name"


def run(attributes: dict[str, Any], **more: Any) -> Facts:
    dialect = GenAILangChain()
    made = span(attributes, scope=SCOPE, **more)
    assert dialect.matches(made)
    return dialect.read(made)


def messages(*said: tuple[str, dict[str, Any]]) -> str:
    return text([{"role": role, "parts": [part]} for role, part in said])


HELLO: dict[str, Any] = {"type": "text", "content": "Hello"}
CALL: dict[str, Any] = {"type": "tool_call", "id": "c1", "name": "f", "arguments": {}}


def test_only_its_own_scope() -> None:
    assert not GenAILangChain().matches(span({OPERATION: "chat"}, scope="opentelemetry.instrumentation.x"))


def test_a_request_reads_as_genai() -> None:
    facts = run({OPERATION: "chat", "gen_ai.output.messages": messages(("assistant", CALL))})
    assert facts.role is Role.INFERENCE
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {})])]


def test_a_paused_tool() -> None:
    facts = run(
        {
            OPERATION: "execute_tool",
            "gen_ai.tool.name": "f",
            "gen_ai.tool.call.id": "c1",
            "error.type": "GraphInterrupt",
        },
        status=STATUS_ERROR,
        message="(Interrupt(value='Send it?', id='i1'),)",
    )
    assert (facts.failed, facts.error, facts.paused) == (False, None, True)
    assert facts.questions == [Question("i1", prompt="Send it?", call_id="c1", time=9_000)]


def test_an_agent_that_paused() -> None:
    facts = run(
        {OPERATION: "invoke_agent", "gen_ai.agent.name": "root", "error.type": "GraphInterrupt"},
        status=STATUS_ERROR,
        message="(Interrupt(value='Send it?', id='i1'),)",
    )
    assert (facts.role, facts.failed, facts.paused) == (Role.AGENT, False, False)
    assert [question.id for question in facts.questions] == ["i1"]


def test_the_final_answer_of_an_agent() -> None:
    facts = run(
        {
            OPERATION: "invoke_agent",
            "gen_ai.agent.name": "LangGraph",
            "gen_ai.input.messages": messages(("user", {"type": "text", "content": "Hi"})),
            "gen_ai.output.messages": messages(("user", HELLO), ("assistant", CALL), ("assistant", HELLO)),
        }
    )
    assert facts.agent_name is None
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert not facts.resumes


def test_an_agent_that_ends_with_a_call_has_no_answer() -> None:
    facts = run({OPERATION: "invoke_agent", "gen_ai.output.messages": messages(("assistant", CALL))})
    assert facts.outputs is None


def test_an_answer_without_a_question_goes_on_where_it_paused() -> None:
    facts = run({OPERATION: "invoke_agent", "gen_ai.output.messages": messages(("assistant", HELLO))})
    assert facts.resumes
