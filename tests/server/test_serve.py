"""The receiver as a program: what it says, how it ends, and that a second signal ends it at once."""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import httpx
import pytest

from otel_turns.server.serve import is_loopback, serve
from tests.sources.fakes import FakeIntake
from tests.sources.requests import BAD, traces

ROOT = Path(__file__).parents[2]
TIMEOUT = 60

SERVING = """
import sys
from otel_turns.server.serve import serve
from tests.sources.fakes import FakeIntake

class Intake(FakeIntake):
    def close(self, timeout_s=5.0):
        self.turns = len(self.items)
        return CLOSE
sys.exit(serve(Intake(), grpc_port=0, http_port=0, **OPTIONS))
"""


class Program:
    """A running receiver; its standard error is read line by line."""

    def __init__(self, close: str = "True", **options: Any) -> None:
        script = SERVING.replace("CLOSE", close).replace("OPTIONS", repr(options))
        self.process = subprocess.Popen(
            [sys.executable, "-c", script], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        self.err: IO[str] = self.process.stderr

    def line(self) -> str:
        return self.err.readline().rstrip("\n")

    def http(self) -> str:
        """Reads the lines of the start; the URL of HTTP."""
        assert re.fullmatch(r"otel-turns: OTLP over gRPC on \S+:\d+", self.line())
        found = re.fullmatch(r"otel-turns: OTLP over HTTP on (http://\S+:\d+)", self.line())
        assert found
        return found[1]

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(TIMEOUT)
        self.err.close()


def send(url: str, body: bytes) -> int:
    headers = {"content-type": "application/x-protobuf"}
    with httpx.Client(trust_env=False) as client:
        return client.post(f"{url}/v1/traces", content=body, headers=headers, timeout=TIMEOUT).status_code


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_and_ends_with_a_summary(number: signal.Signals) -> None:
    with Program() as program:
        url = program.http()
        assert send(url, traces("a", "b", bad=1)) == 200
        assert send(url, BAD) == 400
        program.process.send_signal(number)
        assert program.line() == "otel-turns: draining; a second signal ends it at once"
        assert program.line() == (
            "otel-turns: accepted 2 spans and records, rejected 1, refused 1 requests, wrote 2 Turns"
        )
        assert program.process.wait(TIMEOUT) == 0
        assert program.err.read() == ""


def test_what_was_not_written_in_time_is_said_and_is_exit_1() -> None:
    with Program(close="False") as program:
        program.http()
        program.process.terminate()
        assert "draining" in program.line()
        assert "accepted 0" in program.line()
        assert program.line() == "otel-turns: not everything was written before the deadline"
        assert program.process.wait(TIMEOUT) == 1


@pytest.mark.skipif(not hasattr(os, "kill"), reason="needs signals")
def test_a_second_signal_ends_it_at_once() -> None:
    with Program(close="__import__('time').sleep(1_000)", drain_s=1_000) as program:
        program.http()
        program.process.send_signal(signal.SIGTERM)
        assert "draining" in program.line()
        program.process.send_signal(signal.SIGTERM)
        assert program.line() == "otel-turns: ended at once; what was not written is lost"
        assert program.process.wait(TIMEOUT) == 128 + signal.SIGTERM


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "without TLS and without a token"),
        ({"token": "secret"}, "without TLS: others"),
    ],
)
def test_an_address_that_others_can_reach_is_warned_of(options: dict[str, Any], words: str) -> None:
    with Program(host="0.0.0.0", **options) as program:  # noqa: S104 - this is what the warning is about
        program.http()
        warning = program.line()
        assert warning.startswith("otel-turns: WARNING: 0.0.0.0 may be reached from other machines")
        assert words in warning
        assert "secret" not in warning
        program.process.terminate()
        assert program.process.wait(TIMEOUT) == 0


class Lines(io.StringIO):
    """A stream that does something when a line is written."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        super().__init__()
        self._on_line = on_line

    def write(self, text: str, /) -> int:
        if text.strip():
            self._on_line(text)
        return super().write(text)


def test_within_a_process_of_its_own_signals_end_it_too() -> None:
    """The same in this process: the first signal when it listens, the second one while it drains."""
    exits: list[int] = []

    def on_line(line: str) -> None:
        if "OTLP over HTTP" in line or "draining" in line:
            os.kill(os.getpid(), signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    err = Lines(on_line)
    intake = FakeIntake()
    assert serve(intake, grpc_port=0, http_port=0, err=err, exit_now=exits.append) == 0
    assert exits == [128 + signal.SIGTERM]
    assert "accepted 0 spans and records, rejected 0, refused 0 requests, wrote 0 Turns" in err.getvalue()
    assert intake.closes == 1
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("left_out", ["grpc_port", "http_port"])
def test_only_what_listens_is_announced(left_out: str) -> None:
    err = Lines(lambda line: os.kill(os.getpid(), signal.SIGINT) if "OTLP over" in line else None)
    ports: dict[str, Any] = {"grpc_port": 0, "http_port": 0, left_out: None}
    assert serve(FakeIntake(), err=err, host="::1" if has_ipv6() else "127.0.0.1", **ports) == 0
    assert err.getvalue().count("OTLP over") == 1


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104 - an address that must not count as loopback
        ("::", False),
        ("10.0.0.1", False),
        ("example.com", False),
    ],
)
def test_knows_what_only_this_machine_can_reach(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback
