"""What can be said about a sink, and how it is written.

Comes in: option values, as text from a sink's specification or as Python values. Goes out: checked values.
An option that a sink does not know is an error, not ignored.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from otel_turns.errors import SinkError

__all__ = ["COMMON", "FILE", "HTTP", "PLAIN", "Options", "boolean", "checked", "count", "seconds", "size"]

Options = Mapping[str, Callable[[Any], Any]]
"""The options of a kind of sink: name and reader. A reader raises `ValueError` with what it wants."""

_SIZE: Final = re.compile(r"(\d+)\s*([kKMG]?)(i?)[bB]?", re.ASCII)
_SECONDS: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|)", re.ASCII)
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3}
_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_TRUE: Final = ("1", "true", "yes", "on", "")
_FALSE: Final = ("0", "false", "no", "off")


def size(value: Any) -> int:
    """Bytes, more than 0: a number, or text such as `64MiB`, `10MB`, `4096`."""
    match = _SIZE.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    if match is not None:
        number = int(match[1]) * (1024 if match[3] else 1000) ** _POWERS[match[2].upper()]
        if number:
            return number
    raise ValueError("a number of bytes above 0, such as 64MiB or 10000000")


def seconds(value: Any) -> float:
    """Seconds, more than 0: a number, or text such as `250ms`, `30`, `5m`, `1h`, `1d`."""
    match = _SECONDS.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    if match is not None:
        number = float(match[1]) * _UNITS[match[2]]
        if 0 < number < math.inf:
            return number
    raise ValueError("a time above 0, such as 30, 250ms, 5m, 1h or 1d")


def boolean(value: Any) -> bool:
    """A switch: `1`, `true`, `yes`, `on` or nothing behind the name; `0`, `false`, `no`, `off`."""
    text = str(value).strip().lower()
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    raise ValueError("1 or 0")


def count(value: Any) -> int:
    """A whole number, 1 or more."""
    text = str(value).strip()
    if text.isascii() and text.isdigit() and 0 < int(text[:10]) == int(text):
        return int(text)
    raise ValueError("a whole number above 0")


def _text(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("a text that is not empty")


def _path(value: Any) -> str:
    return _text(str(value))


def _fsync(value: Any) -> str | float:
    if value in ("never", "always"):
        return value
    try:
        return seconds(value)
    except ValueError:
        raise ValueError("never, always, or a time such as 200ms") from None


def _format(value: Any) -> str:
    if value in ("json", "ndjson"):
        return value
    raise ValueError("json or ndjson")


def _headers(value: Any) -> Mapping[str, str]:
    if isinstance(value, Mapping):
        return value  # pyright: ignore[reportUnknownVariableType] # its members are checked as headers
    raise ValueError("a mapping; in a specification name a variable or a file: headers_env, headers_file")


PLAIN: Final[Options] = {"bare": boolean}
"""What each sink knows."""

COMMON: Final[Options] = {
    **PLAIN,
    "queued": boolean,
    "queue_bytes": size,
    "close_timeout_s": seconds,
}
"""What each sink with a queue knows."""

FILE: Final[Options] = {
    **COMMON,
    "rotate_bytes": size,
    "rotate_seconds": seconds,
    "gzip": boolean,
    "keep": count,
    "fsync": _fsync,
}

HTTP: Final[Options] = {
    **COMMON,
    "format": _format,
    "batch_records": count,
    "batch_bytes": size,
    "linger_s": seconds,
    "gzip": boolean,
    "timeout_s": seconds,
    "ca_file": _path,
    "headers": _headers,
    "headers_env": _text,
    "headers_file": _path,
    "token_env": _text,
    "token_file": _path,
}


def checked(kind: str, given: Mapping[str, Any], known: Options) -> dict[str, Any]:
    """The values of the given options. Raises `SinkError` that names the option and what is wanted, or the
    nearest known.
    """
    values: dict[str, Any] = {}
    for name, value in given.items():
        reader = known.get(name)
        if reader is None:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {near[0]}?" if near else f"; it knows {', '.join(sorted(known))}"
            raise SinkError(f"the {kind} sink has no option {name!r}{hint}")
        try:
            values[name] = reader(value)
        except ValueError as error:
            raise SinkError(f"option {name} of the {kind} sink must be {error}") from None
    return values
