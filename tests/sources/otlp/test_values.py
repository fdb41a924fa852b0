"""Encoded attributes are what protobuf's own parser makes of them."""

from __future__ import annotations

import math
from random import Random
from typing import Any

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_turns.errors import MalformedTelemetry
from otel_turns.sources.otlp.values import any_value, attributes
from tests.sources.otlp.encode import key_values, plain_attributes, plain_value
from tests.sources.otlp.strategies import PAIR, disordered, encoded, fields, mappings, randoms, values


def pair(key: str, value: Any) -> bytes:
    return key_values({key: value})[0].SerializeToString()


def read(key: str, value: Any) -> dict[str, Any]:
    return attributes([pair(key, value)])


def nested(levels: int, kind: str) -> bytes:
    """An AnyValue with `levels` lists or maps inside one another."""
    value = encoded((1, 2, b"x"))
    for _ in range(levels):
        if kind == "lists":
            value = encoded((5, 2, encoded((1, 2, value))))
        else:
            value = encoded((6, 2, encoded((1, 2, encoded((1, 2, b"k")) + encoded((2, 2, value))))))
    return value


@pytest.mark.parametrize(
    "value",
    [
        "",
        "text",
        "日本 \U0001f600 \x00",
        True,
        False,
        0,
        1,
        127,
        128,
        16_383,
        16_384,
        2**31,
        2**63 - 1,
        -1,
        -(2**63),
        0.0,
        -2.5,
        math.inf,
        b"",
        b"\x00\xff",
        [],
        [None],
        ["stop"],
        [""],
        ["a", 1, None, [True]],
        {},
        {"a": {"b": [1.5]}, "": None},
        None,
    ],
    ids=repr,
)
def test_every_kind_of_value(value: Any) -> None:
    assert read("key", value) == {"key": value}
    assert type(read("key", value)["key"]) is type(value)
    assert read("key", value) == {"key": value}, "and once more, from what was remembered"
    assert any_value(key_values({"": value})[0].value.SerializeToString(), 2) == value


def test_nan_and_minus_zero() -> None:
    assert math.isnan(read("x", math.nan)["x"])
    assert math.copysign(1, read("x", -0.0)["x"]) == -1


@pytest.mark.parametrize(
    "size", [0, 1, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131, 16_380, 16_390, 2_097_160]
)
def test_text_of_every_width(size: int) -> None:
    text = "t" * size
    for key in ("k", "k" * 127, "k" * 128):
        assert read(key, text) == {key: text}
        assert read(key, text) == {key: text}


@given(mappings)
def test_mappings_as_protobuf_writes_them(mapping: dict[str, Any]) -> None:
    assert attributes([p.SerializeToString() for p in key_values(mapping)]) == mapping


@settings(max_examples=300)
@given(key=st.text(max_size=5), value=values, random=randoms)
def test_any_valid_encoding(key: str, value: Any, random: Random) -> None:
    entry = disordered(pair(key, value), PAIR, random)
    expected = KeyValue.FromString(entry)
    assert attributes([entry]) == {expected.key: plain_value(expected.value)}


def agrees_with_protobuf(entries: list[bytes]) -> None:
    try:
        expected = plain_attributes([KeyValue.FromString(entry) for entry in entries])
    except DecodeError:
        with pytest.raises(MalformedTelemetry):
            attributes(entries)
    else:
        # As text, NaN is equal to itself, and 1 is not True.
        assert repr(attributes(entries)) == repr(expected)


@given(entries=st.lists(st.binary(max_size=12), max_size=3))
def test_noise_is_refused_where_protobuf_refuses_it(entries: list[bytes]) -> None:
    agrees_with_protobuf(entries)


@given(value=values, data=st.data())
def test_a_changed_byte_is_read_as_protobuf_reads_it(value: Any, data: st.DataObject) -> None:
    entry = bytearray(pair("key", value))
    entry[data.draw(st.integers(0, len(entry) - 1))] = data.draw(st.integers(0, 255))
    agrees_with_protobuf([bytes(entry)])


def test_the_later_of_two_equal_keys_counts() -> None:
    assert attributes([pair("a", 1), pair("b", 2), pair("a", "later")]) == {"a": "later", "b": 2}


