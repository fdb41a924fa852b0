"""Numbers of turns, from files to records: `convert` knows a whole session, the live way does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from otel_turns.pipeline import Pipeline, convert
from otel_turns.sinks.memory import MemorySink
from otel_turns.sources.files import read_files

CORPUS = Path(__file__).parent / "corpus"
SESSIONS = (
    "aisdk-legacy--multiturn",
    "langgraphjs-openinference--multiturn",
    "openai-node-traceloop--multiturn",
    "pydantic-ai-default--multiturn",
    "semconv-handmade-traceloop--multiturn",
    "semconv-handmade-v2legacy--multiturn",
    "pydantic-ai-native--approval-approved",
    "strands-native--approval-denied",
)


def files(name: str) -> list[str]:
    return [str(p) for kind in ("traces", "logs") if (p := CORPUS / f"{name}.{kind}.jsonl").exists()]


def numbers(paths: list[str], **more: Any) -> list[int | None]:
    made: list[dict[str, Any]] = []
    convert(paths, made.append, **more)
    made.sort(key=lambda turn: int(turn["otel"]["startTimeUnixNano"]))
    assert len({turn["otel"]["sessionId"] for turn in made}) == 1
    return [turn["otel"].get("turnNumber") for turn in made]


def without_the_first_turn(name: str, folder: Path) -> list[str]:
    """The recording as it is where the first turn's traces went elsewhere."""
    made: list[dict[str, Any]] = []
    convert(files(name), made.append)
    first = min(made, key=lambda turn: int(turn["otel"]["startTimeUnixNano"]))["otel"]["traceId"]
    kept: list[str] = []
    for path in files(name):
        target = folder / Path(path).name
        lines: list[bytes] = []
        for line in Path(path).read_bytes().splitlines():
            request = orjson.loads(line)
            for resource in request.get("resourceSpans", request.get("resourceLogs", [])):
                for scope in resource.get("scopeSpans", resource.get("scopeLogs", [])):
                    for kind in ("spans", "logRecords"):
                        if kind in scope:
                            scope[kind] = [one for one in scope[kind] if one.get("traceId") != first]
            lines.append(orjson.dumps(request))
        target.write_bytes(b"\n".join(lines) + b"\n")
        kept.append(str(target))
    return kept


@pytest.mark.parametrize("name", SESSIONS)
def test_a_whole_session_is_numbered(name: str) -> None:
    assert numbers(files(name)) == [1, 2]


@pytest.mark.parametrize("name", [n for n in SESSIONS if n != "aisdk-legacy--multiturn"])
def test_a_session_whose_first_turn_is_elsewhere_is_not(name: str, tmp_path: Path) -> None:
    assert numbers(without_the_first_turn(name, tmp_path)) == [None]


def test_a_session_that_did_not_fit_is_not_numbered() -> None:
    assert set(numbers(files("pydantic-ai-default--multiturn"), budget_bytes=2_000)) == {None}


def test_where_input_was_lost_nothing_is_numbered(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(Path(files("pydantic-ai-default--multiturn")[0]).read_bytes() + b"{broken\n")
    assert numbers([str(path)]) == [None, None]


def test_the_live_way_does_not_know_what_came_before() -> None:
    sink = MemorySink()
    pipeline = Pipeline([sink])
    for batch in read_files(files("pydantic-ai-default--multiturn")):
        pipeline.accept(batch.items)
    pipeline.close()
    turns = [orjson.loads(orjson.dumps(turn)) for turn in sink.turns]
    assert len(turns) == 2
    assert all("sessionId" in t["otel"] and "turnNumber" not in t["otel"] for t in turns)
