"""Files in every form give the items that were written, and say what in them is no telemetry."""

from __future__ import annotations

import gzip
import io
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_turns.model.span import LogRecord, Span
from otel_turns.sources import framing, recording
from otel_turns.sources.files import Batch, Problem, read_files
from otel_turns.sources.otlp.wire import WireLimits
from tests.sources.otlp.encode import json_logs, json_span, json_traces, logs_request, traces_request
from tests.sources.otlp.strategies import varint

TRACE = bytes(range(16))
SPANS = [Span(TRACE, bytes((n,) * 8), None, f"span {n}", n, n + 1, attributes={"n": n}) for n in range(1, 7)]
RECORD = LogRecord(5, "happened", {"a": 1}, trace_id=TRACE)
LINES = [json_traces([span]) for span in SPANS]
METRICS = b'{"resourceMetrics":[{"scopeMetrics":[]}]}'


def read(*paths: str | Path, limits: WireLimits | None = None) -> tuple[list[Any], list[str], int]:
    """Loaded items, problems as they are printed, and how many requests were passed over."""
    batches = list(read_files([str(p) for p in paths], limits=limits or WireLimits()))
    return (
        [item.load() for batch in batches for item in batch.items],
        [str(problem) for batch in batches for problem in batch.problems],
        sum(batch.metrics for batch in batches),
    )


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def writing(content: bytes, name: str = "file") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return writing


Write = Callable[..., Path]


def pretty(body: bytes) -> bytes:
    return json.dumps(json.loads(body), indent=2).encode()


def protobuf(spans: Sequence[Span]) -> bytes:
    return traces_request(spans).SerializeToString()


def length32(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


def delimited(body: bytes) -> bytes:
    return varint(len(body)) + body


FORMS: dict[str, bytes] = {
    "lines": b"".join(line + b"\n" for line in LINES),
    "lines, the last without its end": b"\n".join(LINES),
    "lines with blank ones": b"\n\n".join(LINES) + b"\n \n",
    "lines ended as on Windows": b"".join(line + b"\r\n" for line in LINES),
    "lines with a byte order mark": b"\xef\xbb\xbf" + b"\n".join(LINES),
    "one line": json_traces(SPANS),
    "one document": pretty(json_traces(SPANS)),
    "one document with its end": pretty(json_traces(SPANS)) + b"\n",
    "one document, not indented": json.dumps(json.loads(json_traces(SPANS)), indent=0).encode(),
    "documents behind each other": b"\n".join(pretty(line) for line in LINES) + b"\n",
    "an array": b"[" + b",".join(LINES) + b"]",
    "an array over lines": b"[\n" + b",\n".join(LINES) + b"\n]\n",
    "an array, indented": json.dumps([json.loads(line) for line in LINES], indent=4).encode(),
    "protobuf": protobuf(SPANS),
    "protobuf behind 32-bit lengths": b"".join(length32(protobuf([s])) for s in SPANS),
    "protobuf behind varints": b"".join(delimited(protobuf([s])) for s in SPANS),
    "protobuf behind one varint": delimited(protobuf(SPANS)),
}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zstd": zstandard.ZstdCompressor().compress,
}


@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same(write: Write, form: str, packer: str) -> None:
    path = write(PACKERS[packer](FORMS[form]), "name-says-nothing.txt")
    assert read(path) == (SPANS, [], 0)


@pytest.mark.parametrize("size", [120, 121, 122, 123, 124, 10, 91, 4 * 256])
def test_binary_that_begins_like_text(write: Write, size: int) -> None:
    """The length of the first group may be the code of a brace, a bracket or a line's end."""
    base = len(protobuf([SPANS[0]])) - 2
    name = "n" * max(0, size - base + len(SPANS[0].name))
    span = replace(SPANS[0], name=name)
    for content in (protobuf([span]), delimited(protobuf([span])), length32(protobuf([span]))):
        assert read(write(content)) == ([span], [], 0)


