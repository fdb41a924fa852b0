"""`serve`: a receiver that starts, says where it listens, ends in good order; errors come before."""

from __future__ import annotations

import re
import signal
import socket
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import Run
from tests.cli.telemetry import weather
from tests.cli.test_convert import EVENTS

SERVE = [sys.executable, "-m", "otel_turns", "serve", "--grpc-port", "0", "--http-port", "0"]


def test_what_is_sent_before_the_end_is_written(tmp_path: Path) -> None:
    target = tmp_path / "turns.jsonl"
    command = [*SERVE, "--sink", str(target), "--linger", "1h"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as receiver:
        assert receiver.stderr is not None
        assert receiver.stdout is not None
        said = [receiver.stderr.readline(), receiver.stderr.readline()]
        try:
            (address,) = re.findall(r"http://127\.0\.0\.1:\d+", "".join(said))
            request = urllib.request.Request(  # noqa: S310 # an address of this test
                f"{address}/v1/traces", weather(), {"content-type": "application/json"}
            )
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 # as above
                assert answer.status == 200
        finally:
            receiver.send_signal(signal.SIGTERM)
        rest = receiver.stderr.read()
        assert receiver.stdout.read() == ""
    assert receiver.returncode == 0
    assert "wrote 1 Turns" in rest
    assert orjson.loads(target.read_bytes())["events"] == EVENTS
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_turns_go_to_standard_output_where_no_sink_is_named() -> None:
    with subprocess.Popen(SERVE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as receiver:
        assert receiver.stderr is not None
        assert receiver.stdout is not None
        said = receiver.stderr.readline() + receiver.stderr.readline()
        (address,) = re.findall(r"http://127\.0\.0\.1:\d+", said)
        request = urllib.request.Request(  # noqa: S310 # an address of this test
            f"{address}/v1/traces", weather(), {"content-type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30):  # noqa: S310 # as above
            pass
        receiver.send_signal(signal.SIGINT)
        assert orjson.loads(receiver.stdout.read())["events"] == EVENTS
        receiver.stderr.read()
    assert receiver.returncode == 0


def test_a_sink_that_cannot_be_written_is_said_at_start(run: Run, tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("", encoding="utf-8")
    sink = tmp_path / "plain" / "turns.jsonl"
    ended = run("serve", "--grpc-port", "0", "--http-port", "0", "--sink", str(sink))
    assert (ended.code, ended.out) == (2, "")
    assert str(tmp_path / "plain") in ended.err
    assert len(ended.err.splitlines()) == 1


def test_a_port_that_is_taken_is_said_at_start(run: Run, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        target = str(tmp_path / "turns.jsonl")
        ended = run("serve", "--grpc-port", "0", "--http-port", port, "--sink", target)
    assert (ended.code, ended.out) == (2, "")
    assert port in ended.err


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        (["--linger", "soon"], "--linger: expected a time"),
        (["--budget", "much"], "--budget: expected a size"),
        (["--token-file", "/none/token"], "/none/token: cannot read the token"),
        (["--sink", "ftp://host"], "no sink 'ftp'"),
    ],
)
def test_an_option_that_cannot_be_used_is_said_at_start(run: Run, option: list[str], reason: str) -> None:
    ended = run("serve", "--grpc-port", "0", "--http-port", "0", *option)
    assert (ended.code, ended.out) == (2, "")
    assert reason in ended.err


def test_a_core_without_the_receiver_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from otel_turns.cli.app import main; main(['serve', '--sink', sys.argv[1]])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "turns.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'otel_turns[server]'" in done.stderr
