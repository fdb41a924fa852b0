"""Words that people saw missing, cut, doubled or put in somebody's mouth. Each is from a reported fault.

| thread | what the telemetry does |
|---|---|
| traceloop/openllmetry#4362 | a streamed reply without content is not told at all |
| openai/openai-agents-python#4692 | a streamed request's span lacks request and reply |
| dynatrace-oss/dynatrace-ai-agent-instrumentation-examples#317 | streams are not put together |
| BerriAI/litellm#34828, envoyproxy/ai-gateway#2051 | the SDK dropped attributes: over 128 |
| agentgateway/agentgateway#2060 | indexed messages stop at a number |
| triggerdotdev/trigger.dev#3620 | JSON was cut in the middle |
| langfuse/langfuse#5457 | a workflow tells its words as the convention's entity only |
| Arize-ai/openinference#3338 | signatures of thoughts stand beside the text |
| anthropics/claude-code#68610 | a decision about a call, and never its result |
| crewAIInc/crewAI#1424 | runs without their outputs |
| openai/codex#2103 | prompts are replaced by a placeholder |
| openlit/openlit#1132 | a failed request is two spans, each with the exception |
| LnYo-Cly/ai4j#264 | the root of a run that failed is OK |
| getsentry/sentry-javascript#17890, vercel/ai#7658 | tokens of the cache under a name of their own |
| open-telemetry/semantic-conventions#2010 | messages as events and as attributes at once |
| open-telemetry/opentelemetry-python-genai#587 | a failed result stands as output |
| microsoft/semantic-kernel#12928 | an agent's span carries input and output of its own |
| pydantic/pydantic-ai#5523 | a format of the messages that went away |
| BerriAI/litellm#15931 | the same callback registered twice |
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_turns.model.span import SpanEvent
from tests.assembly.stage import MS, T0, codes, story
from tests.regressions.stage import (
    ERROR,
    OK,
    agent,
    asked,
    asks,
    chat,
    counted,
    gives,
    handed,
    openinference,
    operation,
    raised,
    record,
    replies,
    said,
    span,
    text,
    tool,
    turn,
)

PARIS = {"city": "Paris"}


def test_a_reply_that_was_not_told_is_missing_and_not_empty() -> None:
    told = turn(agent("a", 0, 9), chat("c", 1, 2, usage=(10, 1), parent="a"))
    assert told["events"] == []
    assert told["status"] == "completed"
    assert "content_not_captured" in codes(told)
    assert not told["otel"]["evidence"]["complete"]


def test_a_request_that_tells_nothing_is_read_from_the_one_that_follows() -> None:
    history = [asked("?"), said(text("Let me see."), asks("w1", "weather", PARIS)), handed(gives("w1", 18))]
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, usage=None, parent="a"),
        tool("weather", 3, 4, "w1", result=18, arguments=PARIS, parent="a"),
        chat("d", 5, 6, text("It is 18."), inputs=history, parent="a"),
    )
    assert story(told) == ["say:Let me see.", "start:w1", "end:w1:completed", "say:It is 18."]


def test_attributes_that_the_sdk_dropped_are_told_as_missing() -> None:
    told = turn(agent("a", 0, 9), chat("c", 1, 2, text("hi"), parent="a", dropped=40))
    assert story(told) == ["say:hi"]
    assert "attributes_dropped" in codes(told)
    assert not told["otel"]["evidence"]["complete"]


def test_indexed_messages_that_stop_at_a_number_are_read_up_to_it() -> None:
    indexed: dict[str, Any] = {}
    for at in range(49):
        role = "user" if at % 2 == 0 else "assistant"
        indexed |= {f"gen_ai.prompt.{at}.role": role, f"gen_ai.prompt.{at}.content": f"word {at}"}
    told = turn(
        span(
            "openai.chat",
            0,
            5,
            indexed | {"llm.request.type": "chat", "gen_ai.system": "openai"},
            scope="opentelemetry.instrumentation.openai.v1",
            dropped=62,
        )
    )
    assert told["events"] == []
    assert {"attributes_dropped", "content_not_captured"} <= codes(told)


def test_json_that_was_cut_in_the_middle_is_never_speech() -> None:
    whole = json.dumps([said(text("The answer is a long one. " * 20))])
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, more={"gen_ai.output.messages": whole[:120]}, parent="a"),
    )
    assert not any("parts" in e.get("text", "") for e in told["events"])
    assert not told["otel"]["evidence"]["complete"]


def test_arguments_that_were_cut_stay_the_text_that_they_are() -> None:
    cut = '{"path": "/a", "content": "abc'
    told = turn(
        agent("a", 0, 9),
        tool("write", 1, 2, "x", more={"gen_ai.tool.call.arguments": cut}, parent="a"),
    )
    assert operation(told, "write")["input"] == cut
    assert "unparsable_json" in codes(told)


def test_words_of_a_workflow_that_only_its_entity_carries() -> None:
    told = turn(
        span(
            "graph.workflow",
            0,
            9,
            {
                "traceloop.span.kind": "workflow",
                "traceloop.entity.name": "graph",
                "traceloop.entity.input": '{"inputs":{"messages":["hi"]}}',
                "traceloop.entity.output": '{"outputs":{"messages":["Hello there."]}}',
            },
            scope="opentelemetry.instrumentation.langchain",
        ),
        chat("ChatOpenAI.chat", 1, 5, text("Hello there."), parent="graph.workflow", scope="traceloop"),
    )
    assert story(told) == ["say:Hello there."]


def test_signatures_of_thoughts_are_not_words() -> None:
    contents = {"role": "model", "parts": [{"text": "Blue.", "thought_signature": "CiQB0e2Kb3Jk"}]}
    told = turn(
        span(
            "call_llm",
            0,
            5,
            {
                "gen_ai.system": "gcp.vertex.agent",
                "gen_ai.request.model": "m",
                "gcp.vertex.agent.llm_response": json.dumps({"content": contents}),
            },
            scope="gcp.vertex.agent",
        )
    )
    assert story(told) == ["say:Blue."]


def logged(name: str, time: float, number: int, **more: str) -> Any:
    """One log event of Claude Code, without any span."""
    attributes = {"session.id": "s", "prompt.id": "p", "event.name": name, "event.sequence": number, **more}
    return record("", time, attributes, body=f"claude_code.{name}", scope="com.anthropic.claude_code.events")


def decided(decision: str, source: str = "config") -> Any:
    return logged(
        "tool_decision", 2, 2, tool_name="Bash", decision=decision, source=source, tool_use_id="toolu_1"
    )


PROMPT = logged("user_prompt", 1, 1, prompt="go")
REQUEST = logged(
    "api_request", 8, 4, model="m", input_tokens="5", output_tokens="2", duration_ms="1", request_id="r1"
)


def test_a_decision_without_a_result_is_a_call_that_nobody_saw_end() -> None:
    told = turn(PROMPT, decided("accept"), REQUEST)
    assert [e["type"] for e in told["events"]] == ["operation.started"]
    assert told["events"][0]["operation"] == {"kind": "tool", "name": "Bash", "input": None, "tool": "shell"}
    assert "operation_unfinished" in codes(told)
    assert not told["otel"]["evidence"]["complete"]


def test_a_refusal_without_a_result_is_the_end_of_its_call() -> None:
    told = turn(PROMPT, decided("reject"), REQUEST)
    assert story(told) == ["start:toolu_1", "end:toolu_1:rejected"]


def test_a_call_ends_with_its_result_and_not_with_the_decision_about_it() -> None:
    result = logged(
        "tool_result", 7, 3, tool_name="Bash", tool_use_id="toolu_1", success="true", duration_ms="4"
    )
    told = turn(PROMPT, decided("accept", "user_temporary"), result, REQUEST)
    assert [s for s in story(told) if s.startswith(("start", "end"))] == [
        "start:toolu_1",
        "end:toolu_1:completed",
    ]
    (end,) = [
        t
        for e, t in zip(told["events"], told["otel"]["eventTimes"], strict=True)
        if e["type"] == "operation.finished"
    ]
    assert int(end) == T0 + 7 * MS


def test_a_run_without_its_output_has_none() -> None:
    scope = "openinference.instrumentation.crewai"
    told = turn(
        openinference("AGENT", "a", 0, 9, {"graph.node.id": "a"}, scope=scope),
        openinference(
            "TOOL",
            "Search.run",
            1,
            2,
            {"tool.name": "Search", "input.value": '{"q":"x"}'},
            parent="a",
            scope=scope,
        ),
    )
    assert operation(told, "Search")["output"] is None
    assert "output" not in told["events"][1]
    assert "content_not_captured" in codes(told)


@pytest.mark.parametrize("placeholder", ["[REDACTED]", "<REDACTED>", "__REDACTED__", "<elided>"])
def test_a_placeholder_is_absence(placeholder: str) -> None:
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, text(placeholder), parent="a"),
        tool("f", 3, 4, "x", result=placeholder, parent="a"),
    )
    assert placeholder not in json.dumps(told["events"])
    assert "content_not_captured" in codes(told)


def test_one_failure_that_two_spans_carry_is_one_error() -> None:
    timeout = [raised("openai.APITimeoutError", "Request timed out.", 4)]
    told = turn(
        chat(
            "openai",
            1,
            5,
            usage=None,
            status=ERROR,
            message="Request timed out.",
            events=timeout,
            scope="openlit.otel.tracing",
        ),
        chat(
            "langchain",
            1,
            5,
            usage=None,
            status=ERROR,
            message="Request timed out.",
            events=timeout,
            parent="openai",
            scope="openlit.instrumentation.langchain",
        ),
    )
    assert story(told) == ["error:Request timed out."]
    assert told["status"] == "failed"
    assert told["usage"] == {"requests": 1}


def test_a_run_whose_last_request_failed_has_failed_whatever_its_root_says() -> None:
    told = turn(
        agent("a", 0, 9, status=OK),
        chat("c", 1, 2, asks("x", "f"), parent="a"),
        tool("f", 2, 3, "x", parent="a"),
        chat("d", 4, 5, usage=None, status=ERROR, message="rate limited", parent="a"),
    )
    assert told["status"] == "failed"
    assert story(told)[-1] == "error:rate limited"


@pytest.mark.parametrize(
    "words",
    [
        {"ai.usage.inputTokens": 10, "ai.usage.outputTokens": 4, "ai.usage.cachedInputTokens": 8},
        {
            "ai.usage.inputTokens": 10,
            "ai.usage.outputTokens": 4,
            "ai.usage.inputTokenDetails.cacheReadTokens": 8,
            "ai.usage.cachedInputTokens": 8,
        },
    ],
)
def test_tokens_of_the_cache_under_whatever_name(words: dict[str, int]) -> None:
    told = turn(
        span(
            "ai.streamText.doStream",
            0,
            5,
            words | {"ai.operationId": "ai.streamText.doStream", "ai.response.text": "hi"},
            scope="ai",
        )
    )
    assert told["usage"] == {"inputTokens": 10, "outputTokens": 4, "cacheReadTokens": 8, "requests": 1}


def test_a_message_that_is_an_event_and_an_attribute_is_said_once() -> None:
    choice = SpanEvent(
        T0 + 2 * MS,
        "gen_ai.choice",
        {"index": 0, "message": json.dumps({"role": "assistant", "content": "hi"})},
    )
    told = turn(agent("a", 0, 9), chat("c", 1, 2, text("hi"), parent="a", events=[choice]))
    assert story(told) == ["say:hi"]


def test_an_agents_own_words_that_repeat_its_last_reply_are_not_said_twice() -> None:
    told = turn(
        agent("a", 0, 9, {"gen_ai.output.messages": json.dumps([said(text("Done."))])}),
        chat("c", 1, 2, text("Done."), parent="a"),
    )
    assert story(told) == ["say:Done."]


def test_an_agents_own_words_that_no_request_told_are_said() -> None:
    told = turn(agent("a", 0, 9, {"gen_ai.output.messages": json.dumps([said(text("Done."))])}))
    assert story(told) == ["say:Done."]


def test_the_older_message_events_of_a_format_that_went_away_are_read() -> None:
    events = [
        {"event.name": "gen_ai.user.message", "content": "hi", "role": "user"},
        {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": "Hello."}},
    ]
    told = turn(
        span("agent run", 0, 9, {"gen_ai.agent.name": "a", "agent_name": "a"}, scope="pydantic-ai"),
        span(
            "chat m",
            1,
            5,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.system": "openai",
                "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 5,
                "gen_ai.usage.output_tokens": 1,
                "events": json.dumps(events),
            },
            parent="agent run",
            scope="pydantic-ai",
        ),
    )
    assert story(told) == ["say:Hello."]


def test_a_callback_that_was_registered_twice_tells_one_request() -> None:
    told = turn(
        openinference("AGENT", "a", 0, 9, {"agent.name": "a"}),
        *(
            chat(
                "litellm_request",
                1,
                2,
                text("hi"),
                usage=(4, 1),
                id=f"l{n}",
                parent="a",
                scope="litellm",
                more={"gen_ai.response.id": "r1"},
            )
            for n in (1, 2)
        ),
    )
    assert story(told) == ["say:hi"]
    assert told["usage"] == {"inputTokens": 4, "outputTokens": 1, "requests": 1}


def test_a_request_without_a_finish_reason_or_usage_is_a_request_all_the_same() -> None:
    told = turn(openinference("LLM", "chat", 0, 5, replies("hi")))
    assert told["usage"] == {"requests": 1}
    assert "usage_partial" in codes(told)
    assert turn(openinference("LLM", "chat", 0, 5, counted(1, 1) | replies("hi")))["otel"]["evidence"][
        "complete"
    ]
