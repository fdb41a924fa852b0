"""Recorded telemetry with truth: reading it, and whether Turns say what really happened.

A truth file lists the right Turns; what the telemetry does not carry (`unrecoverable`), what really raced
(`order_free`), other right values (`accept`) and reasoning that nothing marks (`loose_text`). See
tests/corpus/README.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

__all__ = ["FOLDER", "Recording", "disagreements", "recordings"]

FOLDER = Path(__file__).parent / "corpus"
_PATH = re.compile(r"(?:turns?\[(\d+)\]\.?)?(?:events?\[(\d+)(?:\s*[-–]\s*(\d+))?\])?\.?([\w.]*)")

Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording: its files of telemetry and its truth."""

    name: str
    files: tuple[str, ...]
    truth: dict[str, Any]


def recordings() -> list[Recording]:
    """All recordings of the corpus, by name."""
    found: list[Recording] = []
    for path in sorted(FOLDER.glob("*.truth.json")):
        name = path.name.removesuffix(".truth.json")
        files = [FOLDER / f"{name}.{kind}.jsonl" for kind in ("traces", "logs")]
        found.append(
            Recording(name, tuple(str(f) for f in files if f.exists()), orjson.loads(path.read_bytes()))
        )
    return found


@dataclass(slots=True)
class _Leave:
    """What may differ in one Turn: events that may be missing, fields of events, members."""

    gone: set[int] = field(default_factory=set[int])
    fields: dict[int, set[str]] = field(default_factory=dict[int, set[str]])
    members: set[str] = field(default_factory=set[str])


def _leave(truth: dict[str, Any], number: int) -> _Leave:
    leave = _Leave()
    for text in truth.get("unrecoverable", ()):
        match = _PATH.match(text.strip())
        if match is None or match.group(1) not in (None, str(number)):
            continue
        word = match.group(4).strip(".").removeprefix("operation.")
        if match.group(2) is None:
            leave.members.add(word or text.split(":")[0])
            continue
        first = int(match.group(2))
        for at in range(first, int(match.group(3) or first) + 1):
            if word:
                leave.fields.setdefault(at, set()).add(word)
            else:
                leave.gone.add(at)
    return leave


def disagreements(truth: dict[str, Any], turns: Sequence[dict[str, Any]]) -> list[str]:
    """In what the Turns differ from the truth; empty where they are right."""
    want = truth["turns"]
    if any(u.startswith("turns:") for u in truth.get("unrecoverable", ())) and len(turns) != len(want):
        return []  # nothing joins the requests of this recording
    if len(turns) != len(want):
        return [f"{len(turns)} Turns, {len(want)} happened"]
    out: list[str] = []
    for number, (right, turn) in enumerate(zip(want, turns, strict=True)):
        leave = _leave(truth, number)
        told = [*_status(right, turn, leave), *_usage(right, turn, leave), *_data(right, turn, leave)]
        if not truth.get("loose_text"):
            told += _events(truth, number, right["events"], turn["events"], leave)
        out.extend(f"turn {number}: {one}" for one in told)
    return out


def _status(right: Event, turn: Event, leave: _Leave) -> list[str]:
    if turn["status"] == right["status"] or ("status" in leave.members and turn["status"] == "completed"):
        return []
    return [f"status {turn['status']}, was {right['status']}"]


def _usage(right: Event, turn: Event, leave: _Leave) -> list[str]:
    want: Event = right.get("usage") or {}
    got: Event = turn.get("usage") or {}
    if "usage" in leave.members:
        return ["a cost"] if "costUSD" in got else []
    return [
        f"usage.{name} {got.get(name)}, was {want.get(name)}"
        for name in sorted({*want, *got} - {"costUSD"})
        if (got.get(name) or 0) != (want.get(name) or 0) and f"usage.{name}" not in leave.members
    ] + (["a cost"] if "costUSD" in got else [])


