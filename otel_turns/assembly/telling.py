"""Tells a turn: who said, did and asked what, in events with their causes.

Comes in: a `Making` with its witnesses. Goes out: its narrative filled, and whether the turn waits or failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from otel_turns.assembly.agents import Agent
from otel_turns.assembly.making import Making, asked_about
from otel_turns.assembly.operations import Operation
from otel_turns.assembly.replies import Reply
from otel_turns.assembly.status import Failure
from otel_turns.assembly.tree import Node
from otel_turns.model.facts import MISSING, Message, Question, Role, Text, ToolCall
from otel_turns.model.json_text import loads

__all__ = ["tell", "tell_errors"]


def tell(making: Making) -> bool:
    """Fills the narrative; whether the turn waits for a human."""
    narrative, ops = making.narrative, making.ops
    for op in ops.all:
        _fill_output(op)
        narrative.operation(op)
    _tell_subagents(making)
    asked: dict[int, list[Operation]] = {}
    for op in ops.all:
        if op.asked is not None:
            asked.setdefault(id(op.asked), []).append(op)
    data_reply = _typed_answer(making)
    for reply in making.replies:
        if reply.node.facts.side:
            continue
        speech = making.speeches.get(id(reply.node))
        told = speech.text if speech is not None and speech.said else None
        mine = sorted(asked.get(id(reply), ()), key=lambda o: o.index)
        narrative.reply(reply, mine, reply.text if reply is data_reply else None, told)
    for node in making.every:
        speech = making.speeches.get(id(node))
        agent = making.cast.owner.get(id(node), making.cast.main)
        if speech is not None:
            narrative.speech(node, agent, speech)
        for index, mark in enumerate(node.facts.marks):
            if mark.kind == "event":
                narrative.mark(node, dict(mark.value), mark.time, index)
        if node.facts.compaction is not None:
            payload: dict[str, Any] = {"type": "compaction"}
            if node.facts.compaction:
                payload["reason"] = node.facts.compaction
            narrative.mark(node, payload, node.end, 0)
    if making.options.include_user_messages:
        for node, words in making.user_words:
            narrative.user_words(node, words, node.start)
        for node in making.every:
            speech = making.speeches.get(id(node))
            for one in speech.user_said if speech is not None else ():
                narrative.user_words(node, [one.text], one.time, one.index)
    _tell_final_words(making)
    return _tell_questions(making)


def _fill_output(op: Operation) -> None:
    if op.output is MISSING and op.sub is not None and not op.transfer:
        op.output = _answer_of(op.sub)
    if (
        op.output is MISSING
        and op.sub is None
        and op.run is not None
        and op.run.facts.delegates_to
        and not op.failed
    ):
        op.output = _inner_answer(op.run)
    if op.output is MISSING and op.status in ("failed", "rejected") and op.error:
        op.output = op.error


def _answer_of(agent: Agent) -> Any:
    """What a sub-agent returned: its typed answer, the words of its own span, else its last reply."""
    for node in reversed(agent.invocations):
        if node.facts.data is not MISSING:
            return node.facts.data
        text = _text(node.facts.outputs)
        if text:
            return text
    for node in reversed(agent.requests):
        parts = [p for m in node.facts.outputs or () for p in m.parts]
        if any(isinstance(p, ToolCall) for p in parts):
            break
        text = _text(node.facts.outputs)
        if text:
            return text
    return MISSING


def _inner_answer(run: Node) -> Any:
    """The last words of the requests below a delegating call whose agent has no span of its own."""
    requests = [n for n in run.below() if n.role is Role.INFERENCE and not n.facts.side]
    last = max(requests, key=lambda n: n.key, default=None)
    parts = [p for m in (last.facts.outputs or () if last is not None else ()) for p in m.parts]
    if any(isinstance(p, ToolCall) for p in parts):
        return MISSING
    return "".join(p.text for p in parts if isinstance(p, Text)) or MISSING


def _text(messages: Sequence[Message] | None) -> str:
    """The last assistant text of a list of messages."""
    for message in reversed(messages or ()):
        text = "".join(p.text for p in message.parts if isinstance(p, Text))
        if text and message.role in ("assistant", "model", "user"):
            return text
    return ""


def _tell_subagents(making: Making) -> None:
    taken = {o.id for o in making.ops.all}
    for sub in making.cast.subs:
        node = sub.node
        if node is None:
            continue
        sub_id = node.facts.invocation_id or ""
        if not sub_id or sub_id in taken:
            sub_id = f"agent:{node.span_id.hex()}"
        taken.add(sub_id)
        output = _answer_of(sub)
        if output is MISSING:
            output = _spoken(making, sub)
        if output is MISSING:
            op = next((o for o in making.ops.all if o.sub is sub and not o.transfer), None)
            if op is not None and op.output is not MISSING and not op.failed:
                output = op.output
        failed = any(n.facts.failed and not n.facts.recovered for n in sub.invocations[-1:])
        if failed and output is MISSING and node.facts.error:
            output = node.facts.error
        sub.operation_id, sub.failed = sub_id, failed
        if output is MISSING and not sub.requests and not failed:
            making.remarks.add(
                "content_not_captured",
                "what this agent returned was not captured",
                node.span_id,
                sub_id,
            )
        making.narrative.subagent(sub, sub.name or "", sub_id, output, failed)
        if not all(n.ended for n in sub.invocations):
            _never_ended(making, node, sub_id)
    for op in making.ops.all:
        reached = op.run.facts.delegates_to if op.run is not None else None
        if reached and op.sub is None:
            sub_id = (
                f"agent:{op.run.span_id.hex()}" if op.run is not None and op.run.span_id else f"agent:{op.id}"
            )
            making.narrative.delegation(op, reached, sub_id)
            if op.finished is None and op.run is not None:
                _never_ended(making, op.run, sub_id, expected=op.questioned)


def _never_ended(making: Making, node: Node, sub_id: str, expected: bool = False) -> None:
    """`expected`: its call waits for a human."""
    making.remarks.add(
        "operation_unfinished",
        "nothing shows that this agent ended",
        node.span_id,
        sub_id,
        expected=expected,
    )


def _spoken(making: Making, sub: Agent) -> Any:
    """The last message that the NormalizedEvents of a sub-agent tell."""
    found: list[tuple[int, str]] = []
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is not None and making.cast.owner.get(id(node)) is sub:
            found.extend((u.time, u.text) for u in speech.said if u.kind == "message")
    return max(found)[1] if found else MISSING


def _typed_answer(making: Making) -> Reply | None:
    """The reply whose text is the typed answer, which goes to `data` and is not said."""
    main = making.cast.main
    if making.ops.data is not MISSING:
        making.data = making.ops.data
    for node in (*main.invocations, making.scope.root):
        if node.facts.data is not MISSING:
            making.data = node.facts.data
    heard = [r for r in making.replies if r.agent.speaks and not r.silent and not r.node.facts.side]
    last = next((r for r in reversed(heard) if r.text and not r.calls), None)
    if making.data is not MISSING:
        if last is not None and _parsed(last.text) == making.data:
            return last
        return None
    typed = last is not None and (last.structured or any(n.facts.structured for n in main.invocations))
    if last is not None and typed and last is heard[-1]:
        value = _parsed(last.text)
        if isinstance(value, dict | list):
            making.data = value
            return last
        making.remarks.add(
            "unparsable_json", "the typed answer is no JSON; it stands as text", last.node.span_id
        )
    return None


def _parsed(text: str) -> Any:
    try:
        return loads(text)
    except ValueError:
        return MISSING


def _tell_final_words(making: Making) -> None:
    """A text that only an agent's own span carries is a message, once."""
    narrative = making.narrative
    for agent in making.cast.agents:
        if not agent.speaks:
            continue
        nodes = agent.invocations or (
            [making.scope.root] if agent.is_main and making.scope.root.is_span else []
        )
        if agent.is_main and making.scope.root not in nodes and not any(n.facts.outputs for n in nodes):
            nodes = [*nodes, making.scope.root]
        for node in nodes:
            text = _text(node.facts.outputs)
            if not text or not text.strip() or (making.data is not MISSING and _parsed(text) == making.data):
                continue
            if (
                agent.is_main
                and any(n.facts.structured for n in nodes)
                and isinstance(_parsed(text), dict | list)
            ):
                making.data = _parsed(text)
                continue
            mine = [r for r in making.replies if r.agent is agent and not r.silent and not r.node.facts.side]
            if mine and mine[-1].captured and mine[-1].text:
                continue
            if any(text.strip() == one.strip() or text.strip() in one for one in narrative.said):
                continue
            if mine and any(r.text and r.text in text for r in mine) and mine[-1].captured:
                continue
            if node.facts.failed and not node.facts.recovered:
                continue
            narrative.final_words(agent, node, text)


