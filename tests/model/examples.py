"""One event of each of the ten variants, a Turn and a record, written out by hand after the event stream
reference.
"""

from __future__ import annotations

from typing import Any

EVENTS: dict[str, dict[str, Any]] = {
    "message": {"type": "message", "role": "assistant", "text": "It is 18 degrees."},
    "operation.started tool": {
        "type": "operation.started",
        "operationId": "call_1",
        "operation": {"kind": "tool", "name": "Read", "input": {"path": "/x"}, "tool": "file_read"},
    },
    "operation.finished tool": {
        "type": "operation.finished",
        "operationId": "call_1",
        "kind": "tool",
        "output": {"temp_c": 18},
        "status": "completed",
    },
    "operation.started subagent": {
        "type": "operation.started",
        "operationId": "agent:00f067aa0ba902b7",
        "operation": {"kind": "subagent", "name": "researcher", "remoteUrl": "grpc://agents.test:443"},
    },
    "operation.finished subagent": {
        "type": "operation.finished",
        "operationId": "agent:00f067aa0ba902b7",
        "kind": "subagent",
        "output": "A standard.",
        "status": "failed",
    },
    "skill.loaded": {"type": "skill.loaded", "skill": "pdf", "operationId": "call_2"},
    "input.requested": {
        "type": "input.requested",
        "request": {
            "id": "q1",
            "action": "delete_file",
            "input": {"path": "/x"},
            "prompt": "Delete?",
            "options": [{"id": "approve", "label": "Yes"}, {"id": "deny"}],
        },
    },
    "thinking": {"type": "thinking", "text": "I need the weather."},
    "compaction": {"type": "compaction", "reason": "context is full"},
    "error": {"type": "error", "message": "upstream exploded"},
}

USAGE: dict[str, Any] = {
    "inputTokens": 240,
    "outputTokens": 60,
    "cacheReadTokens": 80,
    "cacheCreationTokens": 0,
    "reasoningTokens": 5,
    "requests": 2,
    "costUSD": 0.25,
}

TURN: dict[str, Any] = {
    "events": list(EVENTS.values()),
    "data": {"city": "Paris"},
    "status": "completed",
    "usage": USAGE,
}

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN_ID = "00f067aa0ba902b7"

OTEL: dict[str, Any] = {
    "turnId": TRACE_ID + SPAN_ID,
    "revision": 0,
    "traceId": TRACE_ID,
    "rootSpanId": SPAN_ID,
    "sessionId": "thread-7",
    "turnNumber": 1,
    "agent": {"name": "weather", "id": "a1", "version": "2"},
    "service": {"name": "shop", "version": "1.0"},
    "startTimeUnixNano": "1700000000000000001",
    "endTimeUnixNano": "18446744073709551615",
    "eventTimes": [str(1700000000000000001 + n) for n in range(len(EVENTS))],
    "eventSpans": [*[SPAN_ID] * (len(EVENTS) - 1), ""],
    "conventions": ["gen_ai", "openinference"],
    "annotations": [
        {
            "timeUnixNano": "1700000000000000002",
            "spanId": SPAN_ID,
            "type": "citation.added",
            "data": {"index": 0, "url": "doc:1"},
        }
    ],
    "evidence": {
        "complete": False,
        "issues": [
            {
                "code": "content_not_captured",
                "message": "the arguments of this call were not captured",
                "spanId": SPAN_ID,
                "operationId": "call_1",
            },
            {"code": "spans_dropped", "message": "the producer dropped 3 spans"},
        ],
    },
}

RECORD: dict[str, Any] = {**TURN, "otel": OTEL}


def turn(*events: dict[str, Any], status: str = "completed", **members: Any) -> dict[str, Any]:
    """A bare Turn of these events."""
    return {"events": list(events), "status": status, **members}


def record(
    *events: dict[str, Any], status: str = "completed", issues: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A right record of these events, with an issue for each code and complete only where there is none."""
    return {
        **turn(*events, status=status),
        "otel": {
            "turnId": TRACE_ID + SPAN_ID,
            "revision": 0,
            "traceId": TRACE_ID,
            "rootSpanId": SPAN_ID,
            "startTimeUnixNano": "1",
            "endTimeUnixNano": "2",
            "eventTimes": ["1"] * len(events),
            "eventSpans": [SPAN_ID] * len(events),
            "conventions": ["gen_ai"],
            "evidence": {
                "complete": not issues,
                "issues": [{"code": code, "message": "seen in a test"} for code in issues],
            },
        },
    }


def started(operation_id: str, kind: str = "tool") -> dict[str, Any]:
    operation: dict[str, Any] = {"kind": kind, "name": "n"}
    if kind == "tool":
        operation["input"] = {}
    return {"type": "operation.started", "operationId": operation_id, "operation": operation}


def finished(operation_id: str, kind: str = "tool", status: str = "completed") -> dict[str, Any]:
    return {"type": "operation.finished", "operationId": operation_id, "kind": kind, "status": status}
