"""The turns of one session: which of them is the first, and their numbers.

Comes in: turns that are made. Goes out: whether a turn goes on with a session that began before it, and
`otel.turnNumber` on records, where the order is known. It never numbers a session of which a part was not
seen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from typing import Any

from otel_turns.assembly.making import Making
from otel_turns.model.facts import Message, Text

__all__ = ["goes_on", "number_turns"]


def goes_on(making: Making) -> bool:
    """Whether a turn shows that its session began before it: its first request repeats words of an earlier
    reply that the user answered, or hands in results of calls that nobody asked for in this turn.
    """
    first = next((n for n in making.cast.main.requests if not n.facts.side), None)
    if first is not None and _answers_a_reply(first.facts.inputs or ()):
        return True
    for node in making.cast.main.invocations[:1]:
        facts = node.facts
        if facts.resumes or facts.continues or _has_reply((facts.inputs or ())[: facts.new_from or 0]):
            return True
    return first is not None and any(op.handed is first and op.asked is None for op in making.ops.all)


def _has_reply(messages: Iterable[Message]) -> bool:
    return any(message.role == "assistant" for message in messages)


def _answers_a_reply(messages: Iterable[Message]) -> bool:
    replied = False
    for message in messages:
        if message.role == "assistant":
            replied = True
        elif replied and message.role == "user" and any(isinstance(p, Text) for p in message.parts):
            return True
    return False


def number_turns(told: Iterable[tuple[dict[str, Any], bool]], partial: Collection[str]) -> None:
    """Numbers the turns of each session from 1, in order of time.

    `told`: records, each with whether it goes on with an earlier turn. `partial`: sessions of which turns
    stand elsewhere. A session stays without numbers where its first turn goes on with one that is not here,
    where two turns begin at once, or where two services use its id.
    """
    sessions: dict[str, list[tuple[int, bool, dict[str, Any]]]] = defaultdict(list)
    services: dict[str, set[str | None]] = defaultdict(set)
    for record, later in told:
        otel = record["otel"]
        session = otel.get("sessionId")
        if session is not None and session not in partial:
            sessions[session].append((int(otel["startTimeUnixNano"]), later, otel))
            services[session].add(otel.get("service", {}).get("name"))
    for session, turns in sessions.items():
        turns.sort(key=lambda turn: turn[0])
        if turns[0][1] or len({start for start, _, _ in turns}) < len(turns) or len(services[session]) > 1:
            continue
        for number, (_, _, otel) in enumerate(turns, 1):
            otel["turnNumber"] = number