def test_signals_mixed_line_by_line(write: Write) -> None:
    lines = [LINES[0], METRICS, json_logs([RECORD]), b'{"resourceProfiles":[]}', LINES[1], b"{}"]
    assert read(write(b"\n".join(lines))) == ([SPANS[0], RECORD, SPANS[1]], [], 2)


def test_both_signals_in_one_request(write: Write) -> None:
    both = {**json.loads(LINES[0]), **json.loads(json_logs([RECORD]))}
    assert read(write(json.dumps(both).encode())) == ([SPANS[0], RECORD], [], 0)


def test_snake_case(write: Write) -> None:
    line = LINES[0].replace(b"resourceSpans", b"resource_spans").replace(b"scopeSpans", b"scope_spans")
    assert read(write(line)) == ([SPANS[0]], [], 0)


def test_binary_signals(write: Write) -> None:
    metrics = ExportMetricsServiceRequest()
    metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="n").sum.data_points.add(as_int=1)
    logs = logs_request([RECORD]).SerializeToString()
    assert read(write(logs)) == ([RECORD], [], 0)
    assert read(write(metrics.SerializeToString())) == ([], [], 1)
    mixed = [protobuf(SPANS[:1]), logs, logs, metrics.SerializeToString(), protobuf(SPANS[1:2])]
    expected = [SPANS[0], RECORD, RECORD, SPANS[1]]
    assert read(write(b"".join(map(length32, mixed)))) == (expected, [], 1)


def test_empty_files_hold_nothing(write: Write) -> None:
    for content in (b"", b"\n\n", b"   ", gzip.compress(b""), b"[]", b"{}"):
        assert read(write(content)) == ([], [], 0)


# --- what is no telemetry -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "place", "reason"),
    [
        (b"hello\nworld\n", ":1", "neither OTLP JSON nor OTLP protobuf"),
        (b"\n\nhello", ":3", "neither OTLP JSON nor OTLP protobuf"),
        (b"# Title\n\ntext", ":1", "neither OTLP JSON nor OTLP protobuf"),
        (b'"text"', ":1", "this JSON is no OTLP request"),
        (b'{"a": 1}\n{"b": 2}\n', ":1", "this JSON is no OTLP request"),
        (b'{\n "a": 1\n}\n', ":1", "this JSON is no OTLP request"),
        (b'{"resourceSpans": {}}', ":1", "resourceSpans is no JSON array"),
        (b'{"resourceSpans": [}\n', ":1", "this is no JSON: "),
        (b'{\n "resourceSpans": [\n  oops\n ]\n}\n', ":3", "this is no JSON: "),
        (b'{\n "resourceSpans": [\n', ":1", "the JSON document that begins here is cut off"),
        (b'{"resourceSpans": [', ":1", "the JSON document that begins here is cut off"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "", "neither OTLP JSON nor OTLP protobuf"),
        (bytes(range(256)) * 10, "", "neither OTLP JSON nor OTLP protobuf"),
        (b"\x0a\x05ab\x00", "", "neither OTLP JSON nor OTLP protobuf"),
        ("{}".encode("utf-16"), "", "neither OTLP JSON nor OTLP protobuf"),
    ],
)
def test_a_file_that_is_no_telemetry(write: Write, content: bytes, place: str, reason: str) -> None:
    path, good = write(content, "bad"), write(LINES[0], "good")
    items, [problem], _ = read(path, good)
    assert problem.startswith(f"{path}{place}: ")
    assert reason in problem
    assert items == [SPANS[0]], "the next file is read all the same"


def test_a_file_whose_beginning_was_cut_off(write: Write) -> None:
    """As after rotation by copying: the first line is torn, the others are whole."""
    path = write(b"\n".join([LINES[0][100:], *LINES[1:4]]) + b"\n")
    items, [problem], _ = read(path)
    assert items == SPANS[1:4]
    assert problem.startswith(f"{path}:1: ")


