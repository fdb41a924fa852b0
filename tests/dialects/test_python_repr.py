"""Python's repr as data."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.dialects.python_repr import Constructed, python_repr
from otel_turns.model.facts import MISSING

_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(_VALUES)
def test_the_repr_of_json_data_gives_the_data(value: Any) -> None:
    assert python_repr(repr(value)) == value


def test_an_object_with_fields() -> None:
    made = python_repr(
        "Call(arguments='{\"a\": 1}', call_id='c1', status=<Status.DONE: 'done'>, parts=(1, 2))"
    )
    assert isinstance(made, Constructed)
    assert made.name == "Call"
    assert made.fields == {"arguments": '{"a": 1}', "call_id": "c1", "status": "done", "parts": [1, 2]}


def test_an_exception_has_its_arguments() -> None:
    made = python_repr("pkg.BadError('it broke', 3)")
    assert isinstance(made, Constructed)
    assert (made.name, made.args) == ("pkg.BadError", ["it broke", 3])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "It is 18 degrees.",
        "{'a': ",
        "[1 2]",
        "{'a' 1}",
        "<object at 0x1>",
        "f(",
        "'open",
        "__import__('os')(",
        "1 + 1",
        "[" * 500 + "]" * 500,
        "'\\x4'",
        "'\\",
        "9" * 300,
        "'a'" * 200000,
    ],
)
def test_anything_else_is_missing_and_nothing_is_run(text: str) -> None:
    assert python_repr(text) is MISSING


@given(st.text(st.sampled_from("[]{}()<>'\"\\xu0aeE+-.,:= \n")))
def test_no_text_raises(text: str) -> None:
    python_repr(text)
