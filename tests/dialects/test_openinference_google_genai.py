"""The Google Gen AI SDK through OpenInference, with and without automatic function calling."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.openinference_google_genai import OpenInferenceGoogleGenAI
from otel_turns.model.facts import Facts, Message, Role, Text, TokenUsage, ToolCall, ToolResult
from tests.dialects.spans import span, text

SCOPE = "openinference.instrumentation.google_genai"
ASKED: dict[str, Any] = {"parts": [{"text": "Weather in Paris?"}], "role": "user"}
USAGE = {"prompt_token_count": 120, "candidates_token_count": 30}


def call(name: str, call_id: str | None) -> dict[str, Any]:
    return {"function_call": {"name": name, "args": {"city": "Paris"}, "id": call_id}}


def answer(name: str, response: dict[str, Any]) -> dict[str, Any]:
    return {"function_response": {"name": name, "response": response}}


def run(contents: list[Any], parts: list[Any], history: list[Any] | None = None) -> Facts:
    said: dict[str, Any] = {
        "response_id": "r1",
        "candidates": [{"content": {"parts": parts, "role": "model"}}],
        "usage_metadata": USAGE,
    }
    if history is not None:
        said["automatic_function_calling_history"] = history
    made = span(
        {
            "openinference.span.kind": "LLM",
            "input.value": text({"contents": contents}),
            "output.value": text(said),
            "llm.token_count.prompt": 120,
            "message.tool_calls.0.tool_call.function.name": "astray",
        },
        scope=SCOPE,
        name="GenerateContent",
    )
    dialect = OpenInferenceGoogleGenAI()
    assert dialect.matches(made)
    return dialect.read(made)


def test_one_request() -> None:
    contents = [
        ASKED,
        {"parts": [call("f", "c1"), call("g", "c2")], "role": "model"},
        {"parts": [answer("f", {"result": '{"temp_c": 18}'}), answer("g", {"error": "no"})], "role": "user"},
    ]
    facts = run(contents, [{"text": "Checking."}, call("get_weather", "c3")])
    assert facts.role is Role.INFERENCE
    assert facts.outputs == [
        Message("assistant", [Text("Checking."), ToolCall("c3", "get_weather", {"city": "Paris"})])
    ]
    assert facts.inputs is not None
    results = [p for m in facts.inputs for p in m.parts if isinstance(p, ToolResult)]
    assert [(r.name, r.result, r.failed) for r in results] == [
        ("f", {"temp_c": 18}, False),
        ("g", "no", True),
    ]
    assert (facts.response_id, facts.usage) == ("r1", TokenUsage(120))


LOOP: list[dict[str, Any]] = [
    {"parts": [{"text": "Checking."}, call("get_weather", "c1"), call("get_time", "c2")], "role": "model"},
    {
        "parts": [answer("get_weather", {"result": {"temp_c": 18}}), answer("get_time", {"result": "09:30"})],
        "role": "user",
    },
]
TOLD = [
    Message(
        "assistant",
        [
            Text("Checking."),
            ToolCall("c1", "get_weather", {"city": "Paris"}),
            ToolCall("c2", "get_time", {"city": "Paris"}),
            ToolResult("c1", "get_weather", {"temp_c": 18}),
            ToolResult("c2", "get_time", "09:30"),
            Text("18 degrees."),
        ],
    )
]


def test_a_loop_of_requests_is_one_reply_in_order() -> None:
    facts = run([ASKED], [{"text": "18 degrees."}], [{"parts": ASKED["parts"]}, *LOOP])
    assert facts.outputs == TOLD
    assert facts.ordered_parts


def test_each_chunk_of_a_stream_repeats_the_history() -> None:
    history = [ASKED, *LOOP]
    merged = [
        {"text": "Checking."},
        call("get_weather", "c1"),
        call("get_time", "c2"),
        {"text": "18 degrees."},
    ]
    assert run([ASKED], merged, [*history, *history, *history]).outputs == TOLD


def test_results_in_another_order_find_their_calls_by_name() -> None:
    swapped = [LOOP[0], {"parts": LOOP[1]["parts"][::-1], "role": "user"}]
    facts = run([ASKED], [{"text": "18 degrees."}], [ASKED, *swapped])
    results = [p for m in facts.outputs or () for p in m.parts if isinstance(p, ToolResult)]
    assert [(result.id, result.name) for result in results] == [("c2", "get_time"), ("c1", "get_weather")]


def test_a_loop_without_calls_is_a_reply() -> None:
    facts = run([ASKED], [{"text": "Hello"}], [ASKED])
    assert facts.outputs == [Message("assistant", [Text("Hello")])]


PARTS: list[Any] = [
    {"text": "a"},
    call("f", None),
    call("f", "c1"),
    answer("f", {}),
    answer("g", {"x": 1}),
    {},
    3,
]
PART = st.sampled_from(PARTS)


def content(parts: list[Any]) -> dict[str, Any]:
    return {"parts": parts, "role": "model"}


CONTENT = st.one_of(st.none(), st.builds(content, st.lists(PART, max_size=3)))


@given(st.lists(CONTENT, max_size=2), st.lists(PART, max_size=3), st.lists(CONTENT, max_size=4))
def test_odd_histories_never_raise(contents: list[Any], parts: list[Any], history: list[Any]) -> None:
    facts = run(contents, parts, history)
    assert facts.outputs is None or len(facts.outputs) == 1
