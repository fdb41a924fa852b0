"""The promises that hold for the whole package: what may import what, and what stays out of a quick start."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "otel_turns"
STAGES = ("sources", "traces", "dialects", "assembly", "sinks")


def modules(*parts: str) -> list[Path]:
    return [p for p in PACKAGE.joinpath(*parts).rglob("*.py") if "_pb2" not in p.name]


def test_import_contract_holds() -> None:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_there(stage: str) -> None:
    assert modules(stage)


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(p.relative_to(ROOT))
        for p in modules()
        if p.read_text(encoding="utf-8").strip()
        and not p.read_text(encoding="utf-8").lstrip().startswith('"""')
    ]
    assert silent == []


def test_every_exception_from_the_linters_has_its_reason() -> None:
    """A `noqa`, `type: ignore` or `pyright: ignore` names its rule, and more words follow on the line."""
    mark = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore)(?P<rest>.*)")
    reason = re.compile(r"(?:\]|[A-Z]\d+)[\s#(:,`-]*\w+")
    bare: list[str] = []
    for path in [*modules(), *(ROOT / "tests").rglob("*.py")]:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            found = mark.search(line)
            if path != Path(__file__) and found and not reason.search(found["rest"]):
                bare.append(f"{path.relative_to(ROOT)}:{number}")
    assert bare == []


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("otel_turns", ("grpc", "pydantic", "httpx", "typer", "starlette")),
        ("otel_turns.cli.app", ("grpc", "pydantic", "httpx", "starlette", "yaml")),
        ("otel_turns.testing", ("grpc", "pydantic", "httpx", "typer", "starlette")),
    ],
)
def test_import_stays_light(module: str, absent: tuple[str, ...]) -> None:
    code = f"import sys, {module}; print(*{{m.partition('.')[0] for m in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & set(absent)
