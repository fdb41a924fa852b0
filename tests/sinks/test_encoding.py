"""A record's bytes: what JSON can say is said, whatever the fast encoder thinks of it."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.sinks.encoding import Unencodable, decode_record, encode_record
from tests.sinks.records import record

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


def test_an_entry_says_which_turn_and_revision_it_is() -> None:
    entry = encode_record(record(7, revision=3))
    assert (entry.turn_id, entry.revision) == ("turn-7", 3)
    assert orjson.loads(entry.data) == record(7, revision=3)
    assert b"\n" not in encode_record(record(text="two\nlines")).data


def test_bare_leaves_out_where_it_came_from_and_still_knows_it() -> None:
    given_record = record(7, revision=3)
    entry = encode_record(given_record, bare=True)
    assert (entry.turn_id, entry.revision) == ("turn-7", 3)
    assert set(orjson.loads(entry.data)) == {"events", "status", "usage"}
    assert "otel" in given_record


def test_a_record_without_its_otel_member_is_written_as_it_is() -> None:
    entry = encode_record({"events": [], "status": "completed"})
    assert (entry.turn_id, entry.revision, entry.data) == ("", 0, b'{"events":[],"status":"completed"}')


@given(value=JSON)
def test_any_json_value_is_read_back_as_it_was(value: Any) -> None:
    entry = encode_record({"data": value})
    assert json.loads(entry.data) == {"data": value}
    assert decode_record(entry) == {"data": value}
    if entry.odd is None:
        assert orjson.loads(entry.data) == {"data": value}


@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**200])
def test_integers_of_any_size_keep_every_digit(number: int) -> None:
    entry = encode_record({"data": {"n": number}})
    assert entry.data == b'{"data":{"n":%d}}' % number
    assert decode_record(entry) == {"data": {"n": number}}


def test_lone_surrogates_are_replaced_and_pairs_become_their_character() -> None:
    entry = encode_record({"data": "a\ud800b", "b\udfff": "\ud83d\ude00"})
    assert orjson.loads(entry.data) == {"data": "a\ufffdb", "b\ufffd": "\U0001f600"}


def test_what_is_no_number_in_json_becomes_null_in_both_encoders() -> None:
    for odd in ("", "\ud800"):
        entry = encode_record({"data": [math.nan, math.inf, -math.inf, 1.5], "odd": odd})
        assert orjson.loads(entry.data)["data"] == [None, None, None, 1.5]


def test_deep_nesting_is_written_without_recursion() -> None:
    value: Any = "bottom"
    for _ in range(4_000):
        value = [value]
    assert (
        encode_record({"data": value}).data == b'{"data":' + b"[" * 4_000 + b'"bottom"' + b"]" * 4_000 + b"}"
    )


def test_control_characters_and_quotes_are_escaped_by_the_slow_encoder_too() -> None:
    text = 'a"\\\n\t\x00\x1f\u2028é'
    entry = encode_record({"data": text, "big": 2**70})
    assert json.loads(entry.data) == {"data": text, "big": 2**70}
    assert b"\n" not in entry.data


def test_a_record_that_is_no_json_is_refused_without_showing_its_value() -> None:
    with pytest.raises(Unencodable, match="set") as caught:
        encode_record({"data": {"secret"}})
    assert "secret" not in str(caught.value)
    with pytest.raises(Unencodable, match="key of type int"):
        encode_record({"data": {1: 2}})
    with pytest.raises(Unencodable, match="digits"):
        encode_record({"data": 10**5_000})
    itself: dict[str, Any] = {}
    itself["data"] = itself
    with pytest.raises(Unencodable, match="contains itself"):
        encode_record(itself)


def test_an_odd_record_costs_more_than_its_bytes_while_it_waits() -> None:
    plain, odd = encode_record({"data": 1}), encode_record({"data": 2**70})
    assert odd.size - plain.size > len(odd.data) - len(plain.data)
