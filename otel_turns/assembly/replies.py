"""What the model said in each request: replies, also those that only a later request shows.

Comes in: an agent's requests in order of time. Goes out: `Reply` objects: reasoning, text and calls of one
reply, when it was asked for and when it came; and `Handed`: the results that a request hands in. A history is
not speech: what a request repeats counts only where the reply itself was not captured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from otel_turns.assembly.agents import Agent
from otel_turns.assembly.stitch import tail_results, words
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import Message, Part, Reasoning, Text, ToolCall, ToolResult

__all__ = ["Handed", "Reply", "read_replies", "recover_across"]


@dataclass(slots=True, eq=False)
class Reply:
    """One reply of a model. `captured`: the telemetry shows its content. `recovered`: only a later request
    showed it.

    `resumed`: it stands for the reply of an earlier turn whose calls this turn answers; it says nothing by
    itself.
    """

    node: Node
    agent: Agent
    start: int
    time: int
    parts: list[Part] = field(default_factory=list[Part])
    captured: bool = False
    recovered: bool = False
    resumed: bool = False
    structured: bool = False
    silent: bool = False

    @property
    def calls(self) -> list[ToolCall]:
        return [p for p in self.parts if isinstance(p, ToolCall)]

    @property
    def ordered(self) -> bool:
        """Whether its parts stand in the order in which they came: the convention says so, or words stand
        behind a result.
        """
        if self.node.facts.ordered_parts:
            return True
        answered = False
        for part in self.parts:
            if isinstance(part, ToolResult):
                answered = True
            elif answered and isinstance(part, Text):
                return True
        return False

    @property
    def text(self) -> str:
        return "".join(p.text for p in self.parts if isinstance(p, Text))

    @property
    def thoughts(self) -> list[str]:
        return [p.text for p in self.parts if isinstance(p, Reasoning) and p.text]


@dataclass(slots=True, eq=False)
class Handed:
    """Results that a request hands in. `first`: it is the agent's first request of the turn."""

    node: Node
    agent: Agent
    results: list[ToolResult]
    first: bool
    asked: dict[str, ToolCall] = field(default_factory=dict[str, ToolCall])


def read_replies(
    agent: Agent, inner: set[int]
) -> tuple[list[Reply], list[Handed], list[tuple[Node, list[str]]]]:
    """Replies and handed-in results of one agent, and what its user says in which request, by time."""
    replies: list[Reply] = []
    handed: list[Handed] = []
    said_to: list[tuple[Node, list[str]]] = []
    before: Node | None = None
    for node in agent.requests:
        if node.facts.side:
            continue
        facts = node.facts
        news = _news(node, before, agent)
        if news is not None:
            known = replies[-1] if replies else None
            _recover(known, news, before)
            results = [p for m in news for p in m.parts if isinstance(p, ToolResult)]
            if results:
                asked = {
                    p.id: p for m in facts.inputs or () for p in m.parts if isinstance(p, ToolCall) and p.id
                }
                handed.append(Handed(node, agent, results, before is None, asked))
            texts = [p.text for m in news if m.role == "user" for p in m.parts if isinstance(p, Text)]
            if texts:
                said_to.append((node, texts))
        parts = [p for m in facts.outputs or () for p in m.parts]
        replies.append(
            Reply(
                node,
                agent,
                node.start,
                node.end,
                parts,
                captured=facts.outputs is not None and "outputs" not in facts.hidden,
                structured=facts.structured,
                silent=id(node) in inner,
            )
        )
        if id(node) not in inner:
            before = node
    return replies, handed, said_to


def recover_across(replies: Sequence[Reply]) -> None:
    """After a handoff the next agent goes on with the history: its request shows a reply of the agent before
    that was not captured.
    """
    for before, after in pairwise(replies):
        if before.agent is after.agent or before.captured or before.parts:
            continue
        old, new = before.node.facts.inputs, after.node.facts.inputs
        if old is None or new is None:
            continue
        begun = words(old)
        if len(words(new)) > len(begun) and words(new)[: len(begun)] == begun:
            _recover(before, _after_last_user(new), before.node)


def _after_last_user(inputs: Sequence[Message]) -> Sequence[Message]:
    at = len(inputs)
    while at and inputs[at - 1].role != "user":
        at -= 1
    return inputs[at:]


def _news(node: Node, before: Node | None, agent: Agent) -> Sequence[Message] | None:
    """What this request adds to the history; None where it shows no messages."""
    inputs = node.facts.inputs
    if inputs is None:
        return None
    if before is None:
        start = agent.node.facts.new_from if agent.node is not None else None
        if start is not None and start < len(inputs):
            return inputs[start:]
        results = tail_results(inputs)
        if results:
            return [Message("tool", list(results))]
        return _last_user(inputs)
    old = before.facts.inputs
    if old is None:
        return _after_last_words(inputs)
    if len(inputs) > len(old) and _begins(inputs, old):
        return inputs[len(old) :]
    if len(inputs) == len(old) and words(inputs) == words(old):
        # the same request again (a retry), or one that was serialized when later messages stood in it already
        return _after_last_words(inputs) if tail_results(inputs) else []
    return _after_last_words(inputs)


def _begins(inputs: Sequence[Message], old: Sequence[Message]) -> bool:
    return all(a.role == b.role for a, b in zip(inputs, old, strict=False))


def _last_user(inputs: Sequence[Message]) -> Sequence[Message]:
    at = len(inputs)
    while at and inputs[at - 1].role == "user":
        at -= 1
    return inputs[at:]


def _after_last_words(inputs: Sequence[Message]) -> Sequence[Message]:
    """The last assistant message with calls and what follows it: all of a request with no history to compare
    with.
    """
    at = len(inputs)
    while at and inputs[at - 1].role not in ("assistant", "system"):
        at -= 1
    while at and inputs[at - 1].role == "assistant":
        at -= 1
    return inputs[at:]


def _recover(reply: Reply | None, news: Sequence[Message], before: Node | None) -> None:
    """A reply that was not captured where it happened, from the request that follows it."""
    if reply is None or before is None or reply.node is not before:
        return
    told = [p for m in news if m.role == "assistant" for p in m.parts]
    if not told:
        return
    if not reply.captured and not reply.parts:
        reply.parts = [p for p in told if not isinstance(p, ToolResult)]
        reply.captured = reply.recovered = True
        return
    ids = {i for c in reply.calls for i in (c.id, *c.other_ids) if i}
    for part in told:
        if isinstance(part, ToolCall) and not reply.calls:
            if part.id not in ids:
                reply.parts.append(part)
                reply.recovered = True
        elif isinstance(part, Text) and not reply.text and part.text and not reply.captured:
            reply.parts.insert(0, part)
