"""`schema`, `dialects`, `config`, help and version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

from otel_turns.config import Settings
from tests.cli.conftest import Run

COMMANDS = ("convert", "show", "explain", "validate", "serve", "schema", "dialects", "config")


def schema(run: Run, *name: str) -> Any:
    ended = run("schema", *name)
    assert (ended.code, ended.err) == (0, "")
    return orjson.loads(ended.out)


def test_schemas_are_of_2020_12_and_tell_a_turn_from_a_record(run: Run) -> None:
    validator: Any = jsonschema.Draft202012Validator
    turn = {"events": [{"type": "message", "role": "assistant", "text": "hi"}], "status": "completed"}
    for name in ("turn", "record", "normalized-event"):
        validator.check_schema(schema(run, name))
        assert schema(run, name)["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert validator(schema(run, "turn")).is_valid(turn)
    assert not validator(schema(run, "record")).is_valid(turn)


def test_the_record_is_the_default_schema(run: Run) -> None:
    assert schema(run) == schema(run, "record")


def test_an_unknown_schema_is_refused(run: Run) -> None:
    assert run("schema", "other").code == 2


def test_dialects_are_listed_with_how_they_are_known(run: Run) -> None:
    rows = orjson.loads(run("dialects", "--json").out)
    names = [row["name"] for row in rows]
    assert names
    assert {"name", "scopes", "contentSwitch"} == set(rows[0])
    table = run("dialects").out
    assert all(name in table for name in names)
    page = run("dialects", "--markdown").out
    assert page.startswith("# Conventions\n")
    assert all(f"`{name}`" in page for name in names)


def test_config_shows_values_and_origins(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "turns.yaml"
    file.write_text("idle: 5s\n", encoding="utf-8")
    monkeypatch.setenv("OTEL_TURNS_LINGER", "3s")
    monkeypatch.setenv("OTEL_TURNS_TOKEN", "s3cret")
    shown = orjson.loads(run("config", "--json", "--config", str(file)).out)
    assert shown["linger"] == {"value": 3.0, "origin": "env"}
    assert shown["idle"] == {"value": 5.0, "origin": "file"}
    assert shown["max_age"] == {"value": 600.0, "origin": "default"}
    text = run("config", "--config", str(file))
    assert "linger: 3.0" in text.out
    assert "s3cret" not in text.out + orjson.dumps(shown).decode()


def test_config_lists_every_setting(run: Run) -> None:
    names = [line.partition(":")[0] for line in run("config").out.splitlines()]
    assert [name for name in names if not name.startswith("#")] == list(Settings.__dataclass_fields__)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(run: Run, command: str) -> None:
    ended = run(command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith(f"Usage: otel-turns {command}")


def test_help_says_how_it_ends_and_names_every_command(run: Run) -> None:
    ended = run("--help")
    assert ended.code == 0
    assert "Exit status" in ended.out
    assert all(f"  {command} " in ended.out for command in COMMANDS)


def test_version(run: Run) -> None:
    assert run("--version").out.startswith("otel-turns 0.")
