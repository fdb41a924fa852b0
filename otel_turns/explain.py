"""Why the Turns are what they are: what became of each span, and what is missing and how to get it.

Comes in: files of telemetry, read and assembled exactly as `pipeline.convert` does. Goes out: `Explanation`:
for each trace its spans with the dialect that read each and what became of it, its Turns with their
operations and how each was joined, and what they lack. Plain data, ready for JSON; it shows names and ids,
never content.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from otel_turns.assembly.trail import OperationTrail, Step, Trail, TurnTrail
from otel_turns.model.evidence import CODES, EvidenceCode, says_missing
from otel_turns.pipeline import AssemblyOptions, convert

__all__ = ["Explanation", "explain"]

_MOST_SPANS = 8
"""How many spans one remark names; its count tells how many there are."""


@dataclass(slots=True)
class Explanation:
    """`traces`: one a trace, in order of time; log records outside any trace have one with the id "".

    A trace: `{traceId, spans, turns, dialects}`. A span: `{spanId, parentSpanId?, name, scope, dialect?,
    normalizedEvents?, record?, became, turnIds?, operationIds?, mergedInto?}`; `became` holds words of
    `assembly.trail.Became`. A Turn, told at the trace of its root: `{turnId, status, sessionId?, traceIds,
    complete, operations, missing, notes}`; what is missing: `{code, message, count, spanIds, operationIds,
    todo}`. `rejected`: one line for each input that is no telemetry. `spans`, `logs`: how many were met.
    """

    traces: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    rejected: list[str] = field(default_factory=list[str])
    spans: int = 0
    logs: int = 0


def explain(
    paths: Sequence[str],
    *,
    options: AssemblyOptions | None = None,
    on_progress: Callable[[int, int | None], None] | None = None,
) -> Explanation:
    """Converts the files and tells what came of each span. Raises nothing for bad input (`rejected`).

    `options.content` is taken as true: what is missing by choice is not missing in the telemetry.
    """
    trail = Trail()
    chosen = replace(options or AssemblyOptions(), content=True)
    summary = convert(paths, _nowhere, options=chosen, on_progress=on_progress, trail=trail)
    return Explanation(_traces(trail), summary.rejected, summary.spans, summary.logs)


def _nowhere(record: dict[str, Any]) -> None:
    """The trail has the record already."""


def _traces(trail: Trail) -> list[dict[str, Any]]:
    steps: dict[bytes, list[Step]] = defaultdict(list)
    for step in trail.steps:
        steps[step.trace_id].append(step)
    switches = {
        (step.trace_id, step.span_id): step.convention.content_switch
        for step in trail.steps
        if not step.is_record
    }
    turns: dict[bytes, list[dict[str, Any]]] = defaultdict(list)
    for turn in trail.turns:
        turns[_home(turn)].append(_turn(turn, switches))
    return [
        {
            "traceId": trace_id.hex(),
            "dialects": dict(sorted(Counter(s.convention.name for s in mine if s.convention.name).items())),
            "spans": [_step(s) for s in mine],
            "turns": turns.get(trace_id, []),
        }
        for trace_id, mine in (
            (trace_id, sorted(found, key=lambda s: (s.start, s.is_record, s.span_id, s.name)))
            for trace_id, found in sorted(steps.items(), key=lambda kv: (min(s.start for s in kv[1]), kv[0]))
        )
    ]


def _home(turn: TurnTrail) -> bytes:
    """The trace at which a turn is told: its root's."""
    root = bytes.fromhex(turn.record["otel"]["traceId"])
    return root if root in turn.traces else min(turn.traces, default=b"")


def _step(step: Step) -> dict[str, Any]:
    told: dict[str, Any] = {"spanId": step.span_id.hex()}
    if step.parent_id is not None:
        told["parentSpanId"] = step.parent_id.hex()
    told.update(name=step.name, scope=step.scope)
    if step.convention.name:
        told["dialect"] = step.convention.name
    if step.normalized:
        told["normalizedEvents"] = True
    if step.is_record:
        told["record"] = True
    told["became"] = list(step.became)
    if step.turns:
        told["turnIds"] = list(step.turns)
    if step.operations:
        told["operationIds"] = list(step.operations)
    if step.into is not None:
        trace_id, span_id = step.into
        told["mergedInto"] = {"traceId": trace_id.hex(), "spanId": span_id.hex()}
    return told


def _turn(turn: TurnTrail, switches: Mapping[tuple[bytes, bytes], str]) -> dict[str, Any]:
    record = turn.record
    otel = record["otel"]
    told: dict[str, Any] = {"turnId": turn.id, "status": record["status"]}
    if "sessionId" in otel:
        told["sessionId"] = otel["sessionId"]
    told["traceIds"] = sorted(t.hex() for t in turn.traces)
    told["complete"] = otel["evidence"]["complete"]
    told["operations"] = [_operation(op) for op in turn.operations]
    remarks = _remarks(otel["evidence"]["issues"], turn, switches)
    missing = [r for r in remarks if says_missing(r["code"], record["status"])]
    told["missing"] = missing
    told["notes"] = [r for r in remarks if r not in missing]
    return told


def _operation(op: OperationTrail) -> dict[str, Any]:
    told: dict[str, Any] = {"operationId": op.id, "kind": op.kind, "name": op.name}
    if op.status is not None:
        told["status"] = op.status
    if op.asked is not None:
        told["askedBy"] = op.asked.hex()
    told["runs"] = [r.hex() for r in op.runs]
    if op.joined_by:
        told["joinedBy"] = op.joined_by
    if op.handed is not None:
        told["handedInBy"] = op.handed.hex()
    if op.answered_by:
        told["answeredBy"] = op.answered_by
    if op.told:
        told["normalizedEvents"] = True
    return told


def _remarks(
    issues: Iterable[Mapping[str, Any]], turn: TurnTrail, switches: Mapping[tuple[bytes, bytes], str]
) -> list[dict[str, Any]]:
    """The issues of a turn, alike ones together, each with what to do about it."""
    together: dict[tuple[str, str, str], dict[str, Any]] = {}
    for one in issues:
        code: EvidenceCode = one["code"]
        message, todo = str(one["message"]), CODES[code].action
        span_id = one.get("spanId")
        if code == "content_not_captured" and span_id:
            todo = _switch(bytes.fromhex(span_id), turn, switches) or todo
            message = message.removesuffix(todo).removesuffix("; ")
        remark = together.setdefault(
            (code, message, todo),
            {
                "code": code,
                "message": message,
                "count": 0,
                "spanIds": [],
                "operationIds": [],
                "todo": todo,
            },
        )
        remark["count"] += 1
        for word, ids in (("spanId", remark["spanIds"]), ("operationId", remark["operationIds"])):
            if word in one and one[word] not in ids and len(ids) < _MOST_SPANS:
                ids.append(one[word])
    return list(together.values())


def _switch(span_id: bytes, turn: TurnTrail, switches: Mapping[tuple[bytes, bytes], str]) -> str:
    """How the instrumentation that wrote this span is told to record content."""
    return next((s for trace_id in sorted(turn.traces) if (s := switches.get((trace_id, span_id)))), "")
