"""The TypeScript declaration is the event stream reference's own types, plus the record."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from otel_turns.model.evidence import EvidenceCode
from otel_turns.model.record import Record
from otel_turns.model.turn import Turn
from tests.model.examples import EVENTS, RECORD, TURN

COMPILER = "5.9.3"
DECLARATION = files("otel_turns.model") / "typescript" / "record.d.ts"
SEED = Path(__file__).with_name("seed_types.ts")

IMPORTS = 'import type * as Ours from "./record";\nimport type * as Seed from "./seed_types";\n'
# `Same` is true for types that no expression tells apart; `Flat` lets an interface equal a literal type.
COMPARE = """
type Flat<T> = T extends (infer E)[] ? Flat<E>[] : T extends object ? { [K in keyof T]: Flat<T[K]> } : T;
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
declare const ours: Ours.Turn;
declare const theirs: Seed.Turn;
export const a: Seed.Turn = ours;
export const b: Ours.Turn = theirs;
declare const record: Ours.Record;
export const c: Seed.Turn = record;
"""
SHAPES = ("Usage", "InputRequest", "ToolName", "JsonValue", "SourceLoc")


@pytest.fixture(scope="session")
def tsc(pytestconfig: pytest.Config) -> list[str]:
    """The command of the TypeScript compiler, installed once into pytest's cache."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("node and npm are not installed, so that nothing can compile TypeScript")
    assert pytestconfig.cache is not None
    cache = pytestconfig.cache.mkdir("typescript")
    compiler = cache / COMPILER / "node_modules" / "typescript" / "bin" / "tsc"
    if not compiler.exists():
        # Several workers may install at once: each for itself, and the first to finish is kept.
        own = Path(tempfile.mkdtemp(dir=cache))
        options = ["--prefix", str(own), "--no-audit", "--no-fund", "--ignore-scripts"]
        command = [npm, "install", *options, f"typescript@{COMPILER}"]
        subprocess.run(command, check=True, capture_output=True, timeout=100)
        with contextlib.suppress(OSError):
            own.rename(cache / COMPILER)
    return [node, str(compiler), "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022"]


def compile_errors(tsc: list[str], folder: Path, code: str) -> str:
    """What the compiler says about code that sees our types as `Ours` and the reference's as `Seed`."""
    (folder / "record.d.ts").write_text(DECLARATION.read_text("utf-8"), "utf-8")
    shutil.copy(SEED, folder / "seed_types.ts")
    (folder / "code.ts").write_text(IMPORTS + code, "utf-8")
    done = subprocess.run([*tsc, "code.ts"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or done.stdout
    return done.stdout


def test_our_types_and_the_reference_are_the_same(tsc: list[str], tmp_path: Path) -> None:
    checks = [
        *(variant_check(event["type"]) for event in EVENTS.values()),
        *(f"Same<Flat<Ours.{name}>, Flat<Seed.{name}>>" for name in SHAPES),
        'Same<Ours.StreamEvent["type"], Seed.StreamEvent["type"]>',
        'Same<Ours.Turn["status"], Seed.Turn["status"]>',
        "Same<keyof Ours.Turn, keyof Seed.Turn>",
    ]
    lines = [f"export const check{i}: {check} = true;" for i, check in enumerate(checks)]
    assert compile_errors(tsc, tmp_path, COMPARE + "\n".join(lines)) == ""


def variant_check(name: str) -> str:
    ours, theirs = (
        f'Flat<Extract<{origin}.StreamEvent, {{ type: "{name}" }}>>' for origin in ("Ours", "Seed")
    )
    return f"Same<{ours}, {theirs}>"


WRONG = (
    'export const w0: Ours.StreamEvent = { type: "message", role: "system", text: "" };',
    'export const w1: Ours.StreamEvent = { type: "thinking" };',
    'export const w2: Ours.StreamEvent = { type: "skill.loaded", skill: "x", more: 1 };',
    'export const w3: Ours.Turn = { events: [], status: "completed", usage: undefined };',
    "export const w4: Same<{ a: 1 }, { a?: 1 }> = true;",
    "export const w5: Same<Flat<Ours.Usage>, Flat<Ours.InputRequest>> = true;",
)


def test_the_comparison_can_fail(tsc: list[str], tmp_path: Path) -> None:
    code = COMPARE + "\n".join(WRONG)
    found = re.findall(r"^code\.ts\((\d+),", compile_errors(tsc, tmp_path, code), re.MULTILINE)
    last = len((IMPORTS + code).splitlines())
    assert [int(line) for line in found] == list(range(last - len(WRONG) + 1, last + 1))


def test_what_python_writes_is_what_typescript_reads(tsc: list[str], tmp_path: Path) -> None:
    turn = Turn.model_validate(TURN).to_json()
    record = Record.model_validate(RECORD).to_json()
    code = f"export const t: Seed.Turn = {turn};\nexport const r: Ours.Record = {record};\n"
    assert compile_errors(tsc, tmp_path, code) == ""


def declared(name: str) -> set[str]:
    """The members of an interface in the declaration."""
    text = DECLARATION.read_text("utf-8")
    found = re.search(rf"export interface {name}(?: extends \w+)? {{\n(.*?)\n}}", text, re.DOTALL)
    assert found is not None, name
    return set(re.findall(r"^  (\w+)\??:", found[1], re.MULTILINE))


def test_the_record_has_the_members_of_the_types() -> None:
    from otel_turns.model import record as r

    for shape in (r.Otel, r.Evidence, r.Issue, r.Annotation, r.Agent, r.Service):
        assert declared(shape.__name__) == set(shape.model_fields)
    assert declared("Record") == {"otel"}


def test_optional_members_of_the_record_are_optional_in_both() -> None:
    from otel_turns.model import record as r

    text = DECLARATION.read_text("utf-8")
    fields: dict[str, Any] = {
        name: field for shape in (r.Otel, r.Issue, r.Annotation) for name, field in shape.model_fields.items()
    }
    for name, field in fields.items():
        marks = set(re.findall(rf"^  {name}(\??):", text, re.MULTILINE))
        assert ("" if field.is_required() else "?") in marks, name


def test_the_codes_are_the_codes() -> None:
    text = DECLARATION.read_text("utf-8")
    found = re.search(r"export type EvidenceCode =\n(.*?);", text, re.DOTALL)
    assert found is not None
    assert tuple(json.loads(each) for each in re.findall(r'"\w+"', found[1])) == get_args(EvidenceCode)
