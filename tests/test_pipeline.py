"""The live way: what settles when, what waits for more, and what is sent again."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from otel_turns.model.item import LoadedItem
from otel_turns.model.span import Scope, Span
from otel_turns.pipeline import Pipeline
from tests.assembly.stage import ident, story

SECOND = 1_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = 1

    def __call__(self) -> int:
        return self.now

    def pass_(self, seconds: float) -> None:
        self.now += int(seconds * SECOND)


class Kept:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.full = False
        self.closed = 0

    def write(self, record: dict[str, Any]) -> None:
        self.records.append(record)

    def flush(self, timeout_s: float = 5) -> bool:
        return True

    def close(self) -> None:
        self.closed += 1


def item(
    name: str,
    attributes: dict[str, Any],
    *,
    trace: str = "t",
    parent: str | None = None,
    start: int = 0,
    end: int = 10,
) -> LoadedItem:
    span = Span(
        ident(trace, 16),
        ident(name, 8),
        ident(parent, 8) if parent else None,
        name,
        1_000_000_000 + start * 1_000_000,
        1_000_000_000 + end * 1_000_000,
        attributes=attributes,
        scope=Scope("app"),
    )
    return LoadedItem(span, 400)


def agent(trace: str = "t", start: int = 0, end: int = 100) -> LoadedItem:
    said = [{"role": "assistant", "parts": [{"type": "text", "content": f"bye from {trace}"}]}]
    return item(
        f"agent {trace}",
        {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "root",
            "gen_ai.output.messages": orjson.dumps(said).decode(),
        },
        trace=trace,
        start=start,
        end=end,
    )


def tool(name: str, call_id: str, trace: str = "t") -> LoadedItem:
    return item(
        name,
        {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.id": call_id,
            "gen_ai.tool.call.arguments": "{}",
            "gen_ai.tool.call.result": "1",
        },
        trace=trace,
        parent=f"agent {trace}",
        start=20,
        end=30,
    )


def request(trace: str, inputs: list[dict[str, Any]], output: list[dict[str, Any]], start: int) -> LoadedItem:
    return item(
        f"chat {trace}",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": "openai",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": orjson.dumps(inputs).decode(),
            "gen_ai.output.messages": orjson.dumps([{"role": "assistant", "parts": output}]).decode(),
        },
        trace=trace,
        start=start,
        end=start + 10,
    )


USER = {"role": "user", "parts": [{"type": "text", "content": "weather?"}]}
ASKS = {"type": "tool_call", "id": "1", "name": "weather", "arguments": {"city": "Paris"}}
GIVEN = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "18"}]}
SAYS = {"type": "text", "content": "It is 18."}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sink() -> Kept:
    return Kept()


@pytest.fixture
def pipeline(clock: Clock, sink: Kept) -> Pipeline:
    return Pipeline([sink], linger_s=2, idle_s=60, stitch_s=30, clock=clock)


def test_a_trace_is_told_when_its_root_has_ended_and_nothing_more_came(
    pipeline: Pipeline, clock: Clock, sink: Kept
) -> None:
    pipeline.accept([tool("ls", "1"), agent()])
    assert pipeline.tick() == pytest.approx(2)
    assert sink.records == []
    clock.pass_(2)
    assert pipeline.tick() is not None or sink.records
    assert [story(r) for r in sink.records] == [["start:1", "end:1:completed", "say:bye from t"]]


def test_spans_that_come_late_are_told_as_a_revision_of_the_same_turn(
    pipeline: Pipeline, clock: Clock, sink: Kept
) -> None:
    pipeline.accept([agent()])
    clock.pass_(3)
    pipeline.tick()
    pipeline.accept([tool("ls", "1")])
    clock.pass_(3)
    pipeline.tick()
    first, second = sink.records
    assert first["otel"]["turnId"] == second["otel"]["turnId"]
    assert (first["otel"]["revision"], second["otel"]["revision"]) == (0, 1)
    assert story(second) == ["start:1", "end:1:completed", "say:bye from t"]


def test_a_repeated_delivery_changes_nothing(pipeline: Pipeline, clock: Clock, sink: Kept) -> None:
    pipeline.accept([agent(), agent()])
    clock.pass_(3)
    pipeline.tick()
    pipeline.accept([agent()])
    clock.pass_(3)
    pipeline.tick()
    assert len(sink.records) == 1
    assert pipeline.counters["duplicates"] == 2


def test_a_bare_request_waits_for_the_one_that_answers_its_calls(
    pipeline: Pipeline, clock: Clock, sink: Kept
) -> None:
    asked = {"role": "assistant", "parts": [ASKS]}
    pipeline.accept([request("one", [USER], [ASKS], 0)])
    clock.pass_(3)
    pipeline.tick()
    assert sink.records == []
    pipeline.accept([request("two", [USER, asked, GIVEN], [SAYS], 50)])
    clock.pass_(3)
    pipeline.tick()
    assert [story(r) for r in sink.records] == [["start:1", "end:1:completed", "say:It is 18."]]


def test_a_bare_request_whose_calls_nobody_answers_is_told_when_its_time_is_up(
    pipeline: Pipeline, clock: Clock, sink: Kept
) -> None:
    pipeline.accept([request("one", [USER], [ASKS], 0)])
    clock.pass_(3)
    wait = pipeline.tick()
    assert wait is not None
    clock.pass_(wait)
    pipeline.tick()
    assert [story(r) for r in sink.records] == [["start:1"]]


def test_two_bare_conversations_at_once_are_not_mixed(pipeline: Pipeline, clock: Clock, sink: Kept) -> None:
    other = {"role": "user", "parts": [{"type": "text", "content": "and in Rome?"}]}
    asked = {"role": "assistant", "parts": [ASKS]}
    pipeline.accept([request("a1", [USER], [ASKS], 0), request("b1", [other], [ASKS], 1)])
    pipeline.accept([request("b2", [other, asked, GIVEN], [SAYS], 50)])
    pipeline.accept([request("a2", [USER, asked, GIVEN], [SAYS], 51)])
    clock.pass_(3)
    pipeline.tick()
    assert sorted(r["otel"]["traceId"] for r in sink.records) == sorted(
        ident(t, 16).hex() for t in ("a1", "b1")
    )


def test_flush_tells_everything_that_is_held(pipeline: Pipeline, sink: Kept) -> None:
    pipeline.accept([agent("a"), tool("ls", "1", "b"), request("c", [USER], [ASKS], 0)])
    assert pipeline.flush()
    assert len(sink.records) == 3


def test_an_open_local_span_holds_its_trace(clock: Clock, sink: Kept) -> None:
    pipeline = Pipeline([sink], linger_s=0, clock=clock)
    trace = ident("t", 16)
    pipeline.hold(trace)
    pipeline.accept([agent()])
    pipeline.tick()
    assert sink.records == []
    pipeline.release(trace)
    pipeline.tick()
    assert len(sink.records) == 1


def test_a_cost_gets_in_only_by_the_callback(clock: Clock) -> None:
    sink = Kept()
    pipeline = Pipeline([sink], linger_s=0, clock=clock, cost_usd=lambda record: 0.25)
    pipeline.accept([agent()])
    pipeline.flush()
    assert sink.records[0]["usage"]["costUSD"] == 0.25


def test_a_callback_that_fails_costs_its_turn_and_no_other(clock: Clock) -> None:
    sink = Kept()

    def cost(record: dict[str, Any]) -> float | None:
        if record["otel"]["traceId"] == ident("bad", 16).hex():
            raise ValueError("no price")
        return None

    pipeline = Pipeline([sink], linger_s=0, clock=clock, cost_usd=cost)
    pipeline.accept([agent("bad"), agent("good")])
    pipeline.flush()
    assert [r["otel"]["traceId"] for r in sink.records] == [ident("good", 16).hex()]
    assert pipeline.counters["failed"] == 1


def test_a_full_sink_or_a_full_budget_refuses_at_the_door(clock: Clock, sink: Kept) -> None:
    pipeline = Pipeline([sink], budget_bytes=10_000, clock=clock)
    assert not pipeline.would_refuse(100)
    assert pipeline.would_refuse(1_000_000)
    sink.full = True
    assert pipeline.would_refuse(100)


def test_closing_twice_closes_the_sinks_once(pipeline: Pipeline, sink: Kept) -> None:
    pipeline.accept([agent()])
    assert pipeline.close()
    assert pipeline.close()
    assert sink.closed == 1
    assert len(sink.records) == 1


def test_every_item_is_accounted_for(pipeline: Pipeline, clock: Clock) -> None:
    pipeline.accept([agent("a"), agent("a"), tool("ls", "1", "b")])
    clock.pass_(3)
    pipeline.tick()
    counted = pipeline.counters
    assert counted["accepted"] == 3
    assert counted["accepted"] == (
        counted["settled"] + counted["open"] + counted["ready"] + counted["duplicates"]
    )
