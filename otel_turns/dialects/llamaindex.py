"""LlamaIndex through OpenInference: agents, workflows of agents, and the requests and tools below them.

Comes in: spans of scope `openinference.instrumentation.llama_index`. Goes out: their facts.
"""

from __future__ import annotations

import re
from typing import Any

from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference import CONTENT_SWITCH, KIND, OpenInference, token_counts
from otel_turns.dialects.openinference_messages import as_one_reply, read_indexed
from otel_turns.dialects.provider_payloads import read_response
from otel_turns.dialects.python_repr import Constructed, python_repr
from otel_turns.dialects.values import (
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_text,
    unwrap_result,
)
from otel_turns.model.facts import MISSING, Convention, Facts, Message, Part, Question, Reasoning, Role, Text
from otel_turns.model.span import Span

__all__ = ["OpenInferenceLlamaIndex"]

_AGENT_NAME = re.compile(r"current_agent_name='([^'\\]{1,200})'")
_TOOL_NAME = re.compile(r"ToolCall\(tool_name='([^'\\]{1,200})'")
_TOOL_ID = re.compile(r"tool_id='([^'\\]{1,200})'\)")
_OBJECT = re.compile(r"^<[\w.<>]+ object at 0x[0-9a-fA-F]+>$")
_WRAPPERS = (
    "._prepare_chat_with_tools",
    "predict_and_call",
    "structured_predict",
    "get_tool_calls_from_response",
)
_HANDOFF = {"to_agent", "reason"}