def test_nothing_but_zeros(write: Write) -> None:
    for content in (bytes(5_000_000), gzip.compress(bytes(5_000_000))):
        path = write(content)
        assert read(path) == ([], [f"{path}: this is neither OTLP JSON nor OTLP protobuf"], 0)


def test_half_a_character_costs_no_line(write: Write) -> None:
    """JavaScript writes `\\ud83d` where it cut a text within a character."""
    line = json_traces([replace(SPANS[0], name="cut here")]).replace(b"cut here", b"cut \\ud83d")
    assert read(write(line + b"\n" + LINES[1])) == ([replace(SPANS[0], name="cut \ufffd"), SPANS[1]], [], 0)


def test_a_bad_line_among_good_ones(write: Write) -> None:
    lines = [LINES[0], b'{"resourceSpans": [}', LINES[1], b"noise", b'{"a": 1}', LINES[2]]
    path = write(b"\n".join(lines) + b"\n")
    items, problems, _ = read(path)
    assert items == SPANS[:3]
    assert [p.split(": ")[0] for p in problems] == [f"{path}:2", f"{path}:4", f"{path}:5"]


def test_a_line_that_was_cut_and_written_on(write: Write) -> None:
    """As after a crash of the writer: what follows the cut stands in the same line."""
    path = write(LINES[0] + b"\n" + LINES[1][:40] + LINES[2] + b"\n" + LINES[3] + b"\n")
    items, [problem], _ = read(path)
    assert items == [SPANS[0], SPANS[3]]
    assert problem.startswith(f"{path}:2: this is no JSON")


@pytest.mark.parametrize("keep", [1, 10, 40, -1])
def test_a_cut_last_line_is_told_and_the_lines_before_it_live(write: Write, keep: int) -> None:
    path = write(b"\n".join([*LINES[:2], LINES[2][:keep]]))
    items, [problem], _ = read(path)
    assert items == SPANS[:2]
    assert problem == f"{path}:3: the last line is cut off; what stands before it was read"


def test_a_last_line_cut_within_a_letter(write: Write) -> None:
    line = json_traces([replace(SPANS[2], name="é")])
    path = write(LINES[0] + b"\n" + line[: line.index("é".encode()) + 1])
    items, [problem], _ = read(path)
    assert items == SPANS[:1]
    assert "the last line is cut off" in problem


def test_a_cut_first_line(write: Write) -> None:
    path = write(b"\n".join([LINES[0][:-5], LINES[1], LINES[2]]) + b"\n")
    items, [problem], _ = read(path)
    assert items == SPANS[1:3]
    assert problem == f"{path}:1: this is no JSON: the line is cut off"


def test_a_bad_span_is_told_with_its_line(write: Write) -> None:
    bad = json_traces([SPANS[1], {**json_span(SPANS[2]), "traceId": "ab"}])
    path = write(b"\n".join([LINES[0], bad, LINES[3]]))
    items, problems, _ = read(path)
    assert items == [SPANS[0], SPANS[1], SPANS[3]]
    assert problems == [f"{path}:2: a trace id has 1 bytes; 16 are right"]


def test_a_first_line_whose_spans_are_all_bad_is_telemetry(write: Write) -> None:
    bad = json_traces([{**json_span(SPANS[0]), "traceId": ""}])
    items, [_], _ = read(write(bad + b"\n" + LINES[1]))
    assert items == [SPANS[1]]


def test_a_bad_message_among_good_ones(write: Write) -> None:
    bodies = [
        protobuf(SPANS[:1]),
        b"\x0a\x05ab",
        protobuf([replace(SPANS[1], trace_id=b"x")]),
        protobuf(SPANS[2:3]),
    ]
    path = write(b"".join(map(length32, bodies)))
    items, problems, _ = read(path)
    assert items == [SPANS[0], SPANS[2]]
    assert problems[0].startswith(f"{path}: message 2: this is no OTLP request")
    assert problems[1] == f"{path}: message 3: a trace id has 1 bytes; 16 are right"


