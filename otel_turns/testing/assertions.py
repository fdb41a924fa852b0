"""Assertions on one Turn. Each passes silently or raises `AssertionError` that says what the Turn holds
instead.

An assertion that something did *not* happen is only worth something where nothing is known to be missing:
on a record whose evidence is not complete it fails, unless `incomplete_ok` says that this is understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from otel_turns.testing.operations import Operation, TurnLike, operations, plain, reply

__all__ = [
    "ANYTHING",
    "called_subagent",
    "called_tool",
    "no_failed_actions",
    "not_called_tool",
    "replied",
    "tool_order",
]


class _Anything:
    """Equal to everything: an input that does not matter."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment] # equal to everything, so it has no hash

    def __repr__(self) -> str:
        return "ANYTHING"


ANYTHING: Final[Any] = _Anything()
"""Stands for any value, also inside an expected input: `{"city": "Paris", "request_id": ANYTHING}`."""


def called_tool(
    turn: TurnLike, name: str, *, input: Any = ANYTHING, status: str | None = None, times: int | None = None
) -> list[Operation]:
    """The tool was called with that input and ended with that status; the calls that match.

    `status`: "completed", "failed" or "rejected"; None takes any, also a call that has not ended. `times`:
    exactly so many calls match; None asks for one at least.
    """
    tools = operations(turn, "tool")
    matching = [t for t in tools if t.name == name and input == t.input and status in (None, t.status)]
    if len(matching) != times if times is not None else not matching:
        wanted = f"{name}({input!r})" + (f" {status}" if status else "")
        often = "at least once" if times is None else f"{times} times"
        raise AssertionError(
            f"expected {wanted} {often}, found it {len(matching)} times in: {_listed(tools)}"
        )
    return matching


def not_called_tool(turn: TurnLike, name: str, *, incomplete_ok: bool = False) -> None:
    """The tool was not called. Fails also where the Turn is known to lack something, since it may be that
    call.
    """
    calls = [t for t in operations(turn, "tool") if t.name == name]
    if calls:
        raise AssertionError(f"expected no call of {name}, found: {_listed(calls)}")
    if not incomplete_ok:
        _whole(turn, f"that {name} was not called")


def tool_order(turn: TurnLike, names: Iterable[str]) -> None:
    """The tools were started in this order; others may stand between them."""
    started = [t.name for t in operations(turn, "tool")]
    rest = iter(started)
    for name in names:
        if name not in rest:
            raise AssertionError(f"expected the tools in the order {list(names)}, found {started}")


def called_subagent(turn: TurnLike, name: str, *, status: str | None = None) -> list[Operation]:
    """The agent delegated to this subagent, and it ended with that status ("completed" or "failed"); the
    matches.
    """
    agents = operations(turn, "subagent")
    matching = [a for a in agents if a.name == name and status in (None, a.status)]
    if not matching:
        raise AssertionError(
            f"expected subagent {name}{f' {status}' if status else ''}, found: {_listed(agents)}"
        )
    return matching


def no_failed_actions(turn: TurnLike, *, incomplete_ok: bool = False) -> None:
    """No tool and no subagent failed. A call that a human refused did not fail."""
    failed = [o for o in operations(turn) if o.status == "failed"]
    if failed:
        raise AssertionError(f"expected no failed action, found: {_listed(failed)}")
    if not incomplete_ok:
        _whole(turn, "that no action failed")


def replied(turn: TurnLike, text: str) -> None:
    """What the agent said contains this text."""
    said = reply(turn)
    if text not in said:
        raise AssertionError(f"expected a reply that contains {text!r}, found {said!r}")


def _listed(found: list[Operation]) -> str:
    return ", ".join(f"{o.name}({o.input!r}) {o.status or 'unfinished'}" for o in found) or "nothing"


def _whole(turn: TurnLike, claim: str) -> None:
    otel: Mapping[str, Any] = plain(turn).get("otel") or {}
    evidence: Mapping[str, Any] = otel.get("evidence") or {}
    if evidence.get("complete") is False:
        why = "; ".join(f"{i['code']}: {i['message']}" for i in evidence["issues"])
        raise AssertionError(
            f"cannot say {claim}: the Turn is known to lack something ({why}); incomplete_ok=True accepts it"
        )
