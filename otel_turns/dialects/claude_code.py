"""Claude Code's spans: one interaction a prompt, with its requests and tools.

Comes in: spans of scope `com.anthropic.claude_code.tracing`. Goes out: Facts; the log records are read by
`claude_code_logs`, which this dialect calls. By default the spans hold no text: it never takes a part of a
tool's input (`full_command`, `file_path`) for the whole input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.claude_code_facts import (
    compaction_mark,
    failure,
    own_tool,
    permission,
    read_user_prompt,
    request_source,
)
from otel_turns.dialects.claude_code_logs import read_claude_code_log
from otel_turns.dialects.parts import tool_result
from otel_turns.dialects.values import as_flag, as_int, as_text, is_placeholder, json_arguments, json_value
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Part,
    Role,
    Text,
    TokenUsage,
    ToolResult,
)
from otel_turns.model.span import STATUS_ERROR, LogRecord, Span

__all__ = ["ClaudeCode"]

_PREFIX = "claude_code."
_SCOPE = "com.anthropic.claude_code"
_OUTPUT_EVENT = "tool.output"
_BETWEEN = "\n\n---\n\n"
_RESULT_MARK = "[TOOL RESULT: "
_CUT = "\n\n[TRUNCATED - "


class ClaudeCode:
    """Claude Code.

    | span (`span.type`) and attribute | fact | since |
    |---|---|---|
    | interaction | AGENT, one prompt | 2.1 |
    | `user_prompt` | the prompt; a `<task-notification>` is the end of a background call | 2.1 |
    | llm_request | INFERENCE | 2.1 |
    | `gen_ai.usage.*` | tokens, input with the cache's | 2.1.3 |
    | `input_tokens`, `output_tokens`, `cache_*_tokens` | tokens, input without the cache's | 2.1 |
    | `request_id`, `client_request_id` | response id | 2.1 |
    | `attempt` | requests that the span stands for | 2.1 |
    | `query_source`, `query_source_safe`, `llm_request.context` | whether the reply is speech | 2.1 |
    | `response.model_output`, `new_context` (detailed tracing) | reply, results in the request | 2.1 |
    | tool | TOOL: `tool_use_id`, `tool_name` | 2.1 |
    | event `tool.output`: `output`, `content` of Read | result | 2.1 |
    | `tool_input` (detailed tracing) | arguments | 2.1 |
    | `subagent_type`, `skill_name` | agent that the call reaches, skill | 2.1 |
    | tool.execution `success`, `error` | whether it failed | 2.1 |
    | tool.blocked_on_user `decision`, `source` | question to the human, answer | 2.1 |
    | `session.id` | session id | 2.1 |

    | log event and attribute | fact | since |
    |---|---|---|
    | every event: `prompt.id`, `session.id`, `event.sequence` | turn, session, order | 2.1 |
    | user_prompt `prompt` | beginning of a turn, prompt | 1.0 |
    | api_request tokens, `request_id`, `duration_ms`, `query_source` | INFERENCE | 1.0 |
    | assistant_response `response` | text of a reply | 2.1.193 |
    | api_response_body `body`, api_request_body `body` | whole reply, whole request where not cut | 2.1 |
    | api_error `error`, `attempt` | failed request | 1.0 |
    | tool_decision `decision`, `source`, `tool_use_id` | question to the human, answer | 1.0 |
    | tool_result `tool_use_id`, `tool_input`, `success`, `error`, `duration_ms` | TOOL | 1.0 |
    | skill_activated `skill.name` | skill load | 2.1 |
    | subagent_completed `agent_type`, `is_async` | agent that the call reached, background | 2.1 |
    | compaction `trigger` | compaction | 2.1 |

    Versions seen: 2.1.197 and 2.1.332; logs alone, spans and logs, detailed tracing.

    Cannot tell: text of thinking, calls of unknown tools, the words of a failed shell command (only in raw
    bodies), limits of turns, and results of agents and skills; spans alone lack all text.
    """

    convention = Convention(
        "claude-code",
        content_switch=(
            "set OTEL_LOG_USER_PROMPTS=1, OTEL_LOG_ASSISTANT_RESPONSES=1, OTEL_LOG_TOOL_DETAILS=1 and "
            "OTEL_LOG_TOOL_CONTENT=1, and export logs beside traces (OTEL_LOGS_EXPORTER=otlp)"
        ),
        runs_have_spans=True,
    )
    scopes: tuple[str, ...] = ("com.anthropic.claude_code*",)

    def matches(self, span: Span) -> bool:
        return span.scope.name.startswith(_SCOPE) or span.name.startswith(_PREFIX)

    def read(self, span: Span) -> Facts:
        attributes = span.attributes
        facts = Facts(self.convention, session_id=as_text(attributes.get("session.id")))
        facts.agent_id = as_text(attributes.get("agent_id"))
        kind = attributes.get("span.type")
        if type(kind) is not str:
            kind = span.name.removeprefix(_PREFIX)
        if kind == "interaction":
            _interaction(attributes, facts)
        elif kind == "llm_request":
            _request(span, facts)
        elif kind == "tool":
            _tool(span, facts)
        elif kind == "tool.execution":
            _execution(span, facts)
        elif kind == "tool.blocked_on_user":
            permission(attributes.get("decision"), attributes.get("source"), span.start, facts)
        elif kind == "compaction":
            facts.side = True
            facts.marks.append(compaction_mark(span.start, attributes))
        elif kind in ("hook", "subagent.spawn", "bash.subprocess"):
            facts.role = Role.NOTHING
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name.startswith(_SCOPE) or (
            type(record.body) is str and record.body.startswith(_PREFIX)
        )

    def read_log(self, record: LogRecord) -> Facts | None:
        return read_claude_code_log(record, self.convention)


def _interaction(attributes: Mapping[str, Any], facts: Facts) -> None:
    facts.role = Role.AGENT
    read_user_prompt(attributes.get("user_prompt"), facts)


def _request(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.role = Role.INFERENCE
    facts.model = as_text(attributes.get("model"))
    facts.response_id = as_text(attributes.get("request_id")) or as_text(attributes.get("client_request_id"))
    facts.requests = as_int(attributes.get("attempt"))
    facts.usage, facts.input_includes_cache = _usage(attributes)
    source = as_text(attributes.get("query_source")) or as_text(attributes.get("query_source_safe"))
    request_source(source, facts)
    if source is None and attributes.get("llm_request.context") == "standalone":
        facts.side = True
    if failure(attributes, facts) or span.status == STATUS_ERROR:
        facts.failed = True
        facts.error = facts.error or as_text(span.status_message) or ""
        return
    context = attributes.get("new_context")
    if type(context) is str:
        _new_context(context, facts)
    text = attributes.get("response.model_output")
    if type(text) is str and text and not is_placeholder(text):
        body, cut, _ = text.partition(_CUT)
        facts.outputs = [Message("assistant", [Text(body)])]
        if cut:
            facts.cut.add("outputs")
    elif attributes.get("stop_reason") != "tool_use":
        # A reply that asks for tools may say nothing; any other says something.
        facts.hidden.add("outputs")


def _usage(attributes: Mapping[str, Any]) -> tuple[TokenUsage | None, bool | None]:
    """Tokens, and whether the input count includes the cache's."""
    whole = as_int(attributes.get("gen_ai.usage.input_tokens"))
    written = attributes.get("gen_ai.usage.cache_write.input_tokens")
    if written is None:
        written = attributes.get(
            "gen_ai.usage.cache_creation.input_tokens", attributes.get("cache_creation_tokens")
        )
    read = attributes.get("gen_ai.usage.cache_read.input_tokens", attributes.get("cache_read_tokens"))
    usage = TokenUsage(
        input=whole if whole is not None else as_int(attributes.get("input_tokens")),
        output=as_int(attributes.get("gen_ai.usage.output_tokens", attributes.get("output_tokens"))),
        cache_read=as_int(read),
        cache_creation=as_int(written),
    )
    return (usage, whole is not None) if usage else (None, None)


