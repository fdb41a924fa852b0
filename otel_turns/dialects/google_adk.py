"""Google's Agent Development Kit: its spans of schema 2 (GenAI) and of schema 1 (`gcp.vertex.agent.*`).

Comes in: spans and log records of the scope `gcp.vertex.agent`. Goes out: `Facts`. A confirmation is asked
for by a call that is in no telemetry; only the pending tool's result tells of it.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.genai_content import text_of
from otel_turns.dialects.google_genai import unwrap_responses
from otel_turns.dialects.messages import Notes, read_messages
from otel_turns.dialects.values import as_text, is_object, is_placeholder, json_value, unwrap_result
from otel_turns.model.facts import MISSING, Convention, Facts, Mark, Message, Question, Role, ToolResult
from otel_turns.model.span import LogRecord, Span

__all__ = ["GoogleADK"]

_PENDING = "This tool call requires confirmation, please approve or reject."
_REFUSED = "This tool call is rejected."
_HIDDEN = frozenset({"{}", "N/A", "<not serializable>"})
_NAMED = {
    "invocation": Role.WORKFLOW,
    "call_llm": Role.INFERENCE,
    "execute_tool (merged)": Role.NOTHING,
    "create_cache": Role.NOTHING,
}


class GoogleADK(GenAI):
    """Google ADK.

    | attribute | fact | since |
    |---|---|---|
    | the GenAI names | as there | schema 2 |
    | span `invocation` | a workflow | schema 1 |
    | span `call_llm`, `gcp.vertex.agent.llm_request`, `.llm_response` | a request | schema 1 |
    | `gcp.vertex.agent.tool_call_args`, `.tool_response` | `arguments`, `result` | schema 1 |
    | `{}`, `N/A`, `<not specified>`, `<elided>` | hidden | schema 1 |
    | span `execute_tool (merged)` | nothing: the calls have spans of their own | schema 1 |
    | result `{"result": x}` | x; `{"error": x}` stays | schema 1 |
    | a result that asks for a confirmation; that tells of a refusal | `paused`; `rejected` | schema 1 |
    | tool `transfer_to_agent` | a handoff to its argument `agent_name` | schema 1 |
    | `gen_ai.skill.name` on tool `load_skill` | `skill` | schema 2 |
    | span `compact_events TRIGGER` | a compaction; the requests below it are `side` | schema 2 |
    | invoke_agent | `loose`: a single-turn agent's span stands beside the call that reached it | schema 2 |

    Versions seen: google-adk 2.13 with schemas 1 and 2; litellm 1.110 as its model.

    Cannot tell: the question behind a confirmation, which text is reasoning (schema 2 does not mark it), and
    the error of a tool that ended the run.
    """

    convention = Convention(
        "google_adk",
        content_switch=(
            "Set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_AND_EVENT "
            "(schema 1: ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)."
        ),
    )
    scopes = ("gcp.vertex.agent*",)

    def role(self, span: Span) -> Role | None:
        return _NAMED.get(span.name) or super().role(span) or Role.STEP

    def read_step(self, span: Span, facts: Facts) -> None:
        if not span.name.startswith("compact_events"):
            super().read_step(span, facts)
            return
        facts.side = True
        # Without a summary nothing was compacted.
        if "gen_ai.compaction.prompt_chars_saved" in span.attributes:
            event = {"type": "compaction"}
            trigger = span.name.partition(" ")[2]
            if trigger:
                event["reason"] = trigger
            facts.marks.append(Mark(span.end, "event", event))

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        facts.loose = facts.role is Role.AGENT

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        attributes = span.attributes
        if span.name == "call_llm":
            if facts.session_id is None:
                facts.session_id = as_text(attributes.get("gcp.vertex.agent.session_id"))
            facts.inputs = _request(attributes.get("gcp.vertex.agent.llm_request")) or facts.inputs
            notes = Notes()
            facts.outputs = _response(attributes.get("gcp.vertex.agent.llm_response"), notes) or facts.outputs
            if facts.inputs:
                facts.hidden.discard("inputs")
            if facts.outputs:
                facts.hidden.discard("outputs")
        _read_results(facts.inputs)

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        attributes = span.attributes
        if facts.arguments is MISSING:
            value = attributes.get("gcp.vertex.agent.tool_call_args")
            if value is not None and value not in _HIDDEN:
                facts.hidden.discard("arguments")
                self.set_arguments(facts, value)
        result = facts.result
        if result is MISSING:
            value = attributes.get("gcp.vertex.agent.tool_response")
            if value is not None and value not in _HIDDEN and not is_placeholder(value):
                facts.hidden.discard("result")
                result = json_value(value)
        if is_object(result) and len(result) == 1:
            if "result" in result:
                result = unwrap_result(result["result"])
            elif result.get("error") == _PENDING:
                result = MISSING
                facts.paused = True
                facts.failed, facts.error, facts.error_type = False, None, None
                facts.questions.append(
                    Question(None, facts.tool_name, facts.arguments, call_id=facts.call_id)
                )
            elif result.get("error") == _REFUSED:
                facts.rejected = True
        facts.result = MISSING if type(result) is str and is_placeholder(result) else result
        if facts.tool_name == "transfer_to_agent" and is_object(facts.arguments) and not facts.failed:
            target = as_text(facts.arguments.get("agent_name"))
            if target:
                facts.role, facts.handoff_to = Role.HANDOFF, target
        elif facts.tool_name == "load_skill" and not facts.failed:
            facts.skill = as_text(attributes.get("gen_ai.skill.name"))

    def read_log(self, record: LogRecord) -> Facts | None:
        facts = super().read_log(record)
        if facts is not None:
            _read_results(facts.inputs)
        return facts


def _read_results(messages: list[Message] | None) -> None:
    unwrap_responses(messages, ("result",), unwrap_errors=False)
    for message in messages or ():
        for part in message.parts:
            if type(part) is ToolResult and is_object(part.result):
                words = part.result.get("error")
                if words == _PENDING:
                    part.pending, part.failed, part.result = True, False, MISSING
                elif words == _REFUSED:
                    part.rejected, part.failed = True, False


def _request(value: Any) -> list[Message] | None:
    """The messages of a logged request: `contents`, and the system instruction in `config`."""
    request = json_value(value)
    if not is_object(request) or not request:
        return None
    messages = read_messages(request.get("contents") or [], "user")
    config = request.get("config")
    instruction = config.get("system_instruction") if is_object(config) else None
    return [*read_messages(instruction, "system"), *messages] if instruction else messages


def _response(value: Any, notes: Notes) -> list[Message] | None:
    response = json_value(value)
    content = response.get("content") if is_object(response) else None
    if not is_object(content):
        return None
    messages = read_messages([content], "assistant", notes)
    return messages if messages and (text_of(messages) or messages[0].parts) else None
