"""CrewAI through OpenInference, by its method wrappers and by its event listener.

Comes in: spans of scope `openinference.instrumentation.crewai` and its event listener. Goes out: their facts.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.messages import Notes, read_messages
from otel_turns.dialects.openinference import CONTENT_SWITCH, KIND, OpenInference, text_message
from otel_turns.dialects.python_repr import python_repr
from otel_turns.dialects.values import as_text, is_list, is_object, is_placeholder, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Role, ToolCall
from otel_turns.model.span import Span

__all__ = ["OpenInferenceCrewAI"]


class OpenInferenceCrewAI(OpenInference):
    """CrewAI, through OpenInference.

    | span | fact | since |
    |---|---|---|
    | `CREW.kickoff`, flows; kind CHAIN | workflow | 0.1, event listener 1.1 |
    | kind AGENT; `graph.node.id` is the role | agent | 0.1 |
    | `output.value` of a wrapped AGENT: `raw`, `messages` | outputs, with calls that no span tells | 1.1 |
    | kind TOOL, `NAME.run`, `tool.name` | tool without call id; delegation tools name a coworker | 0.1 |
    | kind LLM, `MODEL.llm_call`; `output.value` may be the list of calls alone | request | 1.1 |
    | names and arguments of calls in quotes (`'get_weather'`) | without them | 1.1 |

    Versions seen: openinference-instrumentation-crewai 1.1.21 with crewai 1.15, by wrapping and by the event
    listener.

    Cannot tell: call ids, the session, questions to a human (asked on the console); by wrapping also
    requests, and agents that a coworker's tool reaches.
    """

    convention: Convention = Convention("openinference.crewai", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = (
        "openinference.instrumentation.crewai",
        "openinference.instrumentation.crewai._event_listener",
    )

    def role(self, span: Span) -> Role:
        kind = span.attributes.get(KIND)
        if kind == "CHAIN":
            name = span.name
            return Role.WORKFLOW if name.endswith((".kickoff", ".kickoff_async")) else Role.STEP
        return super().role(span)

    def agent_name(self, span: Span) -> str | None:
        get = span.attributes.get
        return as_text(get("agent.name") or get("graph.node.id") or get("graph.node.name"))

    def exchange(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        said = attributes.get("output.value")
        if is_placeholder(said):
            facts.hidden.add("outputs")
            return
        body = json_text(said) if type(said) is str else said
        if not is_object(body):
            facts.outputs = text_message("assistant", said)
        elif facts.role is Role.AGENT:
            facts.outputs = _told(body)
            if is_object(body.get("json_dict")):
                facts.data = body["json_dict"]
        else:
            facts.outputs = text_message("assistant", body.get("raw"))

    def inference(self, span: Span, facts: Facts) -> None:
        super().inference(span, facts)
        if facts.outputs is None:
            facts.outputs = text_message("assistant", span.attributes.get("output.value"))
        for messages in (facts.inputs, facts.outputs):
            for message in messages or ():
                for part in message.parts:
                    if isinstance(part, ToolCall):
                        _unquote(part)

    def tool(self, span: Span, facts: Facts) -> None:
        super().tool(span, facts)
        if not span.attributes.get("tool.name"):
            facts.tool_name = span.name.removesuffix(".run").removesuffix("._run") or None


def _told(body: dict[str, Any]) -> list[Message] | None:
    """What an agent's task says: the messages of its run behind the task, and the final answer."""
    listed = body.get("messages")
    messages: list[Message] = []
    if is_list(listed):
        messages = read_messages([m for m in listed if is_object(m)], "user", Notes())
        while messages and messages[0].role in ("system", "user"):
            del messages[0]
    final = text_message("assistant", body.get("raw"))
    if final and (not messages or messages[-1] != final[0]):
        messages.extend(final)
    return messages or None


def _unquote(call: ToolCall) -> None:
    if call.name and len(call.name) > 1 and call.name[0] == call.name[-1] and call.name[0] in "'\"":
        call.name = call.name[1:-1]
    if type(call.arguments) is str and call.arguments[:1] in "'\"":
        text = python_repr(call.arguments)
        parsed = json_text(text) if type(text) is str else MISSING
        if parsed is not MISSING:
            call.arguments = parsed
