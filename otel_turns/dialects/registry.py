"""Which dialect reads a span or log record: the one list of precedence, and the border at which dialects
fail.

Comes in: spans and log records. Goes out: `Facts`, always; what no dialect reads is structure. It never
raises because of what a span holds, never logs a value, and never orders or pairs anything.

A dialect that lists the scope of a span is asked first; then those that go by attributes, in the order of
the list.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import reduce
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, cast

from otel_turns.dialects.base import Dialect
from otel_turns.dialects.normalized import read_normalized
from otel_turns.model.facts import Convention, Facts, Mark, Role
from otel_turns.model.span import LogRecord, Span

__all__ = ["BUILT_IN", "GROUP", "NEUTRAL", "Registry", "built_in_dialects", "extension_dialects", "own_keys"]

GROUP = "otel_turns.dialects"
"""The entry point group in which other packages register their dialects: a class or an instance."""

NEUTRAL = Convention("")
"""The convention of spans that no dialect reads."""

BUILT_IN: tuple[str, ...] = (
    # Frameworks and SDKs by their scopes. Where two know one scope name, the one with the narrower marks
    # stands first.
    "otel_turns.dialects.pydantic_ai:PydanticAI",
    "otel_turns.dialects.strands:Strands",
    "otel_turns.dialects.agent_framework:AgentFramework",
    "otel_turns.dialects.semantic_kernel:SemanticKernel",
    "otel_turns.dialects.google_adk:GoogleADK",
    "otel_turns.dialects.google_genai:GoogleGenAI",
    "otel_turns.dialects.openai_agents:OpenAIAgents",
    "otel_turns.dialects.openai_agents:OpenAIAgentsV2",
    "otel_turns.dialects.openai_agents_traced:OpenInferenceOpenAIAgents",
    "otel_turns.dialects.openai_agents_traced:TraceloopOpenAIAgents",
    "otel_turns.dialects.anthropic_sdk:AnthropicSDK",
    "otel_turns.dialects.langchain_official:GenAILangChain",
    "otel_turns.dialects.langchain_traceloop:TraceloopLangChain",
    "otel_turns.dialects.openinference_langchain:OpenInferenceLangChain",
    "otel_turns.dialects.llamaindex:OpenInferenceLlamaIndex",
    "otel_turns.dialects.smolagents:OpenInferenceSmolagents",
    "otel_turns.dialects.crewai:OpenInferenceCrewAI",
    "otel_turns.dialects.agno:OpenInferenceAgno",
    "otel_turns.dialects.haystack:OpenInferenceHaystack",
    "otel_turns.dialects.haystack:Haystack",
    "otel_turns.dialects.litellm:LiteLLM",
    "otel_turns.dialects.openlit:OpenLIT",
    "otel_turns.dialects.mastra:Mastra",
    "otel_turns.dialects.autogen:AutoGen",
    "otel_turns.dialects.openinference_google_genai:OpenInferenceGoogleGenAI",
    "otel_turns.dialects.openinference_vercel:OpenInferenceVercelAI",
    "otel_turns.dialects.openinference_vercel:OpenInferenceVercelAILegacy",
    "otel_turns.dialects.vercel_ai_genai:VercelAI",
    "otel_turns.dialects.opencode:Opencode",
    "otel_turns.dialects.claude_code:ClaudeCode",
    "otel_turns.dialects.codex:Codex",
    "otel_turns.dialects.gemini_cli:GeminiCLI",
    "otel_turns.dialects.qwen_code:QwenCode",
    "otel_turns.dialects.copilot_cli:CopilotCLI",
    "otel_turns.dialects.livekit:LiveKit",
    # Conventions, by the attributes that mark them; the most explicit first.
    "otel_turns.dialects.langfuse:Langfuse",
    "otel_turns.dialects.mlflow:MLflow",
    "otel_turns.dialects.genkit:Genkit",
    "otel_turns.dialects.openinference:OpenInference",
    "otel_turns.dialects.vercel_ai:VercelAILegacy",
    "otel_turns.dialects.langsmith:LangSmith",
    "otel_turns.dialects.traceloop:Traceloop",
    "otel_turns.dialects.mcp:MCP",
    "otel_turns.dialects.genai:GenAI",
)
"""The dialects of this package in the order in which they are asked."""

_log = logging.getLogger(__name__)
_SUSPICIOUS = (
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.input",
    "gen_ai.output",
    "gen_ai.tool",
    "gen_ai.usage",
    "gen_ai.operation",
    "llm.",
    "traceloop.",
    "openinference.",
    "langsmith.",
    "langfuse.observation",
    "mlflow.span",
    "genkit:",
    "haystack.",
    "lk.",
)
_AGENTIC = 1
_MOST_KEYS = 16_384
_MOST_SCOPES = 4_096
_MOST_SHAPES, _LONGEST_SHAPE = 4_096, 64


class _KeyMarks(dict[str, int]):
    """What an attribute key says of its span, in bits: the lowest that it looks like agent work, then one a
    dialect.

    Filled as keys are met and bounded, since some conventions number their keys and a hostile sender may
    invent them.
    """

    def __init__(self, keys: Sequence[tuple[str, ...]]) -> None:
        """`keys`: of each dialect that has some, in order."""
        super().__init__()
        self._prefixes: list[tuple[str, int]] = []
        exact: dict[str, int] = {}
        for index, patterns in enumerate(keys):
            for pattern in patterns:
                if pattern.endswith("*"):
                    self._prefixes.append((pattern[:-1], 2 << index))
                else:
                    exact[pattern] = exact.get(pattern, 0) | 2 << index
        self.update({key: bits | self[key] for key, bits in exact.items()})

    def __missing__(self, key: str) -> int:
        bits = _AGENTIC if key.startswith(_SUSPICIOUS) else 0
        for prefix, bit in self._prefixes:
            if key.startswith(prefix):
                bits |= bit
        if len(self) < _MOST_KEYS:
            self[key] = bits
        return bits


class Registry:
    """Reads spans and log records with the first dialect that recognises them.

    `failures` counts, by the name of the convention, how often a dialect raised: such a span is structure
    with a "malformed" mark.
    """

    def __init__(self, dialects: Sequence[Dialect] | None = None) -> None:
        """`dialects` in order of precedence; without them those of other packages, then the ones built in."""
        self.dialects: tuple[Dialect, ...] = tuple(
            [*extension_dialects(), *built_in_dialects()] if dialects is None else dialects
        )
        self.failures: dict[str, int] = {}
        self._marks = _KeyMarks([own_keys(d) for d in self.dialects])
        self._shapes: dict[tuple[str, ...], tuple[tuple[Dialect, ...], bool]] = {}
        self._plans: dict[str, tuple[Dialect, ...]] = {}
        self._log_plans: dict[str, tuple[Dialect, ...]] = {}

    def read(self, span: Span) -> Facts:
        """What the span says. Spans that nothing reads are STEP with the neutral convention."""
        scope = span.scope.name
        plan = self._plans.get(scope)
        if plan is None:
            plan = self._plan(scope)
        facts: Facts | None = None
        for dialect in plan:
            facts = self._try(dialect, span)
            if facts is not None:
                break
        else:
            shape = tuple(span.attributes)
            known = self._shapes.get(shape)
            if known is None:
                known = self._learn(shape)
            for dialect in known[0]:
                facts = self._try(dialect, span)
                if facts is not None:
                    break
            else:
                facts = Facts(NEUTRAL)
                facts.unread = known[1]
        if span.events:
            read_normalized(span, facts)
        return facts

    def read_log(self, record: LogRecord) -> Facts | None:
        """What the record says; None for the ordinary log records of an application."""
        scope = record.scope.name
        plan = self._log_plans.get(scope)
        if plan is None:
            elsewhere = (d for d in self.dialects if not d.scopes or own_keys(d))
            plan = tuple(dict.fromkeys((*self._plan(scope), *elsewhere)))
            if len(self._log_plans) < _MOST_SCOPES:
                self._log_plans[scope] = plan
        for dialect in plan:
            try:
                if dialect.matches_log(record):
                    return dialect.read_log(record)
            except Exception as error:
                self._failed(dialect, error)
                return None
        return None

    def _plan(self, scope: str) -> tuple[Dialect, ...]:
        plan = tuple(d for d in self.dialects if any(_covers(pattern, scope) for pattern in d.scopes))
        if len(self._plans) < _MOST_SCOPES:
            self._plans[scope] = plan
        return plan

    def _learn(self, shape: tuple[str, ...]) -> tuple[tuple[Dialect, ...], bool]:
        """The dialects to ask about a span with these attribute keys, and whether it looks like agent work.

        An instrumentation writes few different sets of keys, so that a look-up by all of them is cheap.
        """
        marks = reduce(int.__or__, map(self._marks.__getitem__, shape), 0)
        found = tuple(
            dialect
            for index, dialect in enumerate(self.dialects)
            if marks & 2 << index or not (dialect.scopes or own_keys(dialect))
        )
        if len(shape) <= _LONGEST_SHAPE and len(self._shapes) < _MOST_SHAPES:
            self._shapes[shape] = found, bool(marks & _AGENTIC)
        return found, bool(marks & _AGENTIC)

    def _try(self, dialect: Dialect, span: Span) -> Facts | None:
        try:
            return dialect.read(span) if dialect.matches(span) else None
        except Exception as error:
            self._failed(dialect, error)
            facts = Facts(NEUTRAL, Role.STEP)
            reason = f"{dialect.convention.name} could not read this span"
            facts.marks.append(Mark(span.start, "malformed", reason))
            return facts

    def _failed(self, dialect: Dialect, error: Exception) -> None:
        name = dialect.convention.name
        count = self.failures.get(name, 0)
        self.failures[name] = count + 1
        if not count:
            # The error's text may quote a value, which is private.
            _log.warning(
                "The dialect %s raised %s; its spans are counted as unreadable", name, type(error).__name__
            )


def built_in_dialects() -> list[Dialect]:
    """The dialects of this package, in order of precedence."""
    return [_make(*name.split(":")) for name in BUILT_IN]


def extension_dialects() -> list[Dialect]:
    """The dialects that other packages register. A broken one is left out with a warning that names it."""
    found: list[Dialect] = []
    for point in entry_points(group=GROUP):
        try:
            made: Any = point.load()
            dialect: Any = made() if isinstance(made, type) else made
            _check(dialect)
        except Exception as error:
            _log.warning(
                "The dialect %s (%s) cannot be used: %s", point.name, point.value, type(error).__name__
            )
            continue
        found.append(cast(Dialect, dialect))
    return found


def _make(module: str, name: str) -> Dialect:
    return cast(Dialect, getattr(import_module(module), name)())


def _check(dialect: Any) -> None:
    """Raises AttributeError where a member of the protocol is missing."""
    for member in ("matches", "read", "matches_log", "read_log", "scopes"):
        getattr(dialect, member)
    if not isinstance(dialect.convention, Convention):
        raise AttributeError("convention")


def own_keys(dialect: Dialect) -> tuple[str, ...]:
    """The dialect's own keys: those of the class that says its scopes, so that a framework inherits none."""
    if "keys" in getattr(dialect, "__dict__", ()):
        return dialect.__dict__["keys"]
    for kind in type(dialect).__mro__:
        members = vars(kind)
        if "keys" in members or "scopes" in members:
            return members.get("keys", ())
    return ()


def _covers(pattern: str, scope: str) -> bool:
    return scope.startswith(pattern[:-1]) if pattern.endswith("*") else scope == pattern