def _tell_questions(making: Making) -> bool:
    """One event a question; whether one of them is still open."""
    waiting = any(n.facts.waiting for n in making.nodes)
    told: list[tuple[str | None, Question]] = []
    open_questions = False
    for node in making.every:
        for question in node.facts.questions:
            op = asked_about(making, question, node)
            key = op.id if op is not None else question.call_id
            if any(_same_question(key, question, k, q) for k, q in told):
                continue
            told.append((key, question))
            if not question.prompt and op is not None:
                question.prompt = next((r.facts.prompt for r in op.runs if r.facts.prompt), None)
            answered = bool(question.answered) or (
                op is not None and op.finished is not None and (not op.paused or op.result is not None)
            )
            making.narrative.question(question, op, node, answered)
            open_questions = open_questions or not answered
    asked = [
        (mark.time or node.end, mark.value["request"])
        for node in making.every
        for mark in node.facts.marks
        if mark.kind == "event" and mark.value["type"] == "input.requested"
    ]
    for speech in making.speeches.values():
        asked.extend((t, e["request"]) for t, _, e in speech.events if e["type"] == "input.requested")
    if open_questions or any(not _is_answered(making, request, time) for time, request in asked):
        return True
    if not waiting or told or asked:
        return False
    _ask_about_pending_calls(making)
    return True


