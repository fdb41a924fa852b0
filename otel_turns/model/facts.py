"""What a dialect read in one span or log record, in neutral words.

Comes in: nothing; `model` imports no stage. Goes out: `Facts` and what it holds. A dialect fills them;
assembly sees Facts and times only and never an attribute name. Nothing in here is guessed: what a span does
not say stays `None`,
`MISSING` or empty.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Literal

__all__ = [
    "MISSING",
    "Convention",
    "Decision",
    "Facts",
    "Mark",
    "Message",
    "Missing",
    "Part",
    "Question",
    "Reasoning",
    "Role",
    "Text",
    "TokenUsage",
    "ToolCall",
    "ToolResult",
]


class Missing(Enum):
    """The type of `MISSING`: "no witness says", which is not the same as a JSON null."""

    MISSING = 0

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = Missing.MISSING


class Role(Enum):
    """What a span stands for.

    AGENT: one invocation of an agent, or a convention's own span for one prompt of a coding agent.
    WORKFLOW: wraps agents that run for one user request (a workflow, a swarm, a crew, a runner): one turn.
    CHAIN: a step that is an agent only by its position: at the root, directly below a tool, or (with
    `chain_speaks`)
        because inferences or tools hang below it. Elsewhere it is structure.
    INFERENCE: one request to a model.
    TOOL: one execution of a tool.
    HANDOFF: control passes to `handoff_to`; the executing span of the transfer call, where a call asked for
    it. STEP: structure (cycles, graph nodes, HTTP requests of a client): transparent, its children count.
    NOTHING: no agent work in the span itself (builds an agent, a hook, embeddings); its children still count.
    """

    AGENT = "agent"
    WORKFLOW = "workflow"
    CHAIN = "chain"
    INFERENCE = "inference"
    TOOL = "tool"
    HANDOFF = "handoff"
    STEP = "step"
    NOTHING = "nothing"


@dataclass(slots=True)
class Text:
    """Text that was said."""

    text: str


@dataclass(slots=True)
class Reasoning:
    """Reasoning text. Redacted or encrypted reasoning without text is left out by the dialect."""

    text: str


@dataclass(slots=True)
class ToolCall:
    """A tool call that a reply asks for. `arguments` is parsed JSON, unparsable text, or `MISSING`.

    `id` is None where the convention gives none. `other_ids`: further ids of the same call (a Responses item
    id), used for joining only. `executed_by_provider`: a server-side tool that the provider itself ran within
    the request.
    """

    id: str | None
    name: str | None
    arguments: Any = MISSING
    other_ids: tuple[str, ...] = ()
    executed_by_provider: bool = False


@dataclass(slots=True)
class ToolResult:
    """A tool result in a message. `result` is parsed where it is JSON; `MISSING` where content was not
    captured.

    `failed`: marked as an error. `rejected`: marked as refused by a human or a rule. `pending`: stands in for
    a call that waits for a human, and is no result.
    """

    id: str | None
    name: str | None = None
    result: Any = MISSING
    failed: bool = False
    rejected: bool = False
    pending: bool = False
    other_ids: tuple[str, ...] = ()


Part = Text | Reasoning | ToolCall | ToolResult


@dataclass(slots=True)
class Message:
    """One message of a request or a reply; `role` is "system", "user", "assistant" or "tool".

    A message that carries only tool results counts as "tool", whatever role the convention gives it.
    """

    role: str
    parts: list[Part] = field(default_factory=list[Part])


@dataclass(slots=True)
class TokenUsage:
    """Tokens as the instrumentation reports them, without conversion; None where it does not report."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_creation: int | None = None
    reasoning: int | None = None

    def __bool__(self) -> bool:
        return not (
            self.input is None
            and self.output is None
            and self.cache_read is None
            and self.cache_creation is None
            and self.reasoning is None
        )


@dataclass(slots=True)
class Question:
    """A question put to a human. `call_id`: the call that waits for the answer, where it is known; without
    it, on a span below a tool's span, the call of that tool.

    `answered`: True where the same span says that it was answered within this run; None where it does not
    say.
    `time`: nanoseconds, 0 where the span's end is the best that is known.
    """

    id: str | None = None
    action: str | None = None
    input: Any = MISSING
    prompt: str | None = None
    options: list[dict[str, str]] | None = None
    call_id: str | None = None
    answered: bool | None = None
    time: int = 0


