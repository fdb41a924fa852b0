"""JSON text in which a character was cut in two.

Comes in: a JSON document. Goes out: what it says. A half of a surrogate pair, which JSON allows (RFC 8259,
section 8.2) and `JSON.stringify` writes where JavaScript cut a text within a character, becomes U+FFFD: no
more than one character of one text is broken. Nothing else is put right, and text that is whole costs
nothing.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson

__all__ = ["JSONDecodeError", "loads", "mended"]

JSONDecodeError = orjson.JSONDecodeError

_ESCAPE: Final = (
    r"\\(?:[^u]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2}))"
)
"""An escaped character; a surrogate that is not the first or second of a pair is a `half`."""

_IN_TEXT: Final = re.compile(_ESCAPE)
_IN_BYTES: Final = re.compile(_ESCAPE.encode())


def loads(text: str | bytes) -> Any:
    """The document's value. Raises `JSONDecodeError`, a `ValueError`, for what is no JSON."""
    try:
        return orjson.loads(text)
    except JSONDecodeError:
        whole = mended(text)
        if whole == text:
            raise
    return orjson.loads(whole)


def mended(text: str | bytes) -> str | bytes:
    """The same document without halves of characters; as long as before, so that places stay the same."""
    if isinstance(text, bytes):
        return _IN_BYTES.sub(lambda found: rb"\ufffd" if found["half"] else found[0], text)
    return _IN_TEXT.sub(lambda found: r"\ufffd" if found["half"] else found[0], text)
