"""Option values: how they are written, and what is none."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.errors import SinkError
from otel_turns.sinks.options import FILE, HTTP, boolean, checked, count, seconds, size


@pytest.mark.parametrize(
    ("text", "nbytes"),
    [
        ("1", 1),
        (4096, 4096),
        ("10kB", 10_000),
        ("10KiB", 10_240),
        ("64 MiB", 67_108_864),
        ("2G", 2_000_000_000),
    ],
)
def test_sizes(text: Any, nbytes: int) -> None:
    assert size(text) == nbytes


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5M", "MiB", "1TiB", "1e6", True, None, "٣"])
def test_what_is_no_size(text: Any) -> None:
    with pytest.raises(ValueError, match="bytes above 0"):
        size(text)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("30", 30),
        (2, 2),
        (0.25, 0.25),
        ("250ms", 0.25),
        ("1.5s", 1.5),
        ("5m", 300),
        ("1h", 3600),
        ("1 d", 86_400),
    ],
)
def test_times(text: Any, number: float) -> None:
    assert seconds(text) == number


@pytest.mark.parametrize("text", ["", "0", "-1", "soon", "1w", True, "nan", "inf", "9" * 400])
def test_what_is_no_time(text: Any) -> None:
    with pytest.raises(ValueError, match="time above 0"):
        seconds(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", True),
        ("TRUE", True),
        ("", True),
        (True, True),
        ("on", True),
        ("0", False),
        ("no", False),
        (False, False),
    ],
)
def test_switches(text: Any, value: bool) -> None:
    assert boolean(text) is value


def test_what_is_no_switch() -> None:
    with pytest.raises(ValueError, match="1 or 0"):
        boolean("maybe")


def test_counts() -> None:
    assert (count("7"), count(7)) == (7, 7)
    for text in ("", "0", "-1", "1.5", "٣", "1" * 11, None):
        with pytest.raises(ValueError, match="above 0"):
            count(text)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ({"fsync": "never"}, {"fsync": "never"}),
        ({"fsync": "always"}, {"fsync": "always"}),
        ({"fsync": "200ms"}, {"fsync": 0.2}),
    ],
)
def test_fsync(given: dict[str, str], values: dict[str, Any]) -> None:
    assert checked("file", given, FILE) == values


@pytest.mark.parametrize(
    "given",
    [
        {"fsync": "often"},
        {"format": "xml"},
        {"token_env": ""},
        {"token_env": 5},
        {"headers": "a=b"},
        {"linger_s": 0},
    ],
)
def test_what_is_no_value(given: dict[str, Any]) -> None:
    with pytest.raises(SinkError, match=f"option {next(iter(given))} of the test sink must be"):
        checked("test", given, {**FILE, **HTTP})
