"""Mastra's spans (`@mastra/otel-exporter`, `@mastra/otel-bridge`), which speak GenAI with additions of their
own.

Comes in: spans with `mastra.span.type`. Goes out: the GenAI convention's Facts, with replies from the step
around the request, since the request's own span leaves the calls out. It never takes an agent's or a
generation's text for speech: it is all replies of the run, glued together.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.messages import read_messages
from otel_turns.dialects.parts import tool_call
from otel_turns.dialects.values import as_text, is_list, is_object, json_text, read_failure
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Decision,
    Facts,
    Message,
    Part,
    Question,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["Mastra"]

_TYPE = "mastra.span.type"
_ROLES = {
    "agent_run": Role.AGENT,
    "workflow_run": Role.WORKFLOW,
    "tool_call": Role.TOOL,
    "mcp_tool_call": Role.TOOL,
    "provider_tool_call": Role.TOOL,
    "rag_embedding": Role.NOTHING,
}
_STEP, _CHUNK, _CHAT = "model_step", "model_chunk", "chat"
_DELEGATION = "agent-"


class Mastra(GenAI):
    """Mastra 1, through its OpenTelemetry exporter.

    | attribute of a span of `mastra.span.type` | fact | since |
    |---|---|---|
    | agent_run `gen_ai.agent.name`, `mastra.agent_run.input` | AGENT, its name, the prompt | 1.0 |
    | agent_run `mastra.agent_run.output`, `object` | typed answer | 1.0 |
    | the same, `status` suspended | the run waits for a human | 1.0 |
    | agent_run `mastra.metadata.resumed` | the run goes on; its input is the human's answer | 1.0 |
    | model_inference, or any with `gen_ai.operation.name` chat | INFERENCE: tokens, text | 1.0 |
    | model_step `mastra.model_step.output` | the same request: its reply with the calls | 1.0 |
    | model_chunk `mastra.model_chunk.output`, `text` | text of a reply that no other span tells | 1.0 |
    | the same, `resumeSchema` | a call that waits for approval, and the question | 1.0 |
    | tool_call, mcp_tool_call | TOOL, as the GenAI convention says | 1.0 |
    | tool_call named `agent-NAME` | the call reaches that agent | 1.0 |
    | workflow_run | WORKFLOW | 1.0 |
    | everything else (model_generation, mapping, workflow_step, ...) | structure | 1.0 |

    Versions seen: @mastra/core 1.71 with @mastra/otel-exporter.

    Cannot tell: the input of a request, reasoning that a chunk does not mark, tokens of a request that ended
    in a pause, the class of an error, and when a model's reply was complete (its span ends behind the tools).
    """

    convention = Convention(
        "mastra",
        content_switch="leave hideInput and hideOutput of tracingOptions unset",
    )
    scopes: tuple[str, ...] = ("@mastra/*",)
    keys: tuple[str, ...] = (_TYPE,)

    def matches(self, span: Span) -> bool:
        return _TYPE in span.attributes

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def role(self, span: Span) -> Role | None:
        attributes = span.attributes
        kind = attributes.get(_TYPE)
        if attributes.get("gen_ai.operation.name") == _CHAT:
            return Role.STEP if _repeats(span) else Role.INFERENCE
        if kind == _STEP:
            return Role.INFERENCE if _step_reply(span) is not None else Role.STEP
        if kind == _CHUNK:
            return _chunk_role(_output(span))
        return _ROLES.get(kind, Role.STEP) if type(kind) is str else Role.STEP

    def read_step(self, span: Span, facts: Facts) -> None:
        """Structure. What a processor or the memory asks of a model is no speech of the agent."""
        facts.side = span.attributes.get(_TYPE) in ("processor_run", "memory_operation")

    def read_inference(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        kind = attributes.get(_TYPE)
        if kind == _CHUNK:
            facts.requests = 0
            facts.outputs = [Message("assistant", [Text(str(_output(span).get("text")))])]
        elif kind == _STEP:
            facts.requests = 0
            reply = _step_reply(span)
            if reply is not None:
                facts.outputs = [Message("assistant", _parts(reply))]
                facts.structured = is_object(reply.get("object")) or is_list(reply.get("object"))
        else:
            super().read_inference(span, facts)
            if attributes.get("gen_ai.output.messages") is not None:
                facts.hidden.discard("outputs")
            if "error" in str(attributes.get("gen_ai.response.finish_reasons")):
                facts.failed = True
                facts.error = facts.error or ""
        # Requests show no messages in any setting: nothing is held back.
        facts.hidden.discard("inputs")

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        attributes = span.attributes
        if facts.error_type == "unknown":
            facts.error_type = None
        if facts.role is not Role.AGENT:
            return
        given = attributes.get("mastra.agent_run.input")
        if attributes.get("mastra.metadata.resumed") is True:
            facts.resumes = True
            _answer(given, facts)
        elif given is not None:
            facts.inputs = _prompt(given)
        else:
            facts.hidden.add("inputs")
        output = _output(span)
        if output.get("status") == "suspended":
            facts.waiting = True
            call_id = as_text(output.get("toolCallId"))
            facts.questions.append(
                Question(call_id, as_text(output.get("toolName")), call_id=call_id, time=span.end)
            )
        elif "object" in output:
            facts.data = output["object"]

    def read_tool(self, span: Span, facts: Facts) -> None:
        if span.attributes.get(_TYPE) == _CHUNK:
            _pending(_output(span), span, facts)
            return
        super().read_tool(span, facts)
        if facts.failed:
            facts.error_type = next(
                (as_text(e.attributes.get("exception.type")) for e in span.events if e.name == "exception"),
                None,
            )
        name = facts.tool_name
        if name is not None and name.startswith(_DELEGATION):
            facts.delegates_to = name[len(_DELEGATION) :]
        result = facts.result
        if is_object(result) and result.get("error") is True and "validationErrors" in result:
            facts.failed = facts.not_run = True
            facts.error = as_text(result.get("message")) or ""


def _output(span: Span) -> dict[str, Any]:
    value = span.attributes.get(f"mastra.{span.attributes.get(_TYPE)}.output")
    parsed = json_text(value) if type(value) is str else value
    return parsed if is_object(parsed) else {}


def _step_reply(span: Span) -> dict[str, Any] | None:
    """The reply as the step tells it. A resumed run tells the reply of the paused request once more."""
    attributes = span.attributes
    if attributes.get("mastra.metadata.resumed") is True and "mastra.model_step.input" not in attributes:
        return None
    return _output(span) or None


def _repeats(span: Span) -> bool:
    """Whether a resumed run's request is none: it stands for the one before the pause, without an answer."""
    attributes = span.attributes
    return (
        attributes.get("mastra.metadata.resumed") is True
        and "mastra.completion_start_time" not in attributes
        and not read_failure(span).failed
        and "error" not in str(attributes.get("gen_ai.response.finish_reasons"))
    )


