"""Python's `repr` read back as data, for conventions that write it where JSON should be.

Comes in: text. Goes out: plain values, and `Constructed` for an object that prints as `Name(field=value)`.
Nothing is evaluated and nothing is imported: a small reader of literals, bounded in size and depth. It
never raises.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from otel_turns.model.facts import MISSING

__all__ = ["Constructed", "python_repr"]

_LONGEST = 262_144
_DEEPEST = 64
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}
_HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
_WORDS: dict[str, Any] = {"None": None, "True": True, "False": False, "nan": "NaN", "inf": "Infinity"}
_CLOSERS = {"[": "]", "(": ")", "{": "}"}


@dataclass(slots=True)
class Constructed:
    """An object that printed as `Name(1, field=2)`."""

    name: str
    args: list[Any] = field(default_factory=list[Any])
    fields: dict[str, Any] = field(default_factory=dict[str, Any])


class _Unreadable(Exception):
    pass


def python_repr(text: str) -> Any:
    """The value that `text` is the repr of, or `MISSING` where it is none.

    Tuples and sets become lists. An enum member (`<Kind.A: 'a'>`) is its value.
    """
    if len(text) > _LONGEST:
        return MISSING
    reader = _Reader(text)
    try:
        value = reader.value(0)
        reader.skip()
        return value if reader.at == len(text) else MISSING
    except (_Unreadable, IndexError, ValueError, OverflowError):
        return MISSING


class _Reader:
    __slots__ = ("at", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def skip(self) -> None:
        text, at, length = self.text, self.at, len(self.text)
        while at < length and text[at].isspace():
            at += 1
        self.at = at

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise _Unreadable
        self.skip()
        first = self.text[self.at]
        if first == "'" or first == '"':
            return self.string()
        if first == "[" or first == "(":
            return self.items(_CLOSERS[first], depth)
        if first == "{":
            return self.mapping(depth)
        if first == "<":
            return self.angle(depth)
        if first.isdigit() or first == "-":
            return self.number()
        return self.word(depth)

    def string(self) -> str:
        text = self.text
        quote = text[self.at]
        at = self.at + 1
        pieces: list[str] = []
        while True:
            end = text.index(quote, at)
            escape = text.find("\\", at, end)
            if escape < 0:
                pieces.append(text[at:end])
                self.at = end + 1
                return "".join(pieces)
            pieces.append(text[at:escape])
            sign = text[escape + 1]
            width = _HEX_ESCAPES.get(sign)
            if width is not None:
                pieces.append(chr(int(text[escape + 2 : escape + 2 + width], 16)))
                at = escape + 2 + width
            else:
                pieces.append(_ESCAPES.get(sign, "\\" + sign))
                at = escape + 2

    def items(self, closer: str, depth: int) -> list[Any]:
        self.at += 1
        found: list[Any] = []
        while not self.closed(closer):
            found.append(self.value(depth + 1))
            self.comma(closer)
        return found

    def mapping(self, depth: int) -> Any:
        self.at += 1
        found: dict[str, Any] = {}
        members: list[Any] = []
        while not self.closed("}"):
            key = self.value(depth + 1)
            self.skip()
            if self.text[self.at] == ":":
                self.at += 1
                found[key if isinstance(key, str) else str(key)] = self.value(depth + 1)
            else:
                members.append(key)
            self.comma("}")
        return members if members and not found else found

    def angle(self, depth: int) -> Any:
        """`<Kind.A: 'a'>` is an enum member; any other object without a readable repr is unreadable."""
        colon = self.text.index(": ", self.at)
        if ">" in self.text[self.at : colon]:
            raise _Unreadable
        self.at = colon + 2
        value = self.value(depth + 1)
        self.skip()
        if self.text[self.at] != ">":
            raise _Unreadable
        self.at += 1
        return value

    def number(self) -> int | float:
        text, start = self.text, self.at
        at = start + 1
        while at < len(text) and (
            text[at].isalnum() or text[at] in "._" or (text[at] in "+-" and text[at - 1] in "eE")
        ):
            at += 1
        self.at = at
        word = text[start:at]
        if len(word) > _DEEPEST:
            raise _Unreadable
        try:
            return int(word)
        except ValueError:
            return float(word)

    def word(self, depth: int) -> Any:
        text, start = self.text, self.at
        at = start
        while at < len(text) and (text[at].isalnum() or text[at] in "._"):
            at += 1
        name = text[start:at]
        self.at = at
        if not name:
            raise _Unreadable
        if at < len(text) and text[at] == "(":
            return self.construct(name, depth)
        if at < len(text) and text[at] in "'\"" and name in ("b", "r", "rb"):
            return self.string()
        if name not in _WORDS:
            raise _Unreadable
        return _WORDS[name]

    def construct(self, name: str, depth: int) -> Constructed:
        self.at += 1
        made = Constructed(name)
        while not self.closed(")"):
            key = self.keyword()
            value = self.value(depth + 1)
            if key is None:
                made.args.append(value)
            else:
                made.fields[key] = value
            self.comma(")")
        return made

    def keyword(self) -> str | None:
        text, at = self.text, self.at
        while at < len(text) and (text[at].isalnum() or text[at] == "_"):
            at += 1
        if at > self.at and text[at : at + 1] == "=":
            name = text[self.at : at]
            self.at = at + 1
            return name
        return None

    def closed(self, closer: str) -> bool:
        self.skip()
        if self.text[self.at] != closer:
            return False
        self.at += 1
        return True

    def comma(self, closer: str) -> None:
        self.skip()
        sign = self.text[self.at]
        if sign == ",":
            self.at += 1
        elif sign != closer:
            raise _Unreadable
