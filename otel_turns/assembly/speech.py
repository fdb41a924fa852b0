"""NormalizedEvents of one span, folded into speech, calls, results and usage (SEMANTICS, section 6).

Comes in: (time, event) pairs of one span, in their order. Goes out: `Speech`. Deltas are joined until
something that is an event of the vocabulary stands between; a citation does not split a message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from otel_turns.assembly.customs import custom_event
from otel_turns.assembly.tree import Node
from otel_turns.model import normalized as n
from otel_turns.model.facts import MISSING, TokenUsage
from otel_turns.model.json_text import loads

__all__ = ["Call", "Result", "Speech", "Utterance", "fold"]


@dataclass(slots=True)
class Utterance:
    """A joined message or thought; `time` is that of its first delta, `index` its place among the span's
    events.
    """

    kind: Literal["message", "thinking"]
    text: str
    time: int
    index: int
    source: str


@dataclass(slots=True)
class Call:
    """A call that the stream assembled. `broken`: the stream broke off before the call was complete."""

    id: str | None
    name: str | None
    arguments: Any
    time: int
    index: int
    unparsable: bool = False
    broken: bool = False


@dataclass(slots=True)
class Result:
    """A result that the stream told."""

    id: str
    name: str | None
    content: Any
    success: bool
    time: int
    index: int
    rejected: bool = False


@dataclass(slots=True)
class Speech:
    """All that the NormalizedEvents of one span say. `errors`: (time, index, message); `done`: the stream
    completed after them. `malformed`: why an event was left out. `unfinished`: sub-agents that were told
    whole and never ended.
    """

    said: list[Utterance] = field(default_factory=list[Utterance])
    user_said: list[Utterance] = field(default_factory=list[Utterance])
    calls: list[Call] = field(default_factory=list[Call])
    results: list[Result] = field(default_factory=list[Result])
    skills: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    errors: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    events: list[tuple[int, int, dict[str, Any]]] = field(
        default_factory=list[tuple[int, int, dict[str, Any]]]
    )
    annotations: list[tuple[int, dict[str, Any]]] = field(default_factory=list[tuple[int, dict[str, Any]]])
    malformed: list[str] = field(default_factory=list[str])
    unfinished: set[str] = field(default_factory=set[str])
    usage: TokenUsage | None = None
    done: bool = False
    failed: bool = False

    @property
    def text(self) -> str:
        return "".join(u.text for u in self.said if u.kind == "message")


_FAILED_SKILL = ("fail", "error", "denied", "rejected")


class _Fold:
    def __init__(self, speech: Speech) -> None:
        self.speech = speech
        self.open: Utterance | None = None
        self.deltas: dict[int, list[Any]] = {}
        self.active_skills: set[str] = set()
        self.requests: list[TokenUsage] = [TokenUsage()]

    def boundary(self) -> None:
        self.open = None
        self.break_off()
        if self.requests[-1]:
            self.requests.append(TokenUsage())

    def break_off(self) -> None:
        """Calls whose stream ended before they were complete: what is there is used."""
        for _, (call_id, name, pieces, time, index) in sorted(self.deltas.items()):
            if call_id or name:
                arguments, bad = _parse("".join(pieces))
                self.speech.calls.append(
                    Call(call_id, name, arguments, time, index, unparsable=bad, broken=True)
                )
        self.deltas.clear()

    def delta(
        self, kind: Literal["message", "thinking"], source: str, text: str, time: int, index: int
    ) -> None:
        if not text:
            return
        if self.open is not None and self.open.source == source:
            self.open.text += text
            return
        self.open = Utterance(kind, text, time, index, source)
        self.speech.said.append(self.open)

    def call_delta(self, event: n.ToolCallDelta, time: int, index: int) -> None:
        slot = self.deltas.get(event.call_index)
        if slot is not None and event.id and slot[0] and slot[0] != event.id:
            self.break_off()
            slot = None
        if slot is None:
            slot = self.deltas[event.call_index] = [None, None, [], time, index]
        slot[0] = slot[0] or event.id
        slot[1] = slot[1] or event.name
        if event.arguments_delta:
            slot[2].append(event.arguments_delta)

    def usage(self, event: n.Usage) -> None:
        request = self.requests[-1]
        for name, value in (
            ("input", event.prompt_tokens),
            ("output", event.completion_tokens),
            ("cache_read", event.cached_tokens),
            ("cache_creation", event.cache_creation_tokens),
        ):
            known = getattr(request, name)
            if value is not None and (known is None or value > known):
                setattr(request, name, value)

    def skill(self, event: n.SkillActivation, time: int, index: int) -> None:
        status = event.status.lower()
        if any(word in status for word in _FAILED_SKILL):
            self.active_skills.discard(event.name)
            return
        if event.name not in self.active_skills:
            self.active_skills.add(event.name)
            self.speech.skills.append((time, index, event.name))
            self.open = None
        if status in ("complete", "completed", "done", "finished"):
            self.active_skills.discard(event.name)

    def custom(self, event: n.Custom, time: int, index: int) -> None:
        """A Custom with a documented name is the event that it names; any other is an annotation."""
        try:
            told = custom_event(event)
        except n.MalformedEvent as error:
            self.speech.malformed.append(str(error))
            return
        if told is None:
            made = _annotation(
                "custom", source=event.source, event_name=event.event_name, payload=event.payload
            )
            self.speech.annotations.append((time, made))
        elif self._tell(told, time, index):
            self.open = None

    def _tell(self, event: dict[str, Any], time: int, index: int) -> bool:
        """A whole StreamEvent: joined to its other witnesses where there may be some, else told as it is."""
        speech = self.speech
        match event:
            case {"type": "message", "role": "user", "text": text}:
                speech.user_said.append(Utterance("message", text, time, index, "user"))
                return False
            case {"type": "message" | "thinking" as kind, "text": text}:
                speech.said.append(Utterance(kind, text, time, index, "event"))
            case {"type": "operation.started", "operation": {"kind": "tool", "name": name, "input": given}}:
                speech.calls.append(Call(event["operationId"], name, given, time, index))
            case {"type": "operation.finished", "kind": "tool", "status": status}:
                output = event.get("output", MISSING)
                told = Result(event["operationId"], None, output, status != "failed", time, index)
                told.rejected = status == "rejected"
                speech.results.append(told)
            case {"type": "operation.started"}:
                speech.unfinished.add(event["operationId"])
                speech.events.append((time, index, event))
            case {"type": "operation.finished"}:
                if event["operationId"] not in speech.unfinished:
                    speech.malformed.append("Custom.payload: no agent of this id was started")
                    return False
                speech.unfinished.discard(event["operationId"])
                speech.events.append((time, index, event))
            case {"type": "error", "message": message}:
                self.error(message, time, index)
            case _:
                speech.events.append((time, index, event))
        return True

    def error(self, message: str, time: int, index: int) -> None:
        self.speech.errors.append((time, index, message))
        self.speech.failed, self.speech.done = True, False
        self.open = None


def _annotation(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "data": fields}


def _parse(text: str) -> tuple[Any, bool]:
    if not text.strip():
        return MISSING, False
    try:
        return loads(text), False
    except ValueError:
        return text, True


def _content(text: str) -> Any:
    stripped = text.strip()
    if stripped[:1] in '{["-0123456789tfn':
        try:
            return loads(stripped)
        except ValueError:
            return text
    return text


def fold(node: Node) -> Speech:
    """What the span's NormalizedEvents say, in their order of time (then of the span)."""
    speech = Speech()
    folding = _Fold(speech)
    ordered = sorted(enumerate(node.facts.normalized), key=lambda e: (e[1][0], e[0]))
    for index, (_, (time, event)) in enumerate(ordered):
        time = time or node.start
        match event:
            case n.MessageDelta():
                folding.delta("message", "message", event.text, time, index)
            case n.ThinkingDelta():
                folding.delta("thinking", "thinking", event.text, time, index)
            case n.ReasoningDelta():
                folding.delta("thinking", "reasoning", event.text, time, index)
            case n.StreamStart() | n.RuntimeStep():
                folding.boundary()
            case n.ToolCallDelta():
                folding.call_delta(event, time, index)
                folding.open = None
            case n.ToolCallComplete():
                folding.deltas.pop(event.call_index, None)
                arguments, bad = _parse(event.arguments_json)
                speech.calls.append(Call(event.id, event.name, arguments, time, index, unparsable=bad))
                folding.open = None
            case n.ToolResult():
                speech.results.append(
                    Result(event.id, event.name, _content(event.content), event.success, time, index)
                )
                folding.open = None
            case n.Usage():
                folding.usage(event)
            case n.SkillActivation():
                folding.skill(event, time, index)
            case n.Error():
                folding.error(event.message, time, index)
            case n.Done():
                speech.done, speech.failed = True, False
                folding.break_off()
            case n.Custom():
                folding.custom(event, time, index)
            case n.CitationAdded():
                speech.annotations.append((time, {"type": "citation.added", "data": event.citation}))
            case n.MemoryUpdate(key, value, operation):
                made = _annotation("memory.update", key=key, value=value, operation=operation)
                speech.annotations.append((time, made))
            case n.SandboxOutput(stream, data):
                speech.annotations.append((time, _annotation("sandbox.output", stream=stream, data=data)))
            case _:
                pass
    folding.break_off()
    speech.usage = _sum(folding.requests)
    return speech


def _sum(requests: list[TokenUsage]) -> TokenUsage | None:
    total = TokenUsage()
    for request in requests:
        for name in ("input", "output", "cache_read", "cache_creation", "reasoning"):
            value = getattr(request, name)
            if value is not None:
                setattr(total, name, (getattr(total, name) or 0) + value)
    return total if total else None
