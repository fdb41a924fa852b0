"""The table of NormalizedEvent's variants: what each is called, which fields it has, and what each field
takes.

Comes in: nothing. Goes out: `VARIANTS`, from which events are read, written and described as JSON Schema, and
`variant_name`, which knows every spelling of a variant's name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Final, NamedTuple

from otel_turns.model.variants import (
    CitationAdded,
    Custom,
    Done,
    Error,
    MemoryUpdate,
    MessageDelta,
    NormalizedEvent,
    ReasoningDelta,
    RuntimeStep,
    RuntimeStepKind,
    SandboxOutput,
    SkillActivation,
    StreamStart,
    ThinkingDelta,
    ToolCallComplete,
    ToolCallDelta,
    ToolResult,
    Usage,
    VariantName,
)

__all__ = ["VARIANTS", "WRONG", "Field", "FieldType", "Variant", "variant_name"]

WRONG: Final = object()
"""What `FieldType.read` gives for a value of a wrong type."""
_REQUIRED: Final = object()
_U32, _USIZE = 2**32 - 1, 2**64 - 1
_STEP_KINDS: Final[dict[str, RuntimeStepKind]] = {
    "started": "started",
    "start": "started",
    "step_started": "started",
    "finished": "finished",
    "finish": "finished",
    "step_finished": "finished",
}


def _read_text(value: Any) -> Any:
    return value if type(value) is str else WRONG


def _read_number(value: Any, largest: int) -> Any:
    """A whole number, also as a text of digits or as a float: some attribute stores know no integers."""
    digits = type(value) is str and len(value) <= 20 and value.isascii() and value.isdigit()
    if digits or (type(value) is float and value.is_integer()):
        value = int(value)
    return value if type(value) is int and 0 <= value <= largest else WRONG


def _read_u32(value: Any) -> Any:
    return _read_number(value, _U32)


def _read_usize(value: Any) -> Any:
    return _read_number(value, _USIZE)


def _read_truth(value: Any) -> Any:
    if type(value) is str:
        return {"true": True, "false": False}.get(value.lower(), WRONG)
    return value if type(value) is bool else WRONG


def _read_any(value: Any) -> Any:
    return value


def _read_step_kind(value: Any) -> Any:
    return _STEP_KINDS.get(value.lower(), WRONG) if type(value) is str else WRONG


class FieldType(NamedTuple):
    """How a field is read (`WRONG` for another type), what an error calls it, and its JSON Schema."""

    read: Callable[[Any], Any]
    what: str
    schema: Mapping[str, Any]


_TEXT = FieldType(_read_text, "text", {"type": "string"})
_COUNT = FieldType(_read_u32, "a whole number below 2^32", {"type": "integer", "minimum": 0, "maximum": _U32})
_INDEX = FieldType(_read_usize, "a whole number", {"type": "integer", "minimum": 0, "maximum": _USIZE})
_TRUTH = FieldType(_read_truth, "true or false", {"type": "boolean"})
_KIND = FieldType(_read_step_kind, "started or finished", {"enum": ["started", "finished"]})
_ANY = FieldType(_read_any, "any JSON value", {})


class Field(NamedTuple):
    """A field of a variant. `default` stands in where it is absent or null; `required` ones have none."""

    name: str
    type: FieldType
    default: Any = _REQUIRED

    @property
    def required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def nullable(self) -> bool:
        """Whether null is a value of this field, and not the same as its absence."""
        return self.type is _ANY


class Variant(NamedTuple):
    """A variant: its name, its name on the wire, its class, its fields. CitationAdded's one field is the
    whole.
    """

    name: VariantName
    wire: str
    make: Callable[..., NormalizedEvent]
    fields: tuple[Field, ...]

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(field.name for field in self.fields if field.required)


def _texts(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, _TEXT) for name in names)


VARIANTS: Final[Mapping[str, Variant]] = {
    variant.name: variant
    for variant in (
        Variant("StreamStart", "stream.start", StreamStart, _texts("request_id")),
        Variant("MessageDelta", "message.delta", MessageDelta, _texts("text")),
        Variant("ThinkingDelta", "thinking.delta", ThinkingDelta, _texts("text")),
        Variant("ReasoningDelta", "reasoning.delta", ReasoningDelta, _texts("text")),
        Variant("CitationAdded", "citation.added", CitationAdded, ()),
        Variant(
            "MemoryUpdate",
            "memory.update",
            MemoryUpdate,
            (*_texts("key", "value"), Field("operation", _TEXT, "set")),
        ),
        Variant("SkillActivation", "skill.activation", SkillActivation, _texts("name", "status")),
        Variant("Custom", "custom", Custom, (*_texts("source", "event_name"), Field("payload", _ANY))),
        Variant(
            "ToolCallDelta",
            "tool_call.delta",
            ToolCallDelta,
            (
                Field("call_index", _INDEX),
                Field("id", _TEXT, None),
                Field("name", _TEXT, None),
                Field("arguments_delta", _TEXT, None),
            ),
        ),
        Variant(
            "ToolCallComplete",
            "tool_call.complete",
            ToolCallComplete,
            (Field("call_index", _INDEX), *_texts("id", "name", "arguments_json")),
        ),
        Variant(
            "ToolResult",
            "tool_result",
            ToolResult,
            (*_texts("id", "name", "content"), Field("success", _TRUTH, True)),
        ),
        Variant("SandboxOutput", "sandbox.output", SandboxOutput, _texts("stream", "data")),
        Variant("Error", "error", Error, (*_texts("message"), Field("code", _TEXT, None))),
        Variant(
            "Usage",
            "usage",
            Usage,
            (
                Field("prompt_tokens", _COUNT),
                Field("completion_tokens", _COUNT),
                Field("total_tokens", _COUNT, None),
                Field("cached_tokens", _COUNT, None),
                Field("cache_creation_tokens", _COUNT, None),
            ),
        ),
        Variant("RuntimeStep", "runtime.step", RuntimeStep, (Field("step", _COUNT), Field("kind", _KIND))),
        Variant("Done", "done", Done, ()),
    )
}
"""The variants in the order of the document that defines them."""


def _spellings(variant: Variant) -> set[str]:
    """`message.delta`, `message_delta`, `MessageDelta`, each also behind `normalized.` or `uar.`."""
    words = variant.wire.replace(".", "_").split("_")
    joined = {words[0]}
    for word in words[1:]:
        joined = {before + joint + word for before, joint in product(joined, "._")}
    return {prefix + name for prefix, name in product(("", "normalized.", "uar."), {*joined, variant.name})}


_BY_SPELLING: Final[dict[str, VariantName]] = {
    spelling: variant.name for variant in VARIANTS.values() for spelling in _spellings(variant)
}


def variant_name(name: str) -> VariantName | None:
    """The variant that a name stands for in any of its spellings, or None. One dictionary look-up."""
    return _BY_SPELLING.get(name)
