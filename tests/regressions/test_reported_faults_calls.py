"""Tool calls that people saw missing, doubled, crossed or with wrong words. Each is from a reported fault.

| thread | what the telemetry does |
|---|---|
| google/adk-go#857 | runs stand beside the request that asked for them |
| vercel/ai#16678 | runs stand inside the request that asked for them, which ends after them |
| microsoft/agent-framework#6666, microsoft/agent-framework#2015 | one chat span around a loop, no runs |
| Arize-ai/openinference#3338 | `execute_tool (merged)` after parallel calls |
| Arize-ai/openinference#2781 | an LLM's calls are copied to the chain above it |
| Arize-ai/openinference#3143, mistralai/client-python#493 | arguments and messages encoded twice |
| TanStack/ai#199, brainlid/langchain#620 | parallel calls of one tool share one id |
| apache/flink-agents#947, diegosouzapw/OmniRoute#13334 | calls without ids |
| router-for-me/CLIProxyAPI#4939 | results without ids, in another order than the calls |
| pydantic/pydantic-ai#2845, jaegertracing/jaeger-ui#4191 | tools that the provider itself runs |
| pydantic/pydantic-ai#4530, pydantic/pydantic-ai#4572 | a pause is an exception on a span of status ERROR |
| DataDog/dd-trace-py#16614, langfuse/langfuse#6704 | an interrupt of a graph is an error |
| DataDog/dd-trace-js#10010 | an error of the user's that only looks like an interrupt |
| open-telemetry/opentelemetry-python-genai#485 | a failed run of status UNSET |
| microsoft/agent-framework#2229 | a failed run of status OK |
| jaegertracing/jaeger#9332 | only the MCP server's side says that a call failed |
| Arize-ai/openinference#1616 | client and server of MCP in two traces |
| aws-observability/aws-otel-python-instrumentation#826 | the same |
| BerriAI/litellm#38317 | the MCP run is a trace of its own, with a link |
| getsentry/sentry-javascript#21979 | no span for the runs of a stream |
| QwenLM/qwen-code#9509 | a failure that only the words of the result tell |
| huggingface/smolagents#1961 | runs lost their parent |
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.assembly.stage import codes, story
from tests.regressions.stage import (
    CLIENT,
    ERROR,
    OK,
    SERVER,
    agent,
    asked,
    asks,
    chat,
    counted,
    gives,
    handed,
    names,
    openinference,
    operation,
    raised,
    replies,
    said,
    span,
    text,
    tool,
    turn,
    turns,
)

PARIS = {"city": "Paris"}


def test_runs_beside_the_request_that_asked_for_them() -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c1", 1, 2, text("Let me see."), asks("w1", "weather", PARIS), parent="a"),
        tool("weather", 3, 4, "w1", arguments=PARIS, parent="a"),
        chat("c2", 5, 6, text("It is 18."), parent="a"),
    )
    assert story(told) == ["say:Let me see.", "start:w1", "end:w1:completed", "say:It is 18."]
    assert told["otel"]["evidence"]["complete"]


def test_a_run_inside_the_request_that_asked_for_it_comes_behind_its_words() -> None:
    told = turn(
        agent("a", 0, 19),
        chat("c1", 1, 9, text("Let me see."), asks("w1", "weather", PARIS), parent="a"),
        tool("weather", 3, 4, "w1", arguments=PARIS, parent="c1"),
        chat("c2", 10, 12, text("It is 18."), parent="a"),
    )
    assert story(told) == ["say:Let me see.", "start:w1", "end:w1:completed", "say:It is 18."]


def test_one_request_that_tells_a_whole_loop_tells_it_in_order() -> None:
    loop = [
        said(text("Let me see."), asks("w1", "weather", PARIS)),
        handed(gives("w1", "18")),
        said(text("It is 18.")),
    ]
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 8, more={"gen_ai.output.messages": json.dumps(loop)}, parent="a"),
    )
    assert story(told) == ["say:Let me see.", "start:w1", "end:w1:completed", "say:It is 18."]
    assert operation(told, "weather") | {"input": PARIS, "status": "completed"} == operation(told, "weather")


def test_a_merged_span_of_parallel_calls_is_no_call() -> None:
    scope = "gcp.vertex.agent"
    told = turn(
        agent("a", 0, 19, scope=scope),
        chat("c", 1, 2, asks("w1", "weather", PARIS), asks("t1", "clock"), parent="a", scope=scope),
        tool("weather", 3, 5, "w1", arguments=PARIS, parent="a", scope=scope),
        tool("clock", 3, 4, "t1", parent="a", scope=scope),
        span(
            "execute_tool (merged)",
            5,
            5,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "(merged tools)",
                "gen_ai.tool.call.id": "event-1",
                "gcp.vertex.agent.tool_call_args": "N/A",
            },
            parent="a",
            scope=scope,
        ),
        chat("d", 6, 7, text("done"), parent="a", scope=scope),
    )
    assert sorted(names(told)) == ["clock", "weather"]
    assert story(told)[-3:] == ["end:t1:completed", "end:w1:completed", "say:done"]


def test_calls_that_a_chain_repeats_from_its_llm_are_made_once() -> None:
    scope = "openinference.instrumentation.langchain"
    asking = replies("", ("w1", "weather", '{"city":"Paris"}'))
    told = turn(
        openinference("CHAIN", "agent", 0, 20, scope=scope),
        openinference("CHAIN", "model", 1, 5, asking, parent="agent", scope=scope),
        openinference("LLM", "ChatOpenAI", 2, 4, counted(9, 3) | asking, parent="model", scope=scope),
        openinference("CHAIN", "tools", 6, 9, parent="agent", scope=scope),
        openinference(
            "TOOL",
            "weather",
            7,
            8,
            {"tool.name": "weather", "output.value": "18"},
            parent="tools",
            scope=scope,
        ),
        openinference(
            "LLM",
            "ChatOpenAI",
            10,
            12,
            counted(12, 4) | replies("It is 18."),
            id="last",
            parent="agent",
            scope=scope,
        ),
    )
    assert story(told) == ["start:w1", "end:w1:completed", "say:It is 18."]


@pytest.mark.parametrize("encoded", [json.dumps(PARIS), json.dumps(json.dumps(PARIS))])
def test_arguments_that_were_encoded_once_more_are_the_same_arguments(encoded: str) -> None:
    told = turn(
        openinference("AGENT", "a", 0, 9, {"agent.name": "a"}),
        openinference(
            "LLM", "chat", 1, 2, counted(1, 1) | replies("", ("w1", "weather", encoded)), parent="a"
        ),
        openinference("LLM", "chat", 3, 4, counted(1, 1) | replies("done"), id="d", parent="a"),
    )
    assert operation(told, "weather")["input"] == PARIS


def test_messages_each_encoded_once_more_are_the_same_messages() -> None:
    twice = json.dumps([json.dumps(said(text("Let me see."), asks("w1", "weather", PARIS)))])
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, more={"gen_ai.output.messages": twice}, parent="a"),
        tool("weather", 3, 4, "w1", arguments=PARIS, parent="a"),
    )
    assert story(told) == ["say:Let me see.", "start:w1", "end:w1:completed"]


def test_parallel_calls_that_share_an_id_stay_two() -> None:
    rome = {"city": "Rome"}
    told = turn(
        agent("a", 0, 19),
        chat("c", 1, 2, asks("weather", "weather", PARIS), asks("weather", "weather", rome), parent="a"),
        tool("weather", 3, 9, "weather", result="18 in Paris", arguments=PARIS, id="p", parent="a"),
        tool("weather", 3, 5, "weather", result="25 in Rome", arguments=rome, id="r", parent="a"),
        chat("d", 10, 12, text("done"), parent="a"),
    )
    started = [e for e in told["events"] if e["type"] == "operation.started"]
    finished = [e for e in told["events"] if e["type"] == "operation.finished"]
    assert len(started) == len(finished) == 2
    assert len({e["operationId"] for e in started}) == 2
    given = {e["operationId"]: e["operation"]["input"]["city"] for e in started}
    assert {given[e["operationId"]]: e["output"] for e in finished} == {
        "Paris": "18 in Paris",
        "Rome": "25 in Rome",
    }


def test_calls_without_ids_are_joined_by_their_arguments() -> None:
    rome = {"city": "Rome"}
    told = turn(
        agent("a", 0, 19),
        chat("c", 1, 2, asks(None, "weather", PARIS), asks(None, "weather", rome), parent="a"),
        tool("weather", 3, 9, result=18, arguments=rome, id="r", parent="a"),
        tool("weather", 3, 5, result=25, arguments=PARIS, id="p", parent="a"),
        chat("d", 10, 12, text("done"), parent="a"),
    )
    started = [e for e in told["events"] if e["type"] == "operation.started"]
    assert [e["operation"]["input"] for e in started] == [PARIS, rome]
    given = {e["operationId"]: e["operation"]["input"]["city"] for e in started}
    assert {
        given[e["operationId"]]: e["output"] for e in told["events"] if e["type"] == "operation.finished"
    } == {"Rome": 18, "Paris": 25}
    assert codes(told) == {"synthetic_operation_id"}


def test_results_without_ids_go_to_the_calls_of_their_name() -> None:
    def named(name: str, response: str) -> dict[str, Any]:
        return {"type": "tool_call_response", "name": name, "response": response}

    first = asked("?")
    told = turn(
        agent("a", 0, 19),
        chat("c", 1, 2, asks(None, "weather", PARIS), asks(None, "clock"), inputs=[first], parent="a"),
        chat(
            "d",
            10,
            12,
            text("done"),
            parent="a",
            inputs=[
                first,
                said(asks(None, "weather", PARIS), asks(None, "clock")),
                handed(named("clock", "noon"), named("weather", "18")),
            ],
        ),
    )
    assert operation(told, "weather")["output"] == 18
    assert operation(told, "clock")["output"] == "noon"


def test_a_tool_that_the_provider_runs_is_told_by_the_reply_alone() -> None:
    told = turn(
        agent("a", 0, 9),
        chat(
            "c",
            1,
            2,
            {
                "type": "server_tool_call",
                "id": "s1",
                "name": "web_search",
                "server_tool_call": {"query": "sky"},
            },
            {"type": "server_tool_call_response", "id": "s1", "server_tool_call_response": {"hits": 2}},
            text("Blue."),
            parent="a",
        ),
    )
    assert operation(told, "web_search") == {
        "id": "s1",
        "kind": "tool",
        "input": {"query": "sky"},
        "output": {"hits": 2},
        "status": "completed",
    }
    assert "say:Blue." in story(told)


def test_a_builtin_tool_of_pydantic_ai_is_a_call_without_a_span() -> None:
    told = turn(
        agent("a", 0, 9, scope="pydantic-ai"),
        chat(
            "c",
            1,
            2,
            {
                "type": "tool_call",
                "id": "b1",
                "name": "code_execution",
                "arguments": {"code": "1+1"},
                "builtin": True,
            },
            {
                "type": "tool_call_response",
                "id": "b1",
                "name": "code_execution",
                "result": {"out": "2"},
                "builtin": True,
            },
            text("2"),
            parent="a",
            scope="pydantic-ai",
        ),
    )
    found = operation(told, "code_execution")
    assert (found["input"], found["output"], found["status"]) == ({"code": "1+1"}, {"out": "2"}, "completed")


@pytest.mark.parametrize("signal", ["ApprovalRequired", "CallDeferred"])
def test_a_call_that_pauses_the_run_by_an_exception_has_not_failed(signal: str) -> None:
    told = turn(
        agent("a", 0, 9, scope="pydantic-ai"),
        chat("c", 1, 2, asks("x", "delete", {"path": "/a"}), parent="a", scope="pydantic-ai"),
        tool(
            "delete",
            3,
            4,
            "x",
            result=None,
            arguments={"path": "/a"},
            parent="a",
            scope="pydantic-ai",
            more={"pydantic_ai.tool.deferral.name": signal},
            status=ERROR,
            events=[raised(f"pydantic_ai.exceptions.{signal}", "")],
        ),
    )
    assert told["status"] == "waiting"
    assert story(told) == ["start:x", "ask:delete"]


@pytest.mark.parametrize("status", [OK, ERROR])
def test_an_interrupt_of_a_graph_is_a_question_and_no_error(status: int) -> None:
    scope = "openinference.instrumentation.langchain"
    interrupt = raised("GraphInterrupt", "(Interrupt(value='Really?', id='i1'),)")
    told = turn(
        openinference("CHAIN", "agent", 0, 20, status=OK, scope=scope),
        openinference(
            "LLM",
            "ChatOpenAI",
            1,
            4,
            counted(9, 3) | replies("", ("d1", "delete", '{"path":"/a"}')),
            parent="agent",
            scope=scope,
        ),
        openinference(
            "TOOL",
            "delete",
            6,
            9,
            {"tool.name": "delete", "input.value": '{"path":"/a"}'},
            parent="agent",
            scope=scope,
            status=status,
            events=[interrupt],
        ),
    )
    assert told["status"] == "waiting"
    (question,) = [e["request"] for e in told["events"] if e["type"] == "input.requested"]
    assert (question["id"], question["prompt"]) == ("i1", "Really?")
    assert not any(e["type"] in ("error", "operation.finished") for e in told["events"])


def test_an_error_whose_words_only_name_an_interrupt_is_an_error() -> None:
    scope = "openinference.instrumentation.langchain"
    told = turn(
        openinference("CHAIN", "agent", 0, 20, status=OK, scope=scope),
        openinference(
            "LLM",
            "ChatOpenAI",
            1,
            4,
            counted(9, 3) | replies("", ("d1", "delete", '{"path":"/a"}')),
            parent="agent",
            scope=scope,
        ),
        openinference(
            "TOOL",
            "delete",
            6,
            9,
            {"tool.name": "delete", "input.value": '{"path":"/a"}'},
            parent="agent",
            scope=scope,
            status=ERROR,
            events=[raised("ValueError", "no GraphInterrupt is allowed here")],
        ),
        openinference(
            "LLM",
            "ChatOpenAI",
            10,
            12,
            counted(9, 3) | replies("It failed."),
            id="last",
            parent="agent",
            scope=scope,
        ),
    )
    assert story(told) == ["start:d1", "end:d1:failed", "say:It failed."]
    assert told["status"] == "completed"


@pytest.mark.parametrize(
    "mark",
    [
        {"status": ERROR, "message": "no such file"},
        {"more": {"error.type": "FileNotFoundError"}},
        {"status": OK, "events": [raised("FileNotFoundError", "no such file", 4)]},
    ],
)
def test_a_run_failed_where_anything_says_so(mark: dict[str, Any]) -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, asks("x", "read"), parent="a"),
        tool("read", 3, 4, "x", result=None, parent="a", **mark),
        chat("d", 5, 6, text("sorry"), parent="a"),
    )
    assert story(told) == ["start:x", "end:x:failed", "say:sorry"]
    assert told["status"] == "completed"


def test_words_of_failure_in_a_result_are_a_result() -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, asks("x", "read"), parent="a"),
        tool("read", 3, 4, "x", result="Error: agent not found", parent="a"),
    )
    assert operation(told, "read")["status"] == "completed"


def mcp(side: int, start: float, end: float, **more: Any) -> Any:
    name = "MCP send tools/call echo" if side == CLIENT else "tools/call echo"
    attributes = {"mcp.method.name": "tools/call", "gen_ai.tool.name": "echo"}
    return span(name, start, end, attributes, kind=side, scope="mcp-python-sdk", **more)


def test_a_failure_that_only_the_mcp_server_tells_is_the_calls() -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, asks("x", "echo"), parent="a"),
        mcp(CLIENT, 3, 6, id="client", parent="a"),
        mcp(SERVER, 4, 5, id="server", parent="client", service="tools", status=ERROR, message="tool_error"),
        chat("d", 7, 8, text("sorry"), parent="a"),
    )
    assert story(told) == ["start:x", "end:x:failed", "say:sorry"]


def test_client_and_server_of_mcp_in_two_traces_are_one_call() -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, asks("x", "echo"), parent="a"),
        tool("echo", 3, 7, "x", parent="a"),
        mcp(SERVER, 4, 6, id="server", trace="elsewhere", service="tools"),
        chat("d", 7, 8, text("done"), parent="a"),
    )
    assert story(told) == ["start:x", "end:x:completed", "say:done"]


def test_a_run_in_a_trace_of_its_own_joins_the_turn_that_asked_for_it() -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, asks("x", "echo"), parent="a"),
        mcp(SERVER, 4, 6, id="server", trace="elsewhere", links=[("t", "c")], service="gateway"),
        chat("d", 7, 8, text("done"), parent="a"),
    )
    assert story(told) == ["start:x", "end:x:completed", "say:done"]


def test_runs_that_nobody_traced_are_told_by_the_requests() -> None:
    history = [asked("?"), said(asks("w1", "weather", PARIS)), handed(gives("w1", {"temp": 18}))]
    told = turn(
        agent("a", 0, 2),
        chat("c", 0, 2, asks("w1", "weather", PARIS), inputs=history[:1], parent="a"),
        chat("d", 5, 6, text("It is 18."), inputs=history, parent="a"),
    )
    assert story(told) == ["start:w1", "end:w1:completed", "say:It is 18."]
    assert operation(told, "weather")["output"] == {"temp": 18}


def test_runs_that_lost_their_parent_are_runs_of_the_agent_all_the_same() -> None:
    scope = "openinference.instrumentation.smolagents"
    (told,) = turns(
        openinference("AGENT", "CodeAgent.run", 0, 20, scope=scope),
        openinference("CHAIN", "Step 1", 1, 9, parent="CodeAgent.run", scope=scope),
        openinference(
            "LLM",
            "M.generate",
            2,
            3,
            counted(9, 3) | replies("", ("c1", "search", '{"q":"x"}')),
            parent="Step 1",
            scope=scope,
        ),
        openinference(
            "TOOL",
            "SimpleTool",
            4,
            6,
            {"tool.name": "search", "input.value": '{"kwargs":{"q":"x"}}', "output.value": "found"},
            trace="lost",
            scope=scope,
        ),
        openinference(
            "LLM",
            "M.generate",
            11,
            12,
            counted(9, 3) | replies("done"),
            id="last",
            parent="CodeAgent.run",
            scope=scope,
        ),
    )
    assert story(told) == ["start:c1", "end:c1:completed", "say:done"]
    assert operation(told, "search")["output"] == "found"
