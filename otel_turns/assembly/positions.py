"""What only the place of a span in its tree decides.

Comes in: a linked forest. Goes out: the same with sub-agents below the calls that reached them, chains that
are agents or structure, and side requests marked.
"""

from __future__ import annotations

from otel_turns.assembly.links import sort, unnumber
from otel_turns.assembly.stitch import tail_results
from otel_turns.assembly.tree import Forest, Node
from otel_turns.model.facts import Role, ToolCall

__all__ = ["place_invocations", "reparent_loose", "resolve_chains"]

_AGENTIC = (Role.AGENT, Role.WORKFLOW)


_WORK = (Role.INFERENCE, Role.TOOL, Role.AGENT, Role.WORKFLOW, Role.HANDOFF)


def _move(node: Node, parent: Node) -> None:
    if node.parent is not None:
        node.parent.children.remove(node)
    node.parent = parent
    parent.children.append(node)


def place_invocations(forest: Forest) -> None:
    """Invocations whose place the tree does not say: one that answers a call in another trace stands below
    that call; one that resumes a paused run, after the run around it had ended, is a root of its own.
    """
    called = [n for n in forest.nodes() if n.facts.called_by and n.role is Role.AGENT]
    resumed = [n for n in forest.nodes() if n.facts.resumes and n.role is Role.AGENT]
    if not called and not resumed:
        return
    unnumber(forest)
    calls: dict[str, Node] = {}
    if called:
        for node in forest.nodes():
            if node.role is Role.TOOL and node.facts.call_id:
                calls.setdefault(node.facts.call_id, node)
    for node in called:
        call = calls.get(node.facts.called_by or "")
        if call is None or call in node.subtree():
            continue
        if node.parent is None:
            forest.roots.remove(node)
        _move(node, call)
    for node in resumed:
        around = next((up for up in node.above() if up.role in _AGENTIC), None)
        if around is not None and around.end <= node.start and node.parent is not None:
            node.parent.children.remove(node)
            node.parent = None
            forest.roots.append(node)
    sort(forest)


def reparent_loose(forest: Forest) -> None:
    """A convention that hangs an agent's span beside the call that reached it: the enclosing tool span is its
    parent. One that hangs requests of a sub-agent below the agent that waits for it: the sub-agent is.
    """
    loose = [n for n in forest.nodes() if n.facts.loose and n.parent is not None]
    if not loose:
        return
    unnumber(forest)
    for node in loose:
        parent = node.parent
        if parent is None:
            continue
        tools = [
            tool
            for tool in parent.below()
            if tool.role is Role.TOOL
            and tool is not node
            and tool.start <= node.start <= tool.end
            and not any(up is node for up in tool.above())
            and not any(up is tool for up in node.above())
        ]
        if node.role is Role.INFERENCE:
            asker = _asker(node, tools)
            if asker is not None:
                _move(node, asker)
        elif tools:
            _move(node, max(tools, key=lambda t: (_names(t, node), t.start, t.span_id)))
    sort(forest)


def _asker(node: Node, tools: list[Node]) -> Node | None:
    """The agent below one of these runs that was at work all the while; of several at once the one that runs
    what the request asks for, or ran what it hands in. Where that tells none, nobody is it.
    """
    agents = [a for tool in tools for a in tool.below() if a.role is Role.AGENT and a.encloses(node)]
    inner = [a for a in agents if not any(b is not a and a in b.above() for b in agents)]
    if len(inner) < 2:
        return inner[0] if inner else None
    calls = {c.id for m in node.facts.outputs or () for c in m.parts if isinstance(c, ToolCall)}
    calls |= {r.id for r in tail_results(node.facts.inputs)}
    fitting = [
        a for a in inner if any(t.role is Role.TOOL and t.facts.call_id in calls for t in a.below() if calls)
    ]
    return fitting[0] if len(fitting) == 1 else None


def _names(tool: Node, agent: Node) -> int:
    """How surely the tool reaches the agent: it says so, or carries its name."""
    name = agent.facts.agent_name
    if not name:
        return 0
    if tool.facts.delegates_to == name:
        return 3
    if tool.facts.tool_name == name:
        return 2
    return int(name in (tool.facts.tool_name or ""))


def resolve_chains(forest: Forest) -> None:
    """CHAIN: an agent at the root, directly below a tool, or (where it speaks) above inferences; structure
    elsewhere.
    """
    for root in forest.roots:
        stack: list[tuple[Node, bool, bool]] = [(root, False, False)]
        while stack:
            node, inside, below_tool = stack.pop()
            if node.role is Role.CHAIN:
                topmost = not inside and _has_work(node)
                speaks = node.facts.chain_speaks and inside and _own_inference(node)
                agent = (topmost or below_tool or speaks) and _has_work(node)
                node.facts.role = Role.AGENT if agent else Role.STEP
            if node.facts.side and node.role in (Role.STEP, Role.NOTHING):
                for one in node.below():
                    one.facts.side = one.facts.side or one.role is Role.INFERENCE
                    if one.role in _AGENTIC or one.role is Role.CHAIN:
                        one.facts.role = Role.STEP
            inside = inside or node.role in _AGENTIC
            if node.role is Role.TOOL:
                below_tool = True
            elif node.role in (*_AGENTIC, Role.INFERENCE):
                below_tool = False
            stack.extend((child, inside, below_tool) for child in node.children)


def _has_work(node: Node) -> bool:
    return node.tells or any(n.role in _WORK or n.tells for n in node.below())


def _own_inference(node: Node) -> bool:
    stack = list(node.children)
    while stack:
        child = stack.pop()
        if child.role is Role.INFERENCE:
            return True
        if child.role in (Role.STEP, Role.NOTHING):
            stack.extend(child.children)
    return False
