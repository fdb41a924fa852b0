"""Requests that belong together but came as traces of their own, joined into chains.

Comes in: inference nodes that stand outside any agent, in any order. Goes out: chains, one a turn: each later
request answers calls that an earlier one asked for. Two conversations at once are never mixed: a convention's
own id decides first, then the ids of the calls, then the history that a request repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Message, Reasoning, Text, ToolCall, ToolResult

__all__ = ["Chain", "adds_user_message", "stitch", "tail_results"]


class Chain:
    """Requests of one turn so far, in order of time."""

    __slots__ = ("nodes", "pending")

    def __init__(self, first: Node) -> None:
        self.nodes: list[Node] = []
        self.pending: list[ToolCall] = []
        self.add(first)

    @property
    def last(self) -> Node:
        return self.nodes[-1]

    def add(self, node: Node) -> None:
        self.nodes.append(node)
        asked = _asked(node)
        if asked or node.facts.outputs is not None:
            self.pending = asked


_MOST_RIVALS = 64
"""How many open chains are weighed for one request, the latest first: what bounds the cost of many alike."""


class _OpenChains:
    """Chains that may go on, found by what a next request shows: call ids, response id, history."""

    def __init__(self) -> None:
        self._by_call: dict[str, list[tuple[int, Chain]]] = {}
        self._by_response: dict[str, tuple[int, Chain]] = {}
        self._by_words: dict[int, list[tuple[int, Chain]]] = {}

    def add(self, at: int, chain: Chain) -> None:
        """Registers what the chain's last request leaves open. A finished chain leaves nothing."""
        facts = chain.last.facts
        if facts.response_id:
            self._by_response[facts.response_id] = (at, chain)
        if facts.outputs is not None and not chain.pending and not facts.failed:
            return
        for call in chain.pending:
            for one in (call.id, *call.other_ids):
                if one:
                    self._by_call.setdefault(one, []).append((at, chain))
        if facts.inputs is not None:
            key = _prefixes(words(facts.inputs))[-1]
            self._by_words.setdefault(key, []).append((at, chain))

    def rivals(self, node: Node) -> list[tuple[int, Chain]]:
        """Chains that the request may go on with."""
        facts = node.facts
        found: dict[int, Chain] = {}
        if facts.previous_response_id in self._by_response:
            at, chain = self._by_response[facts.previous_response_id]
            found[at] = chain
        for result in tail_results(facts.inputs):
            for one in (result.id, *result.other_ids):
                if one:
                    found.update(self._by_call.get(one, ())[-_MOST_RIVALS:])
        if facts.inputs is not None:
            for key in _prefixes(words(facts.inputs)):
                found.update(self._by_words.get(key, ())[-_MOST_RIVALS:])
        return [(at, found[at]) for at in sorted(found)]


def _prefixes(said: Sequence[tuple[str, str]]) -> list[int]:
    """A hash for each beginning of a history, the empty one first."""
    keys = [0]
    for word in said:
        keys.append(hash((keys[-1], word)))
    return keys


def stitch(requests: Iterable[Node]) -> list[Chain]:
    """Chains of requests, by the time of their first."""
    chains: list[Chain] = []
    open_chains = _OpenChains()
    for node in sorted(requests, key=lambda n: n.key):
        best: tuple[int, int, Chain] | None = None
        for at, chain in open_chains.rivals(node):
            score = _continues(node, chain)
            if score and (best is None or (score, at) > best[:2]):
                best = (score, at, chain)
        if best is None:
            chains.append(Chain(node))
            open_chains.add(len(chains) - 1, chains[-1])
        else:
            best[2].add(node)
            open_chains.add(best[1], best[2])
    return chains


def tail_results(messages: Sequence[Message] | None) -> list[ToolResult]:
    """The results that a request hands in: those behind its last message that is no result."""
    results: list[ToolResult] = []
    for message in reversed(messages or ()):
        found = [part for part in message.parts if isinstance(part, ToolResult)]
        if not found or any(isinstance(part, ToolCall) for part in message.parts):
            break
        results[:0] = found
        if any(isinstance(part, Text) for part in message.parts):
            break
    return results


def adds_user_message(messages: Sequence[Message] | None) -> bool:
    """Whether a request ends in words of the user."""
    return (
        bool(messages)
        and messages[-1].role == "user"
        and any(isinstance(p, Text) for p in messages[-1].parts)
    )


def repeats(history: Sequence[Message], request: Sequence[Message]) -> bool:
    """Whether `request` begins with the words of `history`."""
    old, new = words(history), words(request)
    return len(new) >= len(old) and new[: len(old)] == old


def words(messages: Iterable[Message]) -> list[tuple[str, str]]:
    """What was said, by whom: the form in which a history is recognised."""
    out: list[tuple[str, str]] = []
    for message in messages:
        if message.role == "system":
            continue
        for part in message.parts:
            if isinstance(part, Text):
                out.append((message.role, part.text))
            elif isinstance(part, ToolCall):
                out.append(("call", part.name or ""))
    return out


def _asked(node: Node) -> list[ToolCall]:
    return [
        part
        for message in node.facts.outputs or ()
        for part in message.parts
        if isinstance(part, ToolCall) and not part.executed_by_provider
    ]


def _continues(node: Node, chain: Chain) -> int:
    """How surely `node` goes on with `chain`; 0 where it does not."""
    last = chain.last
    if last.start > node.start or not _may_share(node, last):
        return 0
    inputs, before = node.facts.inputs, last.facts.inputs
    if last.facts.failed and not chain.pending:
        same = inputs is not None and before is not None and said_same(inputs, before)
        return 2 if same and last.end <= node.start else 0
    results = tail_results(inputs)
    if not results:
        return 0
    known = before is not None and bool(before) and repeats(before, inputs or [])
    if node.facts.previous_response_id and node.facts.previous_response_id == last.facts.response_id:
        return 9
    ids = {r.id for r in results if r.id} | {i for r in results for i in r.other_ids}
    asked = {c.id for c in chain.pending if c.id} | {i for c in chain.pending for i in c.other_ids}
    if ids & asked:
        if known:
            return 8
        # results without the history (state kept by the server) are joined by the id alone
        return 7 if before is None or len(inputs or ()) <= len(results) else 4
    if known and last.facts.outputs is None:
        return 6 if len(inputs or ()) > len(before or ()) else 0
    if known and _same_calls(chain.pending, inputs or []):
        return 5
    if known and len(chain.pending) == len(results) and chain.pending:
        return 3
    return 0


def _may_share(node: Node, other: Node) -> bool:
    a, b = node.facts, other.facts
    if a.group and b.group:
        return a.group == b.group
    if a.session_id and b.session_id:
        return a.session_id == b.session_id
    return True


def said_same(a: Sequence[Message], b: Sequence[Message]) -> bool:
    return words(a) == words(b)


def _same_calls(pending: Sequence[ToolCall], inputs: Sequence[Message]) -> bool:
    """Whether the request repeats the pending calls, by name and arguments."""
    told = [part for message in inputs for part in message.parts if isinstance(part, ToolCall)]
    return bool(pending) and all(
        any(c.name == t.name and (c.arguments == t.arguments or t.arguments is MISSING) for t in told)
        for c in pending
    )


def has_words(node: Node) -> bool:
    return any(isinstance(p, Text | Reasoning) for m in node.facts.outputs or () for p in m.parts)
