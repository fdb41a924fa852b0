"""The list of evidence codes is closed, documented, and says what makes a Turn incomplete."""

from __future__ import annotations

from typing import get_args

import pytest

from otel_turns.model.evidence import CODES, EvidenceCode, evidence, issue, says_missing

# The documented list.
WANTED = [
    "content_not_captured",
    "root_missing",
    "root_unfinished",
    "orphan_spans",
    "spans_dropped",
    "span_events_dropped",
    "attributes_dropped",
    "truncated_value",
    "operation_unfinished",
    "operation_unstarted",
    "synthetic_operation_id",
    "unparsable_json",
    "malformed_event",
    "malformed_span",
    "clock_skew",
    "usage_partial",
    "late_spans",
    "unread_spans",
    "over_limit",
]
# These say how a Turn was read; nothing of it is lost.
HARMLESS = {"synthetic_operation_id", "unparsable_json", "clock_skew", "late_spans"}


def test_the_list_is_the_documented_one() -> None:
    assert list(CODES) == WANTED
    assert list(get_args(EvidenceCode)) == WANTED


@pytest.mark.parametrize("code", get_args(EvidenceCode))
def test_each_code_says_what_it_means_and_what_to_do(code: EvidenceCode) -> None:
    for sentence in (CODES[code].meaning, CODES[code].action):
        assert sentence.endswith(".")
        assert "\n" not in sentence
    assert says_missing(code, "completed") == (code not in HARMLESS)


def test_a_waiting_turn_lacks_nothing_by_its_pending_operation() -> None:
    assert not says_missing("operation_unfinished", "waiting")
    assert says_missing("operation_unfinished", "failed")
    assert says_missing("content_not_captured", "waiting")


def test_an_issue_leaves_out_what_is_not_known() -> None:
    assert issue("over_limit", "told early") == {"code": "over_limit", "message": "told early"}
    assert issue("operation_unfinished", "m", span_id="00f067aa0ba902b7", operation_id="c1") == {
        "code": "operation_unfinished",
        "message": "m",
        "spanId": "00f067aa0ba902b7",
        "operationId": "c1",
    }


def test_complete_is_what_the_issues_say() -> None:
    pending, skew, lost = (
        issue("operation_unfinished", "m", operation_id="c1"),
        issue("clock_skew", "m"),
        issue("spans_dropped", "m"),
    )
    assert evidence([], "completed") == {"complete": True, "issues": []}
    assert evidence([pending, skew], "waiting") == {"complete": True, "issues": [pending, skew]}
    assert evidence([pending], "completed")["complete"] is False
    assert evidence([skew, lost], "waiting")["complete"] is False
