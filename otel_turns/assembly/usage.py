"""Tokens of a turn: each request counted once, as its instrumentation reports it. No cost, ever.

Comes in: the cast of a turn, and what NormalizedEvents report. Goes out: the `usage` member, or None where
nobody reports. Decided agent by agent: an agent's own requests count; its span's own figure only where no
request of it reports.
"""

from __future__ import annotations

from typing import Any, Literal

from otel_turns.assembly.agents import Agent, Cast
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import TokenUsage

__all__ = ["Basis", "count_usage"]

Basis = Literal["reported", "exclusive"]

_WIRE = (
    ("input", "inputTokens"),
    ("output", "outputTokens"),
    ("cache_read", "cacheReadTokens"),
    ("cache_creation", "cacheCreationTokens"),
    ("reasoning", "reasoningTokens"),
)


def count_usage(
    troupe: Cast, streams: dict[int, TokenUsage], wrapper: Node | None, basis: Basis = "reported"
) -> tuple[dict[str, Any] | None, list[Node]]:
    """The usage member, and the spans that claim more than the requests below them account for.

    `streams`: usage that NormalizedEvents of a node report, by the node's id(). `wrapper`: the workflow span
    around all agents, whose figure is used only where nothing below it reports.
    """
    requests = 0
    partial: list[Node] = []
    told = TokenUsage()
    counted = TokenUsage()
    below: dict[int, TokenUsage] = {}
    for agent in sorted(troupe.agents, key=lambda a: -a.depth):
        own, mine = TokenUsage(), TokenUsage()
        for node in agent.requests:
            requests += 1 if node.facts.requests is None else node.facts.requests
            usage, includes_cache = _of_request(node, streams.pop(id(node), None))
            _add(own, usage)
            _add(mine, usage, includes_cache, basis)
        for key in [k for k in streams if troupe.owner.get(k) is agent]:
            usage = streams.pop(key)
            _add(own, usage)
            _add(mine, usage, True, basis)
        beneath = below.get(id(agent), TokenUsage())
        claimed, exclusively = _claimed(agent, basis)
        if claimed and not own:
            if claimed != beneath:
                own, mine = claimed, exclusively
        elif claimed and not (_covers(own, claimed) or _same(_sum(own, beneath), claimed)):
            partial.extend(agent.invocations[:1])
        _add(told, own)
        _add(counted, mine)
        if agent.parent is not None:
            _add(below.setdefault(id(agent.parent), TokenUsage()), _sum(own, beneath))
    if wrapper is not None and wrapper.facts.usage and not wrapper.facts.convention.usage_accumulates:
        if not told:
            _add(counted, wrapper.facts.usage, wrapper.facts.input_includes_cache, basis)
        elif not _covers(told, wrapper.facts.usage):
            partial.append(wrapper)
    found = {wire: getattr(counted, name) for name, wire in _WIRE if getattr(counted, name) is not None}
    if requests:
        found["requests"] = requests
    return found or None, partial


def _of_request(node: Node, stream: TokenUsage | None) -> tuple[TokenUsage, bool | None]:
    """What one request reports, by its attributes and by NormalizedEvents: the larger report of each field,
    and whether its input count includes the cache (that of NormalizedEvents does).
    """
    told = node.facts.usage or TokenUsage()
    includes_cache = node.facts.input_includes_cache
    if stream is None:
        return told, includes_cache
    if stream.input is not None and (told.input is None or stream.input >= told.input):
        includes_cache = True
    both = TokenUsage()
    for name, _ in _WIRE:
        values = [v for v in (getattr(told, name), getattr(stream, name)) if v is not None]
        setattr(both, name, max(values, default=None))
    return both, includes_cache


def _claimed(agent: Agent, basis: Basis) -> tuple[TokenUsage, TokenUsage]:
    """The figure on the agent's own spans: of one invocation, unless its convention says that it accumulates.
    As reported, and in the basis asked for.
    """
    total, mine = TokenUsage(), TokenUsage()
    for node in agent.invocations:
        usage = node.facts.usage
        if usage and not node.facts.convention.usage_accumulates:
            _add(total, usage)
            _add(mine, usage, node.facts.input_includes_cache, basis)
    return total, mine


def _covers(counted: TokenUsage, claimed: TokenUsage) -> bool:
    """Whether the requests that were seen account for all that a span claims. A smaller claim (of the last
    request alone, say) does not call in question what was seen.
    """
    return all((getattr(counted, name) or 0) >= (getattr(claimed, name) or 0) for name in ("input", "output"))


def _same(counted: TokenUsage, claimed: TokenUsage) -> bool:
    return all(getattr(claimed, name) in (None, getattr(counted, name)) for name in ("input", "output"))


def _sum(a: TokenUsage, b: TokenUsage) -> TokenUsage:
    total = TokenUsage()
    _add(total, a)
    _add(total, b)
    return total


def _add(
    total: TokenUsage, usage: TokenUsage, includes_cache: bool | None = None, basis: Basis = "reported"
) -> None:
    for name, _ in _WIRE:
        value = getattr(usage, name)
        if value is None:
            continue
        if name == "input" and basis == "exclusive" and includes_cache:
            value = max(0, value - (usage.cache_read or 0) - (usage.cache_creation or 0))
        setattr(total, name, (getattr(total, name) or 0) + value)
