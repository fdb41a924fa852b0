"""What is known to be missing or doubtful about a Turn: a closed list of codes, and what to do about each.

Comes in: nothing. Goes out: `EvidenceCode`, `CODES`, and plain dicts for the `evidence` member of a record. A
message says what and where, never content. No pydantic here: assembly writes evidence on the hot path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, TypeAlias

__all__ = ["CODES", "Code", "EvidenceCode", "evidence", "issue", "says_missing"]

EvidenceCode: TypeAlias = Literal[
    "content_not_captured",
    "root_missing",
    "root_unfinished",
    "orphan_spans",
    "spans_dropped",
    "span_events_dropped",
    "attributes_dropped",
    "truncated_value",
    "operation_unfinished",
    "operation_unstarted",
    "synthetic_operation_id",
    "unparsable_json",
    "malformed_event",
    "malformed_span",
    "clock_skew",
    "usage_partial",
    "late_spans",
    "unread_spans",
    "over_limit",
]


class Code(NamedTuple):
    """One code. `missing`: something that happened may not be in the Turn, so the Turn is not complete."""

    meaning: str
    action: str
    missing: bool


CODES: Final[Mapping[EvidenceCode, Code]] = {
    "content_not_captured": Code(
        "Structure came without its content: arguments, results or text were not captured or were redacted.",
        "Turn content capture on in the instrumentation; the message names the switch.",
        True,
    ),
    "root_missing": Code(
        "The span that began the turn never came, so the Turn stands on the spans below it.",
        "Export the root's process as well, and raise the idle time if its export is late.",
        True,
    ),
    "root_unfinished": Code(
        "The turn's own span began and never ended: the process died, or time ran out.",
        "Shut the tracer provider down at exit, or raise the maximum age if turns last longer.",
        True,
    ),
    "orphan_spans": Code(
        "Spans name a parent that never came; their place in the turn follows from time alone.",
        "Look for a process or a sampler that keeps the parent back.",
        True,
    ),
    "spans_dropped": Code(
        "The producer says that it dropped spans.",
        "Raise the batch processor's queue size, or export more often.",
        True,
    ),
    "span_events_dropped": Code(
        "A span lost events: SDKs keep a bounded number and drop the oldest.",
        "Raise OTEL_SPAN_EVENT_COUNT_LIMIT, or join deltas before recording them.",
        True,
    ),
    "attributes_dropped": Code(
        "A span or event lost attributes to a count limit.",
        "Raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT or OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT.",
        True,
    ),
    "truncated_value": Code(
        "A value was cut to a length limit before it was exported.",
        "Raise OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT, or the instrumentation's own limit.",
        True,
    ),
    "operation_unfinished": Code(
        "An operation was asked for and nothing shows that it ended; a pending approval looks like this.",
        "Nothing where the turn waits for a human; else look for a span that was not exported.",
        True,
    ),
    "operation_unstarted": Code(
        "A result came whose call nobody saw: the call is shown with a null input.",
        "Look for the span or request that made the call; it was not exported or not captured.",
        True,
    ),
    "synthetic_operation_id": Code(
        "No witness gave the call an id, so one was made from its span.",
        "Nothing, unless ids must match those of another system.",
        False,
    ),
    "unparsable_json": Code(
        "Text that should be JSON does not parse, and is kept as text.",
        "Look for a length limit, or for an instrumentation that writes another notation.",
        False,
    ),
    "malformed_event": Code(
        "An event lacks a field, or a field has a wrong type; it was left out.",
        "Correct the producer; the message names variant and field.",
        True,
    ),
    "malformed_span": Code(
        "A span could not be read and was left out; the rest of its batch is here.",
        "Correct the producer; the message says what was wrong.",
        True,
    ),
    "clock_skew": Code(
        "Spans of another host lie outside their parent's time and were shifted into it.",
        "Synchronise the clocks; order between hosts is a good guess until then.",
        False,
    ),
    "usage_partial": Code(
        "Token counts disagree or are known for a part of the requests only.",
        "Take usage as a lower bound.",
        True,
    ),
    "late_spans": Code(
        "Spans came after the turn was first told, which is why there is a higher revision.",
        "Keep the highest revision; raise the linger time if this is common.",
        False,
    ),
    "unread_spans": Code(
        "Spans look like agent work and no known convention reads them.",
        "Add a dialect for the convention, or report it.",
        True,
    ),
    "over_limit": Code(
        "The trace was told early because the memory budget was reached.",
        "Raise the budget, or send less at once.",
        True,
    ),
}


def says_missing(code: EvidenceCode, status: str) -> bool:
    """Whether a Turn of this status with this code lacks something that happened.

    A waiting turn lacks nothing by its pending operation: that one never ended.
    """
    return CODES[code].missing and not (code == "operation_unfinished" and status == "waiting")


def issue(
    code: EvidenceCode, message: str, *, span_id: str | None = None, operation_id: str | None = None
) -> dict[str, Any]:
    """One entry of `evidence.issues`. `span_id` is 16 hex digits. The message must not hold content."""
    made: dict[str, Any] = {"code": code, "message": message}
    if span_id is not None:
        made["spanId"] = span_id
    if operation_id is not None:
        made["operationId"] = operation_id
    return made


def evidence(issues: Iterable[dict[str, Any]], status: str) -> dict[str, Any]:
    """The `evidence` member of a record: complete only where no issue says that something is missing."""
    found = list(issues)
    return {"complete": not any(says_missing(each["code"], status) for each in found), "issues": found}
