"""The forest of what happened, out of read spans and log records.

Comes in: `Read`s in any order. Goes out: a `Forest`: linked, sorted, with doubled spans merged and positions
resolved. Never looks at an attribute, and never depends on the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable

from otel_turns.assembly.doubles import merge_doubles
from otel_turns.assembly.links import end_open_spans, link, shift_clocks, sort
from otel_turns.assembly.orphans import adopt_orphans
from otel_turns.assembly.positions import place_invocations, reparent_loose, resolve_chains
from otel_turns.assembly.records import attach_nearest, attach_records
from otel_turns.assembly.tree import Forest, Node, Read
from otel_turns.model.span import Span

__all__ = ["build_forest"]


def build_forest(reads: Iterable[Read]) -> Forest:
    """Links, merges and resolves. The result is the same for any order of `reads`."""
    spans: dict[tuple[bytes, bytes], Node] = {}
    records: list[Node] = []
    for read in reads:
        node = Node(read.source, read.facts)
        if isinstance(read.source, Span):
            key = (node.trace_id, node.span_id)
            known = spans.get(key)
            if known is None or _later(node, known):
                spans[key] = node
        else:
            records.append(node)
    forest = Forest(by_id=spans)
    records.sort(key=lambda n: (n.start, n.facts.sequence, n.trace_id, n.span_id))
    link(forest)
    attach_records(forest, records)
    end_open_spans(forest)
    shift_clocks(forest)
    adopt_orphans(forest)
    sort(forest)
    place_invocations(forest)
    reparent_loose(forest)
    resolve_chains(forest)
    attach_nearest(forest)
    merge_doubles(forest)
    return forest


def _later(new: Node, known: Node) -> bool:
    """Of two spans with one id, the one that says more: it ended later, or says more in its attributes."""
    return (new.end, len(new.source.attributes)) > (known.end, len(known.source.attributes))
