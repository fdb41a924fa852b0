"""Every recording of the corpus becomes what really happened; damaged variants of it never become anything
that did not.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from otel_turns.model.validate import iter_problems
from otel_turns.pipeline import convert
from tests.corpus_truth import Recording, disagreements, recordings

RECORDINGS = recordings()
VARIANTS = int(os.environ.get("OTEL_TURNS_FUZZ_VARIANTS", "2"))
"""How many damaged variants of each recording are tried."""

by_name = pytest.mark.parametrize("recording", RECORDINGS, ids=[r.name for r in RECORDINGS])

_NOT_TOLD = {
    # The outer agent of a pipeline and the agent in it have no name: they are taken for one.
    "haystack-openinference--subagent-component",
    # The whole of the reasoning stands in a span beside the request only.
    "llamaindex-openinference--thinking",
}


def turns_of(files: tuple[str, ...]) -> list[dict[str, Any]]:
    """The Turns of some files, as a reader of the output gets them."""
    made: list[dict[str, Any]] = []
    summary = convert(files, made.append)
    assert summary.rejected == []
    return [orjson.loads(orjson.dumps(turn)) for turn in made]


def test_the_corpus_is_there() -> None:
    assert len(RECORDINGS) > 100


@by_name
def test_a_recording_becomes_what_happened(recording: Recording) -> None:
    turns = turns_of(recording.files)
    assert [p for turn in turns for p in iter_problems(turn)] == []
    if recording.name not in _NOT_TOLD:
        assert disagreements(recording.truth, turns) == []
    missing = recording.truth.get("content_captured") is False
    assert not (missing and any(t["otel"]["evidence"]["complete"] for t in turns if t["events"]))


# --- damaged ------------------------------------------------------------------------------------------------


def leaves(document: Any) -> Iterator[tuple[list[Any], int]]:
    """Where each span or log record of a request stands."""
    for group in (*document.get("resourceSpans", ()), *document.get("resourceLogs", ())):
        for scope in (*group.get("scopeSpans", ()), *group.get("scopeLogs", ())):
            for word in ("spans", "logRecords"):
                inner = scope.get(word)
                if inner:
                    for at in range(len(inner)):
                        yield inner, at


ODD: tuple[Any, ...] = (
    {},
    {"intValue": "7"},
    {"boolValue": True},
    {"doubleValue": 0.5},
    {"stringValue": ""},
    {"stringValue": "{"},
    {"stringValue": "[]"},
    {"stringValue": "null"},
    {"arrayValue": {"values": [{"intValue": 1}, {}]}},
    {"kvlistValue": {"values": []}},
)


def damaged(recording: Recording, rnd: random.Random) -> list[bytes]:
    """The lines of a recording with attributes dropped or of other types, spans missing, doubled and
    shuffled.
    """
    lines: list[bytes] = []
    for file in recording.files:
        for line in Path(file).read_bytes().splitlines():
            document = orjson.loads(line)
            for inner, at in list(leaves(document)):
                leaf = inner[at]
                attributes = cast("list[Any]", leaf.get("attributes") or [])
                leaf["attributes"] = [a for a in attributes if rnd.random() > 0.08]
                for attribute in leaf["attributes"]:
                    if rnd.random() < 0.06:
                        attribute["value"] = rnd.choice(ODD)
                if leaf.get("events") and rnd.random() < 0.1:
                    leaf["events"] = leaf["events"][::2]
            lines.append(orjson.dumps(document))
    lines = [line for line in lines if rnd.random() > 0.1] or lines
    lines += rnd.sample(lines, min(2, len(lines)))
    rnd.shuffle(lines)
    return lines


def words(value: Any) -> Iterator[str]:
    """All text in a value, also in JSON text within it; numbers as they are written."""
    if isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, str):
        yield value
        if value[:1] in ("{", "[", '"'):
            with suppress(ValueError):
                yield from words(orjson.loads(value))
    elif isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield key
            yield from words(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from words(inner)


@by_name
def test_a_damaged_recording_invents_nothing(recording: Recording, tmp_path: Path) -> None:
    right_output = {
        (e["operationId"], str(e.get("output")))
        for t in recording.truth["turns"]
        for e in t["events"]
        if e["type"] == "operation.finished" and e["kind"] == "tool"
    }
    right_ids = {one for one, _ in right_output}
    joined = recording.name.startswith("normalized-event")  # deltas: their text stands nowhere as a whole
    for seed in range(VARIANTS):
        rnd = random.Random(f"{recording.name} {seed}")
        file = tmp_path / f"{seed}.jsonl"
        lines = damaged(recording, rnd)
        file.write_bytes(b"\n".join(lines) + b"\n")
        given = "\n".join(word for line in lines for word in words(orjson.loads(line)))
        made: list[dict[str, Any]] = []
        convert([str(file)], made.append)
        for turn in made:
            assert [p for p in iter_problems(orjson.loads(orjson.dumps(turn)))] == []
            assert "costUSD" not in (turn.get("usage") or {})
            for event in turn["events"]:
                if event["type"] in ("message", "thinking") and not joined:
                    said = re.findall(r"\w+", event["text"])
                    assert all(word in given for word in said), f"seed {seed}: text from nowhere"
                if event["type"] == "operation.started" and event["operation"]["kind"] == "tool":
                    name = event["operation"]["name"]
                    assert name in given, f"seed {seed}: a tool from nowhere"
                    synthetic = event["operationId"].startswith("op:")
                    assert synthetic or event["operationId"] in given, f"seed {seed}: an id from nowhere"
                if event["type"] == "operation.finished" and event["operationId"] in right_ids:
                    others = {out for one, out in right_output if one != event["operationId"]}
                    mine = {out for one, out in right_output if one == event["operationId"]}
                    crossed = "output" in event and str(event["output"]) in others - mine
                    assert not crossed, f"seed {seed}: the result of another call"
