"""The most resident memory that `otel-turns convert` takes for a large file of traces, and how long it
takes.

The file is made of the recordings with fresh ids, in a temporary folder, and is removed at the end. The
command runs in a process of its own, which reports its own peak: the one that a parent sees includes the
parent.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from tests.bench.measure import Figure
from tests.bench.traffic import fresh_lines

__all__ = ["figures"]

_SIZE: Final = 1_000_000_000
_CHILD: Final = """
import os, sys
from otel_turns.cli.app import main
from tests.bench.measure import peak_resident
status = 0
try:
    main(sys.argv[1:])
except SystemExit as ended:
    status = int(ended.code or 0)
print(peak_resident(), *os.times()[:2])
sys.exit(status)
"""


def figures(size: int = _SIZE) -> list[Figure]:
    """The peak for a file of `size` bytes of OTLP/JSON lines."""
    with tempfile.TemporaryDirectory(prefix="otel_turns-bench-") as folder:
        source, target = Path(folder, "traces.jsonl"), Path(folder, "turns.jsonl")
        written = 0
        with source.open("wb") as stream:
            for line in fresh_lines():
                if written >= size:
                    break
                written += stream.write(line + b"\n")
        began = time.monotonic()
        command = [sys.executable, "-c", _CHILD, "convert", str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        took = time.monotonic() - began
        peak, user, system = map(float, done.stdout.split())
        with target.open("rb") as stream:
            turns = sum(1 for _ in stream)
    note = f"{turns} Turns; {written / took / 1e6:.0f} MB/s; CPU {user + system:.0f} s"
    return [
        Figure(f"peak resident memory, convert of {written / 1e6:.0f} MB", peak / (1 << 20), "MiB", 300, note)
    ]


if __name__ == "__main__":
    sys.stdout.writelines(f"{figure}\n" for figure in figures())
