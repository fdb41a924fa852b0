"""When to try again.

Comes in: how often it failed, and what the other side asked for. Goes out: seconds. It never waits itself.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timezone

__all__ = ["Backoff", "retry_after_seconds"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential backoff with jitter.

    first_s: the wait after the first failure; it doubles with each, up to `most_s`.
    jitter: a number from 0 to 1; each wait is multiplied by something between 0.5 and 1, so that many
        clients that failed together do not come back together.
    most_asked_s: the longest wait that the other side can ask for.
    """

    first_s: float = 0.5
    most_s: float = 30.0
    most_asked_s: float = 600.0
    jitter: Callable[[], float] = random.random

    def wait_s(self, failures: int, asked_s: float | None = None) -> float:
        """Seconds to wait after so many failures in a row (1 or more); never less than was asked for."""
        doubled = min(self.most_s, self.first_s * 2.0 ** min(failures - 1, 60))
        spread = doubled * (0.5 + self.jitter() / 2)
        if asked_s is None:
            return spread
        # The jitter is put on top of what was asked, since many were told the same.
        return max(spread, min(asked_s, self.most_asked_s) + self.first_s * self.jitter())


def retry_after_seconds(value: str | None, now: Callable[[], float]) -> float | None:
    """The seconds that a `Retry-After` header asks for (RFC 9110, section 10.2.3: seconds or an HTTP date),
    or None where there is none or it cannot be read. `now`: seconds since the epoch.
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    from email.utils import parsedate_to_datetime  # slow to import, and seldom needed

    try:
        date = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return max(0.0, date.timestamp() - now())
