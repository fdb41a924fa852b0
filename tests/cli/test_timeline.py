"""A Turn as text: what happened, in order, with times, and nothing that a terminal would obey."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.cli.timeline import timeline

RECORD: dict[str, Any] = {
    "events": [
        {"type": "thinking", "text": "Two cities."},
        {"type": "message", "role": "assistant", "text": "One moment."},
        {
            "type": "operation.started",
            "operationId": "c1",
            "operation": {"kind": "tool", "name": "get_weather", "input": {"city": "Paris"}},
        },
        {
            "type": "operation.started",
            "operationId": "a1",
            "operation": {"kind": "subagent", "name": "researcher"},
        },
        {"type": "operation.finished", "operationId": "a1", "kind": "subagent", "status": "completed"},
        {
            "type": "operation.finished",
            "operationId": "c1",
            "kind": "tool",
            "output": {"error": "no"},
            "status": "failed",
        },
        {"type": "skill.loaded", "skill": "pdf"},
        {"type": "compaction", "reason": "full"},
        {
            "type": "input.requested",
            "request": {
                "action": "send_email",
                "input": {"to": "a"},
                "prompt": "Send it?",
                "options": [{"id": "y", "label": "Yes"}, {"id": "n"}],
            },
        },
        {"type": "error", "message": "out of tokens"},
    ],
    "status": "waiting",
    "usage": {"inputTokens": 240, "cacheReadTokens": 80, "outputTokens": 60, "requests": 2, "costUSD": 0.25},
    "data": {"ok": True},
    "otel": {
        "agent": {"name": "helper"},
        "service": {"name": "shop", "version": "1.2"},
        "sessionId": "s-1",
        "traceId": "0" * 31 + "1",
        "conventions": ["genai"],
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "3500000000",
        "eventTimes": [str(1_000_000_000 + 100_000_000 * n) for n in range(10)],
        "evidence": {
            "complete": False,
            "issues": [{"code": "orphan_spans", "message": "a parent never came"}],
        },
    },
}


def shown(turn: dict[str, Any], **options: Any) -> str:
    return "\n".join(timeline(turn, **options))


def test_a_record_is_told_line_by_line() -> None:
    assert shown(RECORD, width=200).splitlines() == [
        "Turn 1  helper  waiting  2.500 s",
        "    2 requests, 240 tokens in, 80 read from cache, 60 tokens out, 0.25 USD",
        "    session s-1, service shop 1.2, read as genai, trace 00000000000000000000000000000001",
        "        +0.000  thinking  Two cities.",
        "        +0.100  assistant  One moment.",
        '        +0.200  ▶ get_weather  {"city":"Paris"}',
        "        +0.300  ▶ agent researcher",
        "        +0.400  ✓ researcher 0.100 s",
        '        +0.500  ✗ get_weather failed 0.300 s  {"error":"no"}',
        "        +0.600  skill  pdf",
        "        +0.700  compaction  full",
        '        +0.800  ? asks a human  send_email · {"to":"a"} · Send it? · Yes / n',
        "        +0.900  error  out of tokens",
        '    data  {"ok":true}',
        "    missing  orphan_spans: a parent never came",
    ]


def test_what_a_subagent_does_is_indented() -> None:
    inner = [
        {"type": "operation.started", "operationId": "a", "operation": {"kind": "subagent", "name": "r"}},
        {"type": "message", "role": "assistant", "text": "inside"},
        {"type": "operation.finished", "operationId": "a", "kind": "subagent", "status": "completed"},
        {"type": "message", "role": "assistant", "text": "outside"},
    ]
    lines = shown({"events": inner, "status": "completed"}).splitlines()[1:]
    assert lines == ["    ▶ agent r", "    │ assistant  inside", "    ✓ r", "    assistant  outside"]


def test_a_bare_turn_has_no_times() -> None:
    lines = shown({"events": [{"type": "message", "role": "assistant", "text": "hi"}], "status": "completed"})
    assert lines.splitlines() == ["Turn 1  completed", "    assistant  hi"]


def test_evidence_of_a_complete_turn_is_a_note() -> None:
    otel = {"evidence": {"complete": True, "issues": [{"code": "clock_skew", "message": "shifted"}]}}
    assert "    note  clock_skew: shifted" in shown({"events": [], "status": "completed", "otel": otel})


def test_lines_fit_the_width_unless_all_is_asked_for() -> None:
    long = {"events": [{"type": "message", "role": "assistant", "text": "word " * 99}], "status": "completed"}
    assert max(map(len, shown(long, width=60).splitlines())) <= 60
    assert shown(long, width=60).endswith("…")
    assert shown(long, width=60, full=True).count("word") == 99


def test_whole_text_keeps_its_lines() -> None:
    two = {"events": [{"type": "message", "role": "assistant", "text": "one\ntwo"}], "status": "completed"}
    assert shown(two, full=True).splitlines()[1:] == ["    assistant  one", "      two"]
    assert shown(two).splitlines()[1:] == ["    assistant  one two"]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x07", "\u202e", "\x9b31m", "\r", "\x00"])
def test_no_text_reaches_the_terminal_as_a_command(hostile: str, full: bool) -> None:
    turn = {
        "events": [
            {"type": "message", "role": hostile, "text": f"a{hostile}b"},
            {"type": "operation.started", "operationId": "1", "operation": {"kind": "tool", "name": hostile}},
            {"type": "operation.finished", "operationId": "1", "status": hostile, "output": hostile},
            {"type": hostile, "text": hostile},
        ],
        "status": hostile,
        "data": hostile,
        "otel": {
            "agent": {"name": hostile},
            "sessionId": hostile,
            "evidence": {"issues": [{"code": hostile, "message": hostile}]},
        },
    }
    assert all(c.isprintable() for c in shown(turn, full=full).replace("\n", ""))


def test_colour_is_only_where_it_is_asked_for() -> None:
    assert "\x1b[33mwaiting\x1b[0m" in shown(RECORD, color=True)
    assert "\x1b" not in shown(RECORD)


ODD: list[dict[str, Any]] = [
    {},
    {"events": [{}], "status": 3, "usage": None, "otel": {"startTimeUnixNano": "x"}},
    {"events": [{"type": "error"}], "otel": {"eventTimes": [None]}},
    {"events": [{"type": "operation.finished", "operationId": "1", "output": None}], "otel": None},
]


@pytest.mark.parametrize("odd", ODD)
def test_odd_data_is_shown_as_far_as_it_goes(odd: dict[str, Any]) -> None:
    assert shown(odd).startswith("Turn 1")