def _chunk_role(output: dict[str, Any]) -> Role:
    if "resumeSchema" in output and "toolCallId" in output:
        return Role.TOOL
    return Role.INFERENCE if type(output.get("text")) is str and output["text"] else Role.STEP


def _parts(reply: dict[str, Any]) -> list[Part]:
    parts: list[Part] = []
    text = reply.get("text")
    if type(text) is str and text:
        parts.append(Text(text))
    calls = reply.get("toolCalls")
    for call in calls if is_list(calls) else ():
        if is_object(call):
            parts.append(tool_call(call.get("toolCallId"), call.get("toolName"), call.get("args")))
    return parts


def _pending(output: dict[str, Any], span: Span, facts: Facts) -> None:
    facts.call_id = as_text(output.get("toolCallId"))
    facts.tool_name = as_text(output.get("toolName"))
    facts.arguments = output.get("args", MISSING)
    facts.paused = True
    facts.questions.append(
        Question(facts.call_id, facts.tool_name, facts.arguments, call_id=facts.call_id, time=span.end)
    )


def _prompt(value: Any) -> list[Message] | None:
    given = value
    if type(value) is str:
        parsed = json_text(value)
        given = parsed if is_object(parsed) or is_list(parsed) else value
    if type(given) is str:
        return [Message("user", [Text(given)])] if given else None
    return read_messages(given, "user") or None


def _answer(value: Any, facts: Facts) -> None:
    """What the human said to a run that waited; a refused call is over with it."""
    answer = json_text(value) if type(value) is str else value
    if not is_object(answer):
        facts.hidden.add("inputs")
        return
    call_id, name = as_text(answer.get("toolCallId")), as_text(answer.get("toolName"))
    approved = answer.get("approved")
    if type(approved) is not bool or call_id is None:
        return
    reason = as_text(answer.get("reason"))
    facts.decisions.append(Decision(approved, call_id, call_id, reason))
    if not approved:
        refusal = ToolResult(call_id, name, MISSING if reason is None else reason, rejected=True)
        facts.inputs = [
            Message("assistant", [ToolCall(call_id, name)]),
            Message("tool", [refusal]),
        ]
