"""Tokens that people saw counted twice, three times or not at all. Each case is built from a reported fault.

| thread | what the telemetry does |
|---|---|
| Arize-ai/openinference#3164 | the root AGENT repeats the sum of its requests |
| Arize-ai/phoenix#12768 | a sub-agent's request is repeated on the tool, the step and the run around it |
| Arize-ai/phoenix#15793, traceroot-ai/traceroot#1173 | an LLM span around the LLM span that counts |
| Arize-ai/openinference#1154 | the kickoff of a crew carries counts |
| Arize-ai/openinference#949 | ai.generateText repeats its doGenerate |
| pydantic/pydantic-ai#3995 | the agent's span carries the sum under the requests' own names |
| strands-agents/harness-sdk#2010 | an agent's figure adds up over all its invocations |
| strands-agents/harness-sdk#3602 | container spans carry counts under older names too |
| vercel/ai#12801 | only the deprecated names |
| vercel/ai#13129 | the outer span carries the last step's counts only |
| traceloop/openllmetry#2175, DEVtheOPS/opencode-plugin-otel#110 | whether input includes the cache's tokens |
| alexhawat/mergeCraft#436 | zeros stand where nobody counted |
| Arize-ai/openinference#2101 | the SDK of the provider and the framework both tell a request |
| BerriAI/litellm#10588, BerriAI/litellm#14020 | one span exported twice under two ids |
| langfuse/langfuse#9344 | three instrumentations of one request, nested |
| langfuse/codex-observability-plugin#87 | a batch that was sent again |
"""

from __future__ import annotations

import pytest

from tests.regressions.stage import (
    agent,
    asks,
    chat,
    counted,
    openinference,
    replies,
    span,
    text,
    tool,
    turn,
    turns,
)

VERCEL = {"ai.telemetry.functionId": "helper", "operation.name": "ai.generateText helper"}


def test_an_agent_that_repeats_the_sum_of_its_requests_counts_once() -> None:
    told = turn(
        openinference(
            "AGENT", "invoke_agent", 0, 9, counted(300, 40), scope="openinference.instrumentation.x"
        ),
        openinference("LLM", "chat", 1, 2, counted(100, 10) | replies("a"), id="1", parent="invoke_agent"),
        openinference("LLM", "chat", 3, 4, counted(200, 30) | replies("b"), id="2", parent="invoke_agent"),
    )
    assert told["usage"] == {"inputTokens": 300, "outputTokens": 40, "requests": 2}


def test_a_request_that_three_spans_above_it_repeat_counts_once() -> None:
    scope = "openinference.instrumentation.smolagents"
    told = turn(
        openinference("AGENT", "CodeAgent.run", 0, 20, counted(170, 17), scope=scope),
        openinference("CHAIN", "Step 1", 1, 19, counted(170, 17), parent="CodeAgent.run", scope=scope),
        openinference(
            "LLM",
            "M.generate",
            2,
            3,
            counted(100, 10) | replies("", ("c1", "ask", "{}")),
            id="outer",
            parent="Step 1",
            scope=scope,
        ),
        openinference(
            "TOOL", "ask", 4, 15, counted(70, 7) | {"tool.name": "ask"}, parent="Step 1", scope=scope
        ),
        openinference("AGENT", "Searcher.run", 5, 14, counted(70, 7), parent="ask", scope=scope),
        openinference(
            "LLM",
            "M.generate",
            6,
            7,
            counted(70, 7) | replies("found"),
            id="inner",
            parent="Searcher.run",
            scope=scope,
        ),
    )
    assert told["usage"] == {"inputTokens": 170, "outputTokens": 17, "requests": 2}


@pytest.mark.parametrize("outer", [{}, counted(241, 31)])
def test_a_request_inside_a_request_is_that_request(outer: dict[str, int]) -> None:
    told = turn(
        openinference("LLM", "OpenAI.predict", 0, 9, outer | {"llm.model_name": "m"}),
        openinference("LLM", "OpenAI.chat", 1, 8, counted(241, 31) | replies("yes"), parent="OpenAI.predict"),
    )
    assert told["usage"] == {"inputTokens": 241, "outputTokens": 31, "requests": 1}
    assert [e["text"] for e in told["events"]] == ["yes"]


