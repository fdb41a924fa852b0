"""Qwen Code's spans and log records.

Comes in: spans and log records of scope `qwen-code`. Goes out: Facts; `qwen_code_logs` reads the records. Its
spans speak GenAI with its own additions; older ones say the same by their names. It never takes a hook's
error for a failure (a hook that says nothing ends in one), nor a hook's tool use id, which is made up, for a
call's.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.claude_code_facts import read_user_prompt
from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.qwen_code_facts import (
    human_refused,
    own_tool,
    own_words,
    prompt_of,
    rule_refused,
    unwrap_output,
)
from otel_turns.dialects.qwen_code_logs import read_qwen_code_log
from otel_turns.dialects.values import as_flag, as_int, as_text
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Decision,
    Facts,
    Message,
    Question,
    Role,
    Text,
    TokenUsage,
    ToolResult,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["QwenCode"]

_SCOPE = "qwen-code"
_ROLES = {
    "qwen-code.interaction": Role.AGENT,
    "qwen-code.subagent": Role.AGENT,
    "qwen-code.llm_request": Role.INFERENCE,
    "qwen-code.tool": Role.TOOL,
    "qwen-code.hook": Role.NOTHING,
}
_BLOCKED = "qwen-code.tool.blocked_on_user"
_REFUSALS = frozenset(
    {
        "background_agent_denied",
        "invocation_guard_denied",
        "non_interactive_denied",
        "permission_denied",
        "permission_hook_denied",
        "plan_mode_blocked",
        "pre_hook_blocked",
    }
)
_PROMPT = "[USER PROMPT]\n"
_SUGGESTION = "[SUGGESTION MODE"


class QwenCode(GenAI):
    """Qwen Code.

    | span and attribute | fact | since |
    |---|---|---|
    | interaction | AGENT, one prompt | 0.16 |
    | interaction `qwen-code.prompt_id` | prompt id | 0.16 |
    | interaction `gen_ai.input.messages`, `gen_ai.output.messages` | prompt, final answer | 0.24 |
    | interaction `new_context` | prompt behind `[USER PROMPT]` | 0.16 |
    | subagent `gen_ai.agent.name`, `qwen-code.subagent.id` | AGENT, its name, its invocation | 0.16 |
    | subagent `qwen-code.subagent.invoking_request_id` | call that it answers | 0.16 |
    | llm_request | INFERENCE, as the GenAI convention says | 0.24 |
    | llm_request `input_tokens`, `output_tokens`, `cached_input_tokens` | tokens | 0.16 |
    | llm_request `response.model_output` | text of the reply | 0.20 |
    | llm_request `qwen-code.prompt_id`, `subagent_name` | whether it is speech | 0.16; 0.24 |
    | tool `tool.name`, `tool.call_id` | TOOL | 0.16 |
    | tool `gen_ai.tool.call.arguments`, `gen_ai.tool.call.result` | arguments, result | 0.24 |
    | tool `tool_input`, `tool_result` | the same, behind a heading | 0.16 |
    | tool `success`, `tool.failure_kind` | failed, or refused | 0.16 |
    | tool.blocked_on_user `decision`, `source` | question to a human and its answer | 0.16 |
    | hook | nothing | 0.16 |
    | tool.execution, daemon.* | structure | 0.16 |

    | log event and attribute | fact | since |
    |---|---|---|
    | user_prompt `prompt`, `prompt_id` | beginning of a turn, prompt | 0.1 |
    | api_request `request_text` | request | 0.1 |
    | api_response `response_text`, token counts | text of the reply, tokens | 0.1 |
    | api_error `error_message`, `status_code` | failed request | 0.1 |
    | tool_call `function_name`, `function_args` | TOOL | 0.1 |
    | tool_call `call_id` | call id | 0.20 |
    | tool_call `status`, `decision`, `error`, `error_type` | failed with its words, or refused | 0.1 |
    | chat_compression | compaction | 0.1 |

    Versions seen: 0.15.10 (logs only) and 0.24.4.

    Cannot tell: arguments of a refused call, who refused where the decision is not told, and in its editor
    mode the turn's own span.
    """

    convention = Convention(
        "qwen-code",
        content_switch=(
            'set "telemetry": { "includeSensitiveSpanAttributes": true, "logPrompts": true } in settings.json'
        ),
    )
    scopes: tuple[str, ...] = (_SCOPE,)
    keys: tuple[str, ...] = ()

    def matches(self, span: Span) -> bool:
        return span.scope.name == _SCOPE

    def role(self, span: Span) -> Role | None:
        return _ROLES.get(span.name, Role.STEP)

    def read(self, span: Span) -> Facts:
        if span.name == _BLOCKED:
            facts = Facts(self.convention, session_id=as_text(span.attributes.get("session.id")))
            _asked(span, facts)
            return facts
        return super().read(span)

    def read_step(self, span: Span, facts: Facts) -> None:
        """Structure: its failure is the tool's, which says it itself."""

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        attributes = span.attributes
        facts.error = own_words(facts.error) if facts.failed else None
        if span.name == "qwen-code.subagent":
            facts.agent_name = facts.agent_name or as_text(attributes.get("qwen-code.subagent.name"))
            facts.invocation_id = as_text(attributes.get("qwen-code.subagent.id"))
            facts.called_by = as_text(attributes.get("qwen-code.subagent.invoking_request_id"))
            return
        facts.group = as_text(attributes.get("qwen-code.prompt_id"))
        prompt = _behind(_PROMPT, attributes.get("new_context"))
        if facts.inputs is None and prompt is not None:
            read_user_prompt(prompt, facts)
        if facts.inputs is None:
            facts.hidden.add("inputs")

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        attributes = span.attributes
        facts.agent_name = facts.agent_id = None
        prompt_of(attributes.get("qwen-code.prompt_id"), attributes.get("subagent_name"), facts)
        facts.model = facts.model or as_text(attributes.get("qwen-code.model"))
        if facts.usage is None:
            usage = TokenUsage(
                input=as_int(attributes.get("input_tokens")),
                output=as_int(attributes.get("output_tokens")),
                cache_read=as_int(attributes.get("cached_input_tokens")),
            )
            facts.usage = usage or None
        if facts.usage is not None:
            facts.usage.reasoning = facts.usage.reasoning or as_int(attributes.get("thoughts_token_count"))
        if facts.failed:
            facts.error = own_words(facts.error)
        text = attributes.get("response.model_output")
        if facts.outputs is None and type(text) is str and text:
            facts.outputs = [Message("assistant", [Text(text)])]
        if str(attributes.get("gen_ai.provider.name", "")).startswith("gcp"):
            _unwrap_results(facts)
        if _suggests(facts):
            facts.side = True

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        attributes = span.attributes
        # Whose call it is, the tree says.
        facts.agent_name = facts.agent_id = None
        facts.tool_name = facts.tool_name or as_text(attributes.get("tool.name"))
        own_id = as_text(attributes.get("tool.call_id", attributes.get("call_id")))
        if facts.call_id is None:
            facts.call_id = own_id
        elif own_id is not None and own_id != facts.call_id:
            facts.other_ids = (own_id,)
        ran = attributes.get("gen_ai.tool.call.arguments", attributes.get("tool_input")) is not None
        if facts.arguments is MISSING:
            text = _behind(f"[TOOL INPUT: {facts.tool_name}]\n", attributes.get("tool_input"))
            if text is not None:
                facts.hidden.discard("arguments")
                self.set_arguments(facts, text)
        if facts.result is MISSING:
            text = _behind(f"[TOOL RESULT: {facts.tool_name}]\n", attributes.get("tool_result"))
            if text is not None:
                facts.hidden.discard("result")
                self.set_result(facts, text)
        facts.result = unwrap_output(facts.result, facts)
        if as_flag(attributes.get("success")) is False:
            facts.failed = True
        if facts.failed:
            facts.error = own_words(facts.error or attributes.get("error"))
            kind = attributes.get("tool.failure_kind")
            if kind in _REFUSALS:
                rule_refused(facts)
            elif kind == "cancelled" and not ran:
                human_refused(facts)
        own_tool(facts)

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name == _SCOPE

    def read_log(self, record: LogRecord) -> Facts | None:
        return read_qwen_code_log(record, self.convention)


