"""Odd attribute values, read the same way by every dialect.

Comes in: a value of a span, event or log record as it was delivered, and whole spans for their failure. Goes
out: plain values. It knows no attribute names but OpenTelemetry's own for errors, and it never raises.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeGuard, cast

from otel_turns.dialects.python_repr import Constructed, python_repr
from otel_turns.model.facts import MISSING
from otel_turns.model.json_text import loads, mended
from otel_turns.model.span import STATUS_ERROR, Span

__all__ = [
    "LONGEST_PLACEHOLDER",
    "Failure",
    "as_flag",
    "as_int",
    "as_text",
    "clean_error",
    "is_list",
    "is_object",
    "is_placeholder",
    "json_arguments",
    "json_text",
    "json_value",
    "plain",
    "read_failure",
    "result_of",
    "unwrap_result",
]

_PLACEHOLDERS = frozenset(
    {
        "<redacted>",
        "[redacted]",
        "__redacted__",
        "(redacted)",
        "{redacted}",
        "redacted",
        "readacted",
        "<elided>",
        "[elided]",
        "<not specified>",
        "<not_specified>",
        "[filtered]",
        "<filtered>",
        "[scrubbed]",
    }
)
LONGEST_PLACEHOLDER = 20
"""No text of more characters is a placeholder."""
_PLACEHOLDER_STARTS = frozenset("<[_({rR \n")
_JSON_STARTS = frozenset('{["-0123456789tfn')
_EXACT_DIGITS = 17
_LARGEST_FLOAT = 2.0**53
_SCALARS = frozenset({str, int, bool, float})
_ERROR_ENDINGS = (
    "Error",
    "Exception",
    "Failure",
    "Warning",
    "Interrupt",
    "Exit",
    "Timeout",
    "Failed",
    "Retry",
    "Group",
)
_TRACEBACK = "Traceback (most recent call last)"


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    """Whether the value is a JSON object."""
    return type(value) is dict


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether the value is a JSON array (lists, and the tuples that the in-process SDK holds)."""
    return type(value) is list or type(value) is tuple


def is_placeholder(value: Any) -> bool:
    """Whether the value only stands where content would be (SEMANTICS: placeholders are absence)."""
    if (
        type(value) is not str
        or not value
        or len(value) > LONGEST_PLACEHOLDER
        or value[0] not in _PLACEHOLDER_STARTS
    ):
        return False
    return value.strip().lower() in _PLACEHOLDERS


def json_text(text: str) -> Any:
    """The value that a JSON text says, or `MISSING` where the text is no JSON.

    A bare number of more digits than a float keeps is left as text (`MISSING`); NaN and Infinity become
    names.
    """
    bare = text if text[:1] > " " else text.strip()
    first = bare[:1]
    if first not in _JSON_STARTS or not first:
        return MISSING
    if first in "-0123456789" and len(bare) > _EXACT_DIGITS:
        return MISSING
    try:
        return loads(bare)
    except ValueError:
        if first not in '{["' or ("NaN" not in bare and "Infinity" not in bare):
            return MISSING
    try:
        return json.loads(mended(bare), parse_constant=str)
    except (ValueError, RecursionError):
        return MISSING


def plain(value: Any) -> Any:
    """The same value in JSON's types: bytes become UTF-8 text, or base64 where they are none."""
    if value is None or type(value) in _SCALARS:
        return value
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in cast("list[Any]", value)]
    return str(value)


def json_value(value: Any, *, twice: bool = False) -> Any:
    """What the value says: JSON text parsed, other text as it is, structure as it is.

    twice: JSON text whose value is again the text of an object or array is parsed once more.
    """
    if type(value) is not str:
        return plain(value)
    parsed = json_text(value)
    if parsed is MISSING:
        return value
    if twice and type(parsed) is str and parsed[:1] in ("{", "["):
        inner = json_text(parsed)
        return parsed if inner is MISSING else inner
    return parsed


def json_arguments(value: Any) -> tuple[Any, bool]:
    """Arguments of a call and whether they are text that does not parse.

    None, empty text and placeholders give `MISSING`: nobody said what the arguments are.
    """
    if type(value) is not str:
        return (MISSING if value is None else plain(value)), False
    if not value or is_placeholder(value):
        return MISSING, False
    parsed = json_text(value)
    if parsed is MISSING:
        return value, True
    if type(parsed) is str and parsed[:1] in ("{", "["):
        inner = json_text(parsed)
        return (parsed, False) if inner is MISSING else (inner, False)
    return parsed, False


def unwrap_result(value: Any) -> Any:
    """A tool's result without its content block, parsed where it is JSON; placeholders give `MISSING`.

    A list of one text block (`[{"type": "text", "text": ...}]`, `[{"text": ...}]`, `[{"json": ...}]`) is that
    block's content. Several blocks stay a list.
    """
    return result_of(value if type(value) is str or value is None else plain(value))


