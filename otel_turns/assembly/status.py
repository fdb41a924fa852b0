"""How a turn ended, and which errors it met.

Comes in: the cast, the replies and the operations of a turn. Goes out: the failures that are events, and
whether one of them ended the turn. A failed tool alone fails no turn; an error that the agent got over is an
event all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_turns.assembly.agents import Cast
from otel_turns.assembly.operations import Operation
from otel_turns.assembly.replies import Reply
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import Role

__all__ = ["Failure", "find_failures"]


@dataclass(slots=True)
class Failure:
    """An error of the turn. `fatal`: it ended the turn. `message` is None where nobody says it in words."""

    node: Node
    message: str | None
    fatal: bool


def find_failures(
    nodes: Sequence[Node], root: Node, troupe: Cast, replies: Sequence[Reply], operations: Sequence[Operation]
) -> list[Failure]:
    """The failures, each once, as the outermost span says it; the fatal one last."""
    tool_errors = [o.error for o in operations if o.failed and o.error]
    outer = _shell(root, troupe)
    fatal = next((n for n in outer if n.facts.failed and not n.facts.recovered), None)
    asks = [r for r in replies if r.agent.is_main or r.agent.speaks]
    last = asks[-1] if asks else None
    if fatal is not None and _spread(fatal, tool_errors, last, operations):
        fatal = None
    failures: list[Failure] = []
    if fatal is not None:
        failures.append(Failure(fatal, _words(fatal, outer, replies, tool_errors), True))
    elif last is not None and _is_dead(last, nodes):
        failures.append(Failure(last.node, last.node.facts.error, True))
    good = [r for r in asks if r.parts or not r.node.facts.failed]
    if failures:
        # attempts behind the last good reply are what ended the turn, and are told once
        asks = asks[: asks.index(good[-1]) + 1] if good else []
    found = [
        Failure(r.node, r.node.facts.error, False)
        for r in asks
        if r.node.facts.failed
        and not r.parts
        and not r.node.facts.side
        and r.node is not (failures[0].node if failures else None)
    ]
    out: list[Failure] = []
    for failure in found:
        if not any(_same(failure.message, f.message) for f in (*failures, *out)):
            out.append(failure)
    return [*out, *failures]


def _shell(root: Node, troupe: Cast) -> list[Node]:
    """The spans that stand for the whole turn, outermost first: the root, wrappers, the main agent's
    invocations.

    The agents that took over speak for the turn, so the last of them counts too.
    """
    shell = [root]
    main = troupe.main
    for node in main.invocations[-1:]:
        if node is not root:
            shell.append(node)
    speakers = [a.node for a in troupe.subs if a.speaks and a.node is not None]
    if speakers:
        shell.append(max(speakers, key=lambda n: n.end))
    return [n for n in shell if n.role in (Role.AGENT, Role.WORKFLOW, Role.STEP, Role.NOTHING)]


def _spread(
    fatal: Node, tool_errors: Sequence[str | None], last: Reply | None, operations: Sequence[Operation]
) -> bool:
    """An error that only spread: a tool's failure copied upwards, while the model went on and answered."""
    if last is None or (last.node.facts.failed and not last.parts):
        return False
    answered = bool(last.parts) and not last.calls
    told = fatal.facts.error
    handled = any(o.failed and o.handed is not None for o in operations)
    return answered and bool(tool_errors) and handled and any(_same(told, e) for e in tool_errors)


def _is_dead(last: Reply, nodes: Sequence[Node]) -> bool:
    """The last request failed and nothing came after it."""
    if not last.node.facts.failed or last.parts:
        return False
    return not any(n.role is Role.TOOL and n.start > last.node.end for n in nodes)


def _words(
    fatal: Node, outer: Sequence[Node], replies: Sequence[Reply], tool_errors: Sequence[str | None]
) -> str | None:
    """The message, as the outermost span that has words says it."""
    for node in outer:
        if node.facts.failed and node.facts.error:
            return node.facts.error
    for reply in reversed(replies):
        if reply.node.facts.failed and reply.node.facts.error:
            return reply.node.facts.error
    for error in reversed(tool_errors):
        if error:
            return error
    return fatal.facts.error


def _same(a: str | None, b: str | None) -> bool:
    if not a or not b:
        return a == b
    return a in b or b in a
