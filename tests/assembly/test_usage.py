"""Usage: each request once, as reported, and never a cost (SEMANTICS, section 7)."""

from __future__ import annotations

from typing import Any

import pytest

from otel_turns.assembly.options import AssemblyOptions
from otel_turns.assembly.tree import Read
from otel_turns.model import normalized as n
from otel_turns.model.facts import Convention, Role, TokenUsage
from tests.assembly.stage import T0, agent, call, chat, codes, span, tool, turn, turns

ACCUMULATES = Convention("test", "switch content on", usage_accumulates=True)


def usage_of(reads: list[Read], **more: Any) -> dict[str, Any]:
    return turn(reads, **more)["usage"]


def test_the_requests_of_a_turn_are_summed() -> None:
    first = TokenUsage(100, 10, cache_read=40, cache_creation=8, reasoning=3)
    second = TokenUsage(200, 20, cache_read=60, cache_creation=2, reasoning=4)
    reads = [
        agent("a", 0, 100),
        span("c", Role.INFERENCE, 1, 10, parent="a", usage=first),
        span("d", Role.INFERENCE, 20, 30, parent="a", usage=second),
    ]
    assert usage_of(reads) == {
        "inputTokens": 300,
        "outputTokens": 30,
        "cacheReadTokens": 100,
        "cacheCreationTokens": 10,
        "reasoningTokens": 7,
        "requests": 2,
    }


def test_the_requests_of_sub_agents_count() -> None:
    reads = [
        agent("root", 0, 100),
        chat("c", 1, 10, call("1", "ask", {}), parent="root", usage=(10, 1)),
        tool("ask", 20, 60, "1", parent="root"),
        agent("sub", 21, 59, parent="ask"),
        chat("d", 22, 30, "x", parent="sub", usage=(100, 5)),
    ]
    assert usage_of(reads) == {"inputTokens": 110, "outputTokens": 6, "requests": 2}


def test_what_nobody_reports_is_absent_and_zero_only_where_somebody_reports_it() -> None:
    reads = [
        agent("a", 0, 100),
        span("c", Role.INFERENCE, 1, 10, parent="a", usage=TokenUsage(10, 2, cache_read=0)),
        span("d", Role.INFERENCE, 20, 30, parent="a", usage=TokenUsage(5, 1)),
    ]
    assert usage_of(reads) == {"inputTokens": 15, "outputTokens": 3, "cacheReadTokens": 0, "requests": 2}


def test_a_turn_in_which_nobody_reports_anything_has_no_usage() -> None:
    record = turn([agent("a", 0, 100), tool("f", 1, 10, "1", parent="a")])
    assert "usage" not in record


def test_requests_that_report_nothing_are_counted_all_the_same() -> None:
    record = turn([agent("a", 0, 100), chat("c", 1, 10, "hi", parent="a", usage=None)])
    assert record["usage"] == {"requests": 1}
    assert "usage_partial" in codes(record)


def test_one_silent_request_among_others_is_told() -> None:
    record = turn(
        [
            agent("a", 0, 100),
            chat("c", 1, 10, "hi", parent="a"),
            chat("d", 20, 30, "ho", parent="a", usage=None),
        ]
    )
    assert record["usage"] == {"inputTokens": 10, "outputTokens": 2, "requests": 2}
    assert codes(record) == {"usage_partial"}


def test_failed_requests_count_as_requests() -> None:
    reads = [
        agent("a", 0, 100),
        span("c", Role.INFERENCE, 1, 10, parent="a", failed=True, error="busy"),
        chat("d", 20, 30, "hi", parent="a", usage=(10, 2)),
    ]
    record = turn(reads)
    assert record["usage"] == {"inputTokens": 10, "outputTokens": 2, "requests": 2}
    assert "usage_partial" not in codes(record)


# --- totals of agents and wrappers --------------------------------------------------------------------------


def test_an_agent_that_repeats_the_total_of_its_requests_adds_nothing() -> None:
    record = turn(
        [
            agent("a", 0, 100, usage=TokenUsage(30, 3)),
            chat("c", 1, 10, "x", parent="a", usage=(10, 1)),
            chat("d", 20, 30, "y", parent="a", usage=(20, 2)),
        ]
    )
    assert record["usage"] == {"inputTokens": 30, "outputTokens": 3, "requests": 2}
    assert codes(record) == set()