@pytest.mark.parametrize("framed", [length32, delimited])
def test_a_cut_last_message(write: Write, framed: Callable[[bytes], bytes]) -> None:
    content = b"".join(framed(protobuf([s])) for s in SPANS[:3])
    path = write(content[:-3])
    items, [problem], _ = read(path)
    assert items == SPANS[:2]
    assert problem == f"{path}: message 3: it is cut off; the 2 before it were read"


@pytest.mark.parametrize("packer", ["gzip", "zstd"])
def test_packed_data_that_is_cut(write: Write, packer: str) -> None:
    noise = os.urandom(300_000).hex().encode()  # too much to fit in one block
    content = LINES[0] + b"\n" + json_traces([replace(SPANS[1], name=noise.decode())]) + b"\n"
    content += b"".join(json_traces([replace(s, name=noise.decode())]) + b"\n" for s in SPANS[2:])
    path = write(PACKERS[packer](content)[:-100])
    items, problems, _ = read(path)
    assert items[0] == SPANS[0]
    assert problems == [f"{path}: the packed data is cut off; what stands before it was read"]


def test_packed_data_that_is_broken(write: Write) -> None:
    packed = bytearray(gzip.compress(FORMS["lines"]))
    packed[40:60] = bytes(20)
    path = write(bytes(packed))
    _, problems, _ = read(path)
    assert problems[-1].startswith(f"{path}: ")


def test_thousands_of_problems_are_summed_up(write: Write) -> None:
    path = write(LINES[0] + b"\n" + b"noise\n" * 5_000 + LINES[1])
    items, problems, _ = read(path)
    assert items == SPANS[:2]
    assert len(problems) == 101
    assert problems[-1] == f"{path}: 4900 more problems like these"


def test_limits_hold_in_files(write: Write) -> None:
    lines = write(json_traces(SPANS) + b"\n" + LINES[0], "lines")
    binary = write(length32(protobuf(SPANS[:1])) + length32(protobuf(SPANS)), "binary")
    items, problems, _ = read(lines, binary, limits=WireLimits(items=5))
    assert items == [SPANS[0], SPANS[0]]
    assert len(problems) == 2
    assert all("more than 5 spans" in problem for problem in problems)


@pytest.mark.parametrize("content", [b'{"resourceSpans": "' + b"x" * 3_000, b"{\n" + b' "x": 1,\n' * 500])
def test_a_request_that_is_too_long_to_be_held(
    write: Write, content: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "LONGEST", 2_000)
    path = write(content)
    assert read(path)[1] == [f"{path}: line 1: more than 2000 bytes in one request"]


def test_a_message_that_is_too_long_to_be_held(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "LONGEST", 20)
    path = write(protobuf(SPANS))
    [problem] = read(path)[1]
    assert problem.startswith(f"{path}: message 1: ")


# --- paths --------------------------------------------------------------------------------------------------


def test_folders_patterns_and_repetition(write: Write, tmp_path: Path) -> None:
    write(LINES[0], "d/a.jsonl")
    write(LINES[1], "d/sub/b.JSON")
    write(gzip.compress(LINES[2]), "d/sub/c.jsonl.gz")
    write(protobuf(SPANS[3:4]), "d/z.binpb")
    write(b"not read", "d/readme.txt")
    assert read(tmp_path / "d") == ([SPANS[0], SPANS[3], SPANS[1], SPANS[2]], [], 0)
    pattern = str(tmp_path / "d" / "**" / "*.jsonl*")
    assert read(pattern, tmp_path / "d" / "a.jsonl") == ([SPANS[0], SPANS[2]], [], 0)


def test_a_file_of_several_names_is_read_once(write: Write, tmp_path: Path) -> None:
    path = write(json_logs([RECORD]), "d/a.jsonl")
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "d" / "round").symlink_to(tmp_path / "d", target_is_directory=True)
    pattern = tmp_path / "**" / "*.jsonl"
    dotted = f"{tmp_path}/d/../d/./a.jsonl"
    assert read(path, dotted, tmp_path / "link", tmp_path / "d", pattern) == ([RECORD], [], 0)


