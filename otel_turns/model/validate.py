"""Whether a record or a Turn is right: its shape, and what must hold between its events.

Comes in: a record or a bare Turn as plain data. Goes out: one line for each problem, with the path of the
member and the reason. Never shows content: no value, no key of a tool's input, no text. Never raises for odd
data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import ValidationError

from otel_turns.model.evidence import says_missing
from otel_turns.model.record import Record
from otel_turns.model.turn import Turn

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["iter_problems", "shape_problems"]

_CONTENT = {"data", "input", "loc", "output"}
"""Members that hold any JSON: a path ends there, since keys further down are content."""

_REASONS = {
    "bool_type": "must be true or false",
    "dict_type": "must be an object",
    "extra_forbidden": "is no member of this object",
    "finite_number": "must be a finite number",
    "float_type": "must be a number",
    "greater_than_equal": "must be at least {ge}",
    "int_type": "must be a whole number",
    "invalid_key": "has a name that is no text",
    "json_key": "holds an object whose keys are not all text",
    "json_number": "holds NaN or Infinity, which JSON does not have",
    "json_text": "holds text that is no valid Unicode",
    "json_value": "holds something that JSON does not have",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "missing": "is missing",
    "model_attributes_type": "must be an object",
    "model_type": "must be an object",
    "null": "must be left out and not be null",
    "string_pattern_mismatch": "must have the form {pattern}",
    "string_type": "must be text",
    "string_unicode": "is no valid Unicode",
    "union_tag_invalid": "must be one of {expected_tags}",
    "union_tag_not_found": "is missing",
    "unix_nano": "must be below 2^64",
}


def iter_problems(
    record: Mapping[str, Any] | Turn, *, resumed_operations: Literal["pair", "finish"] = "pair"
) -> Iterator[str]:
    """Yields what is wrong with a record, or with a bare Turn where there is no `otel` member; nothing where
    all is right.

    The rules that join events are tried only where every shape is right. With `resumed_operations="finish"` a
    finish may stand without its start, which an earlier Turn of the session holds.
    """
    if isinstance(record, Turn):
        record = record.to_dict()
    misshapen = list(shape_problems(record))
    yield from misshapen
    if misshapen:
        return
    otel: Mapping[str, Any] | None = record.get("otel")
    yield from _pairing(record, otel, lone_finish=resumed_operations == "finish")
    yield from _waiting(record, otel)
    if otel is not None:
        yield from _provenance(record, otel)


def shape_problems(record: Mapping[str, Any]) -> Iterator[str]:
    """As `iter_problems`, without the rules that join events."""
    # What comes from a file need not be an object, whatever the signature says.
    shape = Record if isinstance(cast("Any", record), Mapping) and "otel" in record else Turn
    try:
        shape.model_validate(record)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            yield f"{_path(detail)}: {_reason(detail)}"


def _path(detail: ErrorDetails) -> str:
    """The member's path, such as `events[3].operation.input`, without the steps that only name a union's
    branch.
    """
    rest = list(detail["loc"])
    path = ""
    while rest:
        step = rest.pop(0)
        if isinstance(step, int):
            path += f"[{step}]"
            if re.fullmatch(r"events\[\d+\]", path) and rest and rest.pop(0) == "operation.finished" and rest:
                rest.pop(0)
            continue
        if not re.fullmatch(r"\w{1,40}", step, re.ASCII):
            step = "?"
        path = f"{path}.{step}" if path else step
        if step in _CONTENT:
            break
        if step == "operation" and rest:
            rest.pop(0)
    if detail["type"] in ("union_tag_invalid", "union_tag_not_found"):
        path += "." + detail.get("ctx", {})["discriminator"].strip("'")
    return path or "record"


def _reason(detail: ErrorDetails) -> str:
    return _REASONS.get(detail["type"], "is not valid").format_map(detail.get("ctx", {}))


def _pairing(
    record: Mapping[str, Any], otel: Mapping[str, Any] | None, *, lone_finish: bool
) -> Iterator[str]:
    """Started and finished share id and kind, in this order; an id comes again only after its finish."""
    running: dict[str, int] = {}
    kinds: dict[str, str] = {}
    events: Sequence[Mapping[str, Any]] = record["events"]
    for index, event in enumerate(events):
        where = f"events[{index}]"
        if event["type"] == "operation.started":
            name, kind = event["operationId"], event["operation"]["kind"]
            if name in running:
                yield f"{where}.operationId: is that of events[{running[name]}], which is not finished yet"
            elif kinds.get(name, kind) != kind:
                yield f"{where}.operationId: is that of an operation of another kind"
            running[name], kinds[name] = index, kind
        elif event["type"] == "operation.finished":
            name, kind = event["operationId"], event["kind"]
            started = running.pop(name, None)
            if started is None:
                if name in kinds:
                    yield f"{where}.operationId: is finished already"
                elif not lone_finish:
                    yield f"{where}.operationId: no operation of this id was started before"
            elif kinds[name] != kind:
                yield f"{where}.kind: is not that of events[{started}], which has the same operationId"
            kinds[name] = kind
    for name, index in running.items():
        if not _known_unfinished(name, record["status"], otel):
            yield f"events[{index}].operationId: has no operation.finished, and no evidence says so"


def _known_unfinished(operation_id: str, status: str, otel: Mapping[str, Any] | None) -> bool:
    """A bare Turn has no evidence: there, waiting says enough. An issue without an id speaks for every
    operation.
    """
    if otel is None:
        return status == "waiting"
    return any(
        each["code"] == "operation_unfinished" and each.get("operationId", operation_id) == operation_id
        for each in otel["evidence"]["issues"]
    )


def _waiting(record: Mapping[str, Any], otel: Mapping[str, Any] | None) -> Iterator[str]:
    """A waiting turn asks something, unless it is known not to hold everything."""
    if record["status"] != "waiting" or (otel is not None and not otel["evidence"]["complete"]):
        return
    if not any(event["type"] == "input.requested" for event in record["events"]):
        yield "status: is waiting, and no event is input.requested"


def _provenance(record: Mapping[str, Any], otel: Mapping[str, Any]) -> Iterator[str]:
    """Each event has its time and span; evidence does not contradict itself."""
    count = len(record["events"])
    for name in ("eventTimes", "eventSpans"):
        if len(otel[name]) != count:
            yield f"otel.{name}: has {len(otel[name])} entries for {count} events"
    evidence = otel["evidence"]
    missing = [each["code"] for each in evidence["issues"] if says_missing(each["code"], record["status"])]
    if evidence["complete"] and missing:
        yield f"otel.evidence.complete: is true beside {', '.join(sorted(set(missing)))}"
    if not evidence["complete"] and not evidence["issues"]:
        yield "otel.evidence.issues: is empty, and complete is false"
