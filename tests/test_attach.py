"""Attaching writes Turns as they settle; capturing gives the Turns of a block; neither harms the provider."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, Tracer, use_span

from otel_turns.attach import attach, capture_turns
from otel_turns.capture import Capture
from otel_turns.errors import ConfigError, SinkError
from otel_turns.model.record import Record
from otel_turns.sources.exporter import TurnSpanExporter
from otel_turns.sources.processor import TurnSpanProcessor
from tests.sources.fakes import FakeIntake

ROOT = Path(__file__).parents[1]
attaching: Any = import_module("otel_turns.attach")


@pytest.fixture
def provider() -> Iterator[TracerProvider]:
    provider = TracerProvider(resource=Resource({"service.name": "tests"}), shutdown_on_exit=False)
    yield provider
    provider.shutdown()


def turn(tracer: Tracer, says: str = "Hello", *, tokens: int = 7) -> None:
    """One turn of an agent by the GenAI conventions, with one reply."""
    reply = [{"role": "assistant", "parts": [{"type": "text", "content": says}], "finish_reason": "stop"}]
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"}
    chat = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.output.messages": json.dumps(reply),
        "gen_ai.usage.output_tokens": tokens,
    }
    with tracer.start_as_current_span("invoke_agent a", attributes=agent):
        tracer.start_span("chat", attributes=chat).end()


def texts(turns: list[Any]) -> list[list[str]]:
    """What each Turn says."""
    plain: list[Any] = [t.model_dump(mode="json") if isinstance(t, Record) else t for t in turns]
    return [[e["text"] for e in each["events"] if e["type"] == "message"] for each in plain]


def written(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


# attach


def test_a_turn_is_written_when_its_root_has_ended(provider: TracerProvider, tmp_path: Path) -> None:
    arrived = threading.Event()
    records: list[dict[str, Any]] = []

    def take(record: dict[str, Any]) -> None:
        records.append(record)
        arrived.set()

    with attach(take, provider=provider):
        turn(provider.get_tracer("t"))
        assert arrived.wait(30)  # nobody flushes
        assert texts(records) == [["Hello"]]
    assert len(records) == 1


def test_turns_go_to_a_file(provider: TracerProvider, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    attachment = attach(file, provider=provider)
    turn(provider.get_tracer("t"))
    assert attachment.flush()
    assert texts(written(file)) == [["Hello"]]
    assert attachment.counts().accepted == 2


def test_the_providers_shutdown_writes_the_rest(provider: TracerProvider, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    attach(str(file), provider=provider)
    turn(provider.get_tracer("t"))
    provider.shutdown()
    assert texts(written(file)) == [["Hello"]]


def test_several_sinks_get_each_turn(provider: TracerProvider, tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    with attach([tmp_path / "turns.jsonl", records.append], provider=provider):
        turn(provider.get_tracer("t"))
    assert records == written(tmp_path / "turns.jsonl")
    assert len(records) == 1


def test_attaching_twice_is_attaching_once(provider: TracerProvider, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    first = attach(file, provider=provider)
    assert attach(file, provider=provider) is first
    turn(provider.get_tracer("t"))
    first.flush()
    assert len(written(file)) == 1


def test_another_sink_is_another_attachment(provider: TracerProvider, tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    with attach(one, provider=provider), attach(two, provider=provider):
        turn(provider.get_tracer("t"))
    assert written(one) == written(two)


def test_after_a_shutdown_it_can_be_attached_again(provider: TracerProvider, tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    with attach(file, provider=provider) as first:
        turn(provider.get_tracer("t"), "one")
    with attach(file, provider=provider) as second:
        assert second is not first
        turn(provider.get_tracer("t"), "two")
    assert texts(written(file)) == [["one"], ["two"]]


def test_a_provider_that_is_gone_is_forgotten(tmp_path: Path) -> None:
    provider = TracerProvider(resource=Resource({}), shutdown_on_exit=False)
    attach(tmp_path / "turns.jsonl", provider=provider).shutdown()
    gone = weakref.ref(provider)
    del provider
    gc.collect()
    assert gone() is None


def test_a_sink_that_cannot_be_written_is_an_error_at_once(provider: TracerProvider) -> None:
    with pytest.raises(SinkError, match=r"/dev/null/turns\.jsonl"):
        attach("/dev/null/turns.jsonl", provider=provider)


def test_a_provider_that_takes_no_processors_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"NoOpTracerProvider takes no span processors"):
        attach(tmp_path / "turns.jsonl", provider=NoOpTracerProvider())


def test_an_unknown_setting_is_an_error_that_names_the_nearest(
    provider: TracerProvider, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match="'lingr' is unknown: did you mean linger"):
        attach(tmp_path / "turns.jsonl", provider=provider, lingr=1)
    with pytest.raises(ConfigError, match="'xyzzy' is unknown"):
        attach(tmp_path / "turns.jsonl", provider=provider, xyzzy=1)


def test_settings_come_from_arguments_then_from_the_environment(
    provider: TracerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TURNS_BARE", "true")
    monkeypatch.setenv("OTEL_TURNS_SINK", str(tmp_path / "from_environment.jsonl"))
    with attach(provider=provider), attach(tmp_path / "given.jsonl", provider=provider, bare=False):
        turn(provider.get_tracer("t"))
    assert "otel" not in written(tmp_path / "from_environment.jsonl")[0]
    assert "otel" in written(tmp_path / "given.jsonl")[0]


def test_turns_go_to_the_working_directory_when_nobody_says(
    provider: TracerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with attach(provider=provider):
        turn(provider.get_tracer("t"))
    assert texts(written(tmp_path / "turns.jsonl")) == [["Hello"]]


def test_a_cost_comes_from_the_callback_alone(provider: TracerProvider) -> None:
    records: list[dict[str, Any]] = []
    with attach(records.append, provider=provider, cost_usd=lambda record: 0.25):
        turn(provider.get_tracer("t"))
    assert [record["usage"]["costUSD"] for record in records] == [0.25]


def test_redaction_runs_before_the_sink(provider: TracerProvider) -> None:
    records: list[dict[str, Any]] = []

    def redact(record: dict[str, Any]) -> dict[str, Any]:
        return {**record, "events": []}

    with attach(records.append, provider=provider, redact=redact):
        turn(provider.get_tracer("t"), "secret")
    assert [record["events"] for record in records] == [[]]


def test_a_trace_waits_for_its_open_spans(provider: TracerProvider) -> None:
    """A span that outlives the root belongs to the same telling: revision 0, and no second one."""
    records: list[dict[str, Any]] = []
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "slow", "gen_ai.tool.call.id": "c1"}
    tracer = provider.get_tracer("t")
    with attach(records.append, provider=provider) as attachment:
        with tracer.start_as_current_span(
            "invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}
        ):
            background = tracer.start_span("execute_tool slow", attributes=tool)
        assert attachment.counts().accepted in (0, 1)
        background.end()
    assert [record["otel"]["revision"] for record in records] == [0]
    assert [event["type"] for event in records[0]["events"]] == ["operation.started", "operation.finished"]


# without arguments: as the environment says


@pytest.mark.parametrize("make", [TurnSpanProcessor, TurnSpanExporter])
def test_processor_and_exporter_without_arguments_go_by_the_environment(
    make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "turns.jsonl"
    monkeypatch.setenv("OTEL_TURNS_SINK", str(file))
    made = make()
    made.shutdown()
    assert file.exists()


def test_without_a_sink_in_the_environment_a_line_says_where_turns_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    TurnSpanExporter().shutdown()
    assert f"OTEL_TURNS_SINK is not set: Turns go to {tmp_path / 'turns.jsonl'}" in caplog.text


# the global provider, and whole processes


def run(script: str, at: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=at,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


TURN = """
from opentelemetry import trace
from tests.test_attach import attach, capture_turns, turn
"""


def test_without_a_provider_one_is_made_and_the_end_of_the_process_writes(tmp_path: Path) -> None:
    script = TURN + "\nattach()\nturn(trace.get_tracer('t'))"
    assert run(script, tmp_path).stderr == ""
    assert texts(written(tmp_path / "turns.jsonl")) == [["Hello"]]


def test_a_provider_that_is_there_is_used(tmp_path: Path) -> None:
    script = (
        TURN
        + """
