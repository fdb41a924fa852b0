"""`convert`: telemetry in, Turns out; what is bad is named, the rest is done."""

from __future__ import annotations

import errno
import gzip
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.cli.conftest import Run
from tests.cli.telemetry import weather

EXAMPLES = Path(__file__).parents[2] / "examples"

EVENTS: list[dict[str, Any]] = [
    {
        "type": "operation.started",
        "operationId": "c1",
        "operation": {"kind": "tool", "name": "get_weather", "input": {"city": "Paris"}},
    },
    {
        "type": "operation.finished",
        "operationId": "c1",
        "kind": "tool",
        "output": {"sky": "clear"},
        "status": "completed",
    },
    {"type": "message", "role": "assistant", "text": "It is clear."},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "traces.jsonl"
    path.write_bytes(weather())
    return path


def test_a_file_becomes_turns_on_standard_output(run: Run, file: Path) -> None:
    ended = run("convert", str(file))
    assert (ended.code, ended.err) == (0, "")
    (record,) = ended.records()
    assert record["events"] == EVENTS
    assert record["status"] == "completed"
    assert record["otel"]["agent"] == {"name": "helper"}


def test_dash_is_standard_input_and_output(run: Run) -> None:
    ended = run("convert", "-", "--output", "-", stdin=weather())
    assert ended.code == 0
    assert ended.records()[0]["events"] == EVENTS


def test_an_input_is_never_written_over(run: Run, file: Path) -> None:
    (file.parent / "link").symlink_to(file)
    for inputs, output in (
        ([file], file),
        ([file.parent], file),
        ([file.parent / "*.jsonl"], file.parent / "link"),
    ):
        ended = run("convert", *map(str, inputs), "-o", str(output))
        assert (ended.code, ended.out) == (2, "")
        assert ended.err == f"otel-turns: {output}: is also an input; name another file with -o\n"
    assert file.read_bytes() == weather()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
def test_a_full_disk(run: Run, file: Path) -> None:
    ended = run("convert", str(file), "-o", "/dev/full")
    reason = "/dev/full: cannot be written: No space left on device"
    assert (ended.code, ended.out, ended.err) == (2, "", f"otel-turns: {reason}\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("command", ["convert", "show", "explain", "schema"])
def test_standard_output_on_a_full_disk(file: Path, command: str) -> None:
    arguments = [command] if command == "schema" else [command, str(file)]
    with open("/dev/full", "wb") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "otel_turns", *arguments], stdout=full, stderr=subprocess.PIPE, check=False
        )
    reason = "standard output: cannot be written: No space left on device"
    assert (ended.returncode, ended.stderr.decode()) == (2, f"otel-turns: {reason}\n")


