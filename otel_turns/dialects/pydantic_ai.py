"""pydantic-ai's own spans, instrumentation versions 1 to 6, written by itself or through Logfire.

Comes in: spans of the scope `pydantic-ai`, or of another with its attributes. Goes out: `Facts`. It speaks
GenAI with additions; a denied call is nowhere marked: assembly tells it by its missing span.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai import GenAI, structured_answer
from otel_turns.dialects.genai_content import read_event_list, text_of
from otel_turns.dialects.genai_usage import read_usage, usage_keys
from otel_turns.dialects.messages import read_messages
from otel_turns.dialects.values import (
    as_int,
    as_text,
    is_list,
    is_object,
    is_placeholder,
    json_arguments,
    json_text,
)
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Question,
    Role,
    Text,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["PydanticAI"]

_AGGREGATED = usage_keys("gen_ai.aggregated_usage.")
_HANDED_OVER = "Final result processed."
_NOT_EXECUTED = (
    "Tool not executed - a final result was already processed.",
    "Output tool not used - a final result was already processed.",
    "Output tool not used - output failed validation.",
)
_UNKNOWN_TOOL = "Unknown tool name:"


class PydanticAI(GenAI):
    """pydantic-ai, alone or through Logfire.

    | attribute | fact | since |
    |---|---|---|
    | the GenAI names | as there; spans are named `agent run`, `running tool` in version 2 | format 2 |
    | `gen_ai.agent.call.id` | `invocation_id` | format 5 |
    | `pydantic_ai.all_messages` | the agent's `inputs`; `outputs` where they end in its answer | format 2 |
    | `all_messages_events`, `events` | the same, as the older message events | format 1 |
    | `pydantic_ai.new_message_index` | `new_from`; `resumes` where tool results come first | format 3 |
    | `final_result` | `data` where it is not the last text; DeferredToolRequests ask | format 1 |
    | `gen_ai.aggregated_usage.*` | the agent's own total | format 4 |
    | `tool_arguments`, `tool_response` | `arguments`, `result` | to format 2 |
    | `pydantic_ai.tool.deferral.name` | `paused`, a question; no failure, whatever its status | format 2 |
    | `pydantic_ai.tool.failure_stage` validation | `not_run` | format 5 |
    | `model_request_parameters` | output tools, whose calls are the typed answer; `structured` | format 2 |
    | `logfire.msg` running output function | `hands_over` | format 2 |

    Versions seen: pydantic-ai-slim 2.68 in formats 2, 5 and 6 (`InstrumentationSettings(version=...)`);
    logfire 5.4.

    Cannot tell: that a human refused (only the missing span of a call says it), prompt and options of a
    question, and the reply with which a failed run ended (its `all_messages` are of before).
    """

    convention = Convention(
        "pydantic_ai",
        content_switch="Leave InstrumentationSettings(include_content=True) at its default.",
        runs_have_spans=True,
    )
    scopes = ("pydantic-ai*", "pydantic_ai*")
    keys = (
        "pydantic_ai.all_messages",
        "model_request_parameters",
        "gen_ai.agent.call.id",
        "all_messages_events",
    )

    def matches(self, span: Span) -> bool:
        # The ids of a run travel as baggage and may be copied onto any span: they recognise none by
        # themselves.
        return span.scope.name.startswith("pydantic") or bool(span.attributes.get("gen_ai.operation.name"))

    def matches_log(self, record: LogRecord) -> bool:
        return record.scope.name.startswith("pydantic") and super().matches_log(record)

    def read_inference(self, span: Span, facts: Facts) -> None:
        super().read_inference(span, facts)
        parameters = span.attributes.get("model_request_parameters")
        if type(parameters) is not str or '"output_mode":"text"' in parameters:
            return
        names = _output_tools(parameters)
        if names:
            _leave_out(facts.inputs, names)
            if facts.outputs and _hand_over(facts.outputs, names):
                facts.structured = True
        elif facts.outputs and structured_answer(text_of(facts.outputs)) is not MISSING:
            facts.structured = (
                '"output_mode":"native"' in parameters or '"output_mode":"prompted"' in parameters
            )

    def read_agent(self, span: Span, facts: Facts) -> None:
        super().read_agent(span, facts)
        attributes = span.attributes
        facts.invocation_id = as_text(attributes.get("gen_ai.agent.call.id"))
        if facts.agent_name is None:
            facts.agent_name = as_text(attributes.get("agent_name"))
        facts.usage = read_usage(attributes, _AGGREGATED) or facts.usage
        said = attributes.get("pydantic_ai.all_messages")
        if said:
            facts.inputs = None if is_placeholder(said) else read_messages(said, "user")
        elif "all_messages_events" in attributes:
            facts.inputs = None
            read_event_list(attributes["all_messages_events"], facts)
        if not facts.inputs:
            facts.hidden.add("inputs")
        self._read_run(attributes.get("pydantic_ai.new_message_index"), facts)
        self._read_final(attributes.get("final_result"), facts)

    def _read_run(self, index: Any, facts: Facts) -> None:
        """Splits the run's messages into what it saw and its answer."""
        messages = facts.inputs
        facts.new_from = as_int(index)
        if not messages:
            return
        if facts.new_from and facts.new_from < len(messages) and messages[facts.new_from].role == "tool":
            facts.resumes = True
        if messages[-1].role == "assistant":
            facts.outputs = messages[-1:]
            facts.inputs = messages[:-1]
        handed = {
            part.id
            for message in messages
            for part in message.parts
            if type(part) is ToolResult and part.result == _HANDED_OVER
        }
        _leave_out(
            facts.inputs, {part.name for part in _calls(messages) if part.id in handed} if handed else set()
        )

    def _read_final(self, value: Any, facts: Facts) -> None:
        if type(value) is not str or not value or is_placeholder(value):
            facts.hidden.add("outputs")
            return
        parsed = json_text(value)
        questions = _deferred(parsed)
        if questions is not None:
            facts.questions = questions
            facts.waiting = True
            return
        if parsed is MISSING:
            facts.outputs = [Message("assistant", [Text(value)])]
            return
        text = text_of(facts.outputs)
        if text == value:
            return
        # Without the messages only an object or array is surely more than an answer in words.
        if is_object(parsed) or is_list(parsed) or facts.inputs:
            facts.data = parsed
            facts.outputs = None

    def read_tool(self, span: Span, facts: Facts) -> None:
        super().read_tool(span, facts)
        attributes = span.attributes
        if facts.arguments is MISSING and "tool_arguments" in attributes:
            facts.hidden.discard("arguments")
            self.set_arguments(facts, attributes["tool_arguments"])
        if facts.result is MISSING and "tool_response" in attributes:
            facts.hidden.discard("result")
            self.set_result(facts, attributes["tool_response"])
        if attributes.get("pydantic_ai.tool.deferral.name"):
            facts.paused = True
            facts.failed, facts.error, facts.error_type = False, None, None
            facts.result = MISSING
            facts.hidden.discard("result")
            facts.questions.append(
                Question(
                    facts.call_id, facts.tool_name, facts.arguments, call_id=facts.call_id, time=span.end
                )
            )
        if attributes.get("pydantic_ai.tool.failure_stage") == "validation":
            facts.not_run = True
        message = attributes.get("logfire.msg")
        if type(message) is str and message.startswith("running output function"):
            # A failed one is asked for again; either way the call is the answer and no operation.
            facts.role = Role.NOTHING if facts.failed else Role.TOOL
            facts.hands_over = True
            facts.data = facts.result


