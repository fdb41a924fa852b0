"""Who acts in a turn: its own agent, the sub-agents, and which of them each span belongs to.

Comes in: a `TurnScope`. Goes out: `Cast`: the agents, and for every node its nearest agent. An agent speaks
for the turn where it is the turn's own, or where control was handed over to it; the words of all others are
inner speech.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from otel_turns.assembly.boundaries import TurnScope
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import Role

__all__ = ["Agent", "Cast", "cast"]


@dataclass(slots=True, eq=False)
class Agent:
    """One invocation of an agent within the turn; `node` is None for the turn's own where no span stands for
    it.

    `via`: the nearest tool span above it. `invocations`: its span, and those that are this same agent again
    (a resume, a doubled span). `operation_id`, `failed`: of the operation that a sub-agent is, once told.
    """

    node: Node | None
    name: str | None
    parent: Agent | None = None
    via: Node | None = None
    speaks: bool = False
    invocations: list[Node] = field(default_factory=list[Node])
    requests: list[Node] = field(default_factory=list[Node])
    depth: int = 0
    operation_id: str = ""
    failed: bool = False

    @property
    def is_main(self) -> bool:
        return self.parent is None


@dataclass(slots=True)
class Cast:
    """All agents of a turn, the main one first, and where each node belongs.

    `inner`: ids of inference nodes that a tool calls without an agent between: their words are nobody's
    speech.
    """

    main: Agent
    subs: list[Agent] = field(default_factory=list[Agent])
    owner: dict[int, Agent] = field(default_factory=dict[int, Agent])
    inner: set[int] = field(default_factory=set[int])

    @property
    def agents(self) -> list[Agent]:
        return [self.main, *self.subs]


def cast(scope: TurnScope, nodes: list[Node]) -> Cast:
    """The agents of the turn. `nodes`: the turn's nodes, parents before children."""
    handed_to = {n.facts.handoff_to for n in nodes if n.facts.handoff_to}
    main = Agent(None, None, speaks=True)
    troupe = Cast(main)
    beneath: dict[int, tuple[Agent, Node | None]] = {}
    known = {id(n) for n in nodes}
    tops = sorted((n for n in nodes if n.parent is None or id(n.parent) not in known), key=lambda n: n.key)
    first = _first_agent(tops, known)
    if first is not None:
        main.node, main.name = first, first.facts.agent_name
        main.invocations.append(first)
    stack: list[tuple[Node, Agent, Node | None]] = [(top, main, None) for top in reversed(tops)]
    while stack:
        node, agent, tool = stack.pop()
        if node.role is Role.AGENT and node is not first:
            agent, tool = _join(node, agent, tool, troupe, handed_to), None
        elif node is first:
            agent, tool = main, None
        troupe.owner[id(node)] = agent
        beneath[id(node)] = (agent, tool)
        if node.role is Role.INFERENCE:
            if tool is not None:
                troupe.inner.add(id(node))
            agent.requests.append(node)
        inside = node if node.role is Role.TOOL else tool
        stack.extend((child, agent, inside) for child in reversed(node.children) if id(child) in known)
    for agent in troupe.agents:
        agent.requests.sort(key=lambda n: n.key)
    return troupe


def _first_agent(tops: list[Node], known: set[int]) -> Node | None:
    """The turn's own agent: the topmost invocation that began first."""
    found: list[Node] = []
    stack = list(tops)
    while stack:
        node = stack.pop()
        if node.role is Role.AGENT:
            found.append(node)
        elif node.role is not Role.TOOL:
            stack.extend(c for c in node.children if id(c) in known)
    return min(found, key=lambda n: n.key, default=None)


def _join(node: Node, agent: Agent, tool: Node | None, troupe: Cast, handed_to: set[str]) -> Agent:
    """The agent that an invocation is: one that acts already, or a new sub-agent."""
    name = node.facts.agent_name
    if tool is None:
        for known in (agent, *(a for a in troupe.agents if a.parent is agent.parent or a.parent is agent)):
            if known.via is None and _is_again(node, known):
                known.invocations.append(node)
                return known
    beside = tool is None and (agent.is_main and not _within(node, agent))
    speaks = (
        agent.speaks and tool is None and (beside or name in handed_to or node.facts.handoff_to is not None)
    )
    sub = Agent(node, name, parent=agent, via=tool, speaks=speaks, invocations=[node], depth=agent.depth + 1)
    troupe.subs.append(sub)
    return sub


def _is_again(node: Node, agent: Agent) -> bool:
    if agent.node is None:
        return False
    mine, its = node.facts.invocation_id, agent.node.facts.invocation_id
    if mine and its and mine == its:
        return True
    if node.facts.resumes or node.facts.continues:
        return node.facts.agent_name == agent.name
    return agent.is_main and node.facts.agent_name is not None and node.facts.agent_name == agent.name


def _within(node: Node, agent: Agent) -> bool:
    return any(up in agent.invocations for up in node.above())
