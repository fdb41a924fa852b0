"""What every wire shape has in common: JSON values, members that may be absent, and the base class.

Comes in: nothing. Goes out: `Shape`, `JsonValue`, `Maybe`. A member that is not known is absent, never null;
a member that no shape has is refused; a number is never taken from text. Says nothing of any shape in
particular.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from otel_turns.model.facts import MISSING, Missing

__all__ = ["MISSING", "JsonObject", "JsonValue", "Maybe", "MaybeJson", "Shape"]


def _check_json(value: Any) -> Any:
    """Refuses what JSON cannot say. Walks without recursion: depth is not what makes a value wrong."""
    todo: list[Any] = [value]
    while todo:
        part = todo.pop()
        kind = cast("type[Any]", type(part))
        if kind is str:
            try:
                part.encode()
            except UnicodeEncodeError:
                raise PydanticCustomError("json_text", "text is no valid Unicode") from None
        elif kind is dict:
            if not all(type(key) is str for key in part):
                raise PydanticCustomError("json_key", "the keys of an object must be text")
            todo.extend(part)
            todo.extend(part.values())
        elif kind is list:
            todo.extend(part)
        elif kind is float:
            if not math.isfinite(part):
                raise PydanticCustomError("json_number", "JSON has no NaN and no Infinity")
        elif part is not None and kind is not int and kind is not bool:
            raise PydanticCustomError("json_value", "this is not a JSON value")
    return value


def _check_maybe_json(value: Any) -> Any:
    return value if value is MISSING else _check_json(value)


def _refuse_null(value: Any) -> Any:
    if value is None:
        raise PydanticCustomError("null", "null is not allowed here: leave the member out")
    return value


class _Checked:
    """Any value that one function lets pass. Its JSON Schema is `{}`: any JSON."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        self._check = check

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, core_schema.any_schema())


class _MayBeAbsent:
    """Takes a type with None and refuses the null: None is only how Python says that the member is absent."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(_refuse_null, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        found = handler(schema)
        alternatives = [each for each in found["anyOf"] if each != {"type": "null"}]
        return alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}


_T = TypeVar("_T")
Maybe: TypeAlias = Annotated[_T | None, _MayBeAbsent()]
"""A member that may be absent: None in Python, left out on the wire, where null is refused."""

if TYPE_CHECKING:
    JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
    MaybeJson: TypeAlias = JsonValue | Missing
    JsonObject: TypeAlias = dict[str, JsonValue]
else:
    # One check for the whole value: a recursive union would be slower and name content in its errors.
    JsonValue = Annotated[Any, _Checked(_check_json)]
    MaybeJson = Annotated[Any, _Checked(_check_maybe_json)]
    JsonObject = dict[str, JsonValue]


def _state_what_holds(schema: dict[str, Any], shape: type[BaseModel]) -> None:
    """Corrects a shape's JSON Schema: tags are required, absence is no default, titles say nothing."""
    required: list[str] = []
    for name, field in shape.model_fields.items():
        written = schema["properties"][name]
        written.pop("title", None)
        written.pop("default", None)
        if field.is_required() or field.default not in (None, MISSING):
            required.append(name)
    if required:
        schema["required"] = required


class Shape(BaseModel):
    """Base of everything that has a wire form: frozen, strict, closed, and silent about what is absent."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        hide_input_in_errors=True,
        json_schema_extra=_state_what_holds,
    )

    # The return type once more, as an object: pydantic 2.10 looks annotations up in the subclass's module.
    @model_serializer(mode="wrap", return_type=dict[str, Any])
    def _leave_out_absent(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = handler(self)
        for name, field in type(self).model_fields.items():
            if field.default in (None, MISSING) and getattr(self, name) is field.default:
                del written[name]
        return written

    def to_dict(self) -> dict[str, Any]:
        """Plain data under the wire's names, as the pipeline builds it."""
        return self.model_dump(mode="json")

    def to_json(self) -> str:
        """One line of JSON, without spaces, text unescaped."""
        return self.model_dump_json()
