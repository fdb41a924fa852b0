"""When to try again."""

from __future__ import annotations

import pytest

from otel_turns.sinks.retry import Backoff, retry_after_seconds

# Thursday, 30 November 2023, 12:00:00 UTC.
NOON = 1_701_345_600.0


def test_waits_double_up_to_a_bound() -> None:
    backoff = Backoff(first_s=0.5, most_s=30, jitter=lambda: 1.0)
    assert [backoff.wait_s(n) for n in (1, 2, 3, 6, 7, 8, 10_000)] == [0.5, 1, 2, 16, 30, 30, 30]


def test_jitter_takes_up_to_half() -> None:
    assert Backoff(first_s=2, jitter=lambda: 0.0).wait_s(1) == 1
    assert Backoff(first_s=2, jitter=lambda: 0.5).wait_s(1) == 1.5


def test_what_was_asked_for_is_kept_and_jitter_comes_on_top() -> None:
    backoff = Backoff(first_s=0.5, jitter=lambda: 1.0)
    assert backoff.wait_s(1, 7) == 7.5
    assert Backoff(jitter=lambda: 0.0).wait_s(1, 7) == 7
    assert backoff.wait_s(7, 1) == 30  # the own backoff is the longer one
    assert Backoff(jitter=lambda: 0.0).wait_s(1, 1e9) == 600


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("120", 120),
        (" 3 ", 3),
        ("0", 0),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("99999999999999999999", 999999999999),
        # The three forms of RFC 9110, section 5.6.7, and one that is past.
        ("Thu, 30 Nov 2023 12:00:30 GMT", 30),
        ("Thursday, 30-Nov-23 12:00:30 GMT", 30),
        ("Thu Nov 30 12:00:30 2023", 30),
        ("Thu, 30 Nov 2023 11:00:00 GMT", 0),
        ("Thu, 99 Nov 2023 11:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(header, lambda: NOON) == seconds