def test_a_total_is_used_where_no_request_below_reports() -> None:
    record = turn(
        [
            agent("a", 0, 100, usage=TokenUsage(30, 3)),
            chat("c", 1, 10, "x", parent="a", usage=None),
        ]
    )
    assert record["usage"] == {"inputTokens": 30, "outputTokens": 3, "requests": 1}
    assert "usage_partial" not in codes(record)


def test_an_agent_without_requests_gives_no_request_count() -> None:
    record = turn([agent("a", 0, 100, usage=TokenUsage(30, 3)), tool("f", 1, 10, "1", parent="a")])
    assert record["usage"] == {"inputTokens": 30, "outputTokens": 3}


def test_a_total_that_is_more_than_the_requests_account_for_is_told_and_not_used() -> None:
    record = turn(
        [
            agent("a", 0, 100, usage=TokenUsage(100, 10)),
            chat("c", 1, 10, "x", parent="a", usage=(10, 1)),
        ]
    )
    assert record["usage"] == {"inputTokens": 10, "outputTokens": 1, "requests": 1}
    assert codes(record) == {"usage_partial"}


def test_a_total_that_includes_the_sub_agents_is_no_disagreement() -> None:
    record = turn(
        [
            agent("root", 0, 100, usage=TokenUsage(110, 6)),
            chat("c", 1, 10, call("1", "ask", {}), parent="root", usage=(10, 1)),
            tool("ask", 20, 60, "1", parent="root"),
            agent("sub", 21, 59, parent="ask"),
            chat("d", 22, 30, "x", parent="sub", usage=(100, 5)),
        ]
    )
    assert record["usage"] == {"inputTokens": 110, "outputTokens": 6, "requests": 2}
    assert "usage_partial" not in codes(record)


def test_a_sub_agent_that_reports_only_on_its_own_span_counts() -> None:
    reads = [
        agent("root", 0, 100),
        chat("c", 1, 10, call("1", "ask", {}), parent="root", usage=(10, 1)),
        tool("ask", 20, 60, "1", parent="root"),
        agent("sub", 21, 59, parent="ask", usage=TokenUsage(100, 5), outputs=[]),
    ]
    assert usage_of(reads) == {"inputTokens": 110, "outputTokens": 6, "requests": 1}


def test_a_figure_that_accumulates_over_an_agent_s_life_is_never_used() -> None:
    record = turn(
        [
            agent("a", 0, 100, usage=TokenUsage(3000, 300), convention=ACCUMULATES),
            chat("c", 1, 10, "x", parent="a", usage=None, convention=ACCUMULATES),
        ]
    )
    assert record["usage"] == {"requests": 1}


def test_the_invocations_of_one_agent_count_each() -> None:
    reads = [
        span("flow", Role.WORKFLOW, 0, 100),
        agent("one", 1, 40, parent="flow", agent_name="a", usage=TokenUsage(10, 1), outputs=[]),
        agent("two", 50, 90, parent="flow", agent_name="a", usage=TokenUsage(20, 2), outputs=[]),
        tool("f", 2, 3, "1", parent="one"),
        tool("f#2", 51, 52, "2", parent="two"),
    ]
    assert usage_of(reads) == {"inputTokens": 30, "outputTokens": 3}


def test_a_workflow_s_total_is_used_only_where_nothing_below_reports() -> None:
    flow = span("flow", Role.WORKFLOW, 0, 100, usage=TokenUsage(500, 50))
    inside = agent("a", 1, 90, parent="flow")
    reporting = [flow, inside, chat("c", 2, 10, "x", parent="a", usage=(10, 1))]
    silent = [flow, inside, chat("c", 2, 10, "x", parent="a", usage=None)]
    assert usage_of(reporting) == {"inputTokens": 10, "outputTokens": 1, "requests": 1}
    assert usage_of(silent) == {"inputTokens": 500, "outputTokens": 50, "requests": 1}