def _data(right: Event, turn: Event, leave: _Leave) -> list[str]:
    if "data" in leave.members or _plain(right.get("data")) == _plain(turn.get("data")):
        return []
    return ["other data"]


def _plain(value: Any) -> Any:
    """A value with JSON text and its parsed form made equal."""
    if isinstance(value, str):
        try:
            return _plain(orjson.loads(value))
        except ValueError:
            return value.strip()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType] # any JSON
    if isinstance(value, list):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType] # any JSON
    return value


def _events(
    truth: dict[str, Any], number: int, want: Sequence[Event], got: Sequence[Event], leave: _Leave
) -> list[str]:
    free = {tuple(sorted(x[-2:])) for x in truth.get("order_free", ()) if len(x) == 2 or x[0] == number}
    accept: dict[str, list[Any]] = truth.get("accept") or {}
    place: dict[int, int] = {}
    ids: dict[str, str] = {}
    out: list[str] = []
    for at in sorted(range(len(want)), key=lambda n: (n in leave.gone, n)):
        right = want[at]
        also = [
            *(accept.get(f"events[{at}].output") or ()),
            *(accept.get(f"turns[{number}].events[{at}].output") or ()),
        ]
        hit = next(
            (
                j
                for j, event in enumerate(got)
                if j not in place.values() and _says(right, event, leave.fields.get(at, set()), also, ids)
            ),
            None,
        )
        if hit is not None:
            place[at] = hit
            if "operationId" in right:
                ids.setdefault(right["operationId"], got[hit]["operationId"])
        elif at not in leave.gone:
            out.append(f"event {at} ({right['type']}) is not told")
    told = set(place.values())
    out.extend(
        f"told, and did not happen: event {j} ({e['type']})" for j, e in enumerate(got) if j not in told
    )
    out.extend(
        f"events {a} and {b} stand in the other order"
        for a in place
        for b in place
        if a < b
        and place[a] > place[b]
        and (a, b) not in free
        and a not in leave.gone
        and b not in leave.gone
    )
    return out


def _says(right: Event, event: Event, free: set[str], accept: Sequence[Any], ids: dict[str, str]) -> bool:
    """Whether an event says what happened. `ids`: what stands for which id; those of sub-agents are free."""
    if right["type"] != event["type"]:
        return False
    kind = right["type"]
    if kind == "operation.started":
        one, two = right["operation"], event["operation"]
        if one["kind"] != two["kind"] or ("name" not in free and one["name"] != two["name"]):
            return False
        if one["kind"] == "subagent":
            return True
        same_id = "operationId" in free or right["operationId"] == event["operationId"]
        return same_id and ("input" in free or _plain(one.get("input")) == _plain(two.get("input")))
    if kind == "operation.finished":
        if right["kind"] != event["kind"] or ("status" not in free and right["status"] != event["status"]):
            return False
        known = ids.get(right["operationId"], right["operationId"])
        if right["kind"] == "tool" and event["operationId"] != known and "operationId" not in free:
            return False
        return right.get("output") is None or "output" in free or _is_output(right, event, accept)
    if kind == "input.requested":
        asked, told = right["request"], event["request"]
        return all(
            f"request.{k}" in free or told.get(k) is None or k == "options" or _plain(told[k]) == _plain(v)
            for k, v in asked.items()
            if v is not None
        )
    if kind == "error":
        return (
            "message" in free or right["message"] in event["message"] or event["message"] in right["message"]
        )
    return all(
        right[k].strip() == event.get(k, "").strip()
        for k in ("text", "skill")
        if k in right and k not in free
    )


def _is_output(right: Event, event: Event, accept: Sequence[Any]) -> bool:
    want, got = right["output"], event.get("output")
    if any(_plain(one) == _plain(got) for one in (want, *accept)):
        return True
    failed = right["status"] != "completed"
    return (
        failed
        and isinstance(want, str)
        and isinstance(got, str)
        and bool(got)
        and (want in got or got in want)
    )
