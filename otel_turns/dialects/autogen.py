"""AutoGen's spans: agents and tools, which speak GenAI, and the messages of a team's runtime.

Comes in: spans of scopes `autogen-core` and `autogen ...Runtime`. Goes out: Facts. Agents and tools record no
content and there are no spans of requests; a team's runtime delivers what its agents say as messages, each in
a trace of its own, joined by the team's id. A message is delivered to every member: it reads the delivery to
the team's manager alone.
"""

from __future__ import annotations

import re
from typing import Any

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.parts import tool_call, tool_result
from otel_turns.dialects.values import as_int, as_text, is_list, is_object, json_text
from otel_turns.model.facts import Convention, Facts, Message, Part, Role, Text, TokenUsage
from otel_turns.model.span import LogRecord, Span

__all__ = ["AutoGen"]

_CORE = "autogen-core"
_TEAM = re.compile(r"_([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_MANAGER = "GroupChatManager"


class AutoGen(GenAI):
    """AutoGen 0.7.

    | attribute | fact | since |
    |---|---|---|
    | invoke_agent, execute_tool, create_agent | as the GenAI convention says, without content | 0.6 |
    | `gen_ai.agent.id`, behind the name | the team's id: a member's run is structure | 0.6 |
    | `messaging.operation` process, `recipient_agent_class` a manager | a message to the team | 0.4 |
    | `message` with `messages` | a run of the team begins | 0.4 |
    | `message` ThoughtEvent, TextMessage, ... | text of a reply | 0.4 |
    | `message` ToolCallRequestEvent | calls of a reply | 0.4 |
    | `message` ToolCallExecutionEvent | results | 0.4 |
    | `message` HandoffMessage | handoff to `target` | 0.4 |
    | `message` `models_usage` | tokens of the reply | 0.4 |
    | `message` `source` | agent name | 0.4 |

    Versions seen: autogen-agentchat 0.7.5.

    Cannot tell: requests (no spans), content of a lone agent, tokens but those that a team's messages tell,
    and questions to a human.
    """

    convention = Convention(
        "autogen",
        content_switch="AutoGen's agents and tools carry no content: instrument the model's client as well",
    )
    scopes: tuple[str, ...] = ("autogen*",)
    keys: tuple[str, ...] = ()

    def matches(self, span: Span) -> bool:
        return span.scope.name.startswith("autogen")

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def role(self, span: Span) -> Role | None:
        return super().role(span) or Role.STEP

    def read(self, span: Span) -> Facts:
        if span.scope.name != _CORE and "messaging.operation" in span.attributes:
            facts = Facts(self.convention)
            _delivery(span, facts)
            return facts
        return super().read(span)

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        facts.remote_url = None
        facts.group = _team(facts.agent_id)
        if facts.group is not None:
            # What a member of a team says and does, the messages tell; the team is what runs.
            facts.role = Role.STEP


def _team(name: Any) -> str | None:
    found = _TEAM.search(name) if type(name) is str else None
    return found.group(1) if found is not None else None


def _delivery(span: Span, facts: Facts) -> None:
    attributes = span.attributes
    if attributes.get("messaging.operation") != "process":
        return
    if not str(attributes.get("recipient_agent_class")).endswith(_MANAGER):
        return
    given = attributes.get("message")
    envelope = json_text(given) if type(given) is str else given
    if not is_object(envelope):
        return
    facts.group = _team(attributes.get("messaging.destination"))
    if "messages" in envelope:
        facts.boundary = "start"
        return
    message = envelope.get("message")
    response = envelope.get("response")
    if message is None and is_object(response):
        # The rest of what an agent answers was delivered message by message.
        message = response.get("chat_message")
        if is_object(message) and message.get("type") != "HandoffMessage":
            return
    if not is_object(message) or message.get("source") == "user":
        return
    facts.agent_name = as_text(message.get("source"))
    _message(message, facts)


def _message(message: dict[str, Any], facts: Facts) -> None:
    kind, content = message.get("type"), message.get("content")
    parts: list[Part] = []
    if kind == "HandoffMessage":
        facts.role = Role.HANDOFF
        facts.handoff_from, facts.handoff_to = facts.agent_name, as_text(message.get("target"))
        return
    if kind == "ToolCallExecutionEvent":
        for result in content if is_list(content) else ():
            if is_object(result):
                failed = result.get("is_error") is True
                parts.append(
                    tool_result(
                        result.get("call_id"), result.get("content"), name=result.get("name"), failed=failed
                    )
                )
        facts.inputs = [Message("tool", parts)]
    elif kind == "ToolCallRequestEvent":
        for call in content if is_list(content) else ():
            if is_object(call):
                parts.append(tool_call(call.get("id"), call.get("name"), call.get("arguments")))
        facts.outputs = [Message("assistant", parts)]
    elif type(content) is str and content:
        parts.append(Text(content))
        facts.outputs = [Message("assistant", parts)]
    if not parts:
        return
    facts.role = Role.INFERENCE
    usage = message.get("models_usage")
    if is_object(usage):
        facts.usage = TokenUsage(
            input=as_int(usage.get("prompt_tokens")), output=as_int(usage.get("completion_tokens"))
        )
    else:
        facts.requests = 0