def test_a_kickoff_that_carries_counts_adds_nothing() -> None:
    scope = "openinference.instrumentation.crewai"
    told = turn(
        openinference("CHAIN", "Crew.kickoff", 0, 9, counted(50, 5), scope=scope),
        openinference(
            "AGENT",
            "Researcher._execute_core",
            1,
            8,
            {"graph.node.id": "Researcher"},
            parent="Crew.kickoff",
            scope=scope,
        ),
        openinference(
            "LLM",
            "m.llm_call",
            2,
            3,
            counted(50, 5) | replies("done"),
            parent="Researcher._execute_core",
            scope=scope,
        ),
    )
    assert told["usage"] == {"inputTokens": 50, "outputTokens": 5, "requests": 1}


def test_counts_of_the_outer_call_of_the_ai_sdk_are_its_requests() -> None:
    told = turn(
        span(
            "ai.generateText",
            0,
            9,
            VERCEL
            | {
                "ai.operationId": "ai.generateText",
                "ai.usage.promptTokens": 7,
                "ai.usage.completionTokens": 3,
            },
            scope="ai",
        ),
        span(
            "ai.generateText.doGenerate",
            1,
            8,
            VERCEL
            | {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.response.text": "hi",
                "ai.usage.promptTokens": 7,
                "ai.usage.completionTokens": 3,
            },
            parent="ai.generateText",
            scope="ai",
        ),
    )
    assert told["usage"] == {"inputTokens": 7, "outputTokens": 3, "requests": 1}


def test_an_outer_call_with_the_last_steps_counts_does_not_hide_the_others() -> None:
    def step(at: int, tokens: tuple[int, int], **more: str) -> object:
        return span(
            "ai.generateText.doGenerate",
            at,
            at + 1,
            VERCEL
            | {
                "ai.operationId": "ai.generateText.doGenerate",
                "gen_ai.usage.input_tokens": tokens[0],
                "gen_ai.usage.output_tokens": tokens[1],
                **{k.replace("__", "."): v for k, v in more.items()},
            },
            id=f"step {at}",
            parent="ai.generateText",
            scope="ai",
        )

    call = '[{"toolCallType":"function","toolCallId":"c1","toolName":"w","args":"{}"}]'
    told = turn(
        span(
            "ai.generateText",
            0,
            9,
            VERCEL
            | {"ai.operationId": "ai.generateText", "ai.usage.inputTokens": 50, "ai.usage.outputTokens": 5},
            scope="ai",
        ),
        step(1, (40, 4), ai__response__toolCalls=call),  # type: ignore[arg-type] # a span
        step(5, (50, 5), ai__response__text="done"),  # type: ignore[arg-type] # a span
    )
    assert told["usage"] == {"inputTokens": 90, "outputTokens": 9, "requests": 2}


def test_an_agent_that_speaks_of_its_total_in_the_requests_own_words() -> None:
    told = turn(
        agent(
            "a",
            0,
            9,
            {"gen_ai.usage.input_tokens": 113, "gen_ai.usage.output_tokens": 11},
            scope="pydantic-ai",
        ),
        chat("c1", 1, 2, asks("x", "f"), usage=(56, 5), parent="a", scope="pydantic-ai"),
        tool("f", 2, 3, "x", parent="a", scope="pydantic-ai"),
        chat("c2", 3, 4, text("done"), usage=(57, 6), parent="a", scope="pydantic-ai"),
    )
    assert told["usage"] == {"inputTokens": 113, "outputTokens": 11, "requests": 2}


def test_a_figure_that_adds_up_over_an_agents_life_is_not_this_turns() -> None:
    scope = "strands.telemetry.tracer"
    first, second = turns(
        agent(
            "a",
            0,
            9,
            {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10},
            scope=scope,
            trace="1",
        ),
        chat("c1", 1, 2, text("one"), usage=(100, 10), parent="a", scope=scope, trace="1"),
        agent(
            "a",
            20,
            29,
            {"gen_ai.usage.input_tokens": 200, "gen_ai.usage.output_tokens": 20},
            scope=scope,
            trace="2",
        ),
        chat("c2", 21, 22, text("two"), usage=(100, 10), parent="a", scope=scope, trace="2"),
    )
    assert first["usage"] == second["usage"] == {"inputTokens": 100, "outputTokens": 10, "requests": 1}
    assert all(t["otel"]["evidence"]["complete"] for t in (first, second))


