"""LangChain and LangGraph through OpenLLMetry."""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.langchain_traceloop import TraceloopLangChain
from otel_turns.model.facts import (
    MISSING,
    Decision,
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    ToolCall,
)
from otel_turns.model.span import STATUS_ERROR, Span
from tests.dialects.spans import exception, record, span, text

SCOPE = "opentelemetry.instrumentation.langchain"
KIND = "traceloop.span.kind"
INPUT, OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
NODE = "traceloop.association.properties.langgraph_node"
CALL = {"name": "get_weather", "args": {"city": "Paris"}, "id": "c1", "type": "tool_call"}
PAUSE = "(Interrupt(value={'question': 'Send it?'}, id='i1'),)"


def constructor(kind: str, /, **kwargs: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def read(made: Span) -> Facts:
    dialect = TraceloopLangChain()
    assert dialect.matches(made)
    return dialect.read(made)


def run(attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    return read(span(attributes, scope=SCOPE, **more))


def task(name: str, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    own = {KIND: "task", "traceloop.entity.name": name, "gen_ai.operation.name": "execute_task"}
    return run({**own, **(attributes or {})}, name=f"execute_task {name}", **more)


def test_only_its_own_scope() -> None:
    dialect = TraceloopLangChain()
    assert not dialect.matches(span({KIND: "task"}, scope="opentelemetry.instrumentation.openai.v1"))
    assert not dialect.matches(span({}, scope=SCOPE))


def test_building_an_agent_is_no_work() -> None:
    assert run({"gen_ai.operation.name": "create_agent"}, name="create_agent root").role is Role.NOTHING


def test_the_wrapper_around_a_run_is_structure() -> None:
    made = run(
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "root"}, name="invoke_agent root"
    )
    assert made.role is Role.STEP


def test_the_run_of_an_agent() -> None:
    asked: dict[str, Any] = {"inputs": {"messages": [constructor("HumanMessage", content="Hi")]}, "tags": []}
    said = {
        "outputs": {"messages": [constructor("AIMessage", content="Hello")], "structured_response": {"a": 1}}
    }
    facts = run(
        {KIND: "workflow", "traceloop.entity.name": "root", INPUT: text(asked), OUTPUT: text(said)},
        name="root.workflow",
    )
    assert (facts.role, facts.agent_name) == (Role.AGENT, "root")
    assert facts.inputs == [Message("user", [Text("Hi")])]
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert facts.data == {"a": 1}


def test_a_class_is_no_name() -> None:
    assert run({KIND: "workflow", "traceloop.entity.name": "LangGraph"}).agent_name is None


def test_nodes_are_structure_and_other_tasks_agents_by_position() -> None:
    assert task("model", {NODE: "model"}).role is Role.STEP
    assert task("helper", {NODE: "tools"}).role is Role.CHAIN
    assert task("helper", {NODE: "tools"}).agent_name == "helper"


def test_a_tools_node_with_one_call_executes_it() -> None:
    message = constructor("ToolMessage", content="clear", tool_call_id="c1")
    facts = task(
        "tools",
        {NODE: "tools", INPUT: text({"inputs": [CALL]}), OUTPUT: text({"outputs": {"messages": [message]}})},
    )
    assert facts.role is Role.TOOL
    assert (facts.tool_name, facts.call_id, facts.arguments) == ("get_weather", "c1", {"city": "Paris"})
    assert facts.result == "clear"
    assert task("tools", {NODE: "tools", INPUT: text({"inputs": [CALL, CALL]})}).role is Role.STEP


def test_a_model_node_tells_the_reasoning_that_its_request_lacks() -> None:
    reply = constructor(
        "AIMessage",
        content="Hello",
        additional_kwargs={"reasoning_content": "Hm."},
        response_metadata={"id": "chatcmpl-1"},
    )
    facts = task("model", {NODE: "model", OUTPUT: text({"outputs": {"messages": [reply]}})})
    assert facts.role is Role.INFERENCE
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("Hello")])]
    assert facts.response_id == "chatcmpl-1"