def test_order_is_the_order_of_the_wire() -> None:
    assert list(attributes([pair(k, 1) for k in "zabyc"])) == list("zabyc")


def test_one_bad_text_among_good_ones() -> None:
    bad = encoded((1, 2, b"k")) + encoded((2, 2, encoded((1, 2, b"\xff"))))
    with pytest.raises(MalformedTelemetry, match="not UTF-8"):
        attributes([pair("a", 1), bad])
    with pytest.raises(MalformedTelemetry, match="not UTF-8"):
        attributes([encoded((1, 2, b"\xff"))])


def test_what_is_remembered_serves_only_the_same_form() -> None:
    """Entries with the same first bytes but another length, or another key of the same length."""
    assert read("ab", "xy") == {"ab": "xy"}
    assert read("cd", "xy") == {"cd": "xy"}
    longer = pair("ab", "xy") + b"z"
    with pytest.raises(MalformedTelemetry):
        attributes([longer])
    shorter = pair("ab", "xy")[:-1]
    with pytest.raises(MalformedTelemetry):
        attributes([shorter])
    assert read("ab", 1) == {"ab": 1}
    assert read("ab", True) == {"ab": True}
    assert read("ab", True)["ab"] is True


def test_many_different_keys_and_lengths() -> None:
    """More than are remembered at once."""
    for number in range(20_000):
        key, text = f"key.{number}", "x" * (number % 90)
        assert read(key, text) == {key: text}
    assert read("key.0", "") == {"key.0": ""}


@pytest.mark.parametrize("kind", ["lists", "maps"])
def test_nesting_is_limited_as_protobuf_limits_it(kind: str) -> None:
    def accepted(levels: int) -> tuple[bool, bool]:
        entry = encoded((1, 2, b"a")) + encoded((2, 2, nested(levels, kind)))
        try:
            Span.FromString(encoded((9, 2, entry)))
            protobuf = True
        except DecodeError:
            protobuf = False
        try:
            attributes([entry])
            ours = True
        except MalformedTelemetry:
            ours = False
        return protobuf, ours

    outcomes = [accepted(levels) for levels in range(60)]
    assert all(ours == protobuf for protobuf, ours in outcomes)
    assert outcomes[32] == (True, True)
    assert outcomes[59] == (False, False)
    with pytest.raises(MalformedTelemetry, match="nested too deep"):
        attributes([encoded((1, 2, b"a")) + encoded((2, 2, nested(59, kind)))])


def test_nesting_of_a_body_is_limited_as_protobuf_limits_it() -> None:
    for levels in range(45, 55):
        body = nested(levels, "lists")
        try:
            LogRecord.FromString(encoded((5, 2, body)))
        except DecodeError:
            with pytest.raises(MalformedTelemetry, match="nested too deep"):
                any_value(body, 1)
        else:
            assert any_value(body, 1) == plain_value(AnyValue.FromString(body))


def test_odd_encodings_are_nested_no_deeper() -> None:
    value = nested(60, "lists")
    odd = value + encoded((1_000, 0, b"\x01"))
    with pytest.raises(MalformedTelemetry):
        any_value(odd, 2)


def test_a_large_value_in_an_odd_encoding_is_refused() -> None:
    """Protobuf's parser would spend many times its bytes on it."""
    values = encoded((1, 2, b"")) * 200_000
    usual = encoded((5, 2, values))
    assert any_value(usual, 2) == [None] * 200_000
    with pytest.raises(MalformedTelemetry, match="unusual"):
        any_value(usual + encoded((1_000, 0, b"\x01")), 2)


def test_a_large_text_beside_an_odd_one() -> None:
    odd = b"".join(encoded(field) for field in reversed(fields(pair("odd", "x"))))
    assert attributes([pair("large", "x" * 400_000), odd]) == {"large": "x" * 400_000, "odd": "x"}


def test_an_index_into_a_table_of_texts_is_no_value() -> None:
    """`string_value_strindex` belongs to profiles; there is no table here."""
    assert any_value(b"\x40\x05", 2) is None