def test_a_folder_with_more_than_files(write: Write, tmp_path: Path) -> None:
    """A pipe in it is not waited for; a link that leads nowhere is told."""
    write(LINES[0], "d/a.jsonl")
    os.mkfifo(tmp_path / "d" / "pipe.jsonl")
    (tmp_path / "d" / "folder.jsonl").mkdir()
    broken = tmp_path / "d" / "link.jsonl"
    broken.symlink_to("nowhere")
    items, [problem], _ = read(tmp_path / "d")
    assert items == SPANS[:1]
    assert problem == f"{broken}: cannot be opened: No such file or directory"


def test_what_is_not_there(write: Write, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    missing, pattern = tmp_path / "missing.jsonl", tmp_path / "*.nothing"
    items, problems, _ = read(missing, pattern, empty, write(LINES[0]))
    assert items == SPANS[:1]
    assert problems[0] == f"{missing}: there is no such file"
    assert problems[1] == f"{pattern}: no file matches"
    assert problems[2].startswith(f"{empty}: no telemetry files in this folder")


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
        assert read(path)[1] == [f"{path}: cannot be opened: No such device or address"]


def test_a_file_that_vanishes(write: Write) -> None:
    first, second = write(LINES[0], "1"), write(LINES[1], "2")
    batches = read_files([str(first), str(second)])
    assert next(batches).items
    second.unlink()
    [batch] = list(batches)
    assert [str(p) for p in batch.problems] == [f"{second}: cannot be opened: No such file or directory"]


class _Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BufferedReader(io.BytesIO(content))  # pyright: ignore[reportArgumentType] # raw enough


@pytest.mark.parametrize("form", ["lines", "one document", "protobuf", "protobuf behind 32-bit lengths"])
def test_standard_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(FORMS[form]))
    seen: list[tuple[int, int | None]] = []
    batches = list(read_files(["-"], on_progress=lambda done, total: seen.append((done, total))))
    assert [item.load() for batch in batches for item in batch.items] == SPANS
    assert {total for _, total in seen} == {None}
    assert not sys.stdin.buffer.closed


def test_a_pipe_that_gives_little_at_once() -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb", buffering=0) as out:
        for piece in (LINES[0][:1], LINES[0][1:300], LINES[0][300:] + b"\n" + LINES[1]):
            out.write(piece)
    path = f"/dev/fd/{reading}"
    try:
        assert read(path) == (SPANS[:2], [], 0)
    finally:
        os.close(reading)


def test_progress_counts_bytes_of_the_files(write: Write) -> None:
    first = write(FORMS["lines"], "1")
    second = write(gzip.compress(FORMS["lines"]), "2")
    total = first.stat().st_size + second.stat().st_size
    seen: list[tuple[int, int | None]] = []
    for _ in read_files(
        [str(first), str(second)], on_progress=lambda done, whole: seen.append((done, whole))
    ):
        pass
    assert {whole for _, whole in seen} == {total}
    assert seen[-1] == (total, total)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_lines_are_read_one_by_one(write: Write) -> None:
    """A long file is not held in memory: what stands in a batch is one line."""
    import tracemalloc

    path = write(LINES[0] * 1 + b"\n" + (json_traces(SPANS) + b"\n") * 20_000)
    assert path.stat().st_size > 30 << 20
    tracemalloc.start()
    try:
        count = sum(len(batch.items) for batch in read_files([str(path)]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 1 + 6 * 20_000
    assert peak < 8 << 20


def test_batches_name_their_file(write: Write) -> None:
    path = write(LINES[0])
    [batch] = read_files([path])
    assert isinstance(batch, Batch)
    assert batch.path == str(path)
    assert batch.problems == []


def test_problems_as_text() -> None:
    assert str(Problem("f", "bad", 3)) == "f:3: bad"
    assert str(Problem("f", "bad")) == "f: bad"
