"""smolagents through OpenInference.

Comes in: spans of scope `openinference.instrumentation.smolagents`. Goes out: their facts.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.openinference import CONTENT_SWITCH, OpenInference, text_message
from otel_turns.dialects.values import is_list, is_object, is_placeholder, json_text
from otel_turns.model.facts import MISSING, Convention, Facts, Role
from otel_turns.model.span import Span

__all__ = ["OpenInferenceSmolagents"]


class OpenInferenceSmolagents(OpenInference):
    """smolagents, through OpenInference.

    | attribute | fact | since |
    |---|---|---|
    | kind AGENT, `NAME.run` | agent; a class (`ToolCallingAgent`) is no name | 0.1 |
    | `input.value` of an AGENT: `task`; `output.value` | inputs, outputs: only here the final answer | 0.1 |
    | kind CHAIN, `Step N` | structure; its error is a failed tool's, which the agent gets over | 0.1 |
    | kind TOOL, `tool.name`, `input.value` with `kwargs` | tool without call id | 0.1 |
    | `llm.token_count.*` of an AGENT | the sum of its requests | 0.1 |

    Versions seen: openinference-instrumentation-smolagents 0.1.43 with smolagents 1.26.

    Cannot tell: call ids, which text is reasoning, the name of the root agent, what the model was told of a
    failed tool, and the root of a run that raised.
    """

    convention: Convention = Convention("openinference.smolagents", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = ("openinference.instrumentation.smolagents",)

    def role(self, span: Span) -> Role:
        role = super().role(span)
        return Role.STEP if role is Role.CHAIN else role

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        if facts.role is Role.STEP and facts.failed:
            facts.recovered = True
        return facts

    def agent_name(self, span: Span) -> str | None:
        name = span.name.removesuffix(".run")
        return None if not name or name.endswith("Agent") else name

    def exchange(self, span: Span, facts: Facts) -> None:
        asked = span.attributes.get("input.value")
        body = json_text(asked) if type(asked) is str else asked
        if is_object(body):
            facts.inputs = text_message("user", body.get("task"))
        said = span.attributes.get("output.value")
        if is_placeholder(said):
            facts.hidden.add("outputs")
        else:
            facts.outputs = text_message("assistant", said)

    def arguments(self, span: Span, facts: Facts) -> None:
        value = span.attributes.get("input.value")
        if is_placeholder(value):
            facts.hidden.add("arguments")
            return
        body: Any = json_text(value) if type(value) is str else value
        if not is_object(body):
            return
        args, kwargs = body.get("args"), body.get("kwargs")
        if is_object(kwargs) and (kwargs or not args):
            facts.arguments = kwargs
        elif is_list(args) and len(args) == 1 and is_object(args[0]):
            facts.arguments = args[0]
        elif is_list(args):
            facts.arguments = _named(span, args)


def _named(span: Span, args: list[Any]) -> Any:
    """Positional arguments, with the names of the tool's inputs where there are as many."""
    schema: Any = span.attributes.get("tool.parameters")
    schema = json_text(schema) if type(schema) is str else schema
    if is_object(schema) and len(schema) >= len(args):
        return dict(zip(schema, args, strict=False))
    return MISSING
