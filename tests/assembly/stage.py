"""A small stage for assembly tests: spans with neutral facts, times in milliseconds, ids in words.

No dialect takes part: what is tested here holds for every convention.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from otel_turns.assembly.memory import Memory
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.story import assemble
from otel_turns.assembly.tree import Read
from otel_turns.model.facts import (
    MISSING,
    Convention,
    Facts,
    Message,
    Part,
    Reasoning,
    Role,
    Text,
    TokenUsage,
    ToolCall,
    ToolResult,
)
from otel_turns.model.span import LogRecord, Resource, Scope, Span

SPANS_FOR_RUNS = Convention("test", "switch content on", runs_have_spans=True)
PLAIN = Convention("test", "switch content on")
T0 = 1_700_000_000_000_000_000
MS = 1_000_000


def ident(word: str, size: int) -> bytes:
    return hashlib.sha256(word.encode()).digest()[:size]


def span(
    name: str,
    role: Role,
    start: float,
    end: float,
    *,
    parent: str | None = None,
    trace: str = "t",
    scope: str = "test",
    convention: Convention = PLAIN,
    resource: Resource | None = None,
    flags: int = 0,
    kind: int = 1,
    dropped_events: int = 0,
    **facts: Any,
) -> Read:
    """One span. `name` is its id in words; `start` and `end` are milliseconds; further words are members of
    `Facts`.
    """
    source = Span(
        ident(trace, 16),
        ident(name, 8),
        ident(parent, 8) if parent else None,
        name,
        T0 + round(start * MS),
        T0 + round(end * MS),
        kind=kind,
        scope=Scope(scope),
        resource=resource or Resource({"service.name": "app"}),
        flags=flags,
        dropped_events=dropped_events,
    )
    return Read(source, Facts(convention, role, **facts))


def unended(read: Read) -> Read:
    """The same span, as it is known where it never ended."""
    assert isinstance(read.source, Span)
    return Read(replace(read.source, end=0), read.facts)


def record_of(
    time: float,
    role: Role,
    *,
    trace: str | None = None,
    of: str | None = None,
    convention: Convention = PLAIN,
    began: float = 0,
    **facts: Any,
) -> Read:
    """One log record at `time` (milliseconds); `of` is the span that it names, within `trace`."""
    source = LogRecord(
        T0 + round(time * MS),
        "record",
        trace_id=ident(trace, 16) if trace else None,
        span_id=ident(of, 8) if of else None,
        scope=Scope("test"),
        resource=Resource({"service.name": "app"}),
    )
    return Read(source, Facts(convention, role, began=T0 + round(began * MS) if began else 0, **facts))


def agent(name: str, start: float, end: float, **more: Any) -> Read:
    more.setdefault("agent_name", name)
    return span(name, Role.AGENT, start, end, **more)


def chat(
    name: str,
    start: float,
    end: float,
    *parts: Part | str,
    inputs: list[Message] | None = None,
    usage: tuple[int, int] | None = (10, 2),
    **more: Any,
) -> Read:
    """A request; `parts` are its reply, a bare string is text."""
    outputs = None
    if parts:
        outputs = [Message("assistant", [Text(p) if isinstance(p, str) else p for p in parts])]
    tokens = TokenUsage(*usage) if usage else None
    return span(name, Role.INFERENCE, start, end, inputs=inputs, outputs=outputs, usage=tokens, **more)


def tool(
    name: str, start: float, end: float, call_id: str | None = None, result: Any = "ok", **more: Any
) -> Read:
    more.setdefault("tool_name", name.split("#")[0])
    more.setdefault("arguments", {})
    return span(name, Role.TOOL, start, end, call_id=call_id, result=result, **more)


def call(call_id: str | None, name: str, arguments: Any = MISSING) -> ToolCall:
    return ToolCall(call_id, name, {} if arguments is MISSING else arguments)


def user(text: str) -> Message:
    return Message("user", [Text(text)])


def said(*parts: Part | str) -> Message:
    return Message("assistant", [Text(p) if isinstance(p, str) else p for p in parts])


def handed(*results: ToolResult) -> Message:
    return Message("tool", list(results))


def think(text: str) -> Reasoning:
    return Reasoning(text)


def turns(
    reads: Iterable[Read], options: AssemblyOptions | None = None, memory: Memory | None = None
) -> list[dict[str, Any]]:
    """The records of these spans. Facts are copied first, since assembly uses them up."""
    fresh = [Read(r.source, copy.deepcopy(r.facts)) for r in reads]
    return [t.record for t in assemble(fresh, options or AssemblyOptions(), memory or Memory())]


def turn(reads: Iterable[Read], **more: Any) -> dict[str, Any]:
    (one,) = turns(reads, **more)
    return one


def story(record: dict[str, Any]) -> list[str]:
    """The events as short words: `say:text`, `think:text`, `start:id`, `end:id:status`, `agent:name`,
    `agent-end:status`,
    `ask:action`, `error:message`, `skill:name`."""
    words: list[str] = []
    for e in record["events"]:
        kind = e["type"]
        if kind == "message":
            words.append(f"{'say' if e['role'] == 'assistant' else 'user'}:{e['text']}")
        elif kind == "thinking":
            words.append(f"think:{e['text']}")
        elif kind == "operation.started":
            sub = e["operation"]["kind"] == "subagent"
            words.append(f"agent:{e['operation']['name']}" if sub else f"start:{e['operationId']}")
        elif kind == "operation.finished":
            sub = e["kind"] == "subagent"
            words.append(f"agent-end:{e['status']}" if sub else f"end:{e['operationId']}:{e['status']}")
        elif kind == "input.requested":
            words.append(f"ask:{e['request'].get('action')}")
        elif kind == "error":
            words.append(f"error:{e['message']}")
        elif kind == "skill.loaded":
            words.append(f"skill:{e['skill']}")
        else:
            words.append(kind)
    return words


def codes(record: dict[str, Any]) -> set[str]:
    return {i["code"] for i in record["otel"]["evidence"]["issues"]}
