"""One turn out of its scope: the record that a sink receives.

Comes in: a `TurnScope`, options, and what earlier turns of the session left pending. Goes out: a record as a plain dict, in the
shapes of the model (a test holds them together), or None where the scope turns out to hold no agent work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from otel_turns.assembly.agents import Agent, Cast, cast
from otel_turns.assembly.boundaries import TurnScope
from otel_turns.assembly.evidence import Remarks
from otel_turns.assembly.narrative import Narrative
from otel_turns.assembly.operations import Operation, Operations
from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.order import Event, in_order
from otel_turns.assembly.replies import Handed, Reply, read_replies, recover_across
from otel_turns.assembly.speech import Speech, fold
from otel_turns.assembly.status import Failure, find_failures
from otel_turns.assembly.tree import Node
from otel_turns.assembly.usage import count_usage
from otel_turns.model.facts import MISSING, Facts, Message, Question, Role, Text, ToolCall, ToolResult
from otel_turns.model.span import Span

__all__ = ["Memory", "assemble_turn"]


class Memory:
    """What the turns of a session leave behind for later ones: the calls that were pending, and whether a human was asked."""

    def __init__(self, limit: int = 10_000) -> None:
        self._pending: dict[tuple[str | None, str], bool] = {}
        self._limit = limit

    def leave(self, session: str | None, call_id: str, asked: bool) -> None:
        self._pending[(session, call_id)] = asked
        while len(self._pending) > self._limit:
            self._pending.pop(next(iter(self._pending)))

    def pending(self, session: str | None) -> dict[str, bool]:
        """Pending calls of the session, and of turns without one."""
        return {
            call: asked
            for (one, call), asked in self._pending.items()
            if one == session or one is None or session is None
        }


class _Making:
    """Everything that is known while one turn is made."""

    def __init__(self, scope: TurnScope, options: AssemblyOptions, memory: Memory) -> None:
        self.scope, self.options, self.memory = scope, options, memory
        self.remarks = Remarks()
        self.nodes = scope.nodes()
        self.records = scope.records
        self.every: list[Node] = [*self.nodes, *self.records]
        self.cast: Cast = cast(scope, self.nodes)
        for record in self.records:
            self.cast.owner[id(record)] = self.cast.main
            if record.role is Role.INFERENCE:
                self.cast.main.requests.append(record)
        self.cast.main.requests.sort(key=lambda n: n.key)
        self.session = next((n.facts.session_id for n in self._by_rank() if n.facts.session_id), None)
        self.speeches: dict[int, Speech] = {id(n): fold(n) for n in self.every if n.facts.normalized}
        self.ops = Operations(self.cast)
        self.replies: list[Reply] = []
        self.handed: list[Handed] = []
        self.user_words: list[tuple[Node, list[str]]] = []
        self.narrative = Narrative(self.cast)
        self.data: Any = MISSING

    def _by_rank(self) -> list[Node]:
        root = self.scope.root
        return [root, *self.cast.main.invocations, *self.every]

    @property
    def gives_spans(self) -> bool:
        return any(
            n.facts.convention.runs_have_spans
            for n in self.nodes
            if n.role in (Role.AGENT, Role.INFERENCE, Role.TOOL)
        )


def assemble_turn(scope: TurnScope, options: AssemblyOptions, memory: Memory) -> dict[str, Any] | None:
    """The record of one turn."""
    making = _Making(scope, options, memory)
    _gather(making)
    _decide(making)
    making.ops.place([r for r in making.replies if not r.node.facts.side])
    making.ops.close(making.gives_spans)
    _end_behind_its_back(making)
    waiting = _tell(making)
    failures = find_failures(making.nodes, scope.root, making.cast, making.replies, making.ops.all)
    failed = _tell_errors(making, failures)
    making.narrative.tie(making.ops.all)
    streams = {k: s.usage for k, s in making.speeches.items() if s.usage is not None}
    wrapper = next((n for n in making.nodes if n.role is Role.WORKFLOW), None)
    usage, partial = count_usage(making.cast, streams, wrapper, options.usage_basis)
    events = in_order(making.narrative.events)
    if not events and making.data is MISSING and not _has_request(making):
        return None
    status = "failed" if failed else "waiting" if waiting else "completed"
    _remark(making, status, usage, partial)
    _remember(making, status)
    return _record(making, events, status, usage)


def _has_request(making: _Making) -> bool:
    return any(n.role in (Role.INFERENCE, Role.AGENT, Role.TOOL) for n in making.every)


# --- witnesses ----------------------------------------------------------------------------------------------------------


def _gather(making: _Making) -> None:
    troupe, ops = making.cast, making.ops
    for agent in troupe.agents:
        replies, handed, words = read_replies(agent, troupe.inner)
        making.replies.extend(replies)
        making.handed.extend(handed)
        if agent.is_main and words and agent.requests:
            making.user_words.append((agent.requests[0], words))
    making.replies.sort(key=lambda r: r.node.key)
    recover_across([r for r in making.replies if r.agent.speaks and not r.silent])
    making.handed.sort(key=lambda h: h.node.key)
    for reply in making.replies:
        if not reply.node.facts.side:
            ops.ask(reply)
    _hear_calls(making)
    _ask_by_agents(making)
    ops.run(n for n in making.nodes if n.role is Role.TOOL)
    ops.record(n for n in making.records if n.role is Role.TOOL)
    subs = sorted(troupe.subs, key=lambda s: s.node.key if s.node is not None else (0, 0, b""))
    for node in making.nodes:
        if node.role is Role.HANDOFF:
            following = next((s for s in subs if s.node is not None and s.node.start >= node.start), None)
            ops.transfer(node, following)
    handoffs = [n for n in making.nodes if n.role is Role.HANDOFF]
    for sub in subs:
        _reach(making, sub, handoffs)
    pending = making.memory.pending(making.session)
    for handed in making.handed:
        ops.hand(handed, making.gives_spans, pending)
    _hand_by_agents(making, pending)
    _hear_results(making)
    never_ran = {i for n in making.every for i in n.facts.handed_over}
    for op in [o for o in ops.all if o.ids & never_ran and o.run is None]:
        ops.drop(op)
    for op in ops.all:
        if op.transfer and op.sub is not None and op.sub.node is not None and op.run is None:
            op.finished = op.sub.node.start


def _reach(making: _Making, sub: Agent, handoffs: list[Node]) -> None:
    making.ops.reach(sub, handoffs)
    if sub.via is None and not any(o.sub is sub for o in making.ops.all):
        # a transfer call that has a run of its own: the agent that starts next is the one it reached
        assert sub.node is not None
        for op in making.ops.all:
            run = op.run
            names = run is not None and (run.facts.handoff_to or run.facts.delegates_to) in (sub.name,)
            if op.sub is None and run is not None and names and run.start <= sub.node.start:
                op.sub, op.transfer = sub, sub.speaks
                return


def _hear_calls(making: _Making) -> None:
    """Calls that NormalizedEvents tell: a witness of the call, and of its start where no span runs it."""
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is None:
            continue
        for call in speech.calls:
            op = making.ops.heard(node, call.id, call.name, call.arguments, call.time, call.index)
            op.unparsable = op.unparsable or call.unparsable
            if call.broken:
                making.remarks.add(
                    "truncated_value",
                    "the stream of this call broke off before it was complete",
                    node.span_id,
                    call.id,
                )


def _hear_results(making: _Making) -> None:
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is None:
            continue
        for result in speech.results:
            making.ops.heard_result(
                node, result.id, result.name, result.content, result.success, result.time, result.index
            )


def _ask_by_agents(making: _Making) -> None:
    """Calls that only an agent's own span tells: its messages are a witness where it has no requests below it."""
    for agent in making.cast.agents:
        node = agent.node
        if node is None or any(r.captured for r in making.replies if r.agent is agent):
            continue
        outputs = node.facts.outputs or []
        calls = [p for m in outputs for p in m.parts if isinstance(p, ToolCall)]
        if calls:
            reply = Reply(node, agent, node.start, node.end, list(calls), captured=True, silent=True)
            making.ops.ask(reply)


