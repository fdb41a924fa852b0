"""LangSmith's export of runs."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.langsmith import LangSmith
from otel_turns.model.facts import (
    MISSING,
    Decision,
    Facts,
    Message,
    Question,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import STATUS_ERROR, STATUS_OK
from tests.dialects.spans import exception, span, text

KIND = "langsmith.span.kind"
PROMPT, COMPLETION = "gen_ai.prompt", "gen_ai.completion"
META = "langsmith.metadata."
CALL = {"name": "get_weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}


def constructor(kind: str, /, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def run(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    dialect = LangSmith()
    made = span({KIND: kind, **(attributes or {})}, scope="langsmith", **more)
    assert dialect.matches(made)
    return dialect.read(made)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("llm", Role.INFERENCE),
        ("tool", Role.TOOL),
        ("chain", Role.CHAIN),
        ("retriever", Role.NOTHING),
        ("embedding", Role.NOTHING),
        ("prompt", Role.STEP),
        ("parser", Role.STEP),
        ("a_kind_of_tomorrow", Role.STEP),
    ],
)
def test_the_kind_says_the_role(kind: str, role: Role) -> None:
    assert run(kind, {PROMPT: "{}", COMPLETION: "{}"}).role is role


def test_the_operation_where_there_is_no_kind() -> None:
    dialect = LangSmith()
    made = span({"gen_ai.operation.name": "execute_tool"}, scope="langsmith")
    assert dialect.matches(made)
    assert dialect.read(made).role is Role.TOOL
    assert not dialect.matches(span({"gen_ai.operation.name": "chat"}, scope="x"))


def test_a_request_of_langchain() -> None:
    reply = constructor("AIMessage", content="", tool_calls=[CALL], response_metadata={"id": "chatcmpl-1"})
    facts = run(
        "llm",
        {
            PROMPT: text({"messages": [[constructor("HumanMessage", content="Weather?")]]}),
            COMPLETION: text({"generations": [[{"text": "", "message": reply}]]}),
            "gen_ai.usage.input_tokens": 12,
            "gen_ai.usage.output_tokens": 3,
            META + "usage_metadata": text({"input_tokens": 99, "input_token_details": {"cache_read": 4}}),
            "gen_ai.request.model": "gpt-4o-mini",
            META + "thread_id": "t1",
        },
    )
    assert facts.inputs == [Message("user", [Text("Weather?")])]
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "get_weather", {"city": "Paris"})])]
    assert (facts.response_id, facts.model, facts.session_id) == ("chatcmpl-1", "gpt-4o-mini", "t1")
    assert facts.usage == TokenUsage(12, 3, 4)


def test_a_request_of_a_wrapped_client() -> None:
    facts = run(
        "llm",
        {
            PROMPT: text(
                {
                    "messages": [{"role": "user", "content": "Weather?"}],
                    "response_format": {"type": "json_schema"},
                }
            ),
            COMPLETION: text({"id": "chatcmpl-1", "choices": [{"message": {"content": '{"temp_c": 18}'}}]}),
        },
    )
    assert facts.inputs == [Message("user", [Text("Weather?")])]
    assert facts.outputs == [Message("assistant", [Text('{"temp_c": 18}')])]
    assert (facts.response_id, facts.structured) == ("chatcmpl-1", True)


def test_a_traced_function_that_stands_for_a_model() -> None:
    facts = run("llm", {PROMPT: text({"question": "Hi"}), COMPLETION: text({"output": "Hello"})})
    assert facts.outputs == [Message("assistant", [Text("Hello")])]


def test_hidden_content() -> None:
    assert run("llm", {PROMPT: "{}", COMPLETION: "{}"}).hidden == {"inputs", "outputs"}
    assert run("llm").hidden == {"inputs", "outputs"}
    assert run("tool").hidden == {"arguments", "result"}
    facts = run("tool", {PROMPT: "{}", COMPLETION: "{}"})
    assert (facts.arguments, facts.result) == (MISSING, MISSING)
    assert facts.hidden == {"arguments", "result"}
    assert run("chain", {PROMPT: "{}", COMPLETION: "{}"}, name="root").hidden == {"inputs", "outputs"}


def test_a_tool() -> None:
    message = constructor("ToolMessage", content='{"temp_c": 18}', tool_call_id="c1")
    facts = run(
        "tool",
        {
            PROMPT: text({"city": "Paris"}),
            COMPLETION: text({"output": message}),
            "gen_ai.tool.name": "get_weather",
        },
    )
    assert (facts.tool_name, facts.call_id) == ("get_weather", "c1")
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})


def test_arguments_that_are_text_within_one_input() -> None:
    facts = run("tool", {PROMPT: text({"input": '{"city": "Paris"}'}), COMPLETION: text({"output": "clear"})})
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, "clear")
    assert run("tool", {PROMPT: text({"input": "Paris"})}).arguments == {"input": "Paris"}


def test_a_failed_tool() -> None:
    told = (
        "ValueError('no such city')Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: x"
    )
    facts = run(
        "tool",
        {PROMPT: text({"city": "X"}), COMPLETION: "{}"},
        status=STATUS_ERROR,
        message=told,
        events=[exception(told, "Exception")],
    )
    assert (facts.failed, facts.error, facts.result) == (True, "no such city", MISSING)


def test_an_exception_of_the_javascript_client_under_status_ok() -> None:
    told = "no such city\n\nError: no such city\n    at f (x.js:1:2)"
    facts = run("tool", status=STATUS_OK, events=[exception(told, "Error")])
    assert (facts.failed, facts.error) == (True, "no such city")


def test_a_paused_tool() -> None:
    words = "GraphInterrupt((Interrupt(value={'question': 'Send it?', 'action': 'f'}, id='i1'),))"
    facts = run(
        "tool",
        {PROMPT: text({"to": "a"}), COMPLETION: "{}", "gen_ai.tool.call.id": "c1"},
        status=STATUS_ERROR,
        events=[exception(words, "Exception")],
    )
    assert (facts.failed, facts.paused) == (False, True)
    assert facts.questions == [Question("i1", "f", MISSING, "Send it?", call_id="c1")]


def test_nodes_are_structure_and_other_chains_agents_by_position() -> None:
    node = META + "langgraph_node"
    assert run("chain", {node: "model"}, name="model").role is Role.STEP
    facts = run("chain", {META + "lc_agent_name": "researcher"}, name="researcher")
    assert (facts.role, facts.agent_name, facts.chain_speaks) == (Role.CHAIN, "researcher", True)
    facts = run("chain", {node: "tools"}, name="helper")
    assert (facts.role, facts.agent_name, facts.chain_speaks) == (Role.CHAIN, "helper", False)


def test_the_root_run_of_a_named_agent() -> None:
    facts = run("chain", {META + "lc_agent_name": "root", "langsmith.is_root": True}, name="root")
    assert (facts.role, facts.agent_name) == (Role.AGENT, "root")


def test_a_tools_node_with_one_call_executes_it() -> None:
    message = constructor("ToolMessage", content="clear", tool_call_id="c1")
    facts = run(
        "chain",
        {
            META + "langgraph_node": "tools",
            PROMPT: text({"tool_call": CALL, "state": {}}),
            COMPLETION: text({"messages": [message]}),
        },
        name="tools",
    )
    assert facts.role is Role.TOOL
    assert (facts.tool_name, facts.call_id, facts.arguments) == ("get_weather", "c1", {"city": "Paris"})
    assert facts.result == "clear"


def test_words_decisions_and_data_of_a_run() -> None:
    state: dict[str, Any] = {
        "messages": [constructor("HumanMessage", content="Hi"), constructor("AIMessage", content="Hello")],
        "structured_response": {"a": 1},
    }
    facts = run(
        "chain", {PROMPT: text({"messages": state["messages"][:1]}), COMPLETION: text(state)}, name="root"
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert facts.data == {"a": 1}
    command: dict[str, Any] = {
        "graph": None,
        "update": None,
        "resume": {"decisions": [{"type": "approve"}]},
        "goto": [],
    }
    facts = run("chain", {PROMPT: text(command)}, name="root")
    assert (facts.resumes, facts.decisions) == (True, [Decision(True)])


def test_a_traced_function_says_its_only_text() -> None:
    facts = run(
        "chain", {PROMPT: text({"question": "Hi"}), COMPLETION: text({"output": "Hello"})}, name="answer"
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]


@given(
    st.sampled_from(["llm", "tool", "chain"]),
    st.sampled_from(
        ["", "{", "[]", "null", "3", '{"messages": [[1]]}', '{"output": {"lc": 1}}', '{"generations": [[]]}']
    ),
    st.sampled_from(["", "}", "[1]", "null", '{"outputs": null}', '{"choices": [{}]}', '{"generations": 3}']),
)
def test_odd_content_never_raises(kind: str, asked: str, said: str) -> None:
    assert run(kind, {PROMPT: asked, COMPLETION: said}).convention.name == "langsmith"