def test_a_full_disk_leaves_nothing_behind(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    target = file.parent / "turns.jsonl"
    ended = run("convert", str(file), "-o", str(target))
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == f"otel-turns: {target}: cannot be written: No space left on device\n"
    assert [path.name for path in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("closed", "arguments", "error", "code"),
    [
        ("sys.stdout", ["FILE"], "standard output is closed; name a file with -o", 2),
        ("sys.stdin", ["-"], "-: standard input is closed", 1),
    ],
)
def test_a_closed_stream(file: Path, closed: str, arguments: list[str], error: str, code: int) -> None:
    program = f"import sys; {closed} = None; from otel_turns.cli.app import main; main(sys.argv[1:])"
    given = [str(file) if each == "FILE" else each for each in arguments]
    ended = subprocess.run(
        [sys.executable, "-c", program, "convert", *given], capture_output=True, check=False
    )
    assert (ended.returncode, ended.stderr.decode()) == (code, f"otel-turns: {error}\n")


def test_bare_is_the_turn_alone(run: Run, file: Path) -> None:
    (record,) = run("convert", str(file), "--bare").records()
    assert "otel" not in record
    assert record["events"] == EVENTS


def test_no_content_keeps_the_structure(run: Run, file: Path) -> None:
    ended = run("convert", str(file), "--no-content")
    assert "Paris" not in ended.out
    assert "clear" not in ended.out
    started = ended.records()[0]["events"][0]
    assert started["operation"] == {"kind": "tool", "name": "get_weather", "input": None}


def test_settings_of_the_environment_hold_and_flags_beat_them(
    run: Run, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TURNS_BARE", "true")
    assert "otel" not in run("convert", str(file)).records()[0]
    assert "otel" in run("convert", str(file), "--no-bare").records()[0]


def test_output_is_a_whole_file_that_only_its_owner_reads(run: Run, file: Path, tmp_path: Path) -> None:
    target = tmp_path / "turns.jsonl"
    target.write_text("old", encoding="utf-8")
    ended = run("convert", str(file), "-o", str(target))
    assert (ended.code, ended.out) == (0, "")
    assert orjson.loads(target.read_bytes())["events"] == EVENTS
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert sorted(p.name for p in tmp_path.iterdir()) == ["traces.jsonl", "turns.jsonl"]


def test_a_link_at_the_output_is_replaced_and_not_followed(run: Run, file: Path, tmp_path: Path) -> None:
    elsewhere, target = tmp_path / "elsewhere", tmp_path / "turns.jsonl"
    elsewhere.write_text("mine", encoding="utf-8")
    target.symlink_to(elsewhere)
    assert run("convert", str(file), "-o", str(target)).code == 0
    assert elsewhere.read_text(encoding="utf-8") == "mine"
    assert not target.is_symlink()


def test_a_device_may_be_the_output(run: Run, file: Path) -> None:
    assert run("convert", str(file), "-o", os.devnull).code == 0
    assert not Path(os.devnull).is_file()


@pytest.mark.parametrize("target", ["none/turns.jsonl", "."])
def test_output_that_cannot_be_written_is_said_before_anything_is_read(
    run: Run, tmp_path: Path, target: str
) -> None:
    ended = run("convert", str(tmp_path / "missing.jsonl"), "-o", str(tmp_path / target))
    assert ended.code == 2
    assert len(ended.err.splitlines()) == 1
    assert str(tmp_path / target) in ended.err
    assert "missing.jsonl" not in ended.err


def test_a_bad_file_is_named_with_line_and_reason_and_the_good_ones_are_converted(
    run: Run, file: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.jsonl"
    bad.write_text("this is no telemetry\n", encoding="utf-8")
    ended = run("convert", str(bad), str(file))
    assert ended.code == 1
    assert ended.records()[0]["events"] == EVENTS
    assert len(ended.err.splitlines()) == 1
    assert re.search(rf"{re.escape(str(bad))}:(?: line )?1: ", ended.err)


def test_a_bad_line_among_good_ones_is_named(run: Run, tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.jsonl"
    mixed.write_bytes(weather() + b"{broken\n")
    ended = run("convert", str(mixed))
    assert ended.code == 1
    assert ended.records()[0]["events"] == EVENTS
    assert f"{mixed}:2: " in ended.err


def test_a_missing_file_is_named(run: Run, file: Path, tmp_path: Path) -> None:
    ended = run("convert", str(tmp_path / "none.jsonl"), str(file))
    assert ended.code == 1
    assert "none.jsonl" in ended.err
    assert ended.records()[0]["events"] == EVENTS


def test_compressed_files_are_read(run: Run, tmp_path: Path) -> None:
    packed = tmp_path / "traces.jsonl.gz"
    packed.write_bytes(gzip.compress(weather()))
    assert run("convert", str(packed)).records()[0]["events"] == EVENTS


def test_log_records_may_be_given_by_option_or_among_the_files(run: Run) -> None:
    corpus = Path(__file__).parents[1] / "corpus"
    base = str(corpus / "semconv-handmade-v2legacy--weather")
    among = run("convert", f"{base}.traces.jsonl", f"{base}.logs.jsonl")
    named = run("convert", f"{base}.traces.jsonl", "--logs", f"{base}.logs.jsonl")
    assert among.code == 0
    assert among.out == named.out
    truth = orjson.loads(Path(f"{base}.truth.json").read_bytes())
    assert [e["type"] for e in named.records()[0]["events"]] == [
        e["type"] for e in truth["turns"][0]["events"]
    ]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["convert"], "FILES"),
        (["convert", "x", "--usage-basis", "other"], "--usage-basis: expected reported or exclusive"),
        (["convert", "x", "--nonsense"], "--nonsense"),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_command_that_cannot_work_ends_with_2(run: Run, arguments: list[str], word: str) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert word.lower() in ended.err.lower()


def test_an_unknown_setting_ends_with_2(run: Run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TURNS_BAER", "true")
    ended = run("convert", str(file))
    assert ended.code == 2
    assert "did you mean OTEL_TURNS_BARE?" in ended.err


def test_a_reader_that_goes_away_ends_it_quietly(tmp_path: Path) -> None:
    many = tmp_path / "many.jsonl"
    line = weather().decode()
    with many.open("w", encoding="utf-8") as stream:
        for number in range(1, 400):
            stream.write(line.replace(f"{1:032x}", f"{number:032x}"))
    command = [sys.executable, "-m", "otel_turns", "convert", str(many)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        complaint = process.stderr.read()
    assert (process.returncode, complaint) == (0, b"")


def test_the_examples_give_what_their_agents_did(run: Run) -> None:
    """Expected: what the model server and the tools of these runs logged."""
    ended = run("convert", str(EXAMPLES / "two-tools.traces.jsonl"), str(EXAMPLES / "subagent.traces.jsonl"))
    assert (ended.code, ended.err) == (0, "")
    two, sub = sorted(ended.records(), key=lambda record: record["usage"]["requests"])
    first, second = "call_parallel_root_1", "call_parallel_root_2"
    assert [(e["type"], e.get("operationId")) for e in two["events"]] == [
        ("operation.started", first),
        ("operation.started", second),
        ("operation.finished", second),
        ("operation.finished", first),
        ("message", None),
    ]
    assert two["events"][-1]["text"] == "Paris is 18 degrees; it is 09:30 in Tokyo."
    assert two["usage"]["inputTokens"] == 240
    assert [e["operation"]["name"] for e in sub["events"] if e["type"] == "operation.started"] == [
        "ask_researcher",
        "researcher",
        "search_docs",
    ]
    assert sub["events"][-1]["text"] == "The researcher says OTel is a telemetry standard."
    assert sub["usage"]["requests"] == 4


@pytest.mark.parametrize("arguments", [["convert", "FILE"], ["show", "FILE"]])
def test_a_small_job_loads_nothing_heavy(file: Path, arguments: list[str]) -> None:
    code = (
        "import sys\nfrom otel_turns.cli.app import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "print(*{m.partition('.')[0] for m in sys.modules}, file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *(str(file) if a == "FILE" else a for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    heavy = {"grpc", "httpx", "pydantic", "requests", "rich", "starlette", "uvicorn", "yaml"}
    assert not set(done.stderr.split()) & heavy