def _hand_by_agents(making: _Making, pending: dict[str, bool]) -> None:
    for agent in making.cast.agents:
        node = agent.node
        if node is None:
            continue
        known = {i for o in making.ops.all if o.result is not None or o.run is not None for i in o.ids}
        results = [
            p
            for m in node.facts.outputs or ()
            for p in m.parts
            if isinstance(p, ToolResult) and p.id is not None and p.id not in known
        ]
        new = node.facts.new_from
        if new is not None:
            results += [
                p
                for m in (node.facts.inputs or [])[new:]
                for p in m.parts
                if isinstance(p, ToolResult) and p.id is not None and p.id not in known
            ]
        if results:
            asked = {
                p.id: p
                for m in (*(node.facts.inputs or ()), *(node.facts.outputs or ()))
                for p in m.parts
                if isinstance(p, ToolCall) and p.id
            }
            making.ops.hand(Handed(node, agent, results, True, asked), making.gives_spans, pending)


def _decide(making: _Making) -> None:
    """Answers of humans: a refused call is rejected, whatever its result looks like."""
    for node in making.every:
        for question in node.facts.questions:
            op = _asked_about(making, question, node)
            if op is not None:
                op.questioned = True
        for decision in node.facts.decisions:
            if decision.call_id is None:
                op = _around(making, node)
            else:
                op = next((o for o in reversed(making.ops.all) if decision.call_id in o.ids), None)
            if op is None:
                continue
            if not decision.approved:
                op.rejected = True
                if op.finished is None and op.run is None:
                    op.finished = node.end if node.role is Role.TOOL else max(op.started, node.start)
                if op.output is MISSING and op.result is None and decision.reason:
                    op.error = op.error or decision.reason


