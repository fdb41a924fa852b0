"""LangChain and LangGraph through OpenInference."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.openinference_langchain import OpenInferenceLangChain, clean_stack
from otel_turns.model.facts import (
    MISSING,
    Decision,
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import exception, span, text

SCOPE = "openinference.instrumentation.langchain"
KIND = "openinference.span.kind"
CALL = {"name": "get_weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}
PAUSE = "(Interrupt(value={'question': 'Send it?', 'action': 'send_email', 'args': {'to': 'a'}}, id='i1'),)"


def constructor(kind: str, /, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def read(made: Span) -> Facts:
    dialect = OpenInferenceLangChain()
    assert dialect.matches(made)
    return dialect.read(made)


def run(kind: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    return read(span({KIND: kind, **(attributes or {})}, scope=SCOPE, **more))


def test_only_its_own_scopes() -> None:
    dialect = OpenInferenceLangChain()
    assert dialect.matches(span({KIND: "LLM"}, scope="@arizeai/openinference-instrumentation-langchain"))
    assert not dialect.matches(span({KIND: "LLM"}, scope="openinference.instrumentation.openai"))
    assert not dialect.matches(span({}, scope=SCOPE))


def test_a_run_is_an_agent_by_its_position_only() -> None:
    facts = run("CHAIN", {"metadata": text({"lc_agent_name": "researcher"})}, name="researcher")
    assert (facts.role, facts.agent_name, facts.chain_speaks) == (Role.CHAIN, "researcher", False)


@pytest.mark.parametrize("name", ["LangGraph", "CompiledStateGraph", "RunnableSequence", "AgentExecutor"])
def test_a_class_is_no_name(name: str) -> None:
    assert run("CHAIN", name=name).agent_name is None


def test_the_agents_name_where_the_run_is_called_like_its_class() -> None:
    assert run("CHAIN", {"metadata": text({"lc_agent_name": "root"})}, name="LangGraph").agent_name == "root"


@pytest.mark.parametrize("name", ["model", "tools", "PIIMiddleware.before_model", "should_continue"])
def test_nodes_of_a_graph_are_structure(name: str) -> None:
    metadata = text({"langgraph_node": name, "lc_agent_name": "root"})
    facts = run("CHAIN", {"metadata": metadata}, name=name)
    assert (facts.role, facts.agent_name) == (Role.STEP, None)


def test_an_agent_that_is_itself_a_node_of_a_graph() -> None:
    metadata = text({"langgraph_node": "researcher", "lc_agent_name": "researcher"})
    facts = run("CHAIN", {"metadata": metadata}, name="researcher")
    assert (facts.role, facts.agent_name) == (Role.CHAIN, "researcher")


def test_a_tool_and_a_model_whose_names_say_agent() -> None:
    assert run("AGENT", {"tool.name": "ask_agent"}).role is Role.TOOL
    assert run("AGENT", {"llm.token_count.prompt": 3}).role is Role.INFERENCE


def test_a_request_with_serialized_messages() -> None:
    reply = constructor(
        "AIMessage",
        content="Checking.",
        additional_kwargs={"reasoning_content": "Hm."},
        response_metadata={"id": "chatcmpl-1"},
        tool_calls=[CALL],
        id="lc_run--1",
    )
    facts = run(
        "LLM",
        {
            "input.value": text({"messages": [[constructor("HumanMessage", content="Weather?")]]}),
            "output.value": text({"generations": [[{"text": "", "message": reply}]]}),
            "llm.output_messages.0.message.content": "Checking.",
            "llm.token_count.prompt": 12,
            "llm.model_name": "gpt-4o-mini",
            "metadata": text({"thread_id": "t1"}),
            "session.id": "t1",
        },
    )
    assert facts.role is Role.INFERENCE
    assert facts.inputs == [Message("user", [Text("Weather?")])]
    assert facts.outputs == [
        Message(
            "assistant",
            [Reasoning("Hm."), Text("Checking."), ToolCall("c1", "get_weather", {"city": "Paris"})],
        )
    ]
    assert (facts.response_id, facts.usage, facts.session_id) == ("chatcmpl-1", TokenUsage(12), "t1")


def test_numbered_messages_where_the_serialized_ones_were_cut() -> None:
    facts = run(
        "LLM",
        {
            "input.value": '{"messages": [[{"lc"',
            "output.value": '{"generations": [[{"te',
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": "Hi",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "Hello",
        },
    )
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]


def test_a_tools_result_is_what_its_message_says() -> None:
    message = constructor("ToolMessage", content='{"temp_c": 18}', tool_call_id="c1", status="success")
    facts = run("TOOL", {"tool.name": "get_weather", "input.value": "Paris", "output.value": text(message)})
    assert (facts.tool_name, facts.call_id) == ("get_weather", "c1")
    assert (facts.arguments, facts.result) == (MISSING, {"temp_c": 18})
    assert not facts.failed


def test_a_tool_message_that_is_marked_as_an_error() -> None:
    message = constructor("ToolMessage", content="Error: no", tool_call_id="c1", status="error")
    facts = run("TOOL", {"output.value": text(message)})
    assert (facts.failed, facts.result) == (True, "Error: no")


def test_a_tool_that_gives_back_a_command() -> None:
    message = constructor("ToolMessage", content="done", tool_call_id="c1")
    facts = run("TOOL", {"output.value": text({"output": {"update": {"messages": [message]}}})})
    assert (facts.call_id, facts.result) == ("c1", "done")


def test_a_tool_of_before_tool_messages() -> None:
    assert run("TOOL", {"output.value": '{"temp_c": 18}'}).result == {"temp_c": 18}


def test_a_tools_node_with_one_call_executes_it() -> None:
    message = constructor("ToolMessage", content="clear", tool_call_id="c1")
    facts = run(
        "CHAIN",
        {
            "metadata": text({"langgraph_node": "tools"}),
            "input.value": text([CALL]),
            "output.value": text({"messages": [message]}),
        },
        name="tools",
    )
    assert facts.role is Role.TOOL
    assert (facts.tool_name, facts.call_id, facts.arguments) == ("get_weather", "c1", {"city": "Paris"})
    assert facts.result == "clear"


def test_a_tools_node_with_several_calls_is_structure() -> None:
    facts = run(
        "CHAIN",
        {"metadata": text({"langgraph_node": "tools"}), "input.value": text([CALL, {**CALL, "id": "c2"}])},
        name="tools",
    )
    assert facts.role is Role.STEP


def test_a_paused_tool_has_not_failed_and_asks() -> None:
    facts = run(
        "TOOL",
        {"tool.name": "send_email"},
        status=STATUS_ERROR,
        message=f"GraphInterrupt({PAUSE})",
        events=[exception(PAUSE, "langgraph.errors.GraphInterrupt", 6_000)],
    )
    assert (facts.failed, facts.error, facts.error_type, facts.paused) == (False, None, None, True)
    assert facts.questions == [Question("i1", "send_email", {"to": "a"}, "Send it?", time=6_000)]


def test_the_middlewares_questions_name_the_calls_of_the_reply() -> None:
    value = {
        "action_requests": [{"name": "get_weather", "args": {"city": "Paris"}}],
        "review_configs": [{"action_name": "get_weather", "allowed_decisions": ["approve", "reject"]}],
    }
    words = f"(Interrupt(value={value!r}, id='i1'),)"
    state = {"messages": [constructor("AIMessage", content="", tool_calls=[CALL])]}
    facts = run(
        "CHAIN",
        {
            "metadata": text({"langgraph_node": "HumanInTheLoopMiddleware.after_model"}),
            "input.value": text(state),
        },
        name="HumanInTheLoopMiddleware.after_model",
        status=STATUS_ERROR,
        events=[exception(words, "langgraph.errors.GraphInterrupt")],
    )
    assert (facts.role, facts.failed, facts.paused) == (Role.STEP, False, False)
    assert [(q.call_id, q.action) for q in facts.questions] == [("c1", "get_weather")]
    assert facts.questions[0].options == [{"id": "approve"}, {"id": "reject"}]


def test_a_refusal_that_the_middleware_hands_to_the_model() -> None:
    message = constructor("ToolMessage", content="Too late.", tool_call_id="c1", status="error")
    facts = run(
        "CHAIN",
        {
            "metadata": text({"langgraph_node": "HumanInTheLoopMiddleware.after_model"}),
            "input.value": text({"messages": []}),
            "output.value": text({"messages": [message]}),
        },
        name="HumanInTheLoopMiddleware.after_model",
    )
    assert facts.decisions == [Decision(False, "c1", None, "Too late.")]


def test_a_resumed_run() -> None:
    command: dict[str, Any] = {
        "graph": None,
        "update": None,
        "resume": {"decisions": [{"type": "approve"}]},
        "goto": [],
    }
    facts = run("CHAIN", {"input.value": text(command)}, name="LangGraph", root=True)
    assert facts.resumes
    assert facts.decisions == [Decision(True)]
    assert facts.inputs is None


def test_the_words_and_the_typed_answer_of_a_run() -> None:
    state = {
        "messages": [constructor("HumanMessage", content="Hi"), constructor("AIMessage", content="Hello")],
        "structured_response": {"temp_c": 18},
    }
    facts = run("CHAIN", {"input.value": text(state), "output.value": text(state)}, name="LangGraph")
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert facts.data == {"temp_c": 18}


def test_redacted_runs() -> None:
    facts = run("CHAIN", {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}, name="root")
    assert facts.hidden == {"inputs", "outputs"}
    facts = run("LLM", {"input.value": "__REDACTED__", "output.value": "__REDACTED__"})
    assert facts.hidden == {"inputs", "outputs"}


def test_javascript_stacks_are_no_part_of_an_error() -> None:
    assert clean_stack("no such city\n    at f (x.js:1:2)\n    at g (y.js:3:4)") == "no such city"
    assert clean_stack("Error: no such city\n\nError: again\n    at f (x.js:1:2)") == "no such city"
    assert clean_stack("two\nlines") == "two\nlines"
    assert clean_stack(None) is None


def test_a_failing_tool_in_javascript() -> None:
    told = "no such city\n\nError: no such city\n    at f (x.js:1:2)"
    facts = run("TOOL", status=STATUS_ERROR, message=told, events=[exception(told, "Error")])
    assert (facts.failed, facts.error) == (True, "no such city")
