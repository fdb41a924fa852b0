"""Spans of the Model Context Protocol, of client and server (GenAI semantic conventions, MCP, 1.39 and
later).

Comes in: spans with `mcp.method.name`. Goes out: `Facts`. One call of a tool gives two or more of these
spans, and often one of the agent's own around them: that they are one operation is assembly's to see.
"""

from __future__ import annotations

from otel_turns.dialects.genai import GenAI
from otel_turns.dialects.values import as_text
from otel_turns.model.facts import Convention, Facts, Question, Role
from otel_turns.model.span import LogRecord, Span

__all__ = ["MCP"]

_CALL = "tools/call"


class MCP(GenAI):
    """MCP: clients and servers (mcp-python-sdk, fastmcp and others).

    | attribute | fact | since |
    |---|---|---|
    | `mcp.method.name` tools/call | a tool | 1.39 |
    | `gen_ai.tool.name`, else the span's name behind `tools/call ` | `tool_name` | 1.39 |
    | `gen_ai.tool.call.arguments`, `.result` | `arguments`, `result` | 1.39, opt-in |
    | `error.type`, status ERROR | `failed`; a server without words says only that it failed | 1.39 |
    | `mcp.method.name` elicitation/create | a question about the call around it | 1.39 |
    | any other method | nothing | 1.39 |

    Versions seen: mcp 1.30 and 2.3; fastmcp 4.2.

    Cannot tell: arguments, results and the model's call id, unless they are recorded; what an elicitation
    asks and is answered.
    """

    convention = Convention(
        "mcp",
        content_switch="Record gen_ai.tool.call.arguments and .result, or instrument the model client.",
    )
    scopes = ()
    keys = ("mcp.method.name",)

    def role(self, span: Span) -> Role | None:
        method = span.attributes.get("mcp.method.name")
        if not method:
            return None
        return Role.TOOL if method == _CALL else Role.NOTHING

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        # MCP's own session is a connection, not a conversation.
        facts.hidden.clear()
        if span.attributes.get("mcp.method.name") == "elicitation/create":
            facts.questions.append(Question(time=span.start))
        return facts

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        if facts.tool_name is None:
            _, call, name = span.name.partition(_CALL + " ")
            facts.tool_name = as_text(name) if call else None

    def matches_log(self, record: LogRecord) -> bool:
        return False
