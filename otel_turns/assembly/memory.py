"""What the turns of a session leave behind for later ones.

Comes in: calls that a turn left pending. Goes out: those of a session, for the turns after it. A turn that is
made again finds what it found the first time. Bounded: the oldest go first.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Memory"]


@dataclass(slots=True)
class _Pending:
    asked: bool
    left_by: object
    answered_by: object = None


class Memory:
    """The calls that earlier turns left pending, and whether a human was asked. At most `limit`.

    `turn` is whatever tells one turn from another, and is equal where the same turn is made again.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._pending: dict[str, dict[str | None, _Pending]] = {}
        self._limit = limit

    def leave(self, session: str | None, call_id: str, asked: bool, turn: object) -> None:
        """`turn` left this call pending. `asked`: a human was asked about it."""
        known = self._pending.setdefault(call_id, {})
        before = known.get(session)
        again = before is not None and before.left_by == turn
        known[session] = _Pending(asked, turn, before.answered_by if before is not None and again else None)
        while len(self._pending) > self._limit:
            self._pending.pop(next(iter(self._pending)))

    def answer(self, session: str | None, call_id: str, turn: object) -> None:
        """`turn` tells how this call ended; turns after it are about another one."""
        found = self._find(session, call_id, turn)
        if found is not None and found.answered_by is None:
            found.answered_by = turn

    def asked(self, session: str | None, call_id: str, turn: object) -> bool | None:
        """Whether a human was asked about this call of the session (or of a turn without one); None where no
        turn before `turn` left it pending.
        """
        found = self._find(session, call_id, turn)
        return None if found is None else found.asked

    def _find(self, session: str | None, call_id: str, turn: object) -> _Pending | None:
        known = self._pending.get(call_id)
        if known is None:
            return None
        last = next(reversed(known.values()))
        found = last if session is None else known.get(session) or known.get(None)
        if found is None or found.left_by == turn or found.answered_by not in (None, turn):
            return None
        return found
