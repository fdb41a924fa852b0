"""Gemini CLI's spans and log records.

Comes in: spans and log records of scope `gemini-cli`. Goes out: Facts; `gemini_cli_logs` reads the records.
Every request and every batch of tools is a trace of its own, joined by the prompt id; without the content
switch the records tell more than the spans. Spans say OK of failed tools: it reads the tool's own status. It
never takes `gemini-cli`, which every span has, for an agent's name.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.gemini_cli_facts import (
    bare_call_id,
    cancelled,
    error_words,
    exit_failed,
    own_tool,
    read_contents,
    unwrap_response,
)
from otel_turns.dialects.gemini_cli_logs import read_gemini_cli_log
from otel_turns.dialects.messages import read_messages
from otel_turns.dialects.values import as_int, as_text, is_object, json_arguments, json_text, read_failure
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Role, Text, TokenUsage, ToolResult
from otel_turns.model.span import LogRecord, Span

__all__ = ["GeminiCLI"]

_SCOPE = "gemini-cli"
_ROLES = {
    "llm_call": Role.INFERENCE,
    "tool_call": Role.TOOL,
    "agent_call": Role.AGENT,
    "user_prompt": Role.AGENT,
}


class GeminiCLI:
    """Gemini CLI.

    | span (`gen_ai.operation.name`) and attribute | fact | since |
    |---|---|---|
    | llm_call | INFERENCE | 0.20 |
    | `gen_ai.input.messages`, `gen_ai.output.messages` (Gemini contents) | request, reply | 0.20 |
    | `gen_ai.usage.input_tokens`, `gen_ai.usage.output_tokens` | tokens, output without thoughts | 0.20 |
    | `gen_ai.prompt.name` | prompt id | 0.20 |
    | tool_call `gen_ai.tool.name`, `gen_ai.tool.call_id` | TOOL; the id is behind `<tool>__` | 0.20 |
    | the same attributes (`args`; `status`, `response`) | arguments; failure, result | 0.20 |
    | agent_call | AGENT, a sub-agent | 0.20 |
    | user_prompt | AGENT, one prompt of the terminal's | 0.20 |
    | `gen_ai.conversation.id` | session id | 0.20 |
    | tool `invoke_agent`, argument `agent_name` | agent that the call reaches | 0.20 |
    | tool `activate_skill`, argument `name` | skill load | 0.20 |
    | tool `ask_user`, argument `questions` | questions put to the human | 0.20 |

    | log event and attribute | fact | since |
    |---|---|---|
    | user_prompt `prompt`, `prompt_id` | beginning of a turn, prompt | 0.1 |
    | api_request `request_text` | request | 0.1 |
    | api_response `response_text`, token counts, `role` | reply, tokens, whether it is speech | 0.1 |
    | api_error `error`, `status_code` | failed request | 0.1 |
    | tool_call `function_name`, `function_args`, `success`, `decision` | TOOL, without call id | 0.1 |
    | agent.start `agent_name`, `agent_id` | name of the sub-agent | 0.10 |
    | chat_compression | compaction | 0.1 |

    Versions seen: 0.61.

    Cannot tell: calls of unknown or cancelled tools but in the logs, tokens of cache and thoughts but in the
    logs, and a human's answers in its editor mode (no spans of tools).
    """

    convention = Convention(
        "gemini-cli",
        content_switch='set "telemetry": { "traces": true, "logPrompts": true } in settings.json',
    )
    scopes: tuple[str, ...] = (_SCOPE,)

    def matches(self, span: Span) -> bool:
        return span.scope.name == _SCOPE

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        facts = Facts(self.convention, session_id=as_text(attributes.get("gen_ai.conversation.id")))
        facts.group = as_text(attributes.get("gen_ai.prompt.name"))
        operation = attributes.get("gen_ai.operation.name")
        role = _ROLES.get(operation) if type(operation) is str else None
        if role is None:
            return facts
        facts.role = role
        if role is Role.INFERENCE:
            _request(span, facts)
        elif role is Role.TOOL:
            _tool(span, facts)
        else:
            _agent(span, facts)
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name == _SCOPE

    def read_log(self, record: LogRecord) -> Facts | None:
        return read_gemini_cli_log(record, self.convention)


def _request(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.model = as_text(attributes.get("gen_ai.response.model", attributes.get("gen_ai.request.model")))
    facts.ordered_parts = True
    usage = TokenUsage(
        input=as_int(attributes.get("gen_ai.usage.input_tokens")),
        output=as_int(attributes.get("gen_ai.usage.output_tokens")),
    )
    facts.usage = usage or None
    facts.input_includes_cache = True if usage else None
    facts.inputs = read_contents(attributes.get("gen_ai.input.messages"), "user", facts, "inputs")
    facts.failed, error, facts.error_type = read_failure(span)
    if facts.failed:
        facts.error = error_words(error)
        return
    facts.outputs = read_contents(attributes.get("gen_ai.output.messages"), "assistant", facts, "outputs")


def _tool(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.tool_name = as_text(attributes.get("gen_ai.tool.name"))
    call_id = attributes.get("gen_ai.tool.call_id", attributes.get("gen_ai.tool.call.id"))
    facts.call_id, facts.other_ids = bare_call_id(call_id, facts.tool_name)
    facts.failed, facts.error, facts.error_type = read_failure(span)
    given = attributes.get("gen_ai.input.messages")
    request = json_text(given) if type(given) is str else given
    if is_object(request) and "args" in request:
        facts.arguments, facts.unparsable = json_arguments(request["args"])
        facts.group = facts.group or as_text(request.get("prompt_id"))
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    given = attributes.get("gen_ai.output.messages")
    done = json_text(given) if type(given) is str else given
    if is_object(done):
        _completed(done, facts)
    if facts.result is MISSING and not facts.failed:
        facts.hidden.add("result")
    own_tool(facts)


def _completed(done: dict[str, Any], facts: Facts) -> None:
    """The CLI's own record of a finished call."""
    status, response = done.get("status"), done.get("response")
    if is_object(response):
        for part in read_messages(response.get("responseParts")):
            for result in part.parts:
                if type(result) is ToolResult:
                    unwrap_response(result)
                    facts.result = result.result
        data = response.get("data")
        if exit_failed(data):
            facts.failed = True
    if status == "error":
        facts.failed = True
        facts.error = facts.error or (facts.result if type(facts.result) is str else "")
        if is_object(response):
            facts.error_type = facts.error_type or as_text(response.get("errorType"))
    elif status == "cancelled":
        cancelled(facts)


def _agent(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    name = as_text(attributes.get("gen_ai.agent.name"))
    facts.agent_name = name if name != _SCOPE else None
    facts.failed, error, facts.error_type = read_failure(span)
    facts.error = error_words(error) if facts.failed else None
    given = attributes.get("gen_ai.output.messages")
    done = json_text(given) if type(given) is str else given
    if not is_object(done):
        return
    shown = done.get("returnDisplay")
    text = as_text(shown.get("result")) if is_object(shown) else None
    if text is not None:
        facts.outputs = [Message("assistant", [Text(text)])]
