"""Explanations for a reader: one tree a trace.

Comes in: traces as `otel_turns.explain` tells them. Goes out: `Line`s in a tree, printed with branches and
colours on a terminal and indented elsewhere. Structure is counted, not listed, unless all is asked for: what
stands below it hangs from the nearest span that is shown. Names come from telemetry and are shown printable.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from otel_turns.cli.timeline import printable

if TYPE_CHECKING:
    from rich.tree import Tree

__all__ = ["Line", "accounts", "print_plain", "print_tree"]

_WORDS: Final = {
    "turn": "turn",
    "agent": "the turn's agent",
    "same_agent": "the same agent again",
    "subagent": "sub-agent",
    "request": "request",
    "side_request": "side request",
    "operation": "operation",
    "answer": "typed answer",
    "told": "its events are told",
    "merged": "merged",
    "wrapper": "wrapper",
    "structure": "structure",
    "no_work": "no agent work",
    "unread": "not read",
    "no_turn": "in no turn",
    "duplicate": "the same span again",
}
_DULL: Final = frozenset({"structure", "no_work"})
_JOINED: Final = {
    "id": "joined by id",
    "arguments": "joined by name and arguments",
    "order": "joined by name and order",
    "name": "joined by the agent's name",
}
_ANSWERED: Final = {
    "id": "its result by id",
    "arguments": "its result by name and arguments",
    "order": "its result by order",
}


@dataclass(slots=True)
class Line:
    """One line; `style` is a word that rich knows, "" for none."""

    text: str
    style: str = ""
    below: list[Line] = field(default_factory=list["Line"])

    def add(self, text: str, style: str = "") -> Line:
        line = Line(printable(text), style)
        self.below.append(line)
        return line


def accounts(traces: Iterable[Mapping[str, Any]], *, full: bool = False) -> Iterator[Line]:
    """A tree for each trace; traces of structure alone are counted at the end."""
    empty = 0
    for trace in traces:
        if not full and not trace["turns"] and all(set(s["became"]) <= _DULL for s in trace["spans"]):
            empty += 1
        else:
            yield _account(trace, full)
    if empty:
        yield Line(f"{_counted(empty, 'trace')} without agent work")


def _account(trace: Mapping[str, Any], full: bool) -> Line:
    spans: Sequence[Mapping[str, Any]] = trace["spans"]
    dialects: Mapping[str, int] = trace["dialects"]
    unread = sum(1 for s in spans if "dialect" not in s)
    read = [f"{name} {count}" for name, count in dialects.items()] + [f"no dialect {unread}"] * bool(unread)
    what = f"trace {trace['traceId']}" if trace["traceId"] else "log records outside any trace"
    top = Line(f"{what}, read as {', '.join(read)}", "bold")
    branches = _Branches(spans, several=len(dialects) > 1, full=full)
    branches.hang(top)
    for turn in trace["turns"]:
        _turn(top, turn)
    return top


class _Branches:
    """Spans hung below their parents. `several`: more than one dialect reads them, so each is named."""

    def __init__(self, spans: Sequence[Mapping[str, Any]], *, several: bool, full: bool) -> None:
        self._several, self._full = several, full
        self._children: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        self._unseen = {s["spanId"]: s for s in spans if "record" not in s}
        for span in spans:
            parent = span["spanId"] if "record" in span else span.get("parentSpanId", "")
            self._children[parent if parent in self._unseen else ""].append(span)

    def hang(self, top: Line) -> None:
        """Hangs every span from the line of its parent; those that are each other's parents from `top`."""
        self._below(top, self._children[""])
        while self._unseen:
            self._below(top, [next(iter(self._unseen.values()))])

    def _below(self, top: Line, spans: Sequence[Mapping[str, Any]]) -> None:
        waiting = [(top, spans)]
        while waiting:
            line, below = waiting.pop()
            waiting.extend(self._listed(line, below))

    def _listed(
        self, at: Line, spans: Sequence[Mapping[str, Any]]
    ) -> Iterator[tuple[Line, Sequence[Mapping[str, Any]]]]:
        """Lists spans below a line, and gives each line with what stands below it."""
        dull = 0
        records: list[str] = []
        stack = list(reversed(spans))
        while stack:
            span = stack.pop()
            if "record" in span:
                records.append(f"log record {_said(span, self._several)}")
            elif self._unseen.pop(span["spanId"], None) is None:
                continue
            elif not self._full and set(span["became"]) <= _DULL:
                dull += 1
                stack.extend(reversed(self._children[span["spanId"]]))
            else:
                line = at.add(_said(span, self._several), _style(span))
                yield line, self._children[span["spanId"]]
        for text, count in ((t, 1) for t in records) if self._full else Counter(records).items():
            at.add(text if count == 1 else f"{count} times {text}")
        if dull:
            at.add(f"and {_counted(dull, 'span')} of structure", "bright_black")