def test_a_tool() -> None:
    message = constructor("ToolMessage", content='{"temp_c": 18}', tool_call_id="c1", status="success")
    facts = run(
        {
            KIND: "tool",
            "traceloop.entity.name": "get_weather",
            INPUT: text({"input_str": "{'city': 'Paris'}", "inputs": {"city": "Paris"}, "tags": []}),
            OUTPUT: text({"output": message, "kwargs": {}}),
        },
        name="execute_tool get_weather",
    )
    assert facts.role is Role.TOOL
    assert (facts.tool_name, facts.call_id) == ("get_weather", "c1")
    assert (facts.arguments, facts.result, facts.failed) == ({"city": "Paris"}, {"temp_c": 18}, False)


def test_a_tool_that_hands_its_error_to_the_model() -> None:
    message = constructor("ToolMessage", content="Error: no", tool_call_id="c1", status="error")
    facts = run({KIND: "tool", "traceloop.entity.name": "f", OUTPUT: text({"output": message})})
    assert (facts.failed, facts.result) == (True, "Error: no")


def test_a_tool_without_captured_content() -> None:
    facts = run({KIND: "tool", "traceloop.entity.name": "f"})
    assert (facts.arguments, facts.result) == (MISSING, MISSING)


def test_a_paused_tool() -> None:
    facts = run(
        {KIND: "tool", "traceloop.entity.name": "send_email"},
        status=STATUS_ERROR,
        events=[exception(PAUSE, "GraphInterrupt", 6_000)],
    )
    assert (facts.failed, facts.error, facts.paused) == (False, None, True)
    assert facts.questions == [Question("i1", prompt="Send it?", time=6_000)]


def test_the_middlewares_questions_name_the_calls_of_the_reply() -> None:
    value = {"action_requests": [{"name": "get_weather", "args": {"city": "Paris"}}], "review_configs": []}
    facts = task(
        "HumanInTheLoopMiddleware.after_model",
        {
            NODE: "HumanInTheLoopMiddleware.after_model",
            INPUT: text({"inputs": {"messages": [constructor("AIMessage", content="", tool_calls=[CALL])]}}),
        },
        status=STATUS_ERROR,
        events=[exception(f"(Interrupt(value={value!r}, id='i1'),)", "GraphInterrupt")],
    )
    assert [(q.id, q.call_id) for q in facts.questions] == [("i1", "c1")]
    assert (facts.role, facts.failed) == (Role.STEP, False)


def test_a_refusal_that_the_middleware_hands_to_the_model() -> None:
    message = constructor("ToolMessage", content="Too late.", tool_call_id="c1", status="error")
    name = "HumanInTheLoopMiddleware.after_model"
    facts = task(name, {NODE: name, OUTPUT: text({"outputs": {"messages": [message]}})})
    assert facts.decisions == [Decision(False, "c1", None, "Too late.")]


def test_a_resumed_run() -> None:
    command: dict[str, Any] = {"graph": None, "update": None, "resume": "no", "goto": []}
    facts = run({KIND: "workflow", "traceloop.entity.name": "root", INPUT: text({"inputs": command})})
    assert facts.resumes
    assert facts.decisions == [Decision(False)]


def test_a_request() -> None:
    said: list[dict[str, Any]] = [
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "c1", "name": "f", "arguments": {}}],
            "finish_reason": "tool_call",
        }
    ]
    facts = run(
        {"gen_ai.operation.name": "chat", "gen_ai.output.messages": text(said)}, name="ChatOpenAI.chat"
    )
    assert facts.role is Role.INFERENCE
    assert facts.outputs == [Message("assistant", [ToolCall("c1", "f", {})])]


def test_messages_as_log_records() -> None:
    made = record(
        "gen_ai.choice",
        {"gen_ai.system": "openai"},
        body={"index": 0, "finish_reason": "stop", "message": {"content": "Hello"}},
        scope=SCOPE,
    )
    dialect = TraceloopLangChain()
    assert dialect.matches_log(made)
    facts = dialect.read_log(made)
    assert facts is not None
    assert facts.outputs == [Message("assistant", [Text("Hello")])]
    assert facts.supplements == "piece"
