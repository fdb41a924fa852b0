"""LangChain and LangGraph through OpenInference, in Python and JavaScript (deepagents too).

Comes in: spans of the two LangChain instrumentations of OpenInference. Goes out: their facts.
"""

from __future__ import annotations

from typing import Any

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
from otel_turns.dialects.openinference import CONTENT_SWITCH, OpenInference, last_words, token_counts
from otel_turns.dialects.openinference_messages import as_one_reply, read_indexed
from otel_turns.dialects.values import as_text, clean_error, is_object, is_placeholder, json_text
from otel_turns.model.facts import MISSING, Convention, Decision, Facts, Role, ToolCall, ToolResult
from otel_turns.model.span import Span

__all__ = ["GENERIC_NAMES", "OpenInferenceLangChain", "clean_stack", "middleware_decisions"]

GENERIC_NAMES = frozenset(
    {
        "LangGraph",
        "CompiledStateGraph",
        "CompiledGraph",
        "AgentExecutor",
        "RunnableSequence",
        "RunnableLambda",
        "RunnableParallel",
        "RunnableAgent",
        "RunnableWithMessageHistory",
    }
)
_WRAPPERS = frozenset({"RunnableLambda", "RunnableCallable", "RunnablePassthrough", "ChannelWrite"})


def clean_stack(message: str | None) -> str | None:
    """An error's words without the JavaScript stack that LangChain.js writes behind them."""
    if message is None:
        return None
    head, mark, _ = message.partition("\n    at ")
    if not mark:
        return message
    words, gap, _ = head.partition("\n\n")
    return clean_error(words if gap else head)


def middleware_decisions(results: list[ToolResult]) -> list[Decision]:
    """Refusals that the human-in-the-loop middleware gives back: a message in place of a result."""
    return [
        Decision(False, result.id, None, result.result if type(result.result) is str else None)
        for result in results
        if result.rejected or result.failed
    ]


