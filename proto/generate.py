"""Writes `otel_turns/model/pb/` from `otel_turns/v1/turn.proto`.

Run it in an environment of its own that holds grpcio-tools 1.63.2: newer generators write code that only
their own and the next major version of the protobuf runtime accept, and this package accepts every runtime
from 5.29 on. Whether the generated code still says what the .proto file says is checked by a test, with any
version of the generator.

    python -m venv /tmp/pb && /tmp/pb/bin/pip install grpcio-tools==1.63.2 "setuptools<80"
    /tmp/pb/bin/python proto/generate.py
"""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from grpc_tools import protoc

GENERATOR = "1.63.2"
HERE = Path(__file__).parent
TARGET = HERE.parent / "otel_turns" / "model" / "pb"
MODULE = "otel_turns.model.pb"


def main() -> int:
    if version("grpcio-tools") != GENERATOR:
        print(f"grpcio-tools {GENERATOR} is needed: see the head of this file", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        out = [f"--{kind}={folder}" for kind in ("python_out", "pyi_out", "grpc_python_out")]
        if protoc.main(["protoc", f"-I{HERE}", *out, "otel_turns/v1/turn.proto"]):
            return 1
        for made in sorted((Path(folder) / "otel_turns" / "v1").iterdir()):
            # The generator places modules by the .proto file's path; they live in the package instead.
            text = made.read_text("utf-8")
            text = text.replace("from otel_turns.v1 import", f"from {MODULE} import")
            text = text.replace("'otel_turns.v1.turn_pb2'", f"'{MODULE}.turn_pb2'")
            (TARGET / made.name).write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