def _is_answered(making: Making, request: dict[str, Any], time: int) -> bool:
    """Whether the call that a question is about ended behind it."""
    return any(
        o.finished is not None
        and o.finished >= time
        and (request.get("id") in o.ids or (o.name is not None and o.name == request.get("action")))
        for o in making.ops.all
    )


def _ask_about_pending_calls(making: Making) -> None:
    """The run paused for a human, and nothing says about what: about each call that it left pending."""
    root = making.cast.main.node or making.scope.root
    for op in making.ops.all:
        if op.finished is None and op.agent.speaks:
            op.questioned = True
            making.narrative.question(Question(call_id=op.id), op, op.run or root, False)


def _same_question(key: str | None, question: Question, other_key: str | None, other: Question) -> bool:
    if question.id and other.id:
        return question.id == other.id and key == other_key
    return key is not None and key == other_key


def tell_errors(making: Making, failures: list[Failure]) -> bool:
    """Errors of spans and of NormalizedEvents; whether the turn failed."""
    failed = False
    stream: list[tuple[int, Node, str]] = []
    stream_failed = False
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is not None:
            stream.extend((time, node, message) for time, _, message in speech.errors)
            if speech.errors or speech.done:
                stream_failed = speech.failed
    told: list[str] = []
    for time, node, message in stream:
        if message not in told:
            told.append(message)
            making.narrative.error(node, message, False, time)
    for failure in failures:
        failed = failed or failure.fatal
        message = failure.message
        if not message:
            if failure.fatal:
                making.remarks.add(
                    "content_not_captured",
                    "the error that ended the turn has no message",
                    failure.node.span_id,
                )
            continue
        if any(message in t or t in message for t in told):
            continue
        told.append(message)
        making.narrative.error(failure.node, message, failure.fatal, failure.node.end)
    return failed or stream_failed
