"""LangSmith's export of runs over OpenTelemetry: LangChain's runs, and functions and clients that it traces.

Comes in: spans of scope `langsmith`. Goes out: their facts.
"""

from __future__ import annotations

from typing import Any

from otel_turns.dialects.genai_usage import read_usage as read_span_usage
from otel_turns.dialects.langchain import (
    lc_generation,
    lc_messages,
    lc_tool_message,
    only_call,
    structured_answer,
    tool_messages,
)
from otel_turns.dialects.langgraph_interrupts import (
    assign_calls,
    interrupted,
    read_decisions,
    read_interrupts,
    resume_of,
)
from otel_turns.dialects.messages import Notes
from otel_turns.dialects.openinference import last_words, text_message
from otel_turns.dialects.openinference_langchain import GENERIC_NAMES, clean_stack, middleware_decisions
from otel_turns.dialects.openinference_messages import as_one_reply
from otel_turns.dialects.provider_payloads import read_request, read_response, read_usage
from otel_turns.dialects.values import as_text, is_list, is_object, json_text, read_failure, unwrap_result
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Role,
    Text,
    TokenUsage,
    ToolCall,
)
from otel_turns.model.span import LogRecord, Span

__all__ = ["LangSmith"]

_ROLES = {
    "llm": Role.INFERENCE,
    "tool": Role.TOOL,
    "chain": Role.CHAIN,
    "retriever": Role.NOTHING,
    "embedding": Role.NOTHING,
    "prompt": Role.STEP,
    "parser": Role.STEP,
}
_OPERATIONS = {"chat": "llm", "completion": "llm", "execute_tool": "tool", "chain": "chain"}
_META = "langsmith.metadata."
_SESSIONS = ("thread_id", "session_id", "conversation_id")


