"""The Turn and its events: what a consumer of this package reads, as types.

Comes in: a Turn as JSON or as plain data. Goes out: frozen objects, and JSON again. Names and shapes are
those of the standard event stream reference, letter for letter, so that Python, JSON, the JSON Schema and the
TypeScript declaration share one vocabulary.

Never on the hot path: the pipeline builds the same shapes as plain dicts. Whether events make sense together
(pairs, order) is not checked here but in `validate`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from otel_turns.model.shape import MISSING, JsonObject, JsonValue, Maybe, MaybeJson, Shape

__all__ = [
    "MISSING",
    "CompactionEvent",
    "ErrorEvent",
    "InputOption",
    "InputRequest",
    "InputRequested",
    "JsonValue",
    "MessageEvent",
    "OperationFinished",
    "OperationStarted",
    "SkillLoaded",
    "SourceLoc",
    "StreamEvent",
    "SubagentOperation",
    "SubagentOperationFinished",
    "ThinkingEvent",
    "ToolName",
    "ToolOperation",
    "ToolOperationFinished",
    "Turn",
    "Usage",
]

SourceLoc: TypeAlias = JsonObject
"""Where in a program's source a message was written. The reference names this and does not say what it holds,
so any JSON object is kept as it is."""

ToolName: TypeAlias = Literal[
    "file_read",
    "file_write",
    "file_edit",
    "shell",
    "web_fetch",
    "web_search",
    "glob",
    "grep",
    "list_dir",
    "agent_task",
    "unknown",
]
"""Canonical names for the built-in tools of coding agents; absent for everybody else's tools."""

Count: TypeAlias = Annotated[int, Field(ge=0)]
Cost: TypeAlias = Annotated[float, Field(ge=0)]


class Usage(Shape):
    """What the model requests of a turn used, in tokens and as reported; absent where nobody reported it.

    `inputTokens` counts as the protocol counts: with cache reads where the protocol includes them. `costUSD`
    is a cost that the host measured and handed over; it never comes from spans.
    """

    inputTokens: Maybe[Count] = None
    outputTokens: Maybe[Count] = None
    cacheReadTokens: Maybe[Count] = None
    cacheCreationTokens: Maybe[Count] = None
    reasoningTokens: Maybe[Count] = None
    requests: Maybe[Count] = None
    costUSD: Maybe[Cost] = None


class MessageEvent(Shape):
    """Something that the agent or the user said."""

    type: Literal["message"] = "message"
    role: Literal["assistant", "user"]
    text: str
    loc: Maybe[SourceLoc] = None


class ToolOperation(Shape):
    """A call of a tool. `input` is null where no witness says it; `tool` is for coding agents' tools only."""

    kind: Literal["tool"] = "tool"
    name: str
    input: JsonValue
    tool: Maybe[ToolName] = None


class SubagentOperation(Shape):
    """A task given to another agent; `remoteUrl` where it runs elsewhere and the span says where."""

    kind: Literal["subagent"] = "subagent"
    name: str
    remoteUrl: Maybe[str] = None


class OperationStarted(Shape):
    """An operation began; its `operationId` pairs it with the finish of the same kind."""

    type: Literal["operation.started"] = "operation.started"
    operationId: str
    operation: Annotated[ToolOperation | SubagentOperation, Field(discriminator="kind")]


class ToolOperationFinished(Shape):
    """A tool call ended. `rejected`: a human or a rule refused, which is no failure. `output` may be null."""

    type: Literal["operation.finished"] = "operation.finished"
    operationId: str
    kind: Literal["tool"] = "tool"
    output: MaybeJson = MISSING
    status: Literal["completed", "failed", "rejected"]


class SubagentOperationFinished(Shape):
    """A subagent returned. `output` may be null, which is not the same as absent."""

    type: Literal["operation.finished"] = "operation.finished"
    operationId: str
    kind: Literal["subagent"] = "subagent"
    output: MaybeJson = MISSING
    status: Literal["completed", "failed"]


class SkillLoaded(Shape):
    """A skill was loaded; `operationId` where a tool call loaded it."""

    type: Literal["skill.loaded"] = "skill.loaded"
    skill: str
    operationId: Maybe[str] = None


class InputOption(Shape):
    """One answer that a human may choose."""

    id: str
    label: Maybe[str] = None


class InputRequest(Shape):
    """A question to a human: `action` is what the agent paused on, `input` its arguments, `prompt` the
    question.
    """

    id: Maybe[str] = None
    action: Maybe[str] = None
    input: MaybeJson = MISSING
    prompt: Maybe[str] = None
    options: Maybe[list[InputOption]] = None


class InputRequested(Shape):
    """The agent paused and asks a human."""

    type: Literal["input.requested"] = "input.requested"
    request: InputRequest


class ThinkingEvent(Shape):
    """Reasoning text."""

    type: Literal["thinking"] = "thinking"
    text: str


class CompactionEvent(Shape):
    """The context was compacted."""

    type: Literal["compaction"] = "compaction"
    reason: Maybe[str] = None


class ErrorEvent(Shape):
    """The turn hit an error."""

    type: Literal["error"] = "error"
    message: str


OperationFinished: TypeAlias = Annotated[
    ToolOperationFinished | SubagentOperationFinished, Field(discriminator="kind")
]

StreamEvent: TypeAlias = Annotated[
    MessageEvent
    | OperationStarted
    | OperationFinished
    | SkillLoaded
    | InputRequested
    | ThinkingEvent
    | CompactionEvent
    | ErrorEvent,
    Field(discriminator="type"),
]
"""One of the ten variants; started and finished each exist for a tool and for a subagent."""


class Turn(Shape):
    """What an agent did in one turn: events in the order in which they happened, and how it ended.

    `data` is the answer where the answer itself is structured; it may be null, which is not the same as
    absent (`MISSING`). `waiting`: the turn paused for a human.
    """

    events: list[StreamEvent]
    data: MaybeJson = MISSING
    status: Literal["completed", "failed", "waiting"]
    usage: Maybe[Usage] = None
