"""Odd values: JSON text, placeholders, counts, errors."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.values import (
    as_flag,
    as_int,
    as_text,
    clean_error,
    is_placeholder,
    json_arguments,
    json_text,
    json_value,
    plain,
    read_failure,
    unwrap_result,
)
from otel_turns.model.facts import MISSING
from otel_turns.model.span import STATUS_ERROR, STATUS_OK
from tests.dialects.spans import event, exception, span

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**14), 10**14) | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'{"a": "cut \ud83d"}', {"a": "cut \ufffd"}),
        (r'["\ud83d\ude00", "\ude00"]', ["\U0001f600", "\ufffd"]),
        (r'{"a": NaN, "b": "\ud83d"}', {"a": "NaN", "b": "\ufffd"}),
    ],
)
def test_half_a_character_costs_no_value(text: str, value: Any) -> None:
    """JavaScript writes it where it cut a text; orjson refuses it."""
    assert json_text(text) == value


@pytest.mark.parametrize(
    "value",
    [
        "<REDACTED>",
        "[REDACTED]",
        "__REDACTED__",
        "<elided>",
        "<not specified>",
        "[redacted]",
        " <Redacted> ",
        "readacted",
    ],
)
def test_a_placeholder_is_absence(value: str) -> None:
    assert is_placeholder(value)


@pytest.mark.parametrize(
    "value", ["", "redacted the report", "<b>", "N/A", "{}", None, 3, "[REDACTED] but not all of it"]
)
def test_other_text_is_no_placeholder(value: Any) -> None:
    assert not is_placeholder(value)


@given(_JSON)
def test_json_text_gives_the_value_that_it_says(value: Any) -> None:
    import json

    assert json_text(json.dumps(value)) == value


@pytest.mark.parametrize(
    "value", ["", "words", "{half", "[1,", "It is 18 degrees", "'single'", "[" * 5000, "\ud800"]
)
def test_text_that_is_no_json_stays_text(value: str) -> None:
    assert json_text(value) is MISSING
    assert json_value(value) == value


def test_a_long_number_keeps_its_digits() -> None:
    assert json_value("12345678901234567890123") == "12345678901234567890123"
    assert json_value("42") == 42


def test_numbers_that_json_does_not_know_are_named() -> None:
    assert json_value('{"a": NaN, "b": [-Infinity]}') == {"a": "NaN", "b": ["-Infinity"]}


def test_double_encoding_is_undone_where_asked() -> None:
    assert json_value('"{\\"a\\": 1}"') == '{"a": 1}'
    assert json_value('"{\\"a\\": 1}"', twice=True) == {"a": 1}


def test_structure_loses_its_bytes() -> None:
    assert plain({"a": b"text", "b": [b"\xff\xfe"], "c": (1, None)}) == {
        "a": "text",
        "b": ["//4="],
        "c": [1, None],
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"city": "Paris"}', ({"city": "Paris"}, False)),
        ({"city": "Paris"}, ({"city": "Paris"}, False)),
        ('"{\\"city\\": \\"Paris\\"}"', ({"city": "Paris"}, False)),
        ('{"city": ', ('{"city": ', True)),
        ("*** Begin Patch", ("*** Begin Patch", True)),
        ("", (MISSING, False)),
        (None, (MISSING, False)),
        ("[REDACTED]", (MISSING, False)),
    ],
)
def test_arguments(value: Any, expected: tuple[Any, bool]) -> None:
    assert json_arguments(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('{"temp_c": 18}', {"temp_c": 18}),
        ("09:30", "09:30"),
        ('[{"type": "text", "text": "{\\"temp_c\\": 18}"}]', {"temp_c": 18}),
        ([{"text": "deleted"}], "deleted"),
        ([{"json": {"a": 1}}], {"a": 1}),
        ([{"text": "a"}, {"text": "b"}], [{"text": "a"}, {"text": "b"}]),
        ([{"text": "a", "page": 3}], [{"text": "a", "page": 3}]),
        ([{"type": "image"}], [{"type": "image"}]),
        ("[REDACTED]", MISSING),
        ([{"type": "text", "text": "[REDACTED]"}], MISSING),
        ("", ""),
        (None, None),
    ],
)
def test_a_result_leaves_its_content_block(value: Any, expected: Any) -> None:
    assert unwrap_result(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (12, 12),
        ("120", 120),
        ("120.0", 120),
        (3.0, 3),
        (True, None),
        (-1, None),
        ("-1", None),
        (2.5, None),
        ("many", None),
        (math.nan, None),
        (math.inf, None),
        (None, None),
        ("9" * 40, None),
    ],
)
def test_a_count(value: Any, expected: int | None) -> None:
    assert as_int(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", "a"), ("", None), (7, "7"), (None, None), ("<elided>", None), ([], None), (True, None)],
)
def test_a_name_or_id(value: Any, expected: str | None) -> None:
    assert as_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(True, True), ("False", False), ("true", True), (1, None), ("", None)]
)
def test_a_truth_value(value: Any, expected: bool | None) -> None:
    assert as_flag(value) is expected


@pytest.mark.parametrize(
    ("message", "kind", "expected"),
    [
        ("no such file: /missing.txt", None, "no such file: /missing.txt"),
        ("FileNotFoundError: no such file", None, "no such file"),
        ("pydantic_ai.exceptions.ModelServerError: status_code: 500", None, "status_code: 500"),
        ("Weird: it broke", "pkg.Weird", "it broke"),
        ("Note: it broke", None, "Note: it broke"),
        ("Error code: 500 - boom", None, "Error code: 500 - boom"),
        ("ValueError('bad \"x\"')", None, 'bad "x"'),
        ("ValueError()", None, "ValueError()"),
        ("('service failed', KeyError('x'))", None, "service failed"),
        ("ChatClientException('service failed', KeyError('x'))", "ChatClientException", "service failed"),
        (
            "Traceback (most recent call last):\n  File 'x'\n    f()\npkg.BadError: it broke\nbadly",
            None,
            "it broke\nbadly",
        ),
        ("it broke\n\nTraceback (most recent call last):\n  File 'x'", None, "it broke"),
        ("(not a repr", None, "(not a repr"),
    ],
)
def test_an_error_says_its_own_words(message: str, kind: str | None, expected: str) -> None:
    assert clean_error(message, kind) == expected


def test_a_span_without_sign_of_an_error_did_not_fail() -> None:
    assert read_failure(span(status=STATUS_OK)) == (False, None, None)


def test_the_exception_event_has_the_words() -> None:
    failed = span(status=STATUS_ERROR, message="ValueError: it broke", events=[exception("it broke")])
    assert read_failure(failed) == (True, "it broke", "ValueError")


def test_the_status_message_has_them_where_no_event_is() -> None:
    assert read_failure(span({"error.type": "500"}, message="boom")) == (True, "boom", "500")


def test_a_failure_without_words_is_an_empty_error() -> None:
    assert read_failure(span({"error.type": "tool_error"}, status=STATUS_ERROR)) == (True, "", "tool_error")


def test_the_last_exception_is_the_outermost() -> None:
    events = [exception("inner", time=1), exception("outer", "LookupError", time=2)]
    assert read_failure(span(status=STATUS_ERROR, events=events)) == (True, "outer", "LookupError")


def test_a_handled_exception_counts_where_the_caller_says_so() -> None:
    handled = span(status=STATUS_OK, events=[exception("it broke")])
    assert read_failure(handled) == (False, None, None)
    assert read_failure(handled, handled_counts=True) == (True, "it broke", "ValueError")
    assert not read_failure(span(events=[event("other")]), handled_counts=True).failed
