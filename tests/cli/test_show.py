"""`show`: timelines of telemetry and of files of Turns alike."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import Run
from tests.cli.telemetry import weather


@pytest.fixture
def telemetry(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather())
    return path


@pytest.fixture
def turns(run: Run, telemetry: Path, tmp_path: Path) -> Path:
    path = tmp_path / "turns.jsonl"
    run("convert", str(telemetry), "-o", str(path))
    return path


def test_telemetry_and_its_turns_show_the_same(run: Run, telemetry: Path, turns: Path) -> None:
    shown = run("show", str(telemetry))
    assert (shown.code, shown.err) == (0, "")
    assert shown.out == run("show", str(turns)).out
    lines = shown.out.splitlines()
    assert lines[0] == "Turn 1  helper  completed  2.000 s"
    assert [line.strip() for line in lines if "+" in line] == [
        '+0.500  ▶ get_weather  {"city":"Paris"}',
        '+1.000  ✓ get_weather 0.500 s  {"sky":"clear"}',
        "+1.900  assistant  It is clear.",
    ]


def test_standard_input_may_be_either(run: Run, telemetry: Path, turns: Path) -> None:
    shown = run("show", str(turns)).out
    assert run("show", "-", stdin=telemetry.read_bytes()).out == shown
    assert run("show", "-", stdin=turns.read_bytes()).out == shown


def test_packed_turns_are_shown(run: Run, turns: Path, tmp_path: Path) -> None:
    packed = tmp_path / "turns.jsonl.gz"
    packed.write_bytes(gzip.compress(turns.read_bytes()))
    assert run("show", str(packed)).out == run("show", str(turns)).out


def test_one_of_several(run: Run, tmp_path: Path) -> None:
    three = tmp_path / "turns.jsonl"
    records = [
        {"events": [{"type": "message", "role": "assistant", "text": text}], "status": "completed"}
        for text in ("one", "two", "three")
    ]
    three.write_bytes(b"\n".join(map(orjson.dumps, records)))
    assert run("show", str(three)).out.count("Turn ") == 3
    assert run("show", str(three), "--turn", "2").out == "Turn 2  completed\n    assistant  two\n"
    beyond = run("show", str(three), "--turn", "4")
    assert beyond.code == 1
    assert "there is no Turn 4: the input holds 3" in beyond.err


def test_a_line_that_is_no_json_is_named_and_the_rest_shown(run: Run, turns: Path) -> None:
    with turns.open("ab") as stream:
        stream.write(b"{broken\n[1]\n")
    ended = run("show", str(turns))
    assert ended.code == 1
    assert f"{turns}:2: not JSON" in ended.err
    assert "helper" in ended.out


def test_bad_telemetry_is_named(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("nonsense\n", encoding="utf-8")
    ended = run("show", str(bad))
    assert (ended.code, ended.out) == (1, "")
    assert re.search(rf"{re.escape(str(bad))}:(?: line )?1: ", ended.err)


def test_user_messages_where_they_are_asked_for(run: Run) -> None:
    example = Path(__file__).parents[2] / "examples" / "two-tools.traces.jsonl"
    assert "    user  " not in run("show", str(example)).out
    assert "  user  " in run("show", str(example), "--include-user-messages").out
