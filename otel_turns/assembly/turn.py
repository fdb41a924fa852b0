"""One turn out of its scope: the record that a sink receives.

Comes in: a `Making`: the turn's scope, options, and what earlier turns of the session left pending. Goes out:
a record as a plain dict, in the shapes of the model (a test holds them together), or None where the scope
turns out to hold no agent work.
"""

from __future__ import annotations

from typing import Any

from otel_turns.assembly.making import Making
from otel_turns.assembly.order import Event, in_order
from otel_turns.assembly.remarks import remark
from otel_turns.assembly.status import find_failures
from otel_turns.assembly.telling import tell, tell_errors
from otel_turns.assembly.tree import Node
from otel_turns.assembly.usage import count_usage
from otel_turns.assembly.witnesses import decide, end_behind_its_back, gather
from otel_turns.model.facts import MISSING, Role
from otel_turns.model.provenance import group_turn_id, turn_id

__all__ = ["assemble_turn"]


def assemble_turn(making: Making) -> dict[str, Any] | None:
    """The record of one turn, out of a fresh `Making`, which is full of what was found out afterwards."""
    scope, options = making.scope, making.options
    gather(making)
    decide(making)
    making.ops.place([r for r in making.replies if not r.node.facts.side])
    making.ops.close(making.gives_spans)
    end_behind_its_back(making)
    waiting = tell(making)
    failures = find_failures(making.nodes, scope.root, making.cast, making.replies, making.ops.all)
    failed = tell_errors(making, failures)
    making.narrative.tie(making.ops.all)
    streams = {k: s.usage for k, s in making.speeches.items() if s.usage is not None}
    usage, partial = count_usage(making.cast, streams, _wrapper(making), options.usage_basis)
    events = [e for e in in_order(making.narrative.events) if id(e) not in making.narrative.events_left_out]
    if not events and making.data is MISSING and not _has_request(making):
        return None
    status = "failed" if failed else "waiting" if waiting else "completed"
    remark(making, status, usage, partial)
    remember(making, status)
    return make_record(making, events, status, usage)


def _wrapper(making: Making) -> Node | None:
    """The workflow span that tells the usage of everything in the turn."""
    for node in making.nodes:
        if node.role is Role.WORKFLOW and node.facts.usage:
            inside = {id(n) for n in node.below()}
            if all(id(n) in inside for n in making.nodes if n.role in (Role.AGENT, Role.INFERENCE)):
                return node
    return None


def _has_request(making: Making) -> bool:
    return any(n.role in (Role.INFERENCE, Role.AGENT, Role.TOOL) for n in making.every)


def remember(making: Making, status: str) -> None:
    asked = {c for n in making.every for q in n.facts.questions for c in ((q.call_id,) if q.call_id else ())}
    memory, session = making.memory, making.session
    for op in making.ops.all:
        if not op.id or op.synthetic:
            continue
        if op.finished is None:
            memory.leave(session, op.id, op.id in asked or status == "waiting", making.identity)
        else:
            memory.answer(session, op.id, making.identity)


def make_record(
    making: Making, events: list[Event], status: str, usage: dict[str, Any] | None
) -> dict[str, Any]:
    if not making.options.content:
        events = _without_content(making, events)
    record: dict[str, Any] = {"events": [e.payload for e in events]}
    if making.data is not MISSING:
        record["data"] = making.data
    record["status"] = status
    if usage is not None:
        record["usage"] = usage
    record["otel"] = _otel(making, events)
    return record


def _without_content(making: Making, events: list[Event]) -> list[Event]:
    """What was done, without what was said, asked or returned."""
    making.data = MISSING
    making.remarks.add(
        "content_not_captured",
        "content is left out by choice (the option `content`)",
        making.scope.root.span_id,
    )
    kept: list[Event] = []
    for event in events:
        payload = event.payload
        match payload["type"]:
            case "message" | "thinking":
                continue
            case "operation.started" if payload["operation"]["kind"] == "tool":
                payload["operation"]["input"] = None
            case "operation.finished":
                payload.pop("output", None)
            case "input.requested":
                payload["request"] = {k: v for k, v in payload["request"].items() if k in ("id", "action")}
            case "error":
                payload["message"] = ""
            case "compaction":
                payload.pop("reason", None)
            case _:
                pass
        kept.append(event)
    return kept


def _otel(making: Making, events: list[Event]) -> dict[str, Any]:
    root = making.scope.root
    otel: dict[str, Any] = {
        "turnId": turn_id(root.trace_id, root.span_id) if root.is_span else _group_id(making),
        "revision": 0,
        "traceId": root.trace_id.hex() if root.is_span else "",
        "rootSpanId": root.span_id.hex() if root.is_span else "",
    }
    if making.session is not None:
        otel["sessionId"] = making.session
    main = making.cast.main
    facts = main.node.facts if main.node is not None else root.facts
    agent = {
        k: v
        for k, v in (("name", facts.agent_name), ("id", facts.agent_id), ("version", facts.agent_version))
        if v
    }
    if agent:
        otel["agent"] = agent
    service = root.resource.service
    if service:
        otel["service"] = service
    nodes = making.every
    otel["startTimeUnixNano"] = str(min(n.start for n in nodes) if nodes else root.start)
    otel["endTimeUnixNano"] = str(max(n.end for n in nodes) if nodes else root.end)
    otel["eventTimes"] = [str(e.time) for e in events]
    otel["eventSpans"] = [e.span_id.hex() for e in events]
    otel["conventions"] = sorted(
        {n.facts.convention.name for n in nodes if n.facts.convention.name and n.role is not Role.STEP}
    )
    annotations = sorted(
        (
            (time, node.span_id.hex(), index, value)
            for node in nodes
            for index, (time, value) in enumerate(_annotations(making, node))
        ),
        key=lambda a: a[:3],
    )
    if annotations and making.options.content:
        otel["annotations"] = [
            {"timeUnixNano": str(time), "spanId": span, **value} for time, span, _, value in annotations
        ]
    otel["evidence"] = making.remarks.member()
    return otel


def _group_id(making: Making) -> str:
    """The id of a turn that stands on log records alone: by its convention's own id of the prompt or turn,
    else by the session or trace that joins its records; where a mark begins the turn, by that mark's time as
    well.
    """
    records = making.records
    group = next((r.facts.group for r in records if r.facts.group), None)
    begun = next((r.start for r in records if r.facts.boundary == "start"), None)
    if group is None:
        group = making.session if begun is not None else making.scope.root.trace_id.hex()
    word = group or ""
    convention = making.scope.root.facts.convention.name
    return group_turn_id(convention, word if begun is None else f"{word}\0{begun}")


def _annotations(making: Making, node: Node) -> list[tuple[int, dict[str, Any]]]:
    found = [(m.time or node.start, dict(m.value)) for m in node.facts.marks if m.kind == "annotation"]
    speech = making.speeches.get(id(node))
    return found + (speech.annotations if speech is not None else [])