class OpenInferenceLlamaIndex(OpenInference):
    """LlamaIndex, through OpenInference.

    | span | fact | since |
    |---|---|---|
    | `XAgent.run`, kind CHAIN | an agent by position | 0.12 |
    | `AgentWorkflow.run` | workflow | 0.12 |
    | `X.run_agent_step` | the agent of `current_agent_name`, again in each step | 0.12 |
    | `X.call_tool`: `ToolCall(tool_name, tool_kwargs, tool_id)` as repr | executes that call | 0.12 |
    | kind TOOL: `kwargs` without injected objects, `raw_output`, `is_error` | tool | 0.11 |
    | tool `handoff` with `to_agent` and `reason` | handoff | 0.12 |
    | a TOOL that gives back its own arguments as a typed object | hands over the typed answer | 0.12 |
    | exception `WaitingForEvent` on a TOOL | paused, question without words | 0.12 |
    | kind LLM without messages: `raw` | the same request again: response id, reasoning | 0.11 |
    | `X._prepare_chat_with_tools`, `X.astructured_predict`, ... of kind LLM | structure: no request | 0.11 |

    Versions seen: openinference-instrumentation-llama-index 4.6 with llama-index-core 0.14.

    Cannot tell: what a paused workflow asks and is answered, the end of a handoff, the session unless the
    program sets it, and whole results of a step (their repr is cut).
    """

    convention: Convention = Convention("openinference.llama_index", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = ("openinference.instrumentation.llama_index",)

    def role(self, span: Span) -> Role:
        name = span.name
        kind = span.attributes.get(KIND)
        if kind == "LLM" and (name.endswith(_WRAPPERS) or name.startswith("StructuredLLM.")):
            return Role.STEP
        role = super().role(span)
        if role is Role.AGENT or role is Role.CHAIN:
            if name.endswith(".run_agent_step"):
                return Role.AGENT
            if name == "AgentWorkflow.run":
                return Role.WORKFLOW
            if not name.endswith((".run", ".chat", ".achat", ".stream_chat", ".astream_chat")):
                return Role.STEP
        return role

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        if facts.role is Role.STEP and span.name.endswith(".call_tool"):
            self.call(span, facts)
        elif facts.error_type is not None and facts.error_type.endswith("WaitingForEvent"):
            facts.failed, facts.error, facts.error_type = False, None, None
            facts.paused = facts.role is Role.TOOL
            if facts.paused:
                facts.questions = [Question(action=facts.tool_name, input=facts.arguments)]
        return facts

    def agent(self, span: Span, facts: Facts) -> None:
        if not span.name.endswith(".run_agent_step"):
            if span.name.endswith("chat"):
                self.exchange(span, facts)
            return
        facts.same_agent = True
        for key in ("input.value", "output.value"):
            text = span.attributes.get(key)
            found = _AGENT_NAME.findall(text) if type(text) is str else None
            if found:
                facts.agent_name = found[-1]
                break
        if facts.agent_name and span.parent_id:
            facts.invocation_id = f"agent:{span.parent_id.hex()}:{facts.agent_name}"

    def call(self, span: Span, facts: Facts) -> None:
        """The workflow's step that runs one call; only it knows the call's id."""
        body = _parsed(span.attributes.get("input.value"))
        event = body.get("ev") if is_object(body) else None
        if type(event) is not str or not event.startswith("ToolCall("):
            return
        made = python_repr(event)
        if isinstance(made, Constructed):
            name, call_id = as_text(made.fields.get("tool_name")), as_text(made.fields.get("tool_id"))
            given: Any = made.fields.get("tool_kwargs", MISSING)
        else:
            name, call_id = _found(_TOOL_NAME, event), _found(_TOOL_ID, event)
            given = MISSING
        if name is None or name == "handoff":
            return
        facts.role = Role.TOOL
        facts.tool_name, facts.call_id = name, call_id
        facts.arguments = given if is_object(given) else MISSING

    def inference(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        inputs, outputs = Notes(), Notes()
        request, reply = read_indexed(attributes, inputs, outputs)
        facts.inputs, facts.outputs = request, as_one_reply(reply)
        facts.model = as_text(attributes.get("llm.model_name"))
        facts.usage = token_counts(span)
        facts.input_includes_cache = True
        said = _parsed(attributes.get("output.value"))
        if is_object(said) and reply is None:
            response = read_response(said.get("raw"), Notes())
            if response is not None:
                facts.response_id = response.response_id
            thoughts = _thoughts(said.get("message"))
            if response is not None and not thoughts:
                thoughts = [p for m in response.messages for p in m.parts if isinstance(p, Reasoning)]
            if thoughts:
                told = response.messages if response is not None else []
                rest = [p for m in told for p in m.parts if not isinstance(p, Reasoning)]
                facts.outputs = [Message("assistant", [*thoughts, *(rest or _texts(said.get("message")))])]
        inputs.hidden = inputs.hidden or (request is None and is_placeholder(attributes.get("input.value")))
        outputs.hidden = outputs.hidden or (reply is None and is_placeholder(attributes.get("output.value")))
        self.settle(facts, inputs, outputs)

    def tool(self, span: Span, facts: Facts) -> None:
        super().tool(span, facts)
        given = facts.arguments
        if facts.tool_name == "handoff" and is_object(given) and set(given) >= _HANDOFF:
            facts.role = Role.HANDOFF
            facts.handoff_to = as_text(given.get("to_agent"))
        elif is_object(given) and given and given == facts.result and _is_typed(span, given):
            facts.hands_over, facts.data = True, given

    def arguments(self, span: Span, facts: Facts) -> None:
        super().arguments(span, facts)
        given = facts.arguments
        if is_object(given) and is_object(given.get("kwargs")) and not set(given) - {"args", "kwargs"}:
            given = given["kwargs"]
        if is_object(given):
            facts.arguments = {k: v for k, v in given.items() if type(v) is not str or not _OBJECT.match(v)}

    def result(self, span: Span, facts: Facts) -> None:
        said = _parsed(span.attributes.get("output.value"))
        if not is_object(said) or "tool_name" not in said:
            super().result(span, facts)
            return
        facts.failed = facts.failed or said.get("is_error") is True
        raw = said.get("raw_output")
        facts.result = unwrap_result(said.get("blocks") if raw is None and said.get("blocks") else raw)


def _is_typed(span: Span, given: dict[str, Any]) -> bool:
    """Whether the output's text is the repr of the object's fields, which a plain mapping never is."""
    said = _parsed(span.attributes.get("output.value"))
    blocks: Any = said.get("blocks") if is_object(said) else None
    text = blocks[0].get("text") if is_list(blocks) and blocks and is_object(blocks[0]) else None
    return type(text) is str and text.startswith(tuple(f"{key}=" for key in given))


def _thoughts(message: Any) -> list[Part]:
    blocks: Any = message.get("blocks") if is_object(message) else None
    return [
        Reasoning(block["content"])
        for block in (blocks if is_list(blocks) else ())
        if is_object(block) and "text" not in block and type(block.get("content")) is str and block["content"]
    ]


def _texts(message: Any) -> list[Part]:
    blocks: Any = message.get("blocks") if is_object(message) else None
    return [
        Text(block["text"])
        for block in (blocks if is_list(blocks) else ())
        if is_object(block) and type(block.get("text")) is str and block["text"]
    ]


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    match = pattern.search(text)
    return match.group(1) if match else None


def _parsed(value: Any) -> Any:
    if type(value) is str:
        return json_text(value) if value[:1] in "{[" else MISSING
    return value
