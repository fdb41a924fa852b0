"""Two tellings of one span or reply, made one.

Comes in: the facts that are kept, and what a second witness says. Goes out: the first, with its gaps filled.
Nothing that is there is ever overwritten, but for content that was cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from otel_turns.model.facts import MISSING, Facts, Message

__all__ = ["fuller", "said", "supplement"]

_OWN = {
    "convention",
    "role",
    "supplements",
    "hidden",
    "cut",
    "marks",
    "questions",
    "decisions",
    "normalized",
    "began",
    "sequence",
    "requests",
}


_FILLABLE = tuple(f.name for f in fields(Facts) if f.name not in _OWN)


def supplement(facts: Facts, more: Facts) -> None:
    """Adds what `facts` lacks from a second witness of the same span; never overwrites what is there."""
    for name in _FILLABLE:
        value = getattr(facts, name)
        if value is None or value is MISSING or value is False or value == () or name in facts.cut:
            other = getattr(more, name)
            if other is not None and other is not MISSING and other is not False and other != ():
                setattr(facts, name, other)
                if name in more.cut:
                    facts.cut.add(name)
                else:
                    facts.cut.discard(name)
    if facts.usage is not None and more.usage is not None:
        for name in ("input", "output", "cache_read", "cache_creation", "reasoning"):
            if getattr(facts.usage, name) is None:
                setattr(facts.usage, name, getattr(more.usage, name))
    if more.requests != 0 and (facts.requests == 0 or (facts.requests is None and more.requests is not None)):
        facts.requests = more.requests
    facts.hidden |= more.hidden
    _settle_hidden(facts)
    facts.marks.extend(m for m in more.marks if m not in facts.marks)
    facts.questions.extend(q for q in more.questions if q not in facts.questions)
    facts.decisions.extend(d for d in more.decisions if d not in facts.decisions)
    facts.normalized.extend(n for n in more.normalized if n not in facts.normalized)


def _settle_hidden(facts: Facts) -> None:
    """What one witness hides and another shows is not hidden."""
    if facts.arguments is not MISSING:
        facts.hidden.discard("arguments")
    if facts.result is not MISSING:
        facts.hidden.discard("result")
    if facts.inputs is not None:
        facts.hidden.discard("inputs")
    if facts.outputs is not None:
        facts.hidden.discard("outputs")


def fuller(facts: Facts, more: Facts) -> None:
    """Of two tellings of one reply, the one that tells more."""
    if (
        facts.outputs is not None
        and more.outputs is not None
        and len(said(more.outputs)) > len(said(facts.outputs))
    ):
        facts.outputs = more.outputs


def said(messages: Iterable[Message]) -> list[object]:
    """The content of messages in a form that compares equal where they say the same."""
    return [part for message in messages for part in message.parts]
