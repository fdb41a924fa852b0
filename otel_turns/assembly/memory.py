"""What the turns of a session leave behind for later ones.

Comes in: calls that a turn left pending. Goes out: those of a session, for the turns after it. Bounded: the
oldest go first.
"""

from __future__ import annotations

__all__ = ["Memory"]


class Memory:
    """What the turns of a session leave behind for later ones: the calls that were pending, and whether a
    human was asked.
    """

    def __init__(self, limit: int = 10_000) -> None:
        self._pending: dict[tuple[str | None, str], bool] = {}
        self._limit = limit

    def leave(self, session: str | None, call_id: str, asked: bool) -> None:
        self._pending[(session, call_id)] = asked
        while len(self._pending) > self._limit:
            self._pending.pop(next(iter(self._pending)))

    def pending(self, session: str | None) -> dict[str, bool]:
        """Pending calls of the session, and of turns without one."""
        return {
            call: asked
            for (one, call), asked in self._pending.items()
            if one == session or one is None or session is None
        }
