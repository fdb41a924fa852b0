"""The protocol of a dialect: how one semantic convention's spans and log records are read into `Facts`.

A dialect is a small class. It holds attribute names (nothing else in the package does), never times and
never order. It reads one span at a time and says what the span says; what follows from several spans is
assembly's business.
"""

from __future__ import annotations

from typing import Protocol

from otel_turns.model.facts import Convention, Facts
from otel_turns.model.span import LogRecord, Span

__all__ = ["Dialect"]


class Dialect(Protocol):
    """One semantic convention.

    `convention` names it and says what holds for all its spans. `scopes` lists the instrumentation scope
    names that are surely its own (a trailing "*" matches any rest); a dialect that goes by attributes alone
    leaves it empty.

    A dialect may also have `keys: tuple[str, ...]`: attribute keys (a trailing "*" matches any rest) without
    at least one of which it never matches. It is then asked about spans of any scope that carry one, and
    about records of any scope. Without `keys` (of the class that says `scopes`: a subclass inherits none) a
    dialect with `scopes` is asked about those alone, and one with neither about every span.
    """

    convention: Convention
    scopes: tuple[str, ...]

    def matches(self, span: Span) -> bool:
        """Whether this dialect reads the span. Cheap: a few key look-ups. Empty values recognise nothing."""
        ...

    def read(self, span: Span) -> Facts:
        """What the span says. Never raises for odd values: what cannot be read is left out."""
        ...

    def matches_log(self, record: LogRecord) -> bool:
        """Whether this dialect reads the log record."""
        ...

    def read_log(self, record: LogRecord) -> Facts | None:
        """What the record says; None where it says nothing that matters."""
        ...