class OpenInferenceLangChain(OpenInference):
    """LangChain, LangGraph and deepagents, through OpenInference.

    | attribute or event | fact | since |
    |---|---|---|
    | kind CHAIN | an agent by position; `metadata.lc_agent_name` or the span's name is its name | 0.1 |
    | `metadata.langgraph_node` equal to the span's name | structure: a node of a graph | 0.1.20 |
    | kind AGENT with `tool.name`, or with token counts | a tool, a request: only named "agent" | 0.1 |
    | `input.value` of a tools node with one call | executes that call: id and arguments | 0.1.40 |
    | `input.value`, `output.value` of an LLM | serialized messages: ids, reasoning, `status` "error" | 0.1 |
    | `input.value` of a TOOL | arguments where it is an object; else a bare value, unnamed | 0.1 |
    | `output.value` of a TOOL: a ToolMessage | result, call id, `status` error, the human's refusal | 0.1 |
    | exception `GraphInterrupt` | the run paused: questions; no failure, whatever the status | 0.1 |
    | root `input.value` with `resume` | resumes, decisions | 0.1.40 |
    | `structured_response` in a root's `output.value` | data | 0.1.40 |
    | `metadata.thread_id`, `session_id`, `conversation_id` (as `session.id`) | session | 0.1.20 |

    Versions seen: openinference-instrumentation-langchain 0.1.80 (Python: langchain 1.5, langgraph 1.2,
    deepagents 0.7), its JavaScript twin 4.1 with langchain 1.5.

    Cannot tell: the names of a tool's arguments where it has one, a call's id where the tool raised and
    several ran in one node, and which chain is an agent where nothing names it.
    """

    convention: Convention = Convention("openinference.langchain", CONTENT_SWITCH, runs_have_spans=True)
    scopes: tuple[str, ...] = (
        "openinference.instrumentation.langchain",
        "@arizeai/openinference-instrumentation-langchain",
        "@arizeai/openinference-instrumentation-langchain-v0",
    )

    def role(self, span: Span) -> Role:
        role = super().role(span)
        if role is not Role.AGENT and role is not Role.CHAIN:
            return role
        attributes = span.attributes
        if attributes.get("tool.name"):
            return Role.TOOL
        if role is Role.AGENT and attributes.get("llm.token_count.prompt") is not None:
            return Role.INFERENCE
        return Role.CHAIN

    def read(self, span: Span) -> Facts:
        facts = super().read(span)
        words = interrupted(span)
        if words is not None:
            facts.failed, facts.error, facts.error_type = False, None, None
            facts.paused = facts.role is Role.TOOL
            if facts.role is not Role.TOOL or facts.call_id is None:
                facts.questions = read_interrupts(words, _time_of(span))
            if facts.role is not Role.TOOL:
                self.place_questions(span, facts)
        elif facts.error is not None:
            facts.error = clean_stack(facts.error)
        return facts

    def inference(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        asked, said = attributes.get("input.value"), attributes.get("output.value")
        inputs, outputs = Notes(), Notes()
        facts.inputs = lc_messages(_parsed(asked), inputs)
        generation = lc_generation(_parsed(said), outputs)
        if facts.inputs is None or generation is None:
            request, reply = read_indexed(attributes, inputs, outputs)
            facts.inputs = facts.inputs or request
            facts.outputs = as_one_reply(reply)
        if generation is not None:
            facts.outputs = [generation.message]
            facts.response_id = generation.response_id
        inputs.hidden = inputs.hidden or (facts.inputs is None and is_placeholder(asked))
        outputs.hidden = outputs.hidden or (facts.outputs is None and is_placeholder(said))
        self.parameters(span, facts)
        facts.model = as_text(attributes.get("llm.model_name"))
        facts.usage = token_counts(span)
        facts.input_includes_cache = True
        self.settle(facts, inputs, outputs)

    def result(self, span: Span, facts: Facts) -> None:
        value = span.attributes.get("output.value")
        parsed = _parsed(value)
        told = lc_tool_message(parsed)
        if told is None and is_object(parsed):
            told = lc_tool_message(parsed.get("output")) or next(iter(tool_messages(parsed)), None)
        if told is None:
            super().result(span, facts)
            return
        facts.call_id = facts.call_id or told.id
        facts.result = told.result
        facts.failed = facts.failed or told.failed
        facts.rejected = told.rejected
        if told.result is MISSING:
            facts.hidden.add("result")

    def agent(self, span: Span, facts: Facts) -> None:
        attributes = span.attributes
        metadata = _parsed(attributes.get("metadata"))
        node = metadata.get("langgraph_node") if is_object(metadata) else None
        agent = as_text(metadata.get("lc_agent_name")) if is_object(metadata) else None
        name = span.name
        if name in _WRAPPERS or name.startswith("__") or (node == name and agent != name):
            facts.role = Role.STEP
            self.node(span, facts)
            return
        facts.agent_name = agent if agent == name or not _is_own(name) else name
        if facts.agent_name in GENERIC_NAMES:
            facts.agent_name = None
        asked, said = attributes.get("input.value"), attributes.get("output.value")
        request, answer = _parsed(asked), _parsed(said)
        resume = resume_of(request)
        if resume is not MISSING:
            facts.resumes = True
            facts.decisions = read_decisions(resume)
        elif is_placeholder(asked):
            facts.hidden.add("inputs")
        else:
            facts.inputs = lc_messages(request, Notes())
        if is_placeholder(said):
            facts.hidden.add("outputs")
        else:
            facts.outputs = last_words(lc_messages(answer, Notes()))
            facts.data, facts.handed_over = structured_answer(answer)

    def node(self, span: Span, facts: Facts) -> None:
        """A node of a graph: structure, unless it runs exactly one call."""
        asked = span.attributes.get("input.value")
        if type(asked) is not str or not asked:
            return
        name = span.name
        if name == "tools" or "lg_tool_call" in asked:
            call = only_call(_parsed(asked))
            if call is not None and name == "tools":
                self.call_node(span, facts, call)
        elif "HumanInTheLoop" in name:
            results = tool_messages(_parsed(span.attributes.get("output.value")))
            facts.decisions = middleware_decisions(results)

    def call_node(self, span: Span, facts: Facts, call: ToolCall) -> None:
        """The node runs one call, and knows its id and the names of its arguments;

        its tool's span does not.
        """
        facts.role = Role.TOOL
        facts.tool_name, facts.call_id, facts.arguments = call.name, call.id, call.arguments
        told = next((r for r in tool_messages(_parsed(span.attributes.get("output.value")))), None)
        if told is not None and (told.id is None or told.id == call.id):
            facts.result, facts.rejected = told.result, told.rejected
            facts.failed = facts.failed or told.failed

    def place_questions(self, span: Span, facts: Facts) -> None:
        """The middleware asks about calls of the last reply in its input."""
        if any(question.action for question in facts.questions):
            messages = lc_messages(_parsed(span.attributes.get("input.value")), Notes())
            calls = [p for m in messages or () for p in m.parts if isinstance(p, ToolCall)]
            assign_calls(facts.questions, calls[::-1] if len(facts.questions) == 1 else calls)


def _is_own(name: str) -> bool:
    return bool(name) and name not in GENERIC_NAMES


def _parsed(value: Any) -> Any:
    if type(value) is str:
        return json_text(value) if value[:1] in "{[" else MISSING
    return value


def _time_of(span: Span) -> int:
    return next((event.time for event in span.events if event.name == "exception"), 0)
