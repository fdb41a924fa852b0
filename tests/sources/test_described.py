"""An error is described by its type and place, never by its message."""

from __future__ import annotations

import re

from otel_turns.sources.described import described


def raised(error: Exception, depth: int = 0) -> Exception:
    def down(left: int) -> None:
        if left:
            down(left - 1)
        raise error

    try:
        down(depth)
    except Exception as caught:
        return caught
    raise AssertionError


def test_type_and_place_and_no_message() -> None:
    words = described(raised(ValueError("private")))
    assert re.fullmatch(r"ValueError at test_described\.py:\d+ < test_described\.py:\d+", words)


def test_deep_errors_name_the_innermost_places_only() -> None:
    assert described(raised(KeyError("private"), 50)).count("<") == 2


def test_an_error_that_was_never_raised_is_its_type() -> None:
    assert described(OSError("private")) == "OSError"
