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
) -> tuple[dict[str, Any] | None, list[Agent]]:
    """The usage member, and the agents whose own total disagrees with their requests.

    `streams`: usage that NormalizedEvents of a node report, by the node's id(). `wrapper`: the workflow span
    around all agents, whose figure is used only where nothing below it reports.
    """
    total: dict[str, int] = {}
    requests = 0
    partial: list[Agent] = []
    for agent in troupe.agents:
        own = TokenUsage()
        for node in agent.requests:
            requests += 1 if node.facts.requests is None else node.facts.requests
            usage = streams.pop(id(node), None) or node.facts.usage
            if usage:
                _add(own, usage, node.facts.input_includes_cache, basis)
        for key in [k for k in streams if troupe.owner.get(k) is agent]:
            _add(own, streams.pop(key), None, "reported")
        claimed = _claimed(agent)
        if not own and claimed is not None:
            _add(own, claimed, None, "reported")
        elif (
            claimed is not None
            and own
            and basis == "reported"
            and _less(own, claimed)
            and not _with_subs(agent, troupe, claimed)
        ):
            partial.append(agent)
        for name, wire in _WIRE:
            value = getattr(own, name)
            if value is not None:
                total[wire] = total.get(wire, 0) + value
    if (
        not total
        and wrapper is not None
        and wrapper.facts.usage
        and not wrapper.facts.convention.usage_accumulates
    ):
        for name, wire in _WIRE:
            value = getattr(wrapper.facts.usage, name)
            if value is not None:
                total[wire] = value
    if requests:
        total["requests"] = requests
    order = [wire for _, wire in _WIRE] + ["requests"]
    return ({k: total[k] for k in order if k in total} or None), partial


def _claimed(agent: Agent) -> TokenUsage | None:
    """The figure on the agent's own spans, unless its convention says that it accumulates."""
    total = TokenUsage()
    for node in agent.invocations:
        usage = node.facts.usage
        if usage and not node.facts.convention.usage_accumulates:
            _add(total, usage, None, "reported")
    return total if total else None


def _less(own: TokenUsage, claimed: TokenUsage) -> bool:
    """Whether the requests that were seen account for less than the agent says."""
    return any(
        getattr(claimed, name) is not None and (getattr(own, name) or 0) < getattr(claimed, name)
        for name in ("input", "output")
    )


def _with_subs(agent: Agent, troupe: Cast, claimed: TokenUsage) -> bool:
    """Whether the claim is the sum of the agent and of all below it."""
    total = 0
    for one in troupe.agents:
        up: Agent | None = one
        while up is not None and up is not agent:
            up = up.parent
        if up is agent:
            total += sum((n.facts.usage.input or 0) for n in one.requests if n.facts.usage)
    return total == claimed.input


def _add(total: TokenUsage, usage: TokenUsage, includes_cache: bool | None, basis: Basis) -> None:
    for name, _ in _WIRE:
        value = getattr(usage, name)
        if value is None:
            continue
        if name == "input" and basis == "exclusive" and includes_cache:
            value = max(0, value - (usage.cache_read or 0) - (usage.cache_creation or 0))
        setattr(total, name, (getattr(total, name) or 0) + value)