def _end_behind_its_back(making: _Making) -> None:
    """Work that went on after its call had returned ends where the turn goes on because of it."""
    for node in making.nodes:
        if node.facts.continues is None:
            continue
        for op in making.ops.all:
            if node.facts.continues in op.ids:
                op.finished = max(op.finished or 0, node.start)
                op.background = False


# --- telling ------------------------------------------------------------------------------------------------------------


def _tell(making: _Making) -> bool:
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
            narrative.speech(node, agent, speech, False)
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
    _tell_final_words(making)
    return _tell_questions(making)


def _fill_output(op: Operation) -> None:
    if op.output is MISSING and op.sub is not None:
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


def _tell_subagents(making: _Making) -> None:
    taken = {o.id for o in making.ops.all}
    for sub in making.cast.subs:
        node = sub.node
        assert node is not None
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
        making.narrative.subagent(sub, sub.name or "", sub_id, output, failed)
    for op in making.ops.all:
        reached = op.run.facts.delegates_to if op.run is not None else None
        if reached and op.sub is None:
            sub_id = (
                f"agent:{op.run.span_id.hex()}" if op.run is not None and op.run.span_id else f"agent:{op.id}"
            )
            making.narrative.delegation(op, reached, sub_id)


def _spoken(making: _Making, sub: Agent) -> Any:
    """The last message that the NormalizedEvents of a sub-agent tell."""
    found: list[tuple[int, str]] = []
    for node in making.every:
        speech = making.speeches.get(id(node))
        if speech is not None and making.cast.owner.get(id(node)) is sub:
            found.extend((u.time, u.text) for u in speech.said if u.kind == "message")
    return max(found)[1] if found else MISSING


def _typed_answer(making: _Making) -> Reply | None:
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
        return orjson.loads(text)
    except ValueError:
        return MISSING


def _tell_final_words(making: _Making) -> None:
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
            if not text or not text.strip() or making.data is not MISSING and _parsed(text) == making.data:
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


def _tell_questions(making: _Making) -> bool:
    """One event a question; whether one of them is still open."""
    waiting = any(n.facts.waiting for n in making.nodes)
    told: list[tuple[str | None, Question]] = []
    open_questions = False
    for node in making.every:
        for question in node.facts.questions:
            op = _asked_about(making, question, node)
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
    for speech in making.speeches.values():
        for _, _, payload in speech.events:
            if payload["type"] == "input.requested":
                request = payload["request"]
                op = next(
                    (o for o in making.ops.all if o.finished is not None and o.name == request.get("action")),
                    None,
                )
                open_questions = open_questions or op is None
    if open_questions:
        return True
    return waiting and not told


def _asked_about(making: _Making, question: Question, node: Node) -> Operation | None:
    ops = making.ops.all
    if question.call_id:
        return next((o for o in reversed(ops) if question.call_id in o.ids), None)
    around = _around(making, node)
    if around is not None:
        return around
    if question.action:
        open_ones = [o for o in ops if o.name == question.action and (o.finished is None or o.paused)]
        fitting = [
            o for o in open_ones if question.input is MISSING or o.input == question.input
        ] or open_ones
        if fitting:
            return fitting[0]
    return None


