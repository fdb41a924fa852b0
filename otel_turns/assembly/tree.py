"""The nodes of a trace: spans with what a dialect read in them, and where they stand.

Comes in: spans and log records with their facts (`Read`). Goes out: `Node` and `Forest`, the data that all of
assembly works on. It decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from otel_turns.model.facts import Facts, Role
from otel_turns.model.span import KIND_SERVER, LogRecord, Resource, Span

__all__ = ["Forest", "Node", "Read"]

_REMOTE = 0x300
"""OTLP's span flags: it is known whether the parent is in another process, and it is."""


_EVERYDAY = frozenset({"Done", "Error", "Usage", "Custom", "RuntimeStep"})


@dataclass(slots=True)
class Read:
    """One span or log record with what its dialect read in it."""

    source: Span | LogRecord
    facts: Facts


class Node:
    """A span of the tree. `start` and `end` are the span's own times, shifted where its host's clock was off.
    `adopted`: its parent never came, and its place follows from time alone. `owner`: the node that its facts
    went into, where it told of the same thing as another.
    """

    __slots__ = (
        "absorbed",
        "adopted",
        "at",
        "children",
        "depth",
        "end",
        "facts",
        "flat",
        "owner",
        "parent",
        "parent_missing",
        "shifted",
        "source",
        "span_id",
        "start",
        "trace_id",
        "until",
    )

    def __init__(self, source: Span | LogRecord, facts: Facts) -> None:
        self.source = source
        self.facts = facts
        self.parent: Node | None = None
        self.children: list[Node] = []
        self.depth = 0
        self.flat: list[Node] | None = None
        self.at = self.until = 0
        self.absorbed: list[Node] = []
        self.owner: Node | None = None
        self.shifted = False
        self.adopted = False
        self.parent_missing: bytes | None = None
        if isinstance(source, Span):
            self.trace_id = source.trace_id
            self.span_id = source.span_id
            self.start = source.start
            self.end = source.end or source.start
        else:
            self.trace_id = source.trace_id or b""
            self.span_id = source.span_id or b""
            self.start = facts.began or source.time
            self.end = source.time

    @property
    def role(self) -> Role:
        return self.facts.role

    @property
    def is_span(self) -> bool:
        return isinstance(self.source, Span)

    @property
    def resource(self) -> Resource:
        return self.source.resource

    @property
    def scope_name(self) -> str:
        return self.source.scope.name

    @property
    def key(self) -> tuple[int, int, bytes]:
        return (self.start, self.depth, self.span_id)

    @property
    def ended(self) -> bool:
        """Whether it ended. A span that did not lasts as long as what is known to happen in it."""
        return not isinstance(self.source, Span) or self.source.end != 0

    @property
    def orphaned(self) -> bool:
        """Whether its parent is known and never came. A span whose parent is in another process is a local
        root of its own right.
        """
        if self.parent is not None or self.parent_missing is None or not isinstance(self.source, Span):
            return False
        return self.source.kind != KIND_SERVER and self.source.flags & _REMOTE != _REMOTE

    @property
    def tells(self) -> bool:
        """Whether its NormalizedEvents prove agent work: those with everyday names alone do not."""
        return any(type(event).__name__ not in _EVERYDAY for _, event in self.facts.normalized)

    def above(self) -> Iterator[Node]:
        """Its ancestors, nearest first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    def below(self) -> list[Node]:
        """Its descendants, in order, parents before children."""
        return self.subtree()[1:] if self.children else []

    def subtree(self) -> list[Node]:
        """Itself and its descendants, in order, parents before children."""
        if self.flat is not None:
            return self.flat[self.at : self.until]
        out: list[Node] = []
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            out.append(node)
            if node.children:
                stack.extend(reversed(node.children))
        return out

    def overlaps(self, other: Node) -> bool:
        return self.start <= other.end and other.start <= self.end

    def encloses(self, other: Node) -> bool:
        return self.start <= other.start and other.end <= self.end


@dataclass(slots=True)
class Forest:
    """All nodes of one or several traces. `roots`: nodes without a present parent, in order of time.

    Log records: `loose_records` stand by themselves; `told_records` name the span that they tell of;
    `near_records` look for it.
    """

    roots: list[Node] = field(default_factory=list[Node])
    by_id: dict[tuple[bytes, bytes], Node] = field(default_factory=dict[tuple[bytes, bytes], Node])
    loose_records: list[Node] = field(default_factory=list[Node])
    near_records: list[Node] = field(default_factory=list[Node])
    told_records: list[Node] = field(default_factory=list[Node])
    flat: list[Node] | None = None

    def nodes(self) -> list[Node]:
        """All nodes, parents before children."""
        if self.flat is not None:
            return self.flat
        return [node for root in self.roots for node in root.subtree()]