@dataclass(slots=True)
class Decision:
    """A human's (or a rule's) answer to a pending call: `approved` False is a refusal.

    Either id may be unknown; without both, on a span below a tool's span, it answers for the call of that
    tool.
    """

    approved: bool
    call_id: str | None = None
    question_id: str | None = None
    reason: str | None = None


@dataclass(slots=True)
class Mark:
    """Something that happened at a time and is an event by itself.

    `kind` "event": `value` is a whole StreamEvent as a dict (`compaction`, `skill.loaded`, `input.requested`,
    `error`, ...).
    `kind` "annotation": kept in `otel.annotations`; `value` is `{"type": ..., "data"?: ...}`. `kind`
    "malformed": `value` is the reason (evidence).
    """

    time: int
    kind: Literal["event", "annotation", "malformed"]
    value: Any


@dataclass(frozen=True, slots=True)
class Convention:
    """What holds for a whole dialect.

    name: as listed in `otel.conventions`.
    content_switch: how to turn content on, in one sentence for a human.
    runs_have_spans: a tool call that ran always has an executing span; one answered without was refused.
    usage_accumulates: an agent's own figure adds up over its life, so it is never used for one turn.
    """

    name: str
    content_switch: str = ""
    runs_have_spans: bool = False
    usage_accumulates: bool = False


