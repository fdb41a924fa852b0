"""What the turns of a session leave behind for later ones.

Comes in: calls that a turn left pending. Goes out: those of a session, for the turns after it. Bounded: the
oldest go first.
"""

from __future__ import annotations

__all__ = ["Memory"]


class Memory:
    """The calls that earlier turns left pending, and whether a human was asked. At most `limit`."""

    def __init__(self, limit: int = 10_000) -> None:
        self._pending: dict[str, dict[str | None, bool]] = {}
        self._limit = limit

    def leave(self, session: str | None, call_id: str, asked: bool) -> None:
        """`asked`: a human was asked about the call."""
        self._pending.setdefault(call_id, {})[session] = asked
        while len(self._pending) > self._limit:
            self._pending.pop(next(iter(self._pending)))

    def asked(self, session: str | None, call_id: str) -> bool | None:
        """Whether a human was asked about this call of the session (or of a turn without one); None where it
        was not left pending.
        """
        known = self._pending.get(call_id)
        if known is None:
            return None
        if session is None:
            return next(reversed(known.values()))
        return known.get(session, known.get(None))
