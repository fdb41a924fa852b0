"""Real agents, run offline: in process and over each protocol, by the SDK's exporters, the same Turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.live.fake_model import FakeModel, calls, says
from tests.server.receiving import Receiving

ROOT = Path(__file__).parents[2]

NEEDS = {
    "pydantic_ai_agent": ("pydantic_ai", "openai"),
    "openai_loop": ("openai", "opentelemetry.instrumentation.genai.openai"),
}
PATHS = {"GRPC": "", "HTTP": "/v1/traces", "JSON": "/v1/traces"}

CONTENT = {
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "span_only",
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
}

EVENTS = [
    {
        "type": "operation.started",
        "operationId": "call_w1",
        "operation": {"kind": "tool", "name": "get_weather", "input": {"city": "Paris"}},
    },
    {
        "type": "operation.finished",
        "operationId": "call_w1",
        "kind": "tool",
        "output": {"city": "Paris", "temp_c": 18},
        "status": "completed",
    },
    {"type": "message", "role": "assistant", "text": "It is 18 degrees in Paris."},
]
"""What the script below makes the agent do."""

USAGE = {"inputTokens": 100, "outputTokens": 23, "requests": 2}


def installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def require(*modules: str) -> None:
    missing = [module for module in modules if not installed(module)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.fixture
def model() -> Iterator[FakeModel]:
    script = [
        calls(("call_w1", "get_weather", {"city": "Paris"}), tokens=(40, 15)),
        says("It is 18 degrees in Paris.", tokens=(60, 8)),
    ]
    with FakeModel(script) as model:
        yield model


def run(command: list[str], agent: str, model: FakeModel, at: Path, **environment: str) -> str:
    """Runs one of the agents, and gives what it wrote on standard error."""
    done = subprocess.run(
        [*command, "-m", f"tests.live.agents.{agent}"],
        cwd=at,
        env={
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            **CONTENT,
            "PYTHONPATH": str(ROOT),
            "MODEL": model.url,
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "It is 18 degrees in Paris.\n", done.stderr
    assert len(model.requests) == 2
    return done.stderr


def the_turn(file: Path) -> dict[str, Any]:
    """The one record in the file, which says what the script made the agent do."""
    [record] = [json.loads(line) for line in file.read_text().splitlines()]
    assert {name: value for name, value in record.items() if name != "otel"} == {
        "events": EVENTS,
        "status": "completed",
        "usage": USAGE,
    }
    assert record["otel"]["evidence"] == {"complete": True, "issues": []}
    return record


@pytest.mark.parametrize("agent", sorted(NEEDS))
def test_in_process_and_over_every_protocol_the_same_turn(
    agent: str, model: FakeModel, tmp_path: Path
) -> None:
    require(*NEEDS[agent])
    protocols = ["GRPC", "HTTP"]
    if installed("opentelemetry.exporter.otlp.json.http"):
        protocols.append("JSON")
    turns = tmp_path / "turns.jsonl"
    with ExitStack() as stack:
        receivers = {name: stack.enter_context(Receiving()) for name in protocols}
        endpoints = {
            f"TO_{name}": (receiver.grpc if name == "GRPC" else receiver.http) + PATHS[name]
            for name, receiver in receivers.items()
        }
        run([sys.executable], agent, model, tmp_path, TURNS=str(turns), **endpoints)
        received: dict[str, list[dict[str, Any]]] = {name: each.stop() for name, each in receivers.items()}
    record = the_turn(turns)
    assert record["otel"]["service"] == {"name": "live"}
    for name, records in received.items():
        assert records == [record], name


INSTRUMENTED = {
    "OTEL_TRACES_EXPORTER": "otlp,otel_turns",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
    "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
    "OTEL_EXPORTER_OTLP_INSECURE": "true",
    "OTEL_PYTHON_LOG_CORRELATION": "false",
}


def test_an_untouched_program_under_opentelemetry_instrument(model: FakeModel, tmp_path: Path) -> None:
    require("opentelemetry.distro", *NEEDS["openai_loop"])
    turns = tmp_path / "turns.jsonl"
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable]
    with Receiving() as receiver:
        said = run(
            command,
            "untouched",
            model,
            tmp_path,
            **INSTRUMENTED,
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://{receiver.grpc}",
            OTEL_TURNS_SINK=str(turns),
        )
        received = receiver.stop()
    assert "otel_turns" not in said
    assert received == [the_turn(turns)]


def test_where_no_sink_is_set_a_line_says_where_turns_go(model: FakeModel, tmp_path: Path) -> None:
    require("opentelemetry.distro", *NEEDS["openai_loop"])
    command = [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable]
    said = run(
        command,
        "untouched",
        model,
        tmp_path,
        **{**INSTRUMENTED, "OTEL_TRACES_EXPORTER": "otel_turns"},
    )
    assert f"OTEL_TURNS_SINK is not set: Turns go to {tmp_path / 'turns.jsonl'}" in said
    the_turn(tmp_path / "turns.jsonl")
