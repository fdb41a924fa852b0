"""`otel-turns show`: Turns as readable timelines."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import orjson
import typer

from otel_turns.cli import options
from otel_turns.cli.timeline import timeline
from otel_turns.cli.turnfiles import holds_turns, numbered_lines
from otel_turns.errors import SourceError

__all__ = ["show"]


def show(
    files: Annotated[
        list[str], typer.Argument(help="Files of telemetry or of Turns; `-` is standard input.")
    ],
    turn: Annotated[int | None, typer.Option(min=1, help="Only this one, counted from 1.")] = None,
    full: Annotated[bool, typer.Option("--full", help="Whole texts, not one line each.")] = False,
    include_user_messages: options.IncludeUserMessages = None,
    config: options.Config = None,
) -> None:
    """Show Turns as timelines: what was said, which tools ran, how it ended, and what is missing.

    \b
    otel-turns show traces.jsonl logs.jsonl    telemetry is converted first
    otel-turns show turns.jsonl --turn 3       the third Turn of a file of Turns
    otel-turns show turns.jsonl --full | less  everything
    """
    printer = _Printer(only=turn, full=full)
    turn_files = [path for path in files if holds_turns(path)]
    bad = False
    for path in turn_files:
        for number, line in numbered_lines(path):
            try:
                read: object = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                typer.echo(f"otel-turns: {path}:{number}: not JSON: {error}", err=True)
                bad = True
                continue
            if isinstance(read, dict):
                printer(read)  # type: ignore[reportUnknownArgumentType] # whatever it holds, it is only shown
    if telemetry := [path for path in files if path not in turn_files]:
        bad = _converted(telemetry, printer, include_user_messages, config) or bad
    if turn is not None and printer.seen < turn:
        raise SourceError(f"there is no Turn {turn}: the input holds {printer.seen}")
    if bad:
        raise typer.Exit(1)


def _converted(
    files: list[str], printer: _Printer, include_user_messages: bool | None, config: options.Config
) -> bool:
    """Shows the Turns in telemetry; whether some of it was bad."""
    from otel_turns.config import load
    from otel_turns.pipeline import convert

    settings = load({"include_user_messages": include_user_messages}, file=config).settings
    summary = convert(files, printer, options=options.assembly_options(settings))
    for problem in summary.rejected:
        typer.echo(f"otel-turns: {problem}", err=True)
    return bool(summary.rejected)


class _Printer:
    """Prints Turns one after another, with a blank line between; remembers how many there were."""

    def __init__(self, *, only: int | None, full: bool) -> None:
        self.seen = 0
        self._only = only
        self._full = full
        self._color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._width = shutil.get_terminal_size((100, 24)).columns

    def __call__(self, turn: Mapping[str, Any]) -> None:
        self.seen += 1
        if self._only not in (None, self.seen):
            return
        if self.seen > 1 and self._only is None:
            sys.stdout.write("\n")
        for line in timeline(turn, number=self.seen, width=self._width, color=self._color, full=self._full):
            sys.stdout.write(line + "\n")