def _said(span: Mapping[str, Any], several: bool) -> str:
    """A span's name, who read it where that differs, and what became of it."""
    words: list[str] = []
    for word in map(str, span["became"]):
        said = _WORDS.get(word, word)
        if word in ("operation", "subagent") and span.get("operationIds"):
            said += f" {' '.join(span['operationIds'])}"
        elif word == "merged" and "mergedInto" in span:
            said += f" into {span['mergedInto']['spanId'] or 'another record'}"
        words.append(said)
    normalized = "normalizedEvents" in span
    readers = [span["dialect"]] if "dialect" in span and (several or normalized) else []
    readers += ["NormalizedEvents"] * normalized
    by = f" (read by {' and '.join(readers)})" if readers else ""
    name = f"{span['name']}: " if span["name"] else ""
    return printable(f"{name}{', '.join(words)}{by}")


def _style(span: Mapping[str, Any]) -> str:
    became = set(span["became"])
    if became & {"unread", "no_turn"}:
        return "yellow"
    return "bright_black" if became <= _DULL else ""


def _turn(at: Line, turn: Mapping[str, Any]) -> None:
    whole = "complete" if turn["complete"] else "not complete"
    line = at.add(f"turn {turn['turnId']}: {turn['status']}, {whole}", "bold")
    if len(turn["traceIds"]) > 1:
        line.add(f"stitched from {len(turn['traceIds'])} traces")
    for op in turn["operations"]:
        words: list[str] = [_JOINED[op["joinedBy"]]] if "joinedBy" in op else []
        if op["kind"] == "tool" and not words and op["runs"]:
            words.append("no reply was seen that asks for it" if "askedBy" not in op else "run")
        if op["kind"] == "tool" and not op["runs"]:
            words.append("no span runs it")
        if "answeredBy" in op:
            words.append(_ANSWERED[op["answeredBy"]])
        status = op.get("status", "not finished")
        kind = "sub-agent" if op["kind"] == "subagent" else "call"
        said = f": {', '.join(words)}" if words else ""
        line.add(f"{kind} {op['name']} {op['operationId']}, {status}{said}")
    for word, style in (("missing", "yellow"), ("notes", "bright_black")):
        for remark in turn[word]:
            times = f" ({remark['count']} times)" if remark["count"] > 1 else ""
            label = "missing" if word == "missing" else "note"
            told = line.add(f"{label} {remark['code']}: {remark['message']}{times}", style)
            told.add(remark["todo"])


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def print_plain(lines: Iterable[Line]) -> None:
    """Indented, for pipes and files."""
    for index, line in enumerate(lines):
        if index:
            sys.stdout.write("\n")
        stack = [(line, 0)]
        while stack:
            one, depth = stack.pop()
            sys.stdout.write("  " * depth + one.text + "\n")
            stack.extend((below, depth + 1) for below in reversed(one.below))


def print_tree(lines: Iterable[Line]) -> None:
    """With branches and colours, for a terminal."""
    from rich.console import Console

    console = Console()
    for line in lines:
        console.print(_tree(line))


def _tree(line: Line) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(line.text, style=line.style), guide_style="bright_black")
    stack = [(tree, line)]
    while stack:
        branch, one = stack.pop()
        stack.extend((branch.add(Text(b.text, style=b.style)), b) for b in one.below)
    return tree
