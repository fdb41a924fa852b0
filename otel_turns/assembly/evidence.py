"""What is known to be missing from a turn.

Comes in: remarks of the other modules while a turn is made. Goes out: the `evidence` member. The codes and
what each means for completeness are the model's; a message is for a human and never shows content.
"""

from __future__ import annotations

from typing import Any

from otel_turns.model.evidence import EvidenceCode, issue, says_missing

__all__ = ["Remarks"]


class Remarks:
    """Collects issues, each once."""

    __slots__ = ("_issues", "_missing", "_seen")

    def __init__(self) -> None:
        self._missing = False
        self._issues: list[dict[str, Any]] = []
        self._seen: set[tuple[str, str, str | None]] = set()

    def add(
        self,
        code: EvidenceCode,
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
        self._missing = self._missing or says_missing(code, "waiting" if expected else "completed")
        span = span_id.hex() if span_id else None
        self._issues.append(issue(code, message, span_id=span, operation_id=operation_id or None))

    def member(self) -> dict[str, Any]:
        issues = sorted(
            self._issues,
            key=lambda i: (i["code"], i.get("operationId", ""), i.get("spanId", ""), i["message"]),
        )
        return {"complete": not self._missing, "issues": issues}