def test_the_total_of_a_workflow_within_the_turn_is_none_of_the_turn_s() -> None:
    record = turn(
        [
            agent("root", 0, 100),
            chat("c", 1, 10, call("1", "flow", {}), parent="root", usage=(10, 1)),
            tool("flow", 20, 60, "1", parent="root"),
            span("inner flow", Role.WORKFLOW, 21, 59, parent="flow", usage=TokenUsage(100, 5)),
            agent("sub", 22, 50, parent="inner flow"),
            chat("d", 23, 30, "x", parent="sub", usage=(100, 5)),
        ]
    )
    assert record["usage"] == {"inputTokens": 110, "outputTokens": 6, "requests": 2}
    assert "usage_partial" not in codes(record)


def test_an_agent_that_repeats_the_total_of_its_sub_agents_adds_nothing() -> None:
    reads = [
        agent("root", 0, 100, usage=TokenUsage(100, 5), outputs=[]),
        tool("ask", 20, 60, "1", parent="root"),
        agent("sub", 21, 59, parent="ask"),
        chat("d", 22, 30, "x", parent="sub", usage=(100, 5)),
    ]
    assert usage_of(reads) == {"inputTokens": 100, "outputTokens": 5, "requests": 1}


def test_the_total_of_a_local_root_that_is_no_agent_is_used_where_nothing_below_reports() -> None:
    reads = [
        span("main", Role.WORKFLOW, 0, 100, usage=TokenUsage(50, 5)),
        chat("c", 2, 10, "x", parent="main", usage=None),
    ]
    assert usage_of(reads) == {"inputTokens": 50, "outputTokens": 5, "requests": 1}


# --- instrumented twice -------------------------------------------------------------------------------------


def test_two_instrumentations_of_one_request_count_once() -> None:
    nested = [
        agent("a", 0, 100),
        chat("outer", 1, 20, "Hello.", parent="a", scope="framework", usage=(10, 2)),
        chat("inner", 2, 19, "Hello.", parent="outer", scope="sdk", usage=(10, 2), response_id="r"),
    ]
    beside = [
        agent("a", 0, 100),
        chat("outer", 1, 20, "Hello.", parent="a", scope="framework", usage=(10, 2), response_id="r"),
        chat("inner", 2, 19, "Hello.", parent="a", scope="sdk", usage=(10, 2), response_id="r"),
    ]
    once = {"inputTokens": 10, "outputTokens": 2, "requests": 1}
    assert usage_of(nested) == once
    assert usage_of(beside) == once


def test_the_inner_instrumentation_fills_the_fields_that_the_outer_lacks() -> None:
    reads = [
        agent("a", 0, 100),
        chat("outer", 1, 20, "Hello.", parent="a", scope="framework", usage=(10, 2)),
        span(
            "inner",
            Role.INFERENCE,
            2,
            19,
            parent="outer",
            scope="sdk",
            usage=TokenUsage(10, 2, cache_read=4, reasoning=1),
        ),
    ]
    assert usage_of(reads) == {
        "inputTokens": 10,
        "outputTokens": 2,
        "cacheReadTokens": 4,
        "reasoningTokens": 1,
        "requests": 1,
    }


def test_a_span_that_stands_for_several_requests_says_how_many() -> None:
    reads = [agent("a", 0, 100), chat("c", 1, 10, "x", parent="a", requests=3)]
    assert usage_of(reads)["requests"] == 3


# --- NormalizedEvents ---------------------------------------------------------------------------------------


def _stream(*events: n.NormalizedEvent, role: Role = Role.STEP, **more: Any) -> Read:
    told = [(T0 + at, event) for at, event in enumerate(events, start=1)]
    return span("s", role, 0, 100, normalized=told, **more)


def test_within_one_request_the_largest_report_of_each_field_counts() -> None:
    stream = _stream(
        n.StreamStart("r"),
        n.MessageDelta("x"),
        n.Usage(10, 1, 11),
        n.Usage(10, 5, 15, cached_tokens=4),
        n.Done(),
    )
    assert usage_of([stream]) == {"inputTokens": 10, "outputTokens": 5, "cacheReadTokens": 4}


