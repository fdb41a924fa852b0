"""Spans as instrumentations write them, read and assembled the whole way; times in ms, ids in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from otel_turns.assembly.memory import Memory
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.story import assemble
from otel_turns.dialects.registry import Registry
from otel_turns.model.item import LoadedItem
from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink
from otel_turns.pipeline import read_items
from tests.assembly.stage import MS, T0, ident

ERROR, OK = 2, 1
CLIENT, SERVER = 3, 2
REMOTE = 0x300


def span(
    name: str,
    start: float,
    end: float,
    attributes: Mapping[str, Any] | None = None,
    *,
    id: str | None = None,
    parent: str | None = None,
    trace: str = "t",
    scope: str = "",
    kind: int = 1,
    status: int = 0,
    message: str = "",
    events: Sequence[SpanEvent] = (),
    links: Sequence[tuple[str, str]] = (),
    flags: int = 0,
    dropped: int = 0,
    service: str = "app",
) -> Span:
    """One span; `id` is its name where none is given, `links` are (trace, id)."""
    return Span(
        ident(trace, 16),
        ident(id or name, 8),
        ident(parent, 8) if parent else None,
        name,
        T0 + round(start * MS),
        T0 + round(end * MS) if end else 0,
        kind=kind,
        status=status,
        status_message=message,
        attributes=dict(attributes or {}),
        events=tuple(events),
        links=tuple(SpanLink(ident(t, 16), ident(s, 8)) for t, s in links),
        scope=Scope(scope),
        resource=Resource({"service.name": service}),
        dropped_attributes=dropped,
        flags=flags,
    )


def record(
    name: str,
    time: float,
    attributes: Mapping[str, Any],
    *,
    scope: str,
    body: Any = None,
    of: tuple[str, str] | None = None,
) -> LogRecord:
    """One log record; `of`: trace and id of the span that it names."""
    return LogRecord(
        T0 + round(time * MS),
        name,
        body,
        dict(attributes),
        ident(of[0], 16) if of else None,
        ident(of[1], 8) if of else None,
        scope=Scope(scope),
    )


def raised(kind: str, message: str, time: float = 1) -> SpanEvent:
    return SpanEvent(
        T0 + round(time * MS), "exception", {"exception.type": kind, "exception.message": message}
    )


def turns(*sources: Span | LogRecord | Iterable[Span], **options: Any) -> list[dict[str, Any]]:
    """The records of these spans and records."""
    flat: list[Span | LogRecord] = []
    for source in sources:
        flat.extend([source] if isinstance(source, Span | LogRecord) else source)
    reads, bad = read_items([LoadedItem(one, 1) for one in flat], Registry())
    assert bad == []
    return [t.record for t in assemble(reads, AssemblyOptions(**options), Memory())]


def turn(*sources: Span | LogRecord | Iterable[Span], **options: Any) -> dict[str, Any]:
    (one,) = turns(*sources, **options)
    return one


def operation(record: dict[str, Any], name: str) -> dict[str, Any]:
    """Input, output, status and id of the one operation of this name."""
    (started,) = [
        e for e in record["events"] if e["type"] == "operation.started" and e["operation"]["name"] == name
    ]
    found = {
        "id": started["operationId"],
        "kind": started["operation"]["kind"],
        "input": started["operation"].get("input"),
    }
    for event in record["events"]:
        if event["type"] == "operation.finished" and event["operationId"] == started["operationId"]:
            found |= {"output": event.get("output"), "status": event["status"]}
    return found


def names(record: dict[str, Any]) -> list[str]:
    """Names of the operations, as they started."""
    return [e["operation"]["name"] for e in record["events"] if e["type"] == "operation.started"]


# --- the GenAI convention -----------------------------------------------------------------------------------


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "content": words}


def asks(call_id: str | None, name: str, arguments: Any = None) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "tool_call", "name": name, "arguments": arguments or {}}
    return part if call_id is None else {**part, "id": call_id}


def gives(call_id: str | None, response: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "tool_call_response", "response": response}
    return part if call_id is None else {**part, "id": call_id}


def said(*parts: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def asked(words: str) -> dict[str, Any]:
    return said(text(words), role="user")


def handed(*parts: dict[str, Any]) -> dict[str, Any]:
    return said(*parts, role="tool")


def chat(
    name: str,
    start: float,
    end: float,
    *parts: dict[str, Any],
    inputs: Sequence[dict[str, Any]] | None = None,
    usage: tuple[int, int] | None = (10, 2),
    more: Mapping[str, Any] | None = None,
    **place: Any,
) -> Span:
    """A request as the GenAI convention says it; `parts` are those of its one reply."""
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "m",
        **(more or {}),
    }
    if parts:
        attributes["gen_ai.output.messages"] = json.dumps([said(*parts)])
    if inputs is not None:
        attributes["gen_ai.input.messages"] = json.dumps(list(inputs))
    if usage is not None:
        attributes["gen_ai.usage.input_tokens"], attributes["gen_ai.usage.output_tokens"] = usage
    place.setdefault("kind", CLIENT)
    return span(name, start, end, attributes, **place)


def agent(name: str, start: float, end: float, more: Mapping[str, Any] | None = None, **place: Any) -> Span:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **(more or {})}
    place.setdefault("id", name)
    return span(f"invoke_agent {name}", start, end, attributes, **place)


def tool(
    name: str,
    start: float,
    end: float,
    call_id: str | None = None,
    result: Any = "ok",
    arguments: Any = None,
    more: Mapping[str, Any] | None = None,
    **place: Any,
) -> Span:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.arguments": json.dumps({} if arguments is None else arguments),
        **(more or {}),
    }
    if result is not None:
        attributes["gen_ai.tool.call.result"] = json.dumps(result)
    if call_id is not None:
        attributes["gen_ai.tool.call.id"] = call_id
    place.setdefault("id", call_id or name)
    return span(f"execute_tool {name}", start, end, attributes, **place)


# --- OpenInference ------------------------------------------------------------------------------------------


def openinference(
    kind: str, name: str, start: float, end: float, more: Mapping[str, Any] | None = None, **place: Any
) -> Span:
    return span(name, start, end, {"openinference.span.kind": kind, **(more or {})}, **place)


def counted(prompt: int, completion: int, **details: int) -> dict[str, Any]:
    """Token counts as OpenInference writes them."""
    return {
        "llm.token_count.prompt": prompt,
        "llm.token_count.completion": completion,
        "llm.token_count.total": prompt + completion,
        **{f"llm.token_count.{k.replace('__', '.')}": v for k, v in details.items()},
    }


def replies(words: str, *calls: tuple[str | None, str, str]) -> dict[str, Any]:
    """A reply as OpenInference's indexed attributes: its text, and its calls as (id, name, arguments)."""
    head = "llm.output_messages.0.message"
    found: dict[str, Any] = {f"{head}.role": "assistant"}
    if words:
        found[f"{head}.content"] = words
    for at, (call_id, name, arguments) in enumerate(calls):
        if call_id is not None:
            found[f"{head}.tool_calls.{at}.tool_call.id"] = call_id
        found[f"{head}.tool_calls.{at}.tool_call.function.name"] = name
        found[f"{head}.tool_calls.{at}.tool_call.function.arguments"] = arguments
    return found