def test_one_figure_under_two_spellings_counts_once() -> None:
    both = {"gen_ai.usage.prompt_tokens": 30, "gen_ai.usage.completion_tokens": 4}
    told = turn(
        agent("a", 0, 9, both | {"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 4}),
        chat("c", 1, 2, text("hi"), usage=(30, 4), more=both, parent="a"),
    )
    assert told["usage"] == {"inputTokens": 30, "outputTokens": 4, "requests": 1}


def test_input_is_told_as_reported_and_the_caches_part_beside_it() -> None:
    request = openinference(
        "LLM",
        "chat",
        0,
        9,
        counted(
            100,
            30,
            prompt_details__cache_read=80,
            prompt_details__cache_write=5,
            completion_details__reasoning=12,
        )
        | replies("hi"),
    )
    assert turn(request)["usage"] == {
        "inputTokens": 100,
        "outputTokens": 30,
        "cacheReadTokens": 80,
        "cacheCreationTokens": 5,
        "reasoningTokens": 12,
        "requests": 1,
    }
    assert turn(request, usage_basis="exclusive")["usage"]["inputTokens"] == 15


def test_a_zero_is_told_where_somebody_reported_it_and_only_there() -> None:
    told = turn(chat("c", 0, 1, text("hi"), usage=(0, 0)))
    assert told["usage"] == {"inputTokens": 0, "outputTokens": 0, "requests": 1}
    silent = turn(chat("c", 0, 1, text("hi"), usage=None))
    assert silent["usage"] == {"requests": 1}
    assert not silent["otel"]["evidence"]["complete"]


def test_a_framework_and_the_sdk_below_it_tell_one_request() -> None:
    told = turn(
        openinference("AGENT", "Agent workflow", 0, 20, scope="openinference.instrumentation.openai_agents"),
        openinference(
            "AGENT",
            "Assistant",
            1,
            19,
            {"agent.name": "Assistant"},
            parent="Agent workflow",
            scope="openinference.instrumentation.openai_agents",
        ),
        openinference(
            "LLM",
            "response",
            2,
            9,
            counted(40, 8) | replies("a haiku"),
            parent="Assistant",
            scope="openinference.instrumentation.openai_agents",
        ),
        openinference(
            "LLM",
            "Response",
            3,
            8,
            counted(40, 8) | replies("a haiku"),
            parent="response",
            scope="openinference.instrumentation.openai",
        ),
    )
    assert told["usage"] == {"inputTokens": 40, "outputTokens": 8, "requests": 1}
    assert [e["text"] for e in told["events"]] == ["a haiku"]


def test_one_request_exported_twice_under_two_ids_counts_once() -> None:
    same = {"gen_ai.response.id": "chatcmpl-1"}
    told = turn(
        agent("a", 0, 9),
        chat("c", 1, 2, text("hi"), usage=(40, 8), more=same, id="1", parent="a", scope="litellm"),
        chat("c", 1, 2, text("hi"), usage=(40, 8), more=same, id="2", parent="a", scope="litellm"),
    )
    assert told["usage"] == {"inputTokens": 40, "outputTokens": 8, "requests": 1}
    assert [e["text"] for e in told["events"]] == ["hi"]


def test_one_request_that_three_libraries_tell_counts_once() -> None:
    same = {"gen_ai.response.id": "chatcmpl-1"}
    told = turn(
        agent("a", 0, 20, scope="gcp.vertex.agent"),
        span(
            "call_llm",
            1,
            10,
            {
                "gen_ai.system": "gcp.vertex.agent",
                "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 40,
                "gen_ai.usage.output_tokens": 8,
            },
            parent="a",
            scope="gcp.vertex.agent",
        ),
        chat("litellm", 2, 9, text("hi"), usage=(40, 8), more=same, parent="call_llm", scope="litellm"),
        chat(
            "openai",
            3,
            8,
            text("hi"),
            usage=(40, 8),
            more=same,
            parent="litellm",
            scope="opentelemetry.instrumentation.openai.v1",
        ),
    )
    assert told["usage"] == {"inputTokens": 40, "outputTokens": 8, "requests": 1}
    assert [e["text"] for e in told["events"]] == ["hi"]


def test_a_batch_that_was_sent_again_changes_nothing() -> None:
    batch = [
        agent("a", 0, 9),
        chat("c1", 1, 2, asks("x", "f"), parent="a"),
        tool("f", 2, 3, "x", parent="a"),
        chat("c2", 3, 4, text("done"), parent="a"),
    ]
    assert turn(batch, batch) == turn(batch)