class LangSmith:
    """LangSmith's runs, sent as OpenTelemetry spans.

    | attribute | fact | since |
    |---|---|---|
    | `langsmith.span.kind`, else `gen_ai.operation.name` | llm, tool; chain an agent by position | 0.3.45 |
    | `langsmith.metadata.langgraph_node` equal to the span's name | structure | 0.3.45 |
    | `gen_ai.prompt`, `gen_ai.completion` | whole inputs and outputs of the run, as JSON | 0.3.45 |
    | `gen_ai.usage.*`, `langsmith.metadata.usage_metadata` | usage | 0.3.45 |
    | `gen_ai.tool.name`, `gen_ai.tool.call.id` | tool facts | 0.4 |
    | `langsmith.metadata.thread_id`, `session_id`, `conversation_id` | session | 0.3.45 |
    | `langsmith.metadata.lc_agent_name`, the span's name | agent name | 0.3.45 |
    | exception events: type `Exception`, message with the traceback behind it | failed, error | 0.3.45 |
    | an exception `GraphInterrupt` | paused, questions | 0.3.45 |
    | `structured_response` in `gen_ai.completion` | data | 0.4 |
    | an empty `{}` | absence: hidden, or the output of a run that failed | 0.3.45 |

    The JavaScript client sets OK at the start of every run: there an exception event is the failure.

    Versions seen: langsmith 0.15 (Python) with langchain 1.5, langgraph 1.2; langsmith 0.12 (JavaScript).

    Cannot tell: the class of an exception, tokens where outputs are hidden; in JavaScript LangGraph's own
    runs (only `traceable` makes spans) and call ids of tools.
    """

    convention: Convention = Convention(
        "langsmith",
        "Content is on by default: unset LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS.",
        runs_have_spans=True,
    )
    scopes: tuple[str, ...] = ("langsmith", "langsmith*")
    keys: tuple[str, ...] = ("langsmith.span.kind",)

    def matches(self, span: Span) -> bool:
        return bool(span.attributes.get("langsmith.span.kind")) or span.scope.name == "langsmith"

    def matches_log(self, record: LogRecord) -> bool:
        return False

    def read_log(self, record: LogRecord) -> Facts | None:
        return None

    def read(self, span: Span) -> Facts:
        get = span.attributes.get
        kind = get("langsmith.span.kind") or _OPERATIONS.get(str(get("gen_ai.operation.name")))
        role = _ROLES.get(kind, Role.STEP) if type(kind) is str else Role.STEP
        facts = Facts(self.convention, role)
        facts.failed, facts.error, facts.error_type = read_failure(span, handled_counts=True)
        facts.error = clean_stack(facts.error)
        facts.session_id = next((s for key in _SESSIONS if (s := as_text(get(_META + key)))), None)
        asked, said = _parsed(get("gen_ai.prompt")), _parsed(get("gen_ai.completion"))
        if role is Role.INFERENCE:
            self.inference(span, facts, asked, said)
        elif role is Role.TOOL:
            self.tool(span, facts, asked, said)
        elif role is Role.CHAIN:
            self.chain(span, facts, asked, said)
        words = interrupted(span)
        if words is not None:
            facts.failed, facts.error, facts.error_type = False, None, None
            facts.paused = facts.role is Role.TOOL
            if span.name != "tools":
                facts.questions = read_interrupts(words)
                messages = lc_messages(asked, Notes()) or ()
                calls = [p for m in messages for p in m.parts if isinstance(p, ToolCall)]
                assign_calls(facts.questions, calls[::-1] if len(facts.questions) == 1 else calls)
                for question in facts.questions:
                    question.call_id = question.call_id or facts.call_id
        return facts

    def inference(self, span: Span, facts: Facts, asked: Any, said: Any) -> None:
        get = span.attributes.get
        inputs, outputs = Notes(), Notes()
        generation = lc_generation(said, outputs) if is_object(said) and "generations" in said else None
        if generation is not None:
            facts.outputs = [generation.message]
            facts.response_id = generation.response_id
        else:
            body = said.get("outputs", said) if is_object(said) else said
            response = read_response(body, outputs)
            if response is not None:
                facts.outputs = as_one_reply(response.messages or None)
                facts.response_id = response.response_id
                facts.structured = response.structured
            else:
                facts.outputs = _plain_reply(body)
        facts.inputs = lc_messages(asked, inputs) if _is_lc(asked) else None
        if facts.inputs is None:
            request = read_request(asked, inputs)
            if request is not None:
                facts.inputs = request.messages or None
                facts.structured = facts.structured or request.structured
                facts.previous_response_id = request.previous_response_id
        facts.model = as_text(get("gen_ai.response.model") or get("gen_ai.request.model"))
        facts.usage = _usage(span)
        facts.input_includes_cache = True
        facts.unparsable = inputs.unparsable or outputs.unparsable
        if facts.inputs is None:
            facts.hidden.add("inputs")
        if facts.outputs is None and not facts.failed:
            facts.hidden.add("outputs")
        if facts.structured:
            parts = [part for m in facts.outputs or () for part in m.parts]
            text = "".join(part.text for part in parts if isinstance(part, Text))
            asks = any(isinstance(part, ToolCall) for part in parts)
            facts.structured = not asks and isinstance(json_text(text), (dict, list))

    def tool(self, span: Span, facts: Facts, asked: Any, said: Any) -> None:
        get = span.attributes.get
        facts.tool_name = as_text(get("gen_ai.tool.name")) or span.name or None
        facts.call_id = as_text(get("gen_ai.tool.call.id"))
        given = asked
        if is_object(given) and set(given) == {"input"}:
            inner = given["input"]
            inner = json_text(inner) if type(inner) is str and inner[:1] == "{" else inner
            given = inner if is_object(inner) else given
        if is_object(given) and given:
            facts.arguments = given
        else:
            # Hidden inputs are an empty object; of a call without arguments the reply says so.
            facts.hidden.add("arguments")
        if said is MISSING or said == {}:
            if not facts.failed:
                facts.hidden.add("result")
            return
        value = said
        if is_object(value) and len(value) == 1 and ("output" in value or "outputs" in value):
            (value,) = value.values()
        told = lc_tool_message(value)
        if told is None and is_object(value):
            told = next(iter(tool_messages(value)), None)
        if told is not None:
            facts.call_id = facts.call_id or told.id
            facts.result, facts.rejected = told.result, told.rejected
            facts.failed = facts.failed or told.failed
        else:
            facts.result = unwrap_result(value)

    def chain(self, span: Span, facts: Facts, asked: Any, said: Any) -> None:
        get = span.attributes.get
        name = span.name
        node, agent = get(_META + "langgraph_node"), as_text(get(_META + "lc_agent_name"))
        wraps = node is not None and "." in name
        if name.startswith("__") or (node == name and agent != name) or wraps:
            facts.role = Role.STEP
            self.node(span, facts, asked, said)
            return
        facts.chain_speaks = node is None
        if get("langsmith.is_root") and agent == name:
            facts.role = Role.AGENT
        facts.agent_name = None if name in GENERIC_NAMES else name
        if facts.agent_name is None and agent not in GENERIC_NAMES:
            facts.agent_name = agent if node is None else None
        resume = resume_of(asked)
        if resume is not MISSING:
            facts.resumes = True
            facts.decisions = read_decisions(resume)
        else:
            facts.inputs = lc_messages(asked, Notes()) or _one_text(asked, "user")
        answer = said.get("outputs", said) if is_object(said) else said
        facts.outputs = last_words(lc_messages(answer, Notes()) or _one_text(answer, "assistant"))
        facts.data, facts.handed_over = structured_answer(said)
        if asked is MISSING or asked == {}:
            facts.hidden.add("inputs")
        if (said is MISSING or said == {}) and not facts.failed:
            facts.hidden.add("outputs")

    def node(self, span: Span, facts: Facts, asked: Any, said: Any) -> None:
        """A node of a graph: structure, unless it runs one call or hands a refusal to the model."""
        if span.name == "tools":
            call = only_call(asked)
            if call is not None:
                facts.role = Role.TOOL
                facts.tool_name, facts.call_id, facts.arguments = call.name, call.id, call.arguments
                results = tool_messages(said)
                if results and results[0].id in (None, call.id):
                    facts.result, facts.rejected = results[0].result, results[0].rejected
                    facts.failed = facts.failed or results[0].failed
        elif "HumanInTheLoop" in span.name:
            facts.decisions = middleware_decisions(tool_messages(said))