def _around(making: _Making, node: Node) -> Operation | None:
    """The operation whose run this span is, or stands below."""
    for one in (node, *node.above()):
        for op in making.ops.all:
            if one in op.runs:
                return op
        if one.role in (Role.AGENT, Role.WORKFLOW):
            break
    return None


def _same_question(key: str | None, question: Question, other_key: str | None, other: Question) -> bool:
    if question.id and other.id:
        return question.id == other.id and key == other_key
    return key is not None and key == other_key


def _tell_errors(making: _Making, failures: list[Failure]) -> bool:
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


# --- evidence -----------------------------------------------------------------------------------------------------------


def _remark(making: _Making, status: str, usage: dict[str, Any] | None, partial: list[Agent]) -> None:
    remarks, scope = making.remarks, making.scope
    if scope.orphan:
        remarks.add("root_missing", "the parent of the topmost spans never came", scope.root.span_id)
    for node in making.nodes:
        _remark_span(making, node)
    for op in making.ops.all:
        _remark_operation(making, op, status)
    for reply in making.replies:
        facts = reply.node.facts
        if (
            reply.captured
            or facts.side
            or (facts.failed and not reply.parts)
            or id(reply.node) in making.speeches
        ):
            continue
        remarks.add(
            "content_not_captured",
            _switch(facts, "the reply of this request was not captured"),
            reply.node.span_id,
        )
    for agent in partial:
        remarks.add(
            "usage_partial", "the agent's own total is more than its requests account for", _id_of(agent)
        )
    _remark_usage(making, usage, status)
    _remark_text(making)


def _remark_span(making: _Making, node: Node) -> None:
    remarks, source = making.remarks, node.source
    if node.shifted:
        remarks.add(
            "clock_skew", "the span lay outside its caller's time and was shifted into it", node.span_id
        )
    for mark in node.facts.marks:
        if mark.kind == "malformed":
            remarks.add("malformed_event", str(mark.value), node.span_id)
    if node.facts.unread:
        remarks.add(
            "unread_spans", "this span looks like agent work, and no convention reads it", node.span_id
        )
    if isinstance(source, Span):
        if source.dropped_events:
            remarks.add(
                "span_events_dropped",
                f"{source.dropped_events} span events were dropped by the SDK",
                node.span_id,
            )
        if source.dropped_attributes:
            remarks.add(
                "attributes_dropped",
                f"{source.dropped_attributes} attributes were dropped by the SDK",
                node.span_id,
            )
        if not source.end and node is making.scope.root:
            remarks.add("root_unfinished", "the root of the turn never ended", node.span_id)
    if node.facts.truncated:
        remarks.add("truncated_value", "a value was cut by a length limit of the SDK", node.span_id)
    if node.facts.unparsable and node.role is not Role.TOOL:
        remarks.add(
            "unparsable_json", "a value that should be JSON is not; what can be read is used", node.span_id
        )


def _remark_operation(making: _Making, op: Operation, status: str) -> None:
    remarks = making.remarks
    node = op.run or (op.asked.node if op.asked else None) or op.handed or op.stream
    span_id = node.span_id if node is not None else None
    facts = node.facts if node is not None else None
    if op.synthetic:
        remarks.add(
            "synthetic_operation_id",
            "no witness names this call; its id was made from its span",
            span_id,
            op.id,
        )
    if op.unparsable:
        remarks.add("unparsable_json", "the arguments are no JSON; they stand as text", span_id, op.id)
    if op.input is MISSING and op.skill is None:
        if op.unstarted:
            remarks.add("operation_unstarted", "only the result of this call was seen", span_id, op.id)
        else:
            remarks.add(
                "content_not_captured",
                _switch(facts, "the arguments of this call were not captured"),
                span_id,
                op.id,
            )
    elif op.unstarted:
        remarks.add(
            "operation_unstarted",
            "only the result of this call was seen; its input is from the history",
            span_id,
            op.id,
        )
    if op.finished is None:
        if status == "waiting" and op.questioned:
            remarks.add("operation_unfinished", "this call waits for a human", span_id, op.id, expected=True)
        else:
            remarks.add(
                "operation_unfinished", "nothing shows that this call ran or was answered", span_id, op.id
            )
    elif op.output is MISSING and not op.transfer and op.skill is None:
        remarks.add(
            "content_not_captured", _switch(facts, "the result of this call was not captured"), span_id, op.id
        )