from opentelemetry.sdk.trace import TracerProvider
provider = TracerProvider()
trace.set_tracer_provider(provider)
attach()
assert trace.get_tracer_provider() is provider
turn(trace.get_tracer("t"))
"""
    )
    assert run(script, tmp_path).stderr == ""
    assert texts(written(tmp_path / "turns.jsonl")) == [["Hello"]]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_children_write_to_the_same_file_wherever_they_go(tmp_path: Path) -> None:
    script = (
        TURN
        + """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what this is about
attachment = attach()
tracer = trace.get_tracer("t")
turn(tracer, "before")
attachment.flush()
for n in range(5):
    pid = os.fork()
    if pid == 0:
        os.chdir("/")
        turn(tracer, f"child {n}")
        os._exit(0 if attachment.flush() else 1)
    assert os.waitpid(pid, 0)[1] == 0
turn(tracer, "after")
"""
    )
    run(script, tmp_path)
    assert texts(written(tmp_path / "turns.jsonl")) == [
        ["before"],
        *([f"child {n}"] for n in range(5)),
        ["after"],
    ]


def test_the_name_is_the_function_whatever_was_imported_first(tmp_path: Path) -> None:
    run("import otel_turns.attach, otel_turns; assert callable(otel_turns.attach)", tmp_path)
    run(
        "import otel_turns.sources.exporter; from otel_turns import attach; assert callable(attach)", tmp_path
    )


# capture_turns


def test_captures_the_turns_of_a_block(provider: TracerProvider) -> None:
    tracer = provider.get_tracer("t")
    turn(tracer, "before")
    with capture_turns(provider=provider) as turns:
        turn(tracer, "one")
        turn(tracer, "two")
    turn(tracer, "after")
    assert texts(turns) == [["one"], ["two"]]
    assert [each.status for each in turns] == ["completed", "completed"]
    assert all(isinstance(each, Record) for each in turns)
    assert [each.otel.revision for each in turns] == [0, 0]


def test_turns_are_there_within_the_block_after_a_flush(provider: TracerProvider) -> None:
    tracer = provider.get_tracer("t")
    with capture_turns(provider=provider) as turns:
        turn(tracer, "one")
        assert turns.flush()
        assert texts(turns) == [["one"]]
        turn(tracer, "two")
    assert texts(turns) == [["one"], ["two"]]


def test_a_turn_that_was_flushed_half_done_is_replaced_by_the_whole_one(provider: TracerProvider) -> None:
    tracer = provider.get_tracer("t")
    agent = {"gen_ai.operation.name": "invoke_agent"}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "x", "gen_ai.tool.call.id": "c1"}
    with capture_turns(provider=provider) as turns:
        root = tracer.start_span("invoke_agent", attributes=agent)
        with use_span(root):
            tracer.start_span("execute_tool x", attributes=tool).end()
            turns.flush()
            tracer.start_span("execute_tool x", attributes={**tool, "gen_ai.tool.call.id": "c2"}).end()
        root.end()
    assert [sum(event.type == "operation.started" for event in each.events) for each in turns] == [2]


def test_blocks_may_be_nested_and_each_has_its_own(provider: TracerProvider) -> None:
    tracer = provider.get_tracer("t")
    with capture_turns(provider=provider) as outer:
        turn(tracer, "one")
        with capture_turns(provider=provider) as inner:
            turn(tracer, "two")
        turn(tracer, "three")
    assert texts(inner) == [["two"]]
    assert texts(outer) == [["one"], ["two"], ["three"]]


def test_a_span_around_the_block_is_no_part_of_it_and_not_missing(provider: TracerProvider) -> None:
    """As a test runner's own instrumentation does: the span of the test is open all the while."""
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("test"), capture_turns(provider=provider) as turns:
        turn(tracer)
    assert texts(turns) == [["Hello"]]
    assert "orphan_spans" not in {issue.code for issue in turns[0].otel.evidence.issues}
    assert "root_missing" not in {issue.code for issue in turns[0].otel.evidence.issues}