def _usage(span: Span) -> TokenUsage | None:
    usage = read_span_usage(span.attributes)
    more = read_usage(_parsed(span.attributes.get(_META + "usage_metadata")))
    if more is None:
        return usage
    if usage is None:
        return more
    return TokenUsage(
        usage.input if usage.input is not None else more.input,
        usage.output if usage.output is not None else more.output,
        usage.cache_read if usage.cache_read is not None else more.cache_read,
        usage.cache_creation if usage.cache_creation is not None else more.cache_creation,
        usage.reasoning if usage.reasoning is not None else more.reasoning,
    )


def _is_lc(value: Any) -> bool:
    """Whether messages stand in LangChain's forms, and not in a provider's."""
    at = value.get("messages") if is_object(value) else None
    while is_list(at) and at:
        at = at[0]
    return is_object(at) and "role" not in at


def _plain_reply(value: Any) -> list[Message] | None:
    if is_object(value):
        for key in ("output", "content", "text", "generation"):
            found = text_message("assistant", value.get(key))
            if found:
                return found
    return text_message("assistant", value)


def _one_text(value: Any, role: str) -> list[Message] | None:
    """The words of a traced function: its only text."""
    if is_object(value) and len(value) == 1:
        (value,) = value.values()
    return text_message(role, value)


def _parsed(value: Any) -> Any:
    return json_text(value) if type(value) is str else MISSING if value is None else value
