"""Agents, sub-agents and turns that people saw torn apart or mixed up. Each is from a reported fault.

| thread | what the telemetry does |
|---|---|
| open-telemetry/opentelemetry-python-genai#513 | asynchronous steps are root spans, each a trace of its own |
| aegra/aegra#387 | one run of a graph is many traces of one session |
| google/adk-python#4715 | the span between an agent and its runs never ended, so it never came |
| open-telemetry/opentelemetry-python-genai#556 | an agent's span ends when its stream is returned |
| BerriAI/litellm#16779 | a callback ends the span around it |
| github/copilot-cli#4858 | requests of a sub-agent hang below the main agent |
| anthropics/claude-code#53954 | requests without the interaction around them |
| anthropics/claude-code#53972 | the agent's root hangs below a span of another process |
| anthropics/claude-code#14784 | a delegating call does not say to whom |
| getsentry/sentry-python#5528 | a handoff without a span: two agents side by side |
| open-telemetry/semantic-conventions-genai#98 | a handoff as the run of a transfer tool |
| strands-agents/evals#364 | a handoff span that does not know its target |
| DataDog/dd-trace-py#12846 | a guardrail asks a model too |
| traceloop/openllmetry#3824 | crew and agent spans that carry a model's name |
| Arize-ai/openinference#2575 | an agent outside its crew: only the request is there |
| Arize-ai/openinference#3337 | agents and chains without words of their own |
| stacklok/mecatl#1505 | two runs at once below one span |
| langchain-ai/langsmith-sdk#1599 | a function around the SDK's own spans tells the answer again |
| livekit/agents#2905 | a node and the request inside it |
| n8n-io/n8n#34460 | every agent run is a trace of its own, tied by the session |
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.assembly.stage import codes, story
from tests.regressions.stage import (
    REMOTE,
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
    record,
    replies,
    said,
    span,
    text,
    tool,
    turn,
    turns,
)

PARIS = {"city": "Paris"}
ANSWERED = [asked("?"), said(asks("w1", "weather", PARIS)), handed(gives("w1", 18))]


def test_steps_that_are_traces_of_their_own_are_one_turn() -> None:
    told = turn(
        chat("c", 1, 2, asks("w1", "weather", PARIS), inputs=ANSWERED[:1], trace="1"),
        tool("weather", 3, 4, "w1", arguments=PARIS, result=18, trace="2"),
        chat("d", 5, 6, text("It is 18."), inputs=ANSWERED, trace="3"),
    )
    assert story(told) == ["start:w1", "end:w1:completed", "say:It is 18."]
    assert told["usage"]["requests"] == 2


def test_steps_of_one_session_that_are_traces_of_their_own_are_not_mixed_with_another() -> None:
    def run(session: str, at: int, city: str) -> list[Any]:
        call, place = f"{session}1", {"gen_ai.conversation.id": session}
        history = [asked("?"), said(asks(call, "weather", {"city": city})), handed(gives(call, city))]
        return [
            chat("c", at, at + 1, *history[1]["parts"], inputs=history[:1], trace=f"{session}c", more=place),
            tool("weather", at + 2, at + 3, call, arguments={"city": city}, trace=f"{session}t", more=place),
            chat("d", at + 4, at + 5, text(city), inputs=history, trace=f"{session}d", more=place),
        ]

    first, second = turns(run("a", 0, "Paris"), run("b", 1, "Rome"))
    assert story(first) == ["start:a1", "end:a1:completed", "say:Paris"]
    assert story(second) == ["start:b1", "end:b1:completed", "say:Rome"]


def test_runs_below_a_span_that_never_came_are_the_agents_in_whose_time_they_were() -> None:
    scope = "gcp.vertex.agent"
    told = turn(
        agent("root", 0, 20, scope=scope),
        tool(
            "transfer_to_agent",
            3,
            4,
            "t1",
            arguments={"agent_name": "helper"},
            parent="call_llm",
            scope=scope,
        ),
        agent("helper", 5, 18, parent="root", scope=scope),
        chat("c", 6, 8, text("Done."), parent="helper", scope=scope),
    )
    assert [n for n in names(told) if n == "transfer_to_agent"] == ["transfer_to_agent"]
    assert "say:Done." in story(told)
    assert "orphan_spans" in codes(told)
    assert not told["otel"]["evidence"]["complete"]


@pytest.mark.parametrize("end", [1, 5])
def test_an_agent_whose_span_ends_before_its_work_keeps_its_work(end: float) -> None:
    told = turn(
        agent("a", 0, end),
        chat("c", 2, 4, asks("w1", "weather", PARIS), parent="a"),
        tool("weather", 5, 6, "w1", arguments=PARIS, parent="a"),
        chat("d", 7, 8, text("It is 18."), parent="a"),
    )
    assert story(told) == ["start:w1", "end:w1:completed", "say:It is 18."]
    assert told["otel"]["evidence"]["complete"]


def test_requests_of_a_subagent_that_hang_below_the_main_agent_are_the_subagents() -> None:
    scope = "github.copilot"
    task = {"agent_type": "researcher", "prompt": "look"}
    told = turn(
        agent("main", 0, 40, scope=scope),
        chat("c1", 1, 2, asks("t1", "task", task), parent="main", scope=scope),
        tool("task", 3, 30, "t1", result="42 found", arguments=task, parent="main", scope=scope),
        agent("researcher", 4, 29, parent="t1", scope=scope),
        chat("r1", 5, 6, text("Looking."), asks("g1", "grep"), parent="researcher", scope=scope),
        tool("grep", 7, 8, "g1", parent="researcher", scope=scope),
        chat("r2", 9, 12, text("42 found"), parent="main", scope=scope),
        chat("c2", 31, 33, text("There are 42."), parent="main", scope=scope),
    )
    assert [e["text"] for e in told["events"] if e["type"] == "message"] == ["There are 42."]
    assert told["usage"]["requests"] == 4


def test_requests_of_several_subagents_at_once_go_by_the_calls_that_they_answer() -> None:
    scope = "github.copilot"

    def helper(name: str, at: float) -> list[Any]:
        task, run = f"{name}-task", f"{name}-grep"
        return [
            tool(
                "task", at, 30, task, result=name, arguments={"agent_type": name}, parent="main", scope=scope
            ),
            agent(name, at + 1, 29, parent=task, scope=scope),
            chat(f"{name} 1", at + 2, at + 3, asks(run, "grep"), parent="main", scope=scope),
            tool("grep", at + 4, at + 5, run, parent=name, scope=scope),
            chat(
                f"{name} 2",
                at + 8,
                at + 9,
                text(f"{name} found it"),
                inputs=[handed(gives(run, "ok"))],
                parent="main",
                scope=scope,
            ),
        ]

    tasks = [asks(f"{n}-task", "task", {"agent_type": n}) for n in ("one", "two")]
    told = turn(
        agent("main", 0, 40, scope=scope),
        chat("c1", 1, 2, *tasks, parent="main", scope=scope),
        helper("one", 3),
        helper("two", 4),
        chat("c2", 31, 33, text("Both did."), parent="main", scope=scope),
    )
    assert [e["text"] for e in told["events"] if e["type"] == "message"] == ["Both did."]
    assert {n: operation(told, n)["output"] for n in ("one", "two")} == {
        "one": "one found it",
        "two": "two found it",
    }


def test_requests_without_the_interaction_around_them_tell_what_they_tell() -> None:
    scope = "com.anthropic.claude_code.tracing"
    base = {"span.type": "llm_request", "session.id": "s", "model": "m", "query_source": "repl_main_thread"}
    found = turns(
        span(
            "claude_code.llm_request",
            1,
            2,
            base | {"input_tokens": 10, "output_tokens": 2, "request_id": "r1"},
            id="1",
            trace="1",
            scope=scope,
        ),
        span(
            "claude_code.llm_request",
            3,
            4,
            base | {"input_tokens": 20, "output_tokens": 3, "request_id": "r2"},
            id="2",
            trace="2",
            scope=scope,
        ),
    )
    assert sum(t["usage"]["inputTokens"] for t in found) == 30
    assert sum(t["usage"]["requests"] for t in found) == 2
    assert all(t["events"] == [] and not t["otel"]["evidence"]["complete"] for t in found)
    assert {t["otel"]["sessionId"] for t in found} == {"s"}


def test_an_agent_below_a_span_of_another_process_is_a_root_of_its_own_right() -> None:
    scope = "com.anthropic.claude_code.tracing"
    told = turn(
        span(
            "claude_code.interaction",
            0,
            9,
            {"span.type": "interaction", "session.id": "s"},
            id="i",
            parent="app",
            flags=REMOTE,
            scope=scope,
        ),
        span(
            "claude_code.llm_request",
            1,
            2,
            {"span.type": "llm_request", "input_tokens": 1, "output_tokens": 1},
            parent="i",
            scope=scope,
        ),
    )
    assert not {"root_missing", "orphan_spans"} & codes(told)


def test_an_agent_that_nobody_names_has_the_name_of_the_call_that_reached_it() -> None:
    scope = "com.anthropic.claude_code.events"
    shared = {"session.id": "s", "prompt.id": "p", "event.sequence": 1}
    told = turn(
        record(
            "",
            1,
            shared | {"event.name": "user_prompt", "prompt": "go"},
            body="claude_code.user_prompt",
            scope=scope,
        ),
        record(
            "",
            9,
            shared
            | {
                "event.name": "tool_result",
                "event.sequence": 2,
                "tool_name": "Task",
                "tool_use_id": "toolu_1",
                "success": "true",
                "duration_ms": "8",
            },
            body="claude_code.tool_result",
            scope=scope,
        ),
    )
    started = [e["operation"] for e in told["events"] if e["type"] == "operation.started"]
    assert [(o["kind"], o["name"]) for o in started] == [("tool", "Task"), ("subagent", "Task")]
    assert not told["otel"]["evidence"]["complete"]


def test_two_agents_side_by_side_below_a_workflow_are_one_turn_in_which_both_speak() -> None:
    told = turn(
        span("invoke_workflow w", 0, 20, {"gen_ai.operation.name": "invoke_workflow"}, id="w"),
        agent("triage", 1, 5, parent="w"),
        chat("c", 2, 4, text("One moment."), asks("h1", "transfer_to_billing"), parent="triage"),
        agent("billing", 6, 19, parent="w"),
        chat("d", 7, 9, text("Paid."), parent="billing"),
    )
    assert story(told) == [
        "say:One moment.",
        "start:h1",
        "end:h1:completed",
        "agent:billing",
        "say:Paid.",
        "agent-end:completed",
    ]


def test_a_handoff_as_the_run_of_a_transfer_tool() -> None:
    told = turn(
        span("invoke_workflow w", 0, 20, {"gen_ai.operation.name": "invoke_workflow"}, id="w"),
        agent("triage", 1, 5, parent="w"),
        chat("c", 2, 3, asks("h1", "transfer_to_billing"), parent="triage"),
        tool("transfer_to_billing", 3, 4, "h1", result=None, parent="triage"),
        agent("billing", 6, 19, parent="w"),
        chat("d", 7, 9, text("Paid."), parent="billing"),
    )
    assert story(told)[:3] == ["start:h1", "end:h1:completed", "agent:billing"]
    assert "say:Paid." in story(told)
    assert told["status"] == "completed"


def test_a_handoff_that_does_not_know_its_target_reaches_the_agent_that_follows() -> None:
    scope = "opentelemetry.instrumentation.openai_agents"

    def traced(kind: str, name: str, start: float, end: float, **more: Any) -> Any:
        return span(
            name, start, end, {"traceloop.span.kind": kind, **more.pop("more", {})}, scope=scope, **more
        )

    asking = json.dumps([said(asks("call_1", "transfer_to_billing"))])
    told = turn(
        traced("workflow", "Agent Workflow", 0, 20),
        traced(
            "agent",
            "triage.agent",
            1,
            6,
            parent="Agent Workflow",
            more={"gen_ai.agent.name": "triage"},
        ),
        span(
            "openai.response",
            2,
            4,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.output.messages": asking,
            },
            parent="triage.agent",
            scope=scope,
        ),
        traced(
            "handoff",
            "triage → unknown.handoff",
            4,
            5,
            parent="triage.agent",
            more={"gen_ai.handoff.from_agent": "triage"},
        ),
        traced(
            "agent",
            "billing.agent",
            7,
            19,
            parent="Agent Workflow",
            more={"gen_ai.agent.name": "billing"},
        ),
        span(
            "openai.response",
            8,
            9,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.provider.name": "openai",
                "gen_ai.output.messages": json.dumps([said(text("Paid."))]),
            },
            id="last",
            parent="billing.agent",
            scope=scope,
        ),
    )
    assert operation(told, "transfer_to_billing")["id"] == "call_1"
    assert operation(told, "billing")["kind"] == "subagent"
    assert "say:Paid." in story(told)


def test_what_a_guardrail_hears_from_its_model_is_not_said() -> None:
    told = turn(
        openinference("AGENT", "a", 0, 20, {"agent.name": "a"}),
        openinference("LLM", "chat", 1, 4, counted(5, 1) | replies("Hello."), parent="a"),
        openinference("GUARDRAIL", "toxicity", 5, 9, parent="a"),
        openinference("LLM", "judge", 6, 8, counted(7, 2) | replies("pass"), parent="toxicity"),
    )
    assert story(told) == ["say:Hello."]
    assert told["usage"] == {"inputTokens": 12, "outputTokens": 3, "requests": 2}


def test_structure_that_carries_a_models_name_is_no_request() -> None:
    scope = "opentelemetry.instrumentation.crewai"
    model = {"gen_ai.system": "crewai", "gen_ai.request.model": "m", "gen_ai.response.model": "m"}
    told = turn(
        span("crewai.workflow", 0, 20, model | {"traceloop.span.kind": "workflow"}, scope=scope),
        span(
            "Researcher.agent",
            1,
            19,
            model | {"traceloop.span.kind": "agent"},
            parent="crewai.workflow",
            scope=scope,
        ),
        chat(
            "chat m",
            2,
            4,
            text("Found."),
            parent="Researcher.agent",
            scope="opentelemetry.instrumentation.openai.v1",
        ),
    )
    assert told["usage"]["requests"] == 1
    assert story(told) == ["say:Found."]


def test_a_request_that_no_agent_surrounds_is_a_turn() -> None:
    told = turn(openinference("LLM", "m.llm_call", 0, 5, counted(5, 1) | replies("AI is ...")))
    assert story(told) == ["say:AI is ..."]
    assert told["status"] == "completed"
    assert told["otel"]["evidence"]["complete"]


def test_agents_without_words_of_their_own_lack_nothing_where_their_requests_have_them() -> None:
    told = turn(
        openinference("AGENT", "Agent workflow", 0, 20),
        openinference("CHAIN", "turn", 1, 19, parent="Agent workflow"),
        openinference("LLM", "response", 2, 9, counted(5, 1) | replies("Hi."), parent="turn"),
    )
    assert story(told) == ["say:Hi."]
    assert told["otel"]["evidence"]["complete"]


def test_two_runs_at_once_below_one_span_are_two_turns() -> None:
    def run(name: str, at: float) -> list[Any]:
        return [
            agent(name, at, at + 10, parent="request"),
            chat(f"{name} c", at + 1, at + 2, asks(f"{name}1", "f"), parent=name),
            tool("f", at + 3, at + 4, f"{name}1", parent=name),
            chat(f"{name} d", at + 5, at + 6, text(f"{name} is done"), parent=name),
        ]

    first, second = turns(span("POST /both", 0, 30, id="request"), run("a", 1), run("b", 2))
    assert story(first) == ["start:a1", "end:a1:completed", "say:a is done"]
    assert story(second) == ["start:b1", "end:b1:completed", "say:b is done"]


def test_a_function_around_the_agent_that_returns_its_answer_says_nothing_again() -> None:
    scope = "langsmith"
    told = turn(
        span(
            "wrapped",
            0,
            20,
            {
                "langsmith.span.kind": "chain",
                "gen_ai.prompt": '{"content":"hi"}',
                "gen_ai.completion": '{"outputs":"Hello there."}',
            },
            scope=scope,
        ),
        span(
            "ai.generateText",
            1,
            19,
            {"ai.operationId": "ai.generateText", "ai.response.text": "Hello there."},
            parent="wrapped",
            scope="ai",
        ),
        span(
            "ai.generateText.doGenerate",
            2,
            18,
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.response.text": "Hello there.",
                "ai.usage.promptTokens": 4,
                "ai.usage.completionTokens": 2,
            },
            parent="ai.generateText",
            scope="ai",
        ),
    )
    assert story(told).count("say:Hello there.") == 1
    assert told["usage"] == {"inputTokens": 4, "outputTokens": 2, "requests": 1}


def test_a_node_and_the_request_inside_it_are_one_request() -> None:
    scope = "livekit-agents"
    told = turn(
        span("agent_turn", 0, 20, {"gen_ai.agent.name": "voice", "lk.speech_id": "sp1"}, scope=scope),
        span("llm_node", 1, 9, {"lk.response.text": "Hello."}, parent="agent_turn", scope=scope),
        chat("llm_request", 2, 8, usage=(12, 3), parent="llm_node", scope=scope),
    )
    assert story(told) == ["say:Hello."]
    assert told["usage"] == {"inputTokens": 12, "outputTokens": 3, "requests": 1}


def test_agent_runs_of_one_session_in_traces_of_their_own_are_turns_in_order_of_time() -> None:
    session = {"gen_ai.conversation.id": "s"}
    found = turns(
        [
            agent("second", 20, 29, session, trace="2"),
            chat("d", 21, 22, text("b"), parent="second", trace="2"),
        ],
        [agent("first", 0, 9, session, trace="1"), chat("c", 1, 2, text("a"), parent="first", trace="1")],
    )
    assert [story(t) for t in found] == [["say:a"], ["say:b"]]
    assert {t["otel"]["sessionId"] for t in found} == {"s"}