def test_spans_from_before_the_block_do_not_count(provider: TracerProvider) -> None:
    tracer = provider.get_tracer("t")
    agent = tracer.start_span("invoke_agent early", attributes={"gen_ai.operation.name": "invoke_agent"})
    with capture_turns(provider=provider) as turns:
        agent.end()
    assert turns == []


def test_an_error_in_the_block_passes_and_the_turns_are_there(provider: TracerProvider) -> None:
    kept: list[Any] = []

    def block() -> None:
        with capture_turns(provider=provider) as turns:
            kept.append(turns)
            turn(provider.get_tracer("t"))
            raise KeyError("the block's own")

    with pytest.raises(KeyError, match="the block's own"):
        block()
    assert texts(kept[0]) == [["Hello"]]


def test_many_blocks_leave_nothing_behind_but_one_processor(provider: TracerProvider) -> None:
    before = threading.active_count()
    tracer = provider.get_tracer("t")
    for n in range(20):
        with capture_turns(provider=provider) as turns:
            turn(tracer, str(n))
        assert texts(turns) == [[str(n)]]
    assert threading.active_count() == before
    processors = provider._active_span_processor._span_processors  # pyright: ignore[reportPrivateUsage] # the SDK has no other way to see them
    assert len(processors) == 1


def test_turns_that_are_not_ready_in_time_are_told_of(
    provider: TracerProvider, caplog: pytest.LogCaptureFixture
) -> None:
    class Slow(FakeIntake):
        def close(self, timeout_s: float = 5.0) -> bool:
            return False

    capture = Capture.on(provider, lambda sinks: Slow())
    capture.end(0.5)
    assert "the captured Turns were not ready within 0.5 s" in caplog.text


def test_unsampled_spans_are_no_part_of_a_block() -> None:
    unsampling = TracerProvider(sampler=ALWAYS_OFF, resource=Resource({}), shutdown_on_exit=False)
    with capture_turns(provider=unsampling) as turns:
        turn(unsampling.get_tracer("t"))
    assert turns == []


def test_a_cost_and_settings_reach_captured_turns(provider: TracerProvider) -> None:
    with capture_turns(provider=provider, cost_usd=lambda record: 0.5, content=False) as turns:
        turn(provider.get_tracer("t"))
    assert texts(turns) == [[]]
    assert turns[0].usage is not None
    assert turns[0].usage.costUSD == 0.5


def test_captured_without_a_provider_the_global_one_is_used(tmp_path: Path) -> None:
    script = (
        TURN
        + """
with capture_turns() as turns:
    turn(trace.get_tracer("t"))
assert len(turns) == 1
"""
    )
    assert run(script, tmp_path).stderr == ""