def test_each_request_of_a_stream_counts() -> None:
    stream = _stream(
        n.StreamStart("r1"),
        n.MessageDelta("x"),
        n.Usage(10, 1, 11),
        n.StreamStart("r2"),
        n.Usage(20, 2, 22, cache_creation_tokens=0),
        n.RuntimeStep(2, "started"),
        n.Usage(5, 5, 10),
    )
    assert usage_of([stream]) == {"inputTokens": 35, "outputTokens": 8, "cacheCreationTokens": 0}


def test_a_request_with_both_events_and_attributes_counts_once() -> None:
    stream = _stream(
        n.MessageDelta("x"),
        n.Usage(10, 2, 12),
        role=Role.INFERENCE,
        usage=TokenUsage(10, 2, reasoning=1),
        parent="a",
    )
    assert usage_of([agent("a", 0, 100), stream]) == {
        "inputTokens": 10,
        "outputTokens": 2,
        "reasoningTokens": 1,
        "requests": 1,
    }


# --- the exclusive basis ------------------------------------------------------------------------------------

EXCLUSIVE = AssemblyOptions(usage_basis="exclusive")
CACHED = TokenUsage(100, 10, cache_read=60, cache_creation=8)


@pytest.mark.parametrize(("includes", "expected"), [(True, 32), (False, 100), (None, 100)])
def test_buckets_without_overlap_are_made_only_where_the_convention_says_how_it_counts(
    includes: bool | None, expected: int
) -> None:
    reads = [
        agent("a", 0, 100),
        span("c", Role.INFERENCE, 1, 10, parent="a", usage=CACHED, input_includes_cache=includes),
    ]
    assert usage_of(reads, options=EXCLUSIVE) == {
        "inputTokens": expected,
        "outputTokens": 10,
        "cacheReadTokens": 60,
        "cacheCreationTokens": 8,
        "requests": 1,
    }


def test_the_reported_basis_never_converts() -> None:
    reads = [
        agent("a", 0, 100),
        span("c", Role.INFERENCE, 1, 10, parent="a", usage=CACHED, input_includes_cache=True),
    ]
    assert usage_of(reads)["inputTokens"] == 100


def test_an_agent_s_own_figure_is_converted_like_a_request_s() -> None:
    reads = [
        agent("a", 0, 100, usage=CACHED, input_includes_cache=True, outputs=[]),
        tool("f", 1, 10, "1", parent="a"),
    ]
    assert usage_of(reads, options=EXCLUSIVE)["inputTokens"] == 32


def test_normalized_events_count_the_cache_within_their_prompt_tokens() -> None:
    stream = _stream(
        n.MessageDelta("x"), n.Usage(100, 10, 110, cached_tokens=60, cache_creation_tokens=8), n.Done()
    )
    assert usage_of([stream], options=EXCLUSIVE)["inputTokens"] == 32


def test_the_exclusive_basis_still_tells_a_total_that_disagrees() -> None:
    record = turn(
        [
            agent("a", 0, 100, usage=TokenUsage(500, 50), input_includes_cache=True),
            span("c", Role.INFERENCE, 1, 10, parent="a", usage=CACHED, input_includes_cache=True),
        ],
        options=EXCLUSIVE,
    )
    assert "usage_partial" in codes(record)


# --- never a cost -------------------------------------------------------------------------------------------


def test_there_is_never_a_cost() -> None:
    reads = [
        agent("a", 0, 100, usage=TokenUsage(30, 3)),
        chat("c", 1, 10, "x", parent="a"),
        _stream(n.Custom("app", "cost", {"costUSD": 1}), n.Usage(1, 1, 2), parent="a"),
    ]
    for record in turns(reads):
        assert "costUSD" not in record["usage"]


def test_a_claim_below_what_was_seen_says_nothing_of_what_is_missing() -> None:
    record = turn(
        [
            agent("a", 0, 100, usage=TokenUsage(20, 2)),
            chat("c", 1, 10, "x", parent="a", usage=(10, 1)),
            chat("d", 20, 30, "y", parent="a", usage=(20, 2)),
        ]
    )
    assert record["usage"] == {"inputTokens": 30, "outputTokens": 3, "requests": 2}
    assert record["otel"]["evidence"]["complete"] is True
