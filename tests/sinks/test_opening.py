"""From what a user writes to a sink that works, or to an error that says what would."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from otel_turns.errors import SinkError
from otel_turns.sinks import OpenedSink, Record, Sink, SinkSpec, open_sink
from otel_turns.sinks.direct import DirectSink
from otel_turns.sinks.memory import MemorySink
from otel_turns.sinks.queued import QueuedSink
from otel_turns.sinks.several import SeveralSinks
from tests.sinks.records import Obedient, record
from tests.sinks.server import loopback

LONG = 30.0


class Own:
    """A sink of somebody's own; also what an entry point gives."""

    def __init__(self, target: str = "", **options: Any) -> None:
        self.target, self.options = target, options
        self.seen: list[Record] = []

    def write(self, record: Record) -> None:
        self.seen.append(record)

    def flush(self, timeout_s: float = 5.0) -> bool:
        return True

    def close(self) -> None:
        self.seen.append({"closed": True})


class OwnWriter(Obedient):
    def __init__(self, target: str, **options: Any) -> None:
        super().__init__()
        self.name = f"own {target} {options}"


def broken(target: str) -> None:
    raise ZeroDivisionError("private")


def refusing(target: str) -> None:
    raise SinkError("own sinks need a target")


def nothing(target: str) -> int:
    return 5


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sinks that other packages have registered."""
    names = {
        "own": "Own",
        "own-writer": "OwnWriter",
        "broken": "broken",
        "refusing": "refusing",
        "nothing": "nothing",
    }
    points = [EntryPoint(name, f"{__name__}:{value}", "otel_turns.sinks") for name, value in names.items()]

    def entry_points(*, group: str) -> list[EntryPoint]:
        return points if group == "otel_turns.sinks" else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


def written(sink: OpenedSink) -> None:
    sink.write(record(1))
    assert sink.flush(LONG)
    assert sink.counters.written == 1
    sink.close()


# -- files


@pytest.mark.parametrize("spec", ["turns.jsonl", "file:turns.jsonl", "./turns", "out/turns", "./a:b/turns"])
def test_a_path_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    monkeypatch.chdir(tmp_path)
    sink = open_sink(spec)
    written(sink)
    path = tmp_path / spec.removeprefix("file:")
    assert json.loads(path.read_text()) == record(1)
    assert isinstance(sink, QueuedSink)
    assert sink.name == f"file {path}"


def test_a_directory_is_the_usual_file_in_it(tmp_path: Path) -> None:
    written(open_sink(f"{tmp_path}"))
    assert (tmp_path / "turns.jsonl").exists()


def test_a_path_object_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "a,b?gzip=1#c"
    written(open_sink(path, bare=True))
    assert set(json.loads(path.read_text())) == {"events", "status", "usage"}


def test_the_options_of_a_file_reach_it(tmp_path: Path) -> None:
    spec = f"file:{tmp_path}/turns.jsonl?rotate_bytes=600&gzip=1&keep=1&bare=1&fsync=always&queued=0"
    sink = open_sink(spec)
    assert isinstance(sink, DirectSink)
    for number in range(12):
        sink.write(record(number))
    sink.close()
    assert sink.counters.written == 12
    packed = [path.name for path in tmp_path.iterdir() if path.name.endswith(".jsonl.gz")]
    assert len(packed) == 1
    assert len(list(tmp_path.iterdir())) == 2


def test_options_may_be_given_as_values_and_those_of_the_specification_win(tmp_path: Path) -> None:
    sink = open_sink(f"{tmp_path}/turns.jsonl?bare=0", bare=True, rotate_seconds=3600, queue_bytes="1MiB")
    written(sink)
    assert "otel" in json.loads((tmp_path / "turns.jsonl").read_text())


def test_a_file_that_cannot_be_written_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(SinkError, match="symbolic link"):
        open_sink(str(tmp_path / "link"))


# -- the other kinds


def test_http_takes_its_options_behind_the_hash_and_leaves_the_query_to_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_TOKEN", "sesame")
    with loopback() as server:
        sink = open_sink(
            f"{server.url}?tenant=3#format=ndjson&gzip=1&token_env=MY_TOKEN&batch_records=5&batch_bytes=1MB"
            "&linger_s=10ms&timeout_s=5&queue_bytes=1MiB&close_timeout_s=2&bare"
        )
        written(sink)
    (request,) = server.requests
    assert request.path == "/ingest?tenant=3"
    assert request.headers["authorization"] == "Bearer sesame"
    assert request.headers["content-encoding"] == "gzip"
    assert request.headers["content-type"] == "application/x-ndjson"
    assert set(request.records[0]) == {"events", "status", "usage"}


def test_headers_may_be_given_by_the_program() -> None:
    with loopback() as server:
        written(open_sink(server.url, headers={"x-team": "blue"}))
    assert server.requests[0].headers["x-team"] == "blue"


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("otlp", "otlp grpc"),
        ("otlp+grpc", "otlp grpc"),
        ("otlp+http", "otlp http/protobuf"),
        ("OTLP+HTTP?bare=1", "otlp http/protobuf"),
        ("otlp+grpc://127.0.0.1:4317#queued=0", "otlp grpc"),
        ("otlp+grpc:https://127.0.0.1:4317", "otlp grpc"),
    ],
)
def test_otlp_is_grpc_or_http(spec: str, name: str) -> None:
    sink = open_sink(spec)
    assert sink.name == name
    sink.close()


@pytest.mark.parametrize(
    ("path", "posted"), [("", "/v1/logs"), ("/", "/v1/logs"), ("/custom/logs", "/custom/logs")]
)
@pytest.mark.parametrize("form", ["otlp+http://{}", "otlp+http:http://{}"])
def test_an_otlp_endpoint_may_follow(
    form: str, path: str, posted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with loopback() as server:
        written(open_sink(form.format(server.address) + path))
    assert server.requests[0].path == posted


@pytest.mark.parametrize("spec", ["-", "stdout", "STDOUT", "-?bare=1"])
def test_standard_output(spec: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    written(open_sink(spec))
    assert json.loads(capsysbinary.readouterr().out)["status"] == "completed"


def test_memory() -> None:
    sink = open_sink("memory?bare=1")
    assert isinstance(sink, MemorySink)
    sink.write(record(1))
    assert "otel" not in sink.records[0]


def test_a_function() -> None:
    seen: list[Record] = []
    written(open_sink(seen.append, bare=True, queued=False))
    assert set(seen[0]) == {"events", "status", "usage"}


def test_a_sink_of_ones_own_gets_a_queue() -> None:
    own = Own()
    sink = open_sink(own)
    assert isinstance(own, Sink)
    written(sink)
    assert own.seen == [record(1), {"closed": True}]
    assert isinstance(sink, OpenedSink)


def test_a_writer_of_ones_own_gets_a_queue() -> None:
    writer = Obedient()
    written(open_sink(writer, queue_bytes=1000))
    assert writer.delivered == ["turn-1/0"]


def test_an_opened_sink_is_taken_as_it_is() -> None:
    memory = MemorySink()
    assert open_sink(memory) is memory


# -- several


def test_several_are_separated_by_commas_or_listed(tmp_path: Path) -> None:
    memory = MemorySink()
    specs: list[SinkSpec | Iterable[SinkSpec]] = [
        f"{tmp_path}/a.jsonl, {tmp_path}/b.jsonl",
        [str(tmp_path / "c.jsonl"), memory],
    ]
    for spec in specs:
        sink = open_sink(spec)
        assert isinstance(sink, SeveralSinks)
        sink.write(record(1))
        assert sink.flush(LONG)
        sink.close()
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl", "c.jsonl"}
    assert memory.records == [record(1)]


def test_when_one_cannot_be_opened_the_others_are_closed_again(tmp_path: Path) -> None:
    memory = MemorySink()
    (tmp_path / "link").symlink_to("elsewhere")
    with pytest.raises(SinkError):
        open_sink([memory, tmp_path / "link"])
    memory.write(record(1))
    assert memory.records == []


def test_a_token_from_the_environment_goes_to_one_host_only(monkeypatch: pytest.MonkeyPatch) -> None:
    two = "http://127.0.0.1:1/a,http://127.0.0.1:2/b"
    open_sink(two).close()
    monkeypatch.setenv("OTEL_TURNS_SINK_TOKEN", "sesame")
    with pytest.raises(SinkError, match="token_env=OTEL_TURNS_SINK_TOKEN"):
        open_sink(two)
    open_sink("http://127.0.0.1:1/a,http://127.0.0.1:1/b").close()
    open_sink("http://127.0.0.1:1/a,http://127.0.0.1:2/b#token_env=OTEL_TURNS_SINK_TOKEN").close()
    open_sink(two, token_env="OTEL_TURNS_SINK_TOKEN").close()


# -- entry points


@pytest.mark.usefixtures("installed")
def test_others_add_theirs_by_entry_point() -> None:
    sink = open_sink("own:target?x=1&queue_bytes=1MiB")
    written(sink)
    sink = open_sink("own-writer://host/path?y=2#x=1&queued=0")
    assert isinstance(sink, DirectSink)
    assert sink.name == "own //host/path?y=2 {'x': '1'}"
    assert open_sink("own").name == "sink Own"


@pytest.mark.usefixtures("installed")
def test_an_entry_point_that_fails_is_an_error_at_once() -> None:
    with pytest.raises(SinkError, match="cannot be opened: ZeroDivisionError") as caught:
        open_sink("broken:x")
    assert "private" not in str(caught.value)
    with pytest.raises(SinkError, match="own sinks need a target"):
        open_sink("refusing:")
    with pytest.raises(SinkError, match="cannot be made of a int"):
        open_sink("nothing:")


# -- what is wrong


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "spec", ["", " ", "a.jsonl,", "stdot", "fiel:x.jsonl", "kafka://broker/topic", 5, []]
)
def test_a_wrong_specification_is_answered_with_what_is_known(spec: Any) -> None:
    with pytest.raises(SinkError) as caught:
        open_sink(spec)
    for known in ("file:PATH", "https://...", "otlp+grpc", "stdout", "memory", "own:..."):
        assert known in str(caught.value)


def test_a_name_that_is_no_sink_tells_how_to_mean_a_file() -> None:
    with pytest.raises(SinkError, match=r"a file of that name is \./turns"):
        open_sink("turns")
    with pytest.raises(SinkError, match="a file of that name is file:run:1"):
        open_sink("run:1")


def test_a_class_is_not_an_object_of_it() -> None:
    with pytest.raises(SinkError, match="Own is a class"):
        open_sink(Own)  # pyright: ignore[reportArgumentType] # the mistake that is told


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ("x.jsonl?rotate_byte=1", "no option 'rotate_byte'; did you mean rotate_bytes?"),
        ("stdout?colour=red", "no option 'colour'; it knows bare"),
        ("memory?queued=1", "no option 'queued'"),
        ("x.jsonl?rotate_bytes=many", "option rotate_bytes of the file sink must be a number of bytes"),
        ("x.jsonl?gzip=1", "say rotate_bytes or rotate_seconds"),
        ("x.jsonl?keep=1", "say rotate_bytes or rotate_seconds"),
        ("-?queued=0&queue_bytes=1", "there is no queue with queued=0"),
        ("http://h/#headers=a", "headers_env, headers_file"),
        ("http://h/#token_env=NOT_THERE", "NOT_THERE is not set"),
        ("http://", "needs a URL"),
        ("otlp?endpoint=x", "no option 'endpoint'"),
    ],
)
def test_a_wrong_option_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str, wanted: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SinkError) as caught:
        open_sink(spec)
    assert wanted in str(caught.value)


def test_an_opened_sink_takes_no_options_any_more() -> None:
    with pytest.raises(SinkError, match="no option 'bare'"):
        open_sink(MemorySink(), bare=True)
    with pytest.raises(SinkError, match="no option 'bare'"):
        open_sink(Obedient(), bare=True)


def test_a_file_sink_needs_no_http_client_and_no_exporter(tmp_path: Path) -> None:
    """The command line starts fast: what a sink does not need is not imported for it."""
    program = (
        "import sys\n"
        "from otel_turns.sinks import open_sink\n"
        f"open_sink({str(tmp_path / 'turns.jsonl')!r}, queued=False).close()\n"
        "print([name for name in ('httpx', 'grpc', 'requests', 'opentelemetry.sdk', 'pydantic', 'ssl')"
        " if name in sys.modules])\n"
    )
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)
    assert said.stdout == b"[]\n"
