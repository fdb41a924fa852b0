"""Genkit."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.dialects.genkit import Genkit
from otel_turns.model.facts import (
    Facts,
    Message,
    Question,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR
from tests.dialects.spans import END, exception, span, text


def _read(subtype: str | None, attributes: dict[str, Any] | None = None, **more: Any) -> Facts:
    given: dict[str, Any] = {"genkit:type": "action", "genkit:name": "one", **(attributes or {})}
    if subtype is not None:
        given["genkit:metadata:subtype"] = subtype
    made = span(given, scope="genkit-tracer", **more)
    assert Genkit().matches(made)
    return Genkit().read(made)


def _said(role: str, *content: Any) -> dict[str, Any]:
    return {"role": role, "content": list(content)}


CALL = {"toolRequest": {"name": "get_weather", "ref": "c1", "input": {"city": "Paris"}}}


def test_a_request() -> None:
    result = {"toolResponse": {"name": "get_weather", "ref": "c1", "output": {"temp_c": 18}}}
    request = {"messages": [_said("user", {"text": "weather?"}), _said("model", CALL), _said("tool", result)]}
    response = {
        "message": _said("model", {"reasoning": "Hm."}, {"text": "It is 18."}),
        "usage": {"inputTokens": 120, "outputTokens": 30, "cachedContentTokens": 40, "thoughtsTokens": 5},
    }
    facts = _read("model", {"genkit:input": text(request), "genkit:output": text(response)})
    assert (facts.role, facts.model, facts.structured) == (Role.INFERENCE, "one", False)
    assert facts.inputs == [
        Message("user", [Text("weather?")]),
        Message("assistant", [ToolCall("c1", "get_weather", {"city": "Paris"})]),
        Message("tool", [ToolResult("c1", "get_weather", {"temp_c": 18})]),
    ]
    assert facts.outputs == [Message("assistant", [Reasoning("Hm."), Text("It is 18.")])]
    assert facts.usage == TokenUsage(120, 30, 40, None, 5)


@pytest.mark.parametrize(
    "request_",
    [
        {"messages": [], "output": {"format": "json"}},
        {"messages": [_said("user", {"text": "schema", "metadata": {"purpose": "output"}})]},
    ],
)
def test_typed_answers(request_: dict[str, Any]) -> None:
    def structured(words: str) -> bool:
        response = {"message": _said("model", {"text": words})}
        return _read("model", {"genkit:input": text(request_), "genkit:output": text(response)}).structured

    assert structured('{"city": "Paris"}')
    assert not structured("Which city?")


def test_content_that_was_not_recorded() -> None:
    hidden = {"genkit:input": "<redacted>", "genkit:output": "<redacted>"}
    assert _read("model", hidden).hidden == {"inputs", "outputs"}
    assert _read("tool", hidden).hidden == {"arguments", "result"}


def test_a_tool() -> None:
    facts = _read("tool", {"genkit:input": text({"city": "Paris"}), "genkit:output": text({"temp_c": 18})})
    assert (facts.role, facts.tool_name, facts.call_id) == (Role.TOOL, "one", None)
    assert (facts.arguments, facts.result) == ({"city": "Paris"}, {"temp_c": 18})


def test_a_tool_that_failed_and_one_that_paused() -> None:
    failed = _read("tool", status=STATUS_ERROR, message="gone", events=[exception("gone", "Error")])
    assert (failed.failed, failed.error, failed.paused) == (True, "gone", False)
    paused = _read("tool", status=STATUS_ERROR, events=[exception("", "ToolInterruptError")])
    assert (paused.failed, paused.error, paused.paused) == (False, None, True)
    assert _read("tool", {"genkit:state": "error"}).failed


def test_a_run_that_waits() -> None:
    asked = {"toolRequest": {"name": "ask", "ref": "c1", "input": {"q": "sure?"}}}
    content = [{"text": "I ask."}, CALL, {**asked, "metadata": {"interrupt": True}}]
    response = {"finishReason": "interrupted", "message": _said("model", *content)}
    facts = _read(None, {"genkit:type": "util", "genkit:output": text(response)})
    assert (facts.role, facts.waiting) == (Role.STEP, True)
    assert facts.questions == [Question("c1", "ask", {"q": "sure?"}, call_id="c1", time=END)]


def test_flows() -> None:
    facts = _read("flow", {"genkit:input": text("go"), "genkit:output": text("Done.")})
    assert (facts.role, facts.agent_name) == (Role.CHAIN, "one")
    assert facts.inputs == [Message("user", [Text("go")])]
    assert facts.outputs == [Message("assistant", [Text("Done.")])]
    assert _read("flow", {"genkit:output": text({"city": "Paris"})}).data == {"city": "Paris"}


def test_other_actions() -> None:
    assert _read("agent").role is Role.AGENT
    assert _read("retriever").role is Role.NOTHING
    assert _read(None, {"genkit:type": "promptTemplate"}).role is Role.STEP
    assert _read("flow", {"genkit:sessionId": "s1"}).session_id == "s1"