def _new_context(context: str, facts: Facts) -> None:
    """What this request adds to the history: `[TOOL RESULT: id]` and `[USER]` blocks."""
    if _CUT in context:
        facts.cut.add("inputs")
        context = context.partition(_CUT)[0]
    results: list[Part] = []
    said: list[Part] = []
    for block in context.split(_BETWEEN):
        head, _, body = block.partition("\n")
        if head.startswith(_RESULT_MARK) and head.endswith("]"):
            results.append(tool_result(head[len(_RESULT_MARK) : -1], body))
        elif head == "[USER]" and body:
            said.append(Text(body))
        elif results and type(results[-1]) is ToolResult and type(results[-1].result) is str:
            # The mark between blocks was part of a result.
            results[-1].result += _BETWEEN + block
    messages: list[Message] = []
    if results:
        messages.append(Message("tool", results))
    if said:
        messages.append(Message("user", said))
    facts.inputs = messages or None


def _tool(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.role = Role.TOOL
    facts.tool_name = as_text(attributes.get("tool_name")) or as_text(attributes.get("gen_ai.tool.name"))
    facts.call_id = as_text(attributes.get("tool_use_id")) or as_text(attributes.get("gen_ai.tool.call.id"))
    given = attributes.get("tool_input")
    if type(given) is str and not is_placeholder(given):
        body, cut, _ = given.partition("]\n")[2].partition(_CUT)
        facts.arguments, facts.unparsable = json_arguments(body)
        if cut:
            facts.cut.add("arguments")
    if facts.arguments is MISSING:
        facts.hidden.add("arguments")
    facts.delegates_to = as_text(attributes.get("subagent_type"))
    facts.skill = as_text(attributes.get("skill_name"))
    own_tool(facts)
    for event in span.events:
        if event.name == _OUTPUT_EVENT:
            _output(event.attributes, facts)
    if facts.result is MISSING:
        facts.hidden.add("result")


def _output(attributes: Mapping[str, Any], facts: Facts) -> None:
    """The result in a `tool.output` event. What editing tools call `content` there is their input."""
    name = "output"
    value = attributes.get(name)
    if value is None and facts.tool_name in ("Read", "NotebookRead"):
        name = "content"
        value = attributes.get(name)
    if type(value) is not str or is_placeholder(value):
        return
    body, cut, _ = value.partition(_CUT)
    facts.result = json_value(body)
    if cut or as_flag(attributes.get(name + "_truncated")):
        facts.cut.add("result")


def _execution(span: Span, facts: Facts) -> None:
    """The run itself: the same call as the tool span around it, which has no status of its own."""
    attributes = span.attributes
    facts.role = Role.TOOL
    facts.call_id = as_text(attributes.get("tool_use_id")) or as_text(attributes.get("gen_ai.tool.call.id"))
    if failure(attributes, facts) or span.status == STATUS_ERROR:
        facts.failed = True
        facts.error = facts.error or as_text(span.status_message) or ""
