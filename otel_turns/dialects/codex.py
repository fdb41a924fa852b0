"""Codex CLI: few of its spans are agent work, and the log records tell the story.

Comes in: spans of the scopes `codex_*` and `codex-*`, log records of scope `codex_otel*`. Goes out: Facts;
`codex_logs` reads the records. Of
some four hundred internal spans a run it takes four kinds; the others are structure. It never counts a
response twice that is logged twice, nor takes a span name for the tool's, since MCP and agent tools have
their namespace glued to it there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.codex_logs import own_tool, read_codex_log
from otel_turns.dialects.values import as_int, as_text, read_failure
from otel_turns.model.facts import Convention, Facts, Mark, Role, TokenUsage
from otel_turns.model.span import LogRecord, Span

__all__ = ["Codex"]

_SCOPES = ("codex_", "codex-")
_COMPACTION = "codex.compaction"


class Codex:
    """Codex CLI (exec, terminal, app server).

    | span and attribute | fact | since |
    |---|---|---|
    | turn/start | WORKFLOW: one turn; the work goes on after it ended | 0.100 |
    | session_task.turn | AGENT; below a spawn_agent call a sub-agent | 0.100 |
    | `thread.id` | conversation, agent id | 0.100 |
    | `turn.id` | turn id | 0.100 |
    | `codex.turn.token_usage.*` | the turn's own total | 0.100 |
    | try_run_sampling_request | INFERENCE, one try of a request | 0.100 |
    | handle_responses with `gen_ai.usage.*` | INFERENCE below it: the tokens of the same request | 0.100 |
    | `codex.usage.reasoning_output_tokens` | reasoning tokens | 0.100 |
    | a span with `call_id`, `tool_name`, `tool_source` | TOOL | 0.100 |
    | its event codex.tool_result_ready: `tool_name` | the tool's name without namespace | 0.100 |
    | codex.compaction, run_auto_compact | compaction; requests below it are side requests | 0.100 |
    | `conversation.id` | session id | 0.100 |

    | log event (`event.name` codex.*) and attribute | fact | since |
    |---|---|---|
    | user_prompt `prompt` | beginning of a turn, prompt | 0.40 |
    | sse_event response.completed, token counts | INFERENCE, tokens | 0.40 |
    | sse_event response.failed, api_request `error.message` | failed request | 0.40 |
    | agent_response `response` | text of a final reply | 0.150 |
    | tool_decision `call_id`, `decision`, `source` | question to the human, answer | 0.40 |
    | tool_result `call_id`, `arguments`, `output`, `success` | TOOL; shells write the exit code | 0.40 |
    | tool_result of spawn_agent: `output` nickname, agent_id | agent that the call reaches | 0.100 |
    | `agent_name` other than /root | whose call it is | 0.100 |

    Versions seen: 0.171.

    Cannot tell: text before a call and text of providers without phases, reasoning, a pending question
    (nothing is sent until it is answered), and a process that ended in an error (it sends nothing).
    """

    convention = Convention(
        "codex",
        content_switch=(
            "in [otel] of config.toml set exporter and trace_exporter, log_user_prompt = true and "
            "log_agent_responses = true"
        ),
    )
    scopes: tuple[str, ...] = ("codex_*", "codex-*")

    def matches(self, span: Span) -> bool:
        return span.scope.name.startswith(_SCOPES)

    def read(self, span: Span) -> Facts:
        facts = Facts(self.convention)
        attributes = span.attributes
        facts.session_id = as_text(attributes.get("conversation.id"))
        name = span.name
        if "call_id" in attributes and "tool_source" in attributes:
            _tool(span, facts)
        elif name == "handle_responses":
            _usage(attributes, facts)
        elif name == "try_run_sampling_request":
            facts.role = Role.INFERENCE
            facts.model = as_text(attributes.get("model"))
            facts.failed, facts.error, facts.error_type = read_failure(span)
            if not facts.failed:
                facts.hidden.add("outputs")
        elif name == "session_task.turn":
            _turn(span, facts)
        elif name == "turn/start":
            facts.role = Role.WORKFLOW
            facts.group = as_text(attributes.get("turn.id"))
        elif name == _COMPACTION or name == "run_auto_compact":
            facts.side = True
            if name == _COMPACTION:
                facts.marks.append(Mark(span.start, "event", {"type": "compaction"}))
        return facts

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name.startswith("codex") and type(record.attributes.get("event.name")) is str

    def read_log(self, record: LogRecord) -> Facts | None:
        return read_codex_log(record, self.convention)


def _turn(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.role = Role.AGENT
    thread = as_text(attributes.get("thread.id"))
    if thread is not None and not thread.isdigit():
        # The operating system's thread has the same attribute, and a number.
        facts.agent_id = thread
        facts.session_id = facts.session_id or thread
    facts.invocation_id = as_text(attributes.get("turn.id"))
    facts.failed, facts.error, facts.error_type = read_failure(span)
    facts.model = as_text(attributes.get("model"))
    total = "codex.turn.token_usage."
    usage = TokenUsage(
        input=as_int(attributes.get(total + "input_tokens")),
        output=as_int(attributes.get(total + "output_tokens")),
        cache_read=as_int(attributes.get(total + "cached_input_tokens")),
        cache_creation=as_int(attributes.get(total + "cache_write_input_tokens")),
        reasoning=as_int(attributes.get(total + "reasoning_output_tokens")),
    )
    facts.usage = usage or None
    facts.input_includes_cache = True if usage else None


def _usage(attributes: Mapping[str, Any], facts: Facts) -> None:
    """The end of a response. Most spans of this name are single events of the stream and say nothing."""
    usage = TokenUsage(
        input=as_int(attributes.get("gen_ai.usage.input_tokens")),
        output=as_int(attributes.get("gen_ai.usage.output_tokens")),
        cache_read=as_int(attributes.get("gen_ai.usage.cache_read.input_tokens")),
        cache_creation=as_int(attributes.get("gen_ai.usage.cache_write.input_tokens")),
        reasoning=as_int(attributes.get("codex.usage.reasoning_output_tokens")),
    )
    if usage.input is None and usage.output is None:
        return
    facts.role = Role.INFERENCE
    facts.requests = 0
    facts.usage = usage
    facts.input_includes_cache = True


def _tool(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    facts.role = Role.TOOL
    facts.call_id = as_text(attributes.get("call_id"))
    facts.tool_name = as_text(attributes.get("tool_name"))
    for event in span.events:
        if event.attributes.get("call_id") == facts.call_id:
            facts.tool_name = as_text(event.attributes.get("tool_name")) or facts.tool_name
    facts.failed, facts.error, facts.error_type = read_failure(span)
    facts.hidden.update(("arguments", "result"))
    own_tool(facts)
