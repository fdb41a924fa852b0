"""A Turn as lines of text for a person at a terminal.

Comes in: one Turn or record as plain data. Goes out: lines. Text from outside is shown, never obeyed: every
character that is not printable is written as an escape, so that no agent can steer the terminal that shows
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

__all__ = ["printable", "timeline"]

_BOLD, _DIM, _RED, _GREEN, _YELLOW, _CYAN = "1", "2", "31", "32", "33", "36"
_STATUS: Final = {"completed": _GREEN, "failed": _RED, "waiting": _YELLOW, "rejected": _YELLOW}
_SIGN: Final = {"completed": "✓", "failed": "✗", "rejected": "⊘"}
_COUNTS: Final = (
    ("requests", "requests"),
    ("inputTokens", "tokens in"),
    ("cacheReadTokens", "read from cache"),
    ("cacheCreationTokens", "written to cache"),
    ("outputTokens", "tokens out"),
    ("reasoningTokens", "of reasoning"),
)
_DEEPEST: Final = 4


def timeline(
    turn: Mapping[str, Any], *, number: int = 1, width: int = 100, color: bool = False, full: bool = False
) -> Iterator[str]:
    """The lines of one Turn. Each fits in `width` columns, unless `full` asks for whole texts."""
    paint = _painted if color else _unpainted
    otel: Mapping[str, Any] = turn.get("otel") or {}
    yield paint(f"Turn {number}", _BOLD) + _head(turn, otel, paint)
    for line in _about(turn, otel):
        yield paint(f"    {_fit(line, width - 4, full)}", _DIM)
    yield from _lines(turn, otel, width=width, paint=paint, full=full)
    if "data" in turn:
        yield "    data  " + _fit(_json(turn["data"]), width - 10, full)
    evidence: Mapping[str, Any] = otel.get("evidence") or {}
    for issue in evidence.get("issues") or ():
        word = "note" if evidence.get("complete") else "missing"
        text = f"{issue.get('code', '')}: {issue.get('message', '')}"
        yield paint(f"    {word}  {_fit(text, width - 6 - len(word), full)}", _YELLOW)


def _head(turn: Mapping[str, Any], otel: Mapping[str, Any], paint: Any) -> str:
    status = str(turn.get("status", ""))
    agent: Mapping[str, Any] = otel.get("agent") or {}
    name = agent.get("name")
    words = [paint(printable(status), _STATUS.get(status, ""))]
    if name:
        words.insert(0, printable(str(name)))
    start, end = _nano(otel.get("startTimeUnixNano")), _nano(otel.get("endTimeUnixNano"))
    if start is not None and end is not None and end >= start:
        words.append(_seconds(end - start))
    return "".join(f"  {word}" for word in words if word)


def _about(turn: Mapping[str, Any], otel: Mapping[str, Any]) -> Iterator[str]:
    usage: Mapping[str, Any] = turn.get("usage") or {}
    counts = [f"{usage[name]} {word}" for name, word in _COUNTS if name in usage]
    if "costUSD" in usage:
        counts.append(f"{usage['costUSD']} USD")
    if counts:
        yield ", ".join(counts)
    service: Mapping[str, Any] = otel.get("service") or {}
    words = [
        ("session", otel.get("sessionId")),
        ("service", " ".join(str(service[k]) for k in ("name", "version") if k in service)),
        ("read as", ", ".join(map(str, otel.get("conventions") or ()))),
        ("trace", otel.get("traceId")),
    ]
    if said := [f"{word} {printable(str(value))}" for word, value in words if value]:
        yield ", ".join(said)


def _lines(
    turn: Mapping[str, Any], otel: Mapping[str, Any], *, width: int, paint: Any, full: bool
) -> Iterator[str]:
    times: Sequence[Any] = otel.get("eventTimes") or ()
    zero = _nano(otel.get("startTimeUnixNano"))
    started: dict[str, tuple[str, int | None]] = {}
    agents: list[str] = []
    for index, event in enumerate(turn.get("events") or ()):
        time = _nano(times[index]) if index < len(times) else None
        offset = f"{(time - zero) / 1e9:+10.3f}  " if time is not None and zero is not None else ""
        operation = str(event.get("operationId", ""))
        if event.get("type") == "operation.finished" and operation in agents:
            agents.remove(operation)
        margin = "    " + offset + "│ " * min(len(agents), _DEEPEST)
        word, text, style = _said(event, started, time)
        room = width - len(margin) - len(word) - 2
        lines = _whole(text, " " * (len(margin) + 2)) if full else _fit(text, room, full)
        yield paint(margin, _DIM) + paint(word, style) + ("  " + lines if lines else "")
        if event.get("type") == "operation.started":
            what: Mapping[str, Any] = event.get("operation") or {}
            started[operation] = (str(what.get("name", "")), time)
            if what.get("kind") == "subagent":
                agents.append(operation)


def _said(
    event: Mapping[str, Any], started: Mapping[str, tuple[str, int | None]], time: int | None
) -> tuple[str, str, str]:
    """What an event says: a short word, its text, and the style of the word."""
    kind = str(event.get("type", ""))
    if kind == "message":
        return printable(str(event.get("role", ""))), str(event.get("text", "")), _BOLD
    if kind == "operation.started":
        what: Mapping[str, Any] = event.get("operation") or {}
        agent = what.get("kind") == "subagent"
        text = str(what.get("remoteUrl", "")) if agent else _json(what.get("input"))
        return f"▶ {'agent ' if agent else ''}{printable(str(what.get('name', '')))}", text, _CYAN
    if kind == "operation.finished":
        status = str(event.get("status", ""))
        name, began = started.get(
            str(event.get("operationId", "")), (str(event.get("operationId", "")), None)
        )
        took = f" {_seconds(time - began)}" if time is not None and began is not None else ""
        note = "" if status == "completed" else f" {status}"
        text = _json(event["output"]) if "output" in event else ""
        return f"{_SIGN.get(status, '?')} {printable(name + note)}{took}", text, _STATUS.get(status, "")
    if kind == "input.requested":
        request: Mapping[str, Any] = event.get("request") or {}
        choices = " / ".join(str(o.get("label") or o.get("id")) for o in request.get("options") or ())
        words = [str(request.get("action") or ""), str(request.get("prompt") or ""), choices]
        if "input" in request:
            words.insert(1, _json(request["input"]))
        return "? asks a human", " · ".join(w for w in words if w), _YELLOW
    text = str(event.get("text") or event.get("message") or event.get("skill") or event.get("reason") or "")
    word = {"skill.loaded": "skill", "error": "error"}.get(kind, printable(kind))
    return word, text, _RED if kind == "error" else _DIM


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style and text else text


def _unpainted(text: str, style: str) -> str:
    return text


def _json(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _fit(text: str, room: int, full: bool) -> str:
    """`text` on one line of at most `room` columns; whole where `full`."""
    shown = printable(" ".join(text.split()) if not full else text.replace("\n", "⏎"))
    return shown if full or len(shown) <= max(room, 8) else shown[: max(room, 8) - 1] + "…"


def _whole(text: str, margin: str) -> str:
    return f"\n{margin}".join(printable(line) for line in text.splitlines())


def printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _nano(value: Any) -> int | None:
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e9:.3f} s"
