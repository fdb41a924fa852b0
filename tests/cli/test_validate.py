"""`validate`: each problem with file, line, path and reason."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import Run
from tests.cli.telemetry import weather

STARTED: dict[str, Any] = {
    "type": "operation.started",
    "operationId": "c1",
    "operation": {"kind": "tool", "name": "t", "input": None},
}
FINISHED: dict[str, Any] = {
    "type": "operation.finished",
    "operationId": "c1",
    "kind": "tool",
    "status": "completed",
}


def turn(*events: dict[str, Any], **members: Any) -> bytes:
    return orjson.dumps({"events": list(events), "status": "completed", **members}) + b"\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "turns.jsonl"


def test_what_convert_writes_is_valid(run: Run, file: Path) -> None:
    run("convert", "-", "-o", str(file), stdin=weather())
    ended = run("validate", str(file))
    assert (ended.code, ended.out, ended.err) == (0, "", "1 Turn, 0 problems\n")


def test_a_finish_without_its_start_is_a_problem_unless_that_was_chosen(run: Run, file: Path) -> None:
    file.write_bytes(turn(STARTED, FINISHED) + turn(FINISHED))
    ended = run("validate", str(file))
    assert ended.code == 1
    assert ended.out.startswith(f"{file}:2: events[0].operationId: ")
    assert len(ended.out.splitlines()) == 1
    assert run("validate", str(file), "--resumed-operations", "finish").code == 0


def test_shapes_are_checked_with_the_path_of_the_member(run: Run, file: Path) -> None:
    file.write_bytes(turn({"type": "message", "role": "robot", "text": "hi"}) + turn(extra=1))
    lines = run("validate", str(file)).out.splitlines()
    assert lines[0].startswith(f"{file}:1: events[0]")
    assert lines[1].startswith(f"{file}:2: extra: ")


def test_json_has_the_same_four_facts(run: Run, file: Path) -> None:
    file.write_bytes(turn(extra=1))
    (problem,) = run("validate", str(file), "--json").records()
    assert problem["file"] == str(file)
    assert problem["line"] == 1
    assert problem["path"] == "extra"
    assert problem["reason"]


def test_what_is_no_turn_at_all_is_a_problem(run: Run, file: Path) -> None:
    file.write_bytes(b'{broken\n\n[]\n"x"\n')
    ended = run("validate", str(file))
    assert ended.code == 1
    assert [line.split(": ")[0] for line in ended.out.splitlines()] == [f"{file}:{n}" for n in (1, 3, 4)]
    assert "not JSON" in ended.out.splitlines()[0]


def test_standard_input_and_packed_files_are_read(run: Run, file: Path) -> None:
    assert run("validate", "-", stdin=turn()).code == 0
    file.write_bytes(gzip.compress(turn()))
    assert run("validate", str(file)).code == 0


def test_a_file_that_cannot_be_read_is_a_problem(run: Run, file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(turn())[:-6])
    file.write_bytes(turn())
    ended = run("validate", str(tmp_path / "none.jsonl"), str(cut), str(file))
    assert ended.code == 1
    assert "none.jsonl: cannot be read" in ended.err
    assert "cut.gz: cannot be read" in ended.err
    assert ended.err.endswith("2 problems\n")
