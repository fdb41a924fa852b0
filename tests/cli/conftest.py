"""Running the command line in this process, with what it wrote and how it ended."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from otel_turns.cli.app import main


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status and what it wrote."""

    code: int
    out: str
    err: str

    def records(self) -> list[dict[str, Any]]:
        return [orjson.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ended]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("convert", "a.jsonl", stdin=b"...")` runs `otel-turns convert a.jsonl`."""

    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(stdin))))  # type: ignore[arg-type] # BytesIO is raw enough
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Ended(int(ended.value.code or 0), out, err)

    return run
