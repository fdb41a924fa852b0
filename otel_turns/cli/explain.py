"""`otel-turns explain`: what became of each span, how calls were joined, what is missing."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import orjson
import typer

from otel_turns.cli import options
from otel_turns.cli.progress import progress

__all__ = ["explain"]


def explain(
    files: Annotated[list[str], typer.Argument(help="Files of telemetry; `-` is standard input.")],
    as_json: options.Json = False,
    full: Annotated[
        bool, typer.Option("--full", help="Every span and log record, also those that are only structure.")
    ] = False,
    config: options.Config = None,
) -> None:
    """Explain the Turns in files of telemetry, trace by trace.

    Says which spans were read by which dialect and what became of each, which calls were joined by id and
    which by name and arguments or by order, what is missing, and how that instrumentation records it.

    \b
    otel-turns explain traces.jsonl logs.jsonl
    otel-turns explain traces.jsonl --json | jq '.turns[].missing[].todo'
    """
    from otel_turns.cli.accounts import accounts, print_plain, print_tree
    from otel_turns.config import load
    from otel_turns.explain import explain as run

    settings = load(file=config).settings
    with progress("reading") as told:
        found = run(files, options=options.assembly_options(settings), on_progress=told)
    if as_json:
        for trace in found.traces:
            sys.stdout.write(orjson.dumps(trace).decode() + "\n")
    else:
        shown = accounts(found.traces, full=full)
        if sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            print_tree(shown)
        else:
            print_plain(shown)
    for problem in found.rejected:
        typer.echo(f"otel-turns: {problem}", err=True)
    if found.rejected:
        raise typer.Exit(1)