def _remark_usage(making: _Making, usage: dict[str, Any] | None, status: str) -> None:
    remarks, root = making.remarks, making.scope.root
    if usage is None or "inputTokens" not in usage or "outputTokens" not in usage:
        silent = (
            usage is not None and all(r.node.facts.failed for r in making.replies) and bool(making.replies)
        )
        if not silent:
            remarks.add("usage_partial", "no span reports the tokens of this turn", root.span_id)
        return
    for agent in making.cast.agents:
        for node in agent.requests:
            reports = node.facts.usage or (id(node) in making.speeches and making.speeches[id(node)].usage)
            if not reports and not node.facts.failed and not _has_total(agent):
                remarks.add("usage_partial", "this request reports no tokens", node.span_id)


def _has_total(agent: Agent) -> bool:
    return any(n.facts.usage for n in agent.invocations) and not any(n.facts.usage for n in agent.requests)


def _remark_text(making: _Making) -> None:
    """An agent with runs of tools and no request of its own: its words between them were not told."""
    for agent in making.cast.agents:
        node = agent.node
        if agent.requests or node is None or not agent.speaks or id(node) in making.speeches:
            continue
        if any(making.cast.owner.get(k) is agent for k in making.speeches):
            continue
        making.remarks.add(
            "content_not_captured",
            "no request to a model was seen below this agent: what it said between its calls is unknown",
            node.span_id,
        )


def _switch(facts: Facts | None, what: str) -> str:
    switch = facts.convention.content_switch if facts is not None else ""
    return f"{what}; {switch}" if switch else what


def _id_of(agent: Agent) -> bytes | None:
    return agent.node.span_id if agent.node is not None else None


def _remember(making: _Making, status: str) -> None:
    asked = {c for n in making.every for q in n.facts.questions for c in ((q.call_id,) if q.call_id else ())}
    for op in making.ops.all:
        if op.finished is None and op.id and not op.synthetic:
            making.memory.leave(making.session, op.id, op.id in asked or status == "waiting")


# --- the record ---------------------------------------------------------------------------------------------------------


def _record(
    making: _Making, events: list[Event], status: str, usage: dict[str, Any] | None
) -> dict[str, Any]:
    record: dict[str, Any] = {"events": [e.payload for e in events]}
    if making.data is not MISSING:
        record["data"] = making.data
    record["status"] = status
    if usage is not None:
        record["usage"] = usage
    record["otel"] = _otel(making, events)
    return record


def _otel(making: _Making, events: list[Event]) -> dict[str, Any]:
    scope, root = making.scope, making.scope.root
    otel: dict[str, Any] = {
        "turnId": root.trace_id.hex() + (root.span_id.hex() or "0" * 16),
        "revision": 0,
        "traceId": root.trace_id.hex(),
        "rootSpanId": root.span_id.hex(),
    }
    if making.session is not None:
        otel["sessionId"] = making.session
    main = making.cast.main
    facts = main.node.facts if main.node is not None else root.facts
    agent = {
        k: v
        for k, v in (("name", facts.agent_name), ("id", facts.agent_id), ("version", facts.agent_version))
        if v
    }
    if agent:
        otel["agent"] = agent
    service = root.resource.service
    if service:
        otel["service"] = service
    nodes = making.every
    otel["startTimeUnixNano"] = str(min(n.start for n in nodes) if nodes else root.start)
    otel["endTimeUnixNano"] = str(max(n.end for n in nodes) if nodes else root.end)
    otel["eventTimes"] = [str(e.time) for e in events]
    otel["eventSpans"] = [e.span_id.hex() for e in events]
    otel["conventions"] = sorted(
        {n.facts.convention.name for n in nodes if n.facts.convention.name and n.role is not Role.STEP}
    )
    annotations = sorted(
        (
            (time, node.span_id.hex(), index, value)
            for node in nodes
            for index, (time, value) in enumerate(_annotations(making, node))
        ),
        key=lambda a: a[:3],
    )
    if annotations:
        otel["annotations"] = [
            {**value, "time": str(time), "spanId": span} for time, span, _, value in annotations
        ]
    otel["evidence"] = making.remarks.member()
    return otel


def _annotations(making: _Making, node: Node) -> list[tuple[int, dict[str, Any]]]:
    found = [(m.time, dict(m.value)) for m in node.facts.marks if m.kind == "annotation"]
    speech = making.speeches.get(id(node))
    return found + (speech.annotations if speech is not None else [])
