"""The 16 variants of NormalizedEvent, as types.

Comes in: nothing. Goes out: one small class for each variant, with the fields and the names of the document
that defines them. Reads and writes nothing: see `normalized`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

__all__ = [
    "CitationAdded",
    "Custom",
    "Done",
    "Error",
    "MemoryUpdate",
    "MessageDelta",
    "NormalizedEvent",
    "ReasoningDelta",
    "RuntimeStep",
    "RuntimeStepKind",
    "SandboxOutput",
    "SkillActivation",
    "StreamStart",
    "ThinkingDelta",
    "ToolCallComplete",
    "ToolCallDelta",
    "ToolResult",
    "Usage",
    "VariantName",
]

RuntimeStepKind: TypeAlias = Literal["started", "finished"]

VariantName: TypeAlias = Literal[
    "StreamStart",
    "MessageDelta",
    "ThinkingDelta",
    "ReasoningDelta",
    "CitationAdded",
    "MemoryUpdate",
    "SkillActivation",
    "Custom",
    "ToolCallDelta",
    "ToolCallComplete",
    "ToolResult",
    "SandboxOutput",
    "Error",
    "Usage",
    "RuntimeStep",
    "Done",
]


@dataclass(slots=True)
class StreamStart:
    """A new streaming response begins. `request_id` is unique for this pair of request and response."""

    request_id: str


@dataclass(slots=True)
class MessageDelta:
    """The next piece of the assistant's text."""

    text: str


@dataclass(slots=True)
class ThinkingDelta:
    """The next piece of the model's thinking."""

    text: str


@dataclass(slots=True)
class ReasoningDelta:
    """The next piece of a chain of thought."""

    text: str


@dataclass(slots=True)
class CitationAdded:
    """A source was cited. What a citation holds is not told, so its fields stay as they are."""

    citation: dict[str, Any]


@dataclass(slots=True)
class MemoryUpdate:
    """The model updates its memory. `operation` is `set`, `append` or `delete`."""

    key: str
    value: str
    operation: str = "set"


@dataclass(slots=True)
class SkillActivation:
    """A skill changed its state. `status` is a word: `activated`, `running`, `complete`, `failed`, ..."""

    name: str
    status: str


@dataclass(slots=True)
class Custom:
    """A provider's own event. `payload` is any JSON value."""

    source: str
    event_name: str
    payload: Any


@dataclass(slots=True)
class ToolCallDelta:
    """A piece of a tool call. `call_index` counts within the batch; id and name may come late."""

    call_index: int
    id: str | None = None
    name: str | None = None
    arguments_delta: str | None = None


@dataclass(slots=True)
class ToolCallComplete:
    """A tool call is assembled. `arguments_json` is JSON text."""

    call_index: int
    id: str
    name: str
    arguments_json: str


@dataclass(slots=True)
class ToolResult:
    """A tool returned. `content` is text, often JSON."""

    id: str
    name: str
    content: str
    success: bool = True


@dataclass(slots=True)
class SandboxOutput:
    """Output of sandboxed code. `stream` is `stdout` or `stderr`."""

    stream: str
    data: str


@dataclass(slots=True)
class Error:
    """An error during streaming."""

    message: str
    code: str | None = None


@dataclass(slots=True)
class Usage:
    """Tokens of one request. `prompt_tokens` includes cache reads and writes."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int | None = None
    cache_creation_tokens: int | None = None


@dataclass(slots=True)
class RuntimeStep:
    """One iteration of the tool loop begins or ends. `step` is the number of the iteration."""

    step: int
    kind: RuntimeStepKind


@dataclass(slots=True)
class Done:
    """The stream has completed."""


NormalizedEvent: TypeAlias = (
    StreamStart
    | MessageDelta
    | ThinkingDelta
    | ReasoningDelta
    | CitationAdded
    | MemoryUpdate
    | SkillActivation
    | Custom
    | ToolCallDelta
    | ToolCallComplete
    | ToolResult
    | SandboxOutput
    | Error
    | Usage
    | RuntimeStep
    | Done
)
