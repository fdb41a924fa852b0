"""Halves of characters in JSON become U+FFFD, and nothing else changes."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.model.json_text import JSONDecodeError, loads, mended


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud83d"', "\ufffd"),
        (r'"\uDe00 a"', "\ufffd a"),
        (r'"a\ud83d\ud83d\ude00"', "a\ufffd\U0001f600"),
        (r'"\ude00\ud83d"', "\ufffd\ufffd"),
        (r'"\ud83d\\ud83d"', "\ufffd\\ud83d"),
        (r'"\\\ud83d"', "\\\ufffd"),
        (r'{"\ud800": ["\udc00\n"]}', {"\ufffd": ["\ufffd\n"]}),
    ],
)
def test_halves_of_characters(text: str, value: Any) -> None:
    assert loads(text) == value
    assert loads(text.encode()) == value


@given(st.text(st.characters(codec="utf-8") | st.sampled_from('\ud83d\ude00\\"u')))
def test_any_text_with_halves_is_read(text: str) -> None:
    """Two halves that meet are a character; each other half is replaced."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert loads(json.dumps(text)) == whole


@given(st.text(st.characters(codec="utf-8")))
def test_whole_text_stays(text: str) -> None:
    assert mended(json.dumps(text)) == json.dumps(text)
    assert mended(orjson.dumps(text)) == orjson.dumps(text)


@pytest.mark.parametrize("text", [b'"\xff"', b'"\\ud83d', b"[\\ud83d]", b"", b'"\\ud8"'])
def test_what_is_no_json_stays_none(text: bytes) -> None:
    with pytest.raises(JSONDecodeError):
        loads(text)


def test_the_place_of_an_error_is_that_in_the_text() -> None:
    text = '["\\ud83d", oops]'
    with pytest.raises(JSONDecodeError) as caught:
        loads(text)
    assert caught.value.pos == text.index("oops")
