"""The processor does its duty by the SDK and never harms the process that it lives in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult

from otel_turns.errors import SinkError
from otel_turns.sources.processor import TurnSpanProcessor
from otel_turns.sources.tally import FeedCounts
from tests.sources.fakes import FakeIntake

ROOT = Path(__file__).parents[2]
TIMEOUT = 30_000


def provider_with(processor: TurnSpanProcessor, **options: Any) -> TracerProvider:
    provider = TracerProvider(resource=Resource({}), shutdown_on_exit=False, **options)
    provider.add_span_processor(processor)
    return provider


@pytest.fixture
def intake() -> FakeIntake:
    return FakeIntake()


@pytest.fixture
def processor(intake: FakeIntake) -> Any:
    processor = TurnSpanProcessor(lambda: intake)
    yield processor
    processor.shutdown(TIMEOUT)


def test_spans_of_a_trace_arrive_as_they_end(processor: TurnSpanProcessor, intake: FakeIntake) -> None:
    provider = provider_with(processor)
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("turn") as root:
        with tracer.start_as_current_span("tool"):
            pass
        assert provider.force_flush(TIMEOUT)
        trace_id = root.get_span_context().trace_id.to_bytes(16, "big")
        assert intake.calls == [("hold", trace_id), ("accept", ["tool"])]
    assert provider.force_flush(TIMEOUT)
    assert intake.calls[2:] == [("accept", ["turn"]), ("release", trace_id)]
    tool, turn = intake.spans
    assert (tool.parent_id, turn.parent_id) == (turn.span_id, None)
    assert (tool.scope.name, tool.trace_id) == ("agent", trace_id)


class Only(Sampler):
    """Records every span, and samples the ones with this name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def should_sample(
        self, parent_context: Any, trace_id: int, name: str, *args: Any, **kwargs: Any
    ) -> SamplingResult:
        return SamplingResult(Decision.RECORD_AND_SAMPLE if name == self.name else Decision.RECORD_ONLY)

    def get_description(self) -> str:
        return f"Only({self.name})"


def test_unsampled_spans_are_skipped_and_counted(processor: TurnSpanProcessor, intake: FakeIntake) -> None:
    tracer = provider_with(processor, sampler=Only("kept")).get_tracer("agent")
    for name in ("left out", "kept", "left out"):
        tracer.start_span(name).end()
    assert processor.force_flush(TIMEOUT)
    assert intake.names == ["kept"]
    assert processor.counts() == FeedCounts(
        accepted=1, waiting=0, unsampled=2, queue_full=0, unreadable=0, failed=0, closed=0
    )


def test_never_raises_into_the_agent(processor: TurnSpanProcessor, intake: FakeIntake) -> None:
    class Odd:
        @property
        def context(self) -> Any:
            raise ValueError("odd")

    odd: Any = Odd()
    processor.on_start(odd)
    processor.on_end(odd)
    processor.on_end(ReadableSpan("without ids", resource=Resource({})))
    assert processor.force_flush(TIMEOUT)
    counts = processor.counts()
    assert (counts.unreadable, counts.unsampled, counts.accepted) == (1, 1, 0)


def test_shutdown_of_the_provider_writes_the_rest(processor: TurnSpanProcessor, intake: FakeIntake) -> None:
    provider = provider_with(processor)
    provider.get_tracer("agent").start_span("last").end()
    provider.shutdown()
    provider.shutdown()
    assert (intake.names, intake.closes) == (["last"], 1)
    provider.get_tracer("agent").start_span("too late").end()
    assert processor.counts().closed == 1


def test_a_pipeline_that_does_not_open_is_an_error_at_once() -> None:
    def refuse() -> FakeIntake:
        raise SinkError("turns.jsonl: cannot be written")

    with pytest.raises(SinkError, match="cannot be written"):
        TurnSpanProcessor(refuse)


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


WRITING = """
import os, sys
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from otel_turns.sources.processor import TurnSpanProcessor
from tests.sources.fakes import FakeIntake

class Writing(FakeIntake):
    def flush(self, timeout_s):
        for name in self.names:
            os.write(1, f"{os.getpid()} {name}\\n".encode())
        self.items.clear()
        return True
    close = flush

provider = TracerProvider(resource=Resource({}), shutdown_on_exit=bool(int(sys.argv[1])))
processor = TurnSpanProcessor(Writing)
provider.add_span_processor(processor)
tracer = provider.get_tracer("agent")
"""


@pytest.mark.parametrize("provider_shuts_down", ["0", "1"])
def test_the_end_of_the_process_writes_the_rest(provider_shuts_down: str) -> None:
    done = run(WRITING + "tracer.start_span('last').end()", provider_shuts_down)
    assert done.stdout.split()[1:] == ["last"]


def test_an_exit_does_not_wait_for_a_sink_that_hangs() -> None:
    script = (
        WRITING
        + """
import threading, time
reached = threading.Event()
def hang(self, timeout_s):
    reached.set()
    time.sleep(1_000)
Writing.flush = Writing.close = hang
processor._feed._exit_s = 0.05
tracer.start_span('last').end()
threading.Thread(target=processor.force_flush, daemon=True).start()
reached.wait()
"""
    )
    assert run(script, "0").stdout == ""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_forked_children_write_their_own_spans_and_nothing_else() -> None:
    script = (
        WRITING
        + """
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads is what this is about
tracer.start_span("before").end()
open_span = tracer.start_span("parent only")
for n in range(int(sys.argv[2])):
    pid = os.fork()
    if pid == 0:
        if n % 2:
            tracer.start_span(f"child {n}").end()
        code = 0 if processor.force_flush(60_000) else 1
        code += 0 if processor.counts().accepted == n % 2 else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, n
    if n % 100 == 0:
        tracer.start_span(f"parent {n}").end()
open_span.end()
assert processor.force_flush(60_000)
"""
    )
    forks = 1_000
    lines = [line.split(" ", 1) for line in run(script, "0", str(forks)).stdout.splitlines()]
    names = [name for _, name in lines]
    by_parent = ["before", *(f"parent {n}" for n in range(0, forks, 100)), "parent only"]
    assert [name for name in names if not name.startswith("child")] == by_parent
    assert [name for name in names if name.startswith("child")] == [f"child {n}" for n in range(1, forks, 2)]
    assert len({pid for pid, name in lines if name.startswith("child")}) == forks // 2
