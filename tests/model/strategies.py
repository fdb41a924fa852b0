"""Hypothesis strategies: JSON values, Turns and records of any content."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from otel_turns.model.evidence import EvidenceCode
from otel_turns.model.turn import ToolName

Objects = st.SearchStrategy[dict[str, Any]]

# JSON text is UTF-8: it cannot hold half of a surrogate pair.
texts = st.text(st.characters(exclude_categories=("Cs",)))
numbers = st.integers() | st.integers(min_value=2**62, max_value=2**66) | st.integers(max_value=-(2**62))
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | numbers | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
json_objects: Objects = st.dictionaries(texts, json_values, max_size=3)

_counts = st.integers(min_value=0, max_value=2**64 - 1)
_times = _counts.map(str)
_span_ids = st.binary(min_size=8, max_size=8).map(bytes.hex) | st.just("")


def shape(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> Objects:
    return st.fixed_dictionaries(required, optional=optional)


def _event(
    name: str, required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]
) -> Objects:
    return shape({"type": st.just(name), **required}, **optional)


_tools = shape(
    {"kind": st.just("tool"), "name": texts, "input": json_values}, tool=st.sampled_from(get_args(ToolName))
)
_subagents = shape({"kind": st.just("subagent"), "name": texts}, remoteUrl=texts)
_options = st.lists(shape({"id": texts}, label=texts), max_size=2)
_requests = shape({}, id=texts, action=texts, input=json_values, prompt=texts, options=_options)

events: Objects = st.one_of(
    _event("message", {"role": st.sampled_from(["assistant", "user"]), "text": texts}, loc=json_objects),
    _event("operation.started", {"operationId": texts, "operation": _tools | _subagents}),
    _event(
        "operation.finished",
        {
            "operationId": texts,
            "kind": st.just("tool"),
            "status": st.sampled_from(["completed", "failed", "rejected"]),
        },
        output=json_values,
    ),
    _event(
        "operation.finished",
        {
            "operationId": texts,
            "kind": st.just("subagent"),
            "status": st.sampled_from(["completed", "failed"]),
        },
        output=json_values,
    ),
    _event("skill.loaded", {"skill": texts}, operationId=texts),
    _event("input.requested", {"request": _requests}),
    _event("thinking", {"text": texts}),
    _event("compaction", {}, reason=texts),
    _event("error", {"message": texts}),
)

_usage = shape(
    {},
    inputTokens=_counts,
    outputTokens=_counts,
    cacheReadTokens=_counts,
    cacheCreationTokens=_counts,
    reasoningTokens=_counts,
    requests=_counts,
    costUSD=st.floats(min_value=0, allow_nan=False, allow_infinity=False),
)
_statuses = st.sampled_from(["completed", "failed", "waiting"])

turns: Objects = shape(
    {"events": st.lists(events, max_size=4), "status": _statuses}, data=json_values, usage=_usage
)

_issues = shape(
    {"code": st.sampled_from(get_args(EvidenceCode)), "message": texts}, spanId=_span_ids, operationId=texts
)
_otels = shape(
    {
        "turnId": st.binary(min_size=24, max_size=24).map(bytes.hex),
        "revision": st.integers(min_value=0, max_value=2**32 - 1),
        "traceId": st.binary(min_size=16, max_size=16).map(bytes.hex) | st.just(""),
        "rootSpanId": _span_ids,
        "startTimeUnixNano": _times,
        "endTimeUnixNano": _times,
        "eventTimes": st.lists(_times, max_size=3),
        "eventSpans": st.lists(_span_ids, max_size=3),
        "conventions": st.lists(texts, max_size=2),
        "evidence": shape({"complete": st.booleans(), "issues": st.lists(_issues, max_size=2)}),
    },
    sessionId=texts,
    turnNumber=st.integers(min_value=1, max_value=2**64 - 1),
    agent=shape({}, name=texts, id=texts, version=texts),
    service=shape({}, name=texts, version=texts),
    annotations=st.lists(
        shape({"timeUnixNano": _times, "spanId": _span_ids, "type": texts}, data=json_values), max_size=2
    ),
)
records: Objects = shape(
    {"events": st.lists(events, max_size=4), "status": _statuses, "otel": _otels},
    data=json_values,
    usage=_usage,
)