@dataclass
class Facts:
    """Everything one span or log record says. Only the members that its role uses are filled.

    Any role: `error` is a message without class prefix and traceback ("" where there is an error without
    words);
    `failed` says that the span itself ended in an error; `recovered` that this error is known to have been
    got over.
    `hidden`: content that exists but was not captured or is a placeholder ("arguments", "result", "inputs",
    "outputs").
    `cut`: content that is there, shortened by the instrumentation (the same words); a whole witness replaces
    it.
    `group`: the convention's own id of the prompt or turn, joining traces and log records.
    `unread`: the span looks like agent work, and no convention reads it.

    AGENT, WORKFLOW, CHAIN: `agent_*`, `invocation_id` (unique for one invocation), `inputs`, `outputs` (final
    answer),
    `data` (the typed answer, parsed), `handed_over` (any role: ids of calls that never ran and only handed
    that answer over: no operations), `usage` (its own total), `new_from` (index of the first new message in
    `inputs`).
    `loose`: this convention hangs such spans beside the call that reached them; the tool whose time encloses
    it is its parent. On an INFERENCE: it may hang below an agent that waits for the sub-agent whose it is.
    `same_agent`: this convention wraps one invocation in several spans, whatever their names.
    `resumes`: this span continues a run that was paused.
    `continues`: id of a call; the turn that made it goes on here, because the call's work ended behind that
    turn's back.
    `called_by`: id of the call that this invocation answers, where the tree does not say so (another trace).

    INFERENCE: `inputs`, `outputs`, `usage`, `response_id`, `previous_response_id`, `structured` (the reply is
    typed data),
    `side` (title, memory, summary: no speech of the agent; `compaction` where it makes the summary of a
    compaction). On a STEP or NOTHING `side` says the same of every request below it.
    `ordered_parts`: parts of the reply stand in the order in which they came, text behind calls too.
    `requests`: model requests that this span stands for, None for the usual 1; 0: it tells of the request
    around it. On a TOOL, 0: it tells of a run (a decision about it) and is none.

    TOOL: `tool_name`, `tool` (canonical name), `call_id`, `other_ids`, `arguments`, `result`, `failed`,
    `rejected`,
    `paused` (ended because the run paused for a human; no finish), `delegates_to` (the agent that the call
    reaches),
    `hands_over` (a tool that only hands over the typed answer: `data`, no operation), `skill` (name; the call
    is a skill load),
    `background` (returns before its work ends), `not_run` (validation failed: the tool never ran, yet its
    error is a result).
    `delegates_session`: id of the session that the call started; what is told of that session is the agent's.
    `prompt`: the words with which a human is asked about this call, where somebody asks.

    HANDOFF: `handoff_to`, `handoff_from`, and `tool_name`, `call_id`, `arguments`, `result` where the span
    says them.

    INFERENCE, TOOL: `agent_id` and `agent_name` say whose request or call this is, where the tree does not
    (records without spans): another agent than the one whose turn it is.

    For log records: `supplements` says that these facts belong to a span.
    "whole": the one with the record's ids; they fill what it lacks.
    "piece": the same, one message of several: inputs and outputs are joined in time order.
    "nearest": the record's ids name some span around it, or none; the facts belong to the named span or its
    nearest ancestor of their role; else, among those below the named span (without ids: of the same `group`,
    then
    `session_id`), to the one with the same `response_id` or call id (without one: tool name and arguments),
    else to the one whose time encloses the record's, else to the one whose end is nearest, first among those
    of the same
    `side`. They
    fill what it lacks (a fuller reply replaces a shorter one; counts never add up), and stand by themselves
    where there is no such span; among those, one with `requests` 0 belongs to one without, in the same way.
    None: stands by itself. By itself a record lasts from `began` (nanoseconds; 0: its own time) to its time.
    `boundary`: "start" begins a turn of its `group` (without one: of its session), "end" ends it; what is
    told in between belongs to that turn.
    `sequence`: the convention's own number of the record, where times tie.
    """

    convention: Convention
    role: Role = Role.STEP
    failed: bool = False
    error: str | None = None
    error_type: str | None = None
    recovered: bool = False
    hidden: set[str] = field(default_factory=set[str])
    cut: set[str] = field(default_factory=set[str])
    unparsable: bool = False
    truncated: bool = False
    unread: bool = False
    session_id: str | None = None
    group: str | None = None

    agent_name: str | None = None
    agent_id: str | None = None
    agent_version: str | None = None
    invocation_id: str | None = None
    remote_url: str | None = None
    loose: bool = False
    same_agent: bool = False
    resumes: bool = False
    continues: str | None = None
    called_by: str | None = None
    chain_speaks: bool = False
    new_from: int | None = None
    data: Any = MISSING
    handed_over: tuple[str, ...] = ()

    inputs: list[Message] | None = None
    outputs: list[Message] | None = None
    usage: TokenUsage | None = None
    input_includes_cache: bool | None = None
    requests: int | None = None
    model: str | None = None
    response_id: str | None = None
    previous_response_id: str | None = None
    structured: bool = False
    side: bool = False
    compaction: str | None = None
    ordered_parts: bool = False

    tool_name: str | None = None
    tool: str | None = None
    call_id: str | None = None
    other_ids: tuple[str, ...] = ()
    arguments: Any = MISSING
    result: Any = MISSING
    rejected: bool = False
    paused: bool = False
    delegates_to: str | None = None
    delegates_session: str | None = None
    hands_over: bool = False
    skill: str | None = None
    background: bool = False
    not_run: bool = False
    prompt: str | None = None

    handoff_to: str | None = None
    handoff_from: str | None = None

    waiting: bool = False
    questions: list[Question] = field(default_factory=list[Question])
    decisions: list[Decision] = field(default_factory=list[Decision])
    marks: list[Mark] = field(default_factory=list[Mark])
    normalized: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])

    supplements: Literal["whole", "piece", "nearest"] | None = None
    began: int = 0
    boundary: Literal["start", "end"] | None = None
    sequence: int = 0


def _init(facts: Facts, convention: Convention, role: Role = Role.STEP, **given: Any) -> None:
    """What the dataclass's own `__init__` does, five times quicker: defaults stay on the class until they are
    set.
    """
    facts.convention = convention
    facts.role = role
    facts.hidden = set()
    facts.cut = set()
    facts.questions = []
    facts.decisions = []
    facts.marks = []
    facts.normalized = []
    if given:
        facts.__dict__.update(given)


setattr(Facts, "__init__", _init)  # noqa: B010 - an assignment would lose the dataclass's signature
"""One is made for every span; type checkers go by the dataclass, which knows every member."""