def _asked(span: Span, facts: Facts) -> None:
    """The time for which a call waited for a human. Hooks and the program itself answer too."""
    attributes = span.attributes
    call_id = as_text(attributes.get("tool.call_id"))
    decision, source = attributes.get("decision"), attributes.get("source")
    if source in ("hook", "auto") or decision == "auto_approved":
        return
    answered = type(decision) is str and (decision == "cancel" or decision.startswith("proceed"))
    facts.questions.append(
        Question(
            action=as_text(attributes.get("tool.name")),
            call_id=call_id,
            answered=True if answered else None,
            time=span.start,
        )
    )
    if answered:
        facts.decisions.append(Decision(decision != "cancel", call_id))


def _behind(heading: str, value: Any) -> str | None:
    if type(value) is not str or not value:
        return None
    return value[len(heading) :] if value.startswith(heading) else value


def _unwrap_results(facts: Facts) -> None:
    for message in facts.inputs or ():
        for part in message.parts:
            if type(part) is ToolResult:
                part.result = unwrap_output(part.result, facts)


def _suggests(facts: Facts) -> bool:
    """Whether the request only looks for what the user might type next."""
    if not facts.inputs:
        return False
    last = facts.inputs[-1]
    return any(type(part) is Text and part.text.startswith(_SUGGESTION) for part in last.parts)
