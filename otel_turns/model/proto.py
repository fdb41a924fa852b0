"""Records as protobuf messages and back, without loss.

Comes in: a record or a bare Turn as plain data. Goes out: an `otel_turns.v1.Record`, and the same plain data
again. What has no place in the message is refused and never dropped; errors show no content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

from otel_turns.errors import OtelTurnsError
from otel_turns.model.pb import turn_pb2 as pb
from otel_turns.model.proto_json import decode, encode

__all__ = ["UnfitRecord", "from_proto", "to_proto"]


class UnfitRecord(OtelTurnsError, ValueError):
    """A record or message that cannot be converted, because it is no right record. Names the member."""


_E = TypeVar("_E")

_TURN_STATUS: Final = {
    "completed": pb.Turn.STATUS_COMPLETED,
    "failed": pb.Turn.STATUS_FAILED,
    "waiting": pb.Turn.STATUS_WAITING,
}
_ROLE: Final = {"assistant": pb.Message.ROLE_ASSISTANT, "user": pb.Message.ROLE_USER}
_KIND: Final = {"tool": pb.OperationFinished.KIND_TOOL, "subagent": pb.OperationFinished.KIND_SUBAGENT}
_STATUS: Final = {
    "completed": pb.OperationFinished.STATUS_COMPLETED,
    "failed": pb.OperationFinished.STATUS_FAILED,
    "rejected": pb.OperationFinished.STATUS_REJECTED,
}
_USAGE: Final = (
    ("inputTokens", "input_tokens"),
    ("outputTokens", "output_tokens"),
    ("cacheReadTokens", "cache_read_tokens"),
    ("cacheCreationTokens", "cache_creation_tokens"),
    ("reasoningTokens", "reasoning_tokens"),
    ("requests", "requests"),
    ("costUSD", "cost_usd"),
)
_AGENT: Final = (("name", "name"), ("id", "id"), ("version", "version"))
_SERVICE: Final = (("name", "name"), ("version", "version"))


def to_proto(record: Mapping[str, Any], *, checked: bool = False) -> pb.Record:
    """The record, or the bare Turn, as a message. Raises `UnfitRecord` where it is not right.

    `checked`: the caller has made sure of its shape (as the pipeline does), so that it need not be checked
    again.
    """
    if not checked:
        # Only here: it loads pydantic, which senders of checked records do without.
        from otel_turns.model.validate import shape_problems

        for problem in shape_problems(record):
            raise UnfitRecord(problem)
    made = pb.Record()
    try:
        _write_turn(record, made.turn)
        if "otel" in record:
            _write_otel(record["otel"], made.otel)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        # From None: errors of protobuf show values.
        raise UnfitRecord("a value is too large or too deep for a message, or has a wrong type") from None
    return made


def from_proto(message: pb.Record) -> dict[str, Any]:
    """The record as plain data. Raises `UnfitRecord` where the message lacks what every record has.

    Ids and codes are taken as they are; whether the record is right is for `validate` to say.
    """
    try:
        record = _read_turn(message.turn)
        if message.HasField("otel"):
            record["otel"] = _read_otel(message.otel)
    except (ValueError, KeyError, RecursionError):
        raise UnfitRecord("the message lacks what a record must have, or holds an unknown name") from None
    return record


def _put(source: Mapping[str, Any], into: Any, names: Iterable[tuple[str, str]]) -> None:
    for theirs, ours in names:
        if theirs in source:
            setattr(into, ours, source[theirs])


def _take(message: Any, names: Iterable[tuple[str, str]]) -> dict[str, Any]:
    return {theirs: getattr(message, ours) for theirs, ours in names if message.HasField(ours)}


def _name_of(names: Mapping[str, _E], number: _E) -> str:
    for name, each in names.items():
        if each == number:
            return name
    raise ValueError("unknown or unset enumeration")


def _write_turn(turn: Mapping[str, Any], into: pb.Turn) -> None:
    for event in turn["events"]:
        _WRITERS[event["type"]](event, into.events.add())
    if "data" in turn:
        encode(turn["data"], into.data)
    into.status = _TURN_STATUS[turn["status"]]
    if "usage" in turn:
        into.usage.SetInParent()
        _put(turn["usage"], into.usage, _USAGE)


def _read_turn(turn: pb.Turn) -> dict[str, Any]:
    made: dict[str, Any] = {"events": [_read_event(event) for event in turn.events]}
    if turn.HasField("data"):
        made["data"] = decode(turn.data)
    made["status"] = _name_of(_TURN_STATUS, turn.status)
    if turn.HasField("usage"):
        made["usage"] = _take(turn.usage, _USAGE)
    return made


def _write_message(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    into.message.role = _ROLE[event["role"]]
    into.message.text = event["text"]
    if "loc" in event:
        encode(event["loc"], into.message.loc)


def _write_started(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    started, operation = into.operation_started, event["operation"]
    started.operation_id = event["operationId"]
    if operation["kind"] == "tool":
        started.tool.name = operation["name"]
        encode(operation["input"], started.tool.input)
        _put(operation, started.tool, (("tool", "tool"),))
    else:
        started.subagent.name = operation["name"]
        _put(operation, started.subagent, (("remoteUrl", "remote_url"),))


def _write_finished(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    finished = into.operation_finished
    finished.operation_id = event["operationId"]
    finished.kind = _KIND[event["kind"]]
    if "output" in event:
        encode(event["output"], finished.output)
    finished.status = _STATUS[event["status"]]


def _write_skill(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    into.skill_loaded.skill = event["skill"]
    _put(event, into.skill_loaded, (("operationId", "operation_id"),))


def _write_input_requested(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    asked, request = into.input_requested, event["request"]
    asked.SetInParent()
    _put(request, asked, (("id", "id"), ("action", "action"), ("prompt", "prompt")))
    if "input" in request:
        encode(request["input"], asked.input)
    if "options" in request:
        asked.options.SetInParent()
        for option in request["options"]:
            _put(option, asked.options.values.add(), (("id", "id"), ("label", "label")))


def _write_thinking(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    into.thinking.text = event["text"]


def _write_compaction(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    into.compaction.SetInParent()
    _put(event, into.compaction, (("reason", "reason"),))


def _write_error(event: Mapping[str, Any], into: pb.StreamEvent) -> None:
    into.error.message = event["message"]


_WRITERS: Final[Mapping[str, Callable[[Mapping[str, Any], pb.StreamEvent], None]]] = {
    "message": _write_message,
    "operation.started": _write_started,
    "operation.finished": _write_finished,
    "skill.loaded": _write_skill,
    "input.requested": _write_input_requested,
    "thinking": _write_thinking,
    "compaction": _write_compaction,
    "error": _write_error,
}


def _read_event(event: pb.StreamEvent) -> dict[str, Any]:
    kind = event.WhichOneof("event")
    if kind == "message":
        made = {"type": "message", "role": _name_of(_ROLE, event.message.role), "text": event.message.text}
        return {**made, "loc": decode(event.message.loc)} if event.message.HasField("loc") else made
    if kind == "operation_started":
        started = event.operation_started
        return {
            "type": "operation.started",
            "operationId": started.operation_id,
            "operation": _read_operation(started),
        }
    if kind == "operation_finished":
        finished = event.operation_finished
        return {
            "type": "operation.finished",
            "operationId": finished.operation_id,
            "kind": _name_of(_KIND, finished.kind),
            **({"output": decode(finished.output)} if finished.HasField("output") else {}),
            "status": _name_of(_STATUS, finished.status),
        }
    if kind == "skill_loaded":
        skill = event.skill_loaded
        return {
            "type": "skill.loaded",
            "skill": skill.skill,
            **_take(skill, (("operationId", "operation_id"),)),
        }
    if kind == "input_requested":
        return {"type": "input.requested", "request": _read_request(event.input_requested)}
    if kind == "thinking":
        return {"type": "thinking", "text": event.thinking.text}
    if kind == "compaction":
        return {"type": "compaction", **_take(event.compaction, (("reason", "reason"),))}
    if kind == "error":
        return {"type": "error", "message": event.error.message}
    raise ValueError("an event is not set")


def _read_operation(started: pb.OperationStarted) -> dict[str, Any]:
    kind = started.WhichOneof("operation")
    if kind == "tool":
        tool = started.tool
        return {
            "kind": "tool",
            "name": tool.name,
            "input": decode(tool.input),
            **_take(tool, (("tool", "tool"),)),
        }
    if kind == "subagent":
        subagent = started.subagent
        return {"kind": "subagent", "name": subagent.name, **_take(subagent, (("remoteUrl", "remote_url"),))}
    raise ValueError("an operation is not set")


def _read_request(asked: pb.InputRequest) -> dict[str, Any]:
    request = _take(asked, (("id", "id"), ("action", "action")))
    if asked.HasField("input"):
        request["input"] = decode(asked.input)
    request.update(_take(asked, (("prompt", "prompt"),)))
    if asked.HasField("options"):
        request["options"] = [
            {"id": each.id, **_take(each, (("label", "label"),))} for each in asked.options.values
        ]
    return request


def _write_otel(otel: Mapping[str, Any], into: pb.Otel) -> None:
    into.turn_id = otel["turnId"]
    into.revision = otel["revision"]
    into.trace_id = bytes.fromhex(otel["traceId"])
    into.root_span_id = bytes.fromhex(otel["rootSpanId"])
    _put(otel, into, (("sessionId", "session_id"), ("turnNumber", "turn_number")))
    if "agent" in otel:
        into.agent.SetInParent()
        _put(otel["agent"], into.agent, _AGENT)
    if "service" in otel:
        into.service.SetInParent()
        _put(otel["service"], into.service, _SERVICE)
    into.start_time_unix_nano = int(otel["startTimeUnixNano"])
    into.end_time_unix_nano = int(otel["endTimeUnixNano"])
    into.event_times_unix_nano.extend(int(time) for time in otel["eventTimes"])
    into.event_spans.extend(bytes.fromhex(span) for span in otel["eventSpans"])
    into.conventions.extend(otel["conventions"])
    if "annotations" in otel:
        into.annotations.SetInParent()
        for annotation in otel["annotations"]:
            _write_annotation(annotation, into.annotations.values.add())
    into.evidence.complete = otel["evidence"]["complete"]
    for each in otel["evidence"]["issues"]:
        issue = into.evidence.issues.add(code=each["code"], message=each["message"])
        if "spanId" in each:
            issue.span_id = bytes.fromhex(each["spanId"])
        _put(each, issue, (("operationId", "operation_id"),))


def _write_annotation(annotation: Mapping[str, Any], into: pb.Annotation) -> None:
    into.time_unix_nano = int(annotation["timeUnixNano"])
    into.span_id = bytes.fromhex(annotation["spanId"])
    into.type = annotation["type"]
    if "data" in annotation:
        encode(annotation["data"], into.data)


def _read_otel(otel: pb.Otel) -> dict[str, Any]:
    made: dict[str, Any] = {
        "turnId": otel.turn_id,
        "revision": otel.revision,
        "traceId": otel.trace_id.hex(),
        "rootSpanId": otel.root_span_id.hex(),
        **_take(otel, (("sessionId", "session_id"), ("turnNumber", "turn_number"))),
    }
    if otel.HasField("agent"):
        made["agent"] = _take(otel.agent, _AGENT)
    if otel.HasField("service"):
        made["service"] = _take(otel.service, _SERVICE)
    made["startTimeUnixNano"] = str(otel.start_time_unix_nano)
    made["endTimeUnixNano"] = str(otel.end_time_unix_nano)
    made["eventTimes"] = [str(time) for time in otel.event_times_unix_nano]
    made["eventSpans"] = [span.hex() for span in otel.event_spans]
    made["conventions"] = list(otel.conventions)
    if otel.HasField("annotations"):
        made["annotations"] = [_read_annotation(each) for each in otel.annotations.values]
    made["evidence"] = {
        "complete": otel.evidence.complete,
        "issues": [_read_issue(each) for each in otel.evidence.issues],
    }
    return made


def _read_annotation(annotation: pb.Annotation) -> dict[str, Any]:
    return {
        "timeUnixNano": str(annotation.time_unix_nano),
        "spanId": annotation.span_id.hex(),
        "type": annotation.type,
        **({"data": decode(annotation.data)} if annotation.HasField("data") else {}),
    }


def _read_issue(issue: pb.Issue) -> dict[str, Any]:
    return {
        "code": issue.code,
        "message": issue.message,
        **({"spanId": issue.span_id.hex()} if issue.HasField("span_id") else {}),
        **_take(issue, (("operationId", "operation_id"),)),
    }