def _output_tools(parameters: str) -> set[str | None]:
    """The names of the tools whose call is the typed answer."""
    if '"output_tools":[]' in parameters or '"output_tools":[' not in parameters:
        return set()
    parsed = json_text(parameters)
    tools = parsed.get("output_tools") if is_object(parsed) else None
    return {as_text(tool.get("name")) for tool in tools if is_object(tool)} if is_list(tools) else set()


def _calls(messages: list[Message]) -> list[ToolCall]:
    return [part for message in messages for part in message.parts if type(part) is ToolCall]


def _leave_out(messages: list[Message] | None, names: set[str | None]) -> None:
    """Takes from the history what is no operation: calls that hand over the answer, calls that were never
    run.

    Their results are the framework's own words to the model.
    """
    gone: set[str | None] = set()
    for message in messages or ():
        kept = message.parts
        for part in message.parts:
            if type(part) is ToolCall and part.name in names:
                gone.add(part.id)
                kept = [other for other in kept if other is not part]
            elif type(part) is ToolResult:
                if part.id in gone or part.result == _HANDED_OVER or part.result in _NOT_EXECUTED:
                    kept = [other for other in kept if other is not part]
                elif type(part.result) is str and part.result.startswith(_UNKNOWN_TOOL):
                    part.failed = True
        message.parts = kept


def _hand_over(outputs: list[Message], names: set[str | None]) -> bool:
    """Takes the calls of output tools out of a reply. True where nothing else was said in it."""
    answers: list[ToolCall] = []
    rest = 0
    for message in outputs:
        kept = [part for part in message.parts if not (type(part) is ToolCall and part.name in names)]
        if len(kept) < len(message.parts):
            answers.extend(p for p in message.parts if type(p) is ToolCall and p.name in names)
            message.parts = kept
        rest += sum(type(part) in (Text, ToolCall) for part in kept)
    return bool(answers) and not rest


def _deferred(value: Any) -> list[Question] | None:
    """The calls of a DeferredToolRequests, as questions; None where the final result is something else."""
    if not is_object(value):
        return None
    calls, approvals = value.get("calls"), value.get("approvals")
    if not is_list(calls) or not is_list(approvals):
        return None
    questions: list[Question] = []
    for call in (*approvals, *calls):
        if not is_object(call) or "tool_call_id" not in call:
            return None
        call_id = as_text(call.get("tool_call_id"))
        arguments, _ = json_arguments(call.get("args"))
        questions.append(Question(call_id, as_text(call.get("tool_name")), arguments, call_id=call_id))
    return questions or None
