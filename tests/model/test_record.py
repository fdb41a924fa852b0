"""A record is a Turn with one member more, and its id is a function of what it stands on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from otel_turns.model.provenance import bare, group_turn_id, turn_id
from otel_turns.model.record import Record
from otel_turns.model.turn import Turn
from tests.model.examples import OTEL, RECORD, SPAN_ID, TRACE_ID, TURN
from tests.model.strategies import records

TRACE, SPAN = bytes.fromhex(TRACE_ID), bytes.fromhex(SPAN_ID)
REQUIRED = {
    "turnId",
    "revision",
    "traceId",
    "rootSpanId",
    "startTimeUnixNano",
    "endTimeUnixNano",
    "eventTimes",
    "eventSpans",
    "conventions",
    "evidence",
}


def test_a_record_is_read_and_written_unchanged() -> None:
    read = Record.model_validate(RECORD)
    assert read.to_dict() == RECORD
    assert Record.model_validate_json(read.to_json()) == read
    assert isinstance(read, Turn)


def test_bare_is_the_turn() -> None:
    assert bare(RECORD) == TURN
    assert "otel" in RECORD
    Turn.model_validate(bare(RECORD))


def test_a_bare_turn_is_no_record_and_a_record_no_bare_turn() -> None:
    with pytest.raises(ValidationError):
        Record.model_validate(TURN)
    with pytest.raises(ValidationError):
        Turn.model_validate(RECORD)


@pytest.mark.parametrize("name", OTEL)
def test_what_is_known_of_every_turn_is_required(name: str) -> None:
    less = {**RECORD, "otel": {k: v for k, v in OTEL.items() if k != name}}
    if name in REQUIRED:
        with pytest.raises(ValidationError):
            Record.model_validate(less)
    else:
        assert Record.model_validate(less).to_dict() == less


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("turnId", "turn-1"),
        ("turnId", (TRACE_ID + SPAN_ID).upper()),
        ("traceId", TRACE_ID[:-1]),
        ("rootSpanId", TRACE_ID),
        ("revision", -1),
        ("revision", "0"),
        ("turnNumber", 0),
        ("startTimeUnixNano", 1700000000000000001),
        ("startTimeUnixNano", "-1"),
        ("startTimeUnixNano", "01"),
        ("startTimeUnixNano", "18446744073709551616"),
        ("startTimeUnixNano", "1.5"),
        ("eventTimes", ["x"]),
        ("eventSpans", [SPAN_ID.upper()]),
        ("agent", {"name": None}),
        ("agent", {"names": "x"}),
        ("service", "shop"),
        ("evidence", {"complete": True}),
        ("evidence", {"complete": True, "issues": [{"code": "lost", "message": ""}]}),
        ("evidence", {"complete": True, "issues": [{"code": "over_limit"}]}),
        ("annotations", [{"type": "citation.added"}]),
        ("host", "h"),
    ],
)
def test_another_form_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValidationError):
        Record.model_validate({**RECORD, "otel": {**OTEL, name: value}})


def test_ids_are_empty_where_no_span_is_known() -> None:
    otel = {
        **OTEL,
        "turnId": group_turn_id("codex", "p1"),
        "traceId": "",
        "rootSpanId": "",
        "eventSpans": [""],
    }
    Record.model_validate({**RECORD, "otel": otel})


def test_turn_id_is_trace_id_and_span_id() -> None:
    assert turn_id(TRACE, SPAN) == TRACE_ID + SPAN_ID


@given(st.tuples(*[st.binary(min_size=n, max_size=n) for n in (16, 8, 16, 8)]))
def test_different_roots_have_different_ids(ids: tuple[bytes, bytes, bytes, bytes]) -> None:
    same = ids[:2] == ids[2:]
    assert (turn_id(ids[0], ids[1]) == turn_id(ids[2], ids[3])) == same


@pytest.mark.parametrize(("trace", "span"), [(b"", SPAN), (TRACE, b""), (SPAN, TRACE), (TRACE + SPAN, b"")])
def test_ids_of_another_length_are_refused(trace: bytes, span: bytes) -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        turn_id(trace, span)


def test_the_id_of_a_group_depends_on_convention_and_group() -> None:
    ids = {group_turn_id("codex", "p1"), group_turn_id("codex", "p2"), group_turn_id("claude-code", "p1")}
    assert len(ids) == 3
    assert all(len(each) == 48 and set(each) <= set("0123456789abcdef") for each in ids)
    # SHA-256 of b"codex\x00p1", cut: the same on every machine and in every version.
    assert group_turn_id("codex", "p1") == "14e2188cc3d8f33151ed096364c0e4069e74a2595875465b"


@given(records)
def test_any_record_comes_back_unchanged(wanted: dict[str, Any]) -> None:
    read = Record.model_validate(wanted)
    assert read.to_dict() == wanted
    assert json.loads(read.to_json()) == wanted
    assert Record.model_validate_json(read.to_json()) == read