def result_of(value: Any) -> Any:
    """The same for a value that is JSON's already: text, or what was parsed from it."""
    if type(value) is str:
        if is_placeholder(value):
            return MISSING
        parsed = json_text(value)
        if parsed is MISSING:
            return value
        if type(parsed) is str and is_placeholder(parsed):
            return MISSING
        value = parsed
    return _one_block(value) if type(value) is list else value


def _one_block(value: Any) -> Any:
    if not is_list(value) or len(value) != 1 or not is_object(value[0]):
        return value
    block = value[0]
    kind = block.get("type")
    if kind is None or kind == "text" or kind == "input_text" or kind == "output_text":
        text = block.get("text", block.get("content") if kind == "text" else None)
        if type(text) is str and (kind is not None or len(block) == 1):
            if is_placeholder(text):
                return MISSING
            parsed = json_text(text)
            return text if parsed is MISSING else parsed
        if kind is None and len(block) == 1 and "json" in block:
            return block["json"]
    elif kind == "json" and "json" in block:
        return block["json"]
    return value


def as_int(value: Any) -> int | None:
    """A count: an int, an integral float, or either as text. None for bool, negative and anything else."""
    if type(value) is int:
        return value if value >= 0 else None
    if type(value) is float:
        return int(value) if 0 <= value < _LARGEST_FLOAT and value.is_integer() else None
    if type(value) is str:
        if len(value) > LONGEST_PLACEHOLDER:
            return None
        if value.isascii() and value.isdigit():
            return int(value)
        try:
            return as_int(float(value))
        except ValueError:
            return None
    return None


def as_flag(value: Any) -> bool | None:
    """A truth value, also as text ("true", "False"); None for anything else."""
    if type(value) is bool:
        return value
    if type(value) is str:
        lowered = value.lower()
        if lowered == "true":
            return True
        if lowered == "false":
            return False
    return None


def as_text(value: Any) -> str | None:
    """A name or an id: text that is neither empty nor a placeholder, or a number as its digits; else None."""
    if type(value) is str:
        return value if value and not is_placeholder(value) else None
    if type(value) is int or type(value) is float:
        return str(value)
    return None


class Failure(NamedTuple):
    """How a span failed. `error` is "" where it failed without words, None where it did not fail."""

    failed: bool
    error: str | None
    error_type: str | None


_NO_FAILURE = Failure(False, None, None)


def read_failure(span: Span, *, handled_counts: bool = False) -> Failure:
    """How the span failed, by OpenTelemetry's own rules: status ERROR, `error.type`, `exception` events.

    handled_counts: an exception event alone is a failure too, as it is on a tool's span, where the
    framework may have turned the exception into a result. The last exception event with words is the
    outermost one.
    """
    attributes = span.attributes
    kind = attributes.get("error.type")
    if span.status != STATUS_ERROR and not kind:
        if not handled_counts or not span.events:
            return _NO_FAILURE
        if all(event.name != "exception" for event in span.events):
            return _NO_FAILURE
    message: str | None = None
    exception_type: str | None = None
    for event in reversed(span.events):
        if event.name == "exception":
            exception_type = exception_type or as_text(event.attributes.get("exception.type"))
            message = as_text(event.attributes.get("exception.message"))
            if message:
                break
    error_type = as_text(kind) or exception_type
    words = (
        message
        or as_text(span.status_message)
        or as_text(attributes.get("error.message"))
        or as_text(attributes.get("exception.message"))
    )
    return Failure(True, clean_error(words, exception_type or error_type) if words else "", error_type)


def clean_error(message: str, error_type: str | None = None) -> str:
    """An error's own words, without traceback, class prefix and repr.

    `error_type` is the class where it is known; any other prefix counts as a class only where it reads like
    one.
    """
    text = message.strip()
    at = text.find(_TRACEBACK)
    if at == 0:
        text = _last_of_traceback(text)
    elif at > 0:
        text = text[:at].rstrip()
    head, colon, rest = text.partition(": ")
    if colon and _is_class(head, error_type) and rest.strip():
        text = rest.strip()
    elif text.endswith(")") and (text[0] == "(" or _is_class(text[: text.find("(")], error_type)):
        made = python_repr(text)
        args: Any = made.args if isinstance(made, Constructed) else made
        if is_list(args) and args and type(args[0]) is str and args[0]:
            text = args[0]
    return text


def _is_class(name: str, error_type: str | None) -> bool:
    if not name or not name.isascii() or not name.replace(".", "a").replace("_", "a").isalnum():
        return False
    if error_type and name.rpartition(".")[2] == error_type.rpartition(".")[2]:
        return True
    return name[0] != "_" and name.rpartition(".")[2][:1].isupper() and name.endswith(_ERROR_ENDINGS)


def _last_of_traceback(text: str) -> str:
    """The exception's own lines: what stands behind the last indented line of frames."""
    lines = text.split("\n")
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].startswith("  "):
            words = "\n".join(lines[index + 1 :]).strip()
            return words or text
    return text
