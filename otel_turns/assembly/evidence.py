"""What is known to be missing from a turn.

Comes in: remarks of the other modules while a turn is made. Goes out: the `evidence` member. A code from the
closed list each (SEMANTICS, section 9), with a message for a human that never shows content.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Remarks"]

_HARMLESS = frozenset({"synthetic_operation_id", "clock_skew"})
"""These say how a turn was read, and not that something of it is missing."""


class Remarks:
    """Collects issues, each once."""

    __slots__ = ("_issues", "_missing", "_seen")

    def __init__(self) -> None:
        self._missing = False
        self._issues: list[dict[str, str]] = []
        self._seen: set[tuple[str, str, str | None]] = set()

    def add(
        self,
        code: str,
        message: str,
        span_id: bytes | None = None,
        operation_id: str | None = None,
        *,
        expected: bool = False,
    ) -> None:
        """`span_id`, `operation_id`: where it was seen. `expected`: nothing is missing by it (a call that
        waits for a human).
        """
        where = operation_id or (span_id.hex() if span_id else None)
        if (code, message, where) in self._seen:
            return
        self._seen.add((code, message, where))
        self._missing = self._missing or not (expected or code in _HARMLESS)
        issue = {"code": code, "message": message}
        if span_id:
            issue["spanId"] = span_id.hex()
        if operation_id:
            issue["operationId"] = operation_id
        self._issues.append(issue)

    def member(self) -> dict[str, Any]:
        issues = sorted(
            self._issues,
            key=lambda i: (i["code"], i.get("operationId", ""), i.get("spanId", ""), i["message"]),
        )
        return {"complete": not self._missing, "issues": issues}
