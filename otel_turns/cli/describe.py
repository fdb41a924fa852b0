"""`otel-turns schema`, `dialects`, `config`: what this program writes, what it reads, and how it is set."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated, Any

import orjson
import typer

from otel_turns.cli import options

__all__ = ["config", "dialects", "schema"]


class _Shape(str, Enum):
    TURN = "turn"
    RECORD = "record"
    NORMALIZED_EVENT = "normalized-event"


def _json(value: Any) -> None:
    sys.stdout.write(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode() + "\n")


def schema(
    shape: Annotated[_Shape, typer.Argument(help="Which shape.")] = _Shape.RECORD,
) -> None:
    """Print a JSON Schema (2020-12).

    \b
    turn              a Turn alone, as --bare writes it
    record            a Turn with the `otel` member that says where it came from
    normalized-event  a NormalizedEvent, as it stands in a span event
    """
    from importlib.resources import files

    name = f"{shape.value}.schema.json"
    sys.stdout.write((files("otel_turns.model") / "schema" / name).read_text(encoding="utf-8"))


def dialects(
    as_json: options.Json = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a page of all that is read of each and cannot be told.")
    ] = False,
) -> None:
    """List the semantic conventions that are read, in the order in which they are asked."""
    from otel_turns.dialects.registry import Registry

    if markdown:
        from otel_turns.dialects.page import conventions_page

        sys.stdout.write(conventions_page())
        return
    rows = [
        {
            "name": dialect.convention.name,
            "scopes": list(dialect.scopes),
            "contentSwitch": dialect.convention.content_switch,
        }
        for dialect in Registry().dialects
    ]
    if as_json:
        _json(rows)
        return
    wide = max((len(str(row["name"])) for row in rows), default=0)
    for row in rows:
        scopes = ", ".join(row["scopes"]) or "known by its attributes"
        sys.stdout.write(f"{row['name']:{wide}}  {scopes}\n")
        if row["contentSwitch"]:
            sys.stdout.write(f"{'':{wide}}  content: {row['contentSwitch']}\n")


def config(as_json: options.Json = False, config: options.Config = None) -> None:
    """Print the settings that hold and where each comes from; secrets are masked.

    A flag beats the environment (OTEL_TURNS_LINGER=5s), which beats the YAML file of --config or
    OTEL_TURNS_CONFIG (`linger: 5s`), which beats the default.
    """
    from otel_turns.config import ENV_ONLY, ENV_PREFIX, describe, load

    shown = load(file=config).shown()
    if as_json:
        _json({name: {"value": value, "origin": origin} for name, (value, origin) in shown.items()})
        return
    docs = describe()
    for name, (value, origin) in shown.items():
        line = f"{name}: {orjson.dumps(value).decode()}"
        sys.stdout.write(f"{line:40} # {origin}: {docs[name]}\n")
    for name, doc in ENV_ONLY.items():
        variable = f"{ENV_PREFIX}{name.upper()}"
        sys.stdout.write(f"# {variable:38} # environment only: {doc}\n")
