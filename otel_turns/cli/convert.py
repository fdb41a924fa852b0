"""`otel-turns convert`: files of telemetry in, Turns out, one JSON line each."""

from __future__ import annotations

from typing import Annotated

import typer

from otel_turns.cli import options
from otel_turns.cli.output import json_lines
from otel_turns.cli.progress import progress

__all__ = ["convert"]


def convert(
    files: Annotated[
        list[str],
        typer.Argument(
            help="OTLP files: JSON lines, JSON or protobuf, also .gz and .zst; `-` is standard input."
        ),
    ],
    logs: Annotated[
        list[str] | None,
        typer.Option(help="A file of log records; it may also stand among FILES.", show_default=False),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The file to write; `-` is standard output.")
    ] = "-",
    bare: options.Bare = None,
    content: options.Content = None,
    include_user_messages: options.IncludeUserMessages = None,
    usage_basis: options.UsageBasis = None,
    resumed_operations: options.ResumedOperations = None,
    config: options.Config = None,
) -> None:
    """Read files of telemetry and write the Turns in them, one JSON line each.

    What is not OTLP is named on standard error with file, line and reason, the rest is converted all the
    same, and the exit status is 1.

    \b
    otel-turns convert traces.jsonl                        to the terminal
    otel-turns convert traces.jsonl logs.jsonl -o t.jsonl  spans and log records, to a file
    otel-turns convert 'day-*.jsonl.zst' -o day.jsonl      many files, compressed
    otel-turns convert - < traces.jsonl | jq .status       in a pipe
    """
    from otel_turns.config import load
    from otel_turns.errors import SinkError
    from otel_turns.pipeline import convert as run
    from otel_turns.sources.files import reads_from

    settings = load(
        {
            "bare": bare,
            "content": content,
            "include_user_messages": include_user_messages,
            "usage_basis": usage_basis,
            "resumed_operations": resumed_operations,
        },
        file=config,
    ).settings
    inputs = [*files, *(logs or [])]
    if output != "-" and reads_from(inputs, output):
        raise SinkError(f"{output}: is also an input; name another file with -o")
    with json_lines(output, bare=settings.bare) as write, progress("converting") as told:
        summary = run(
            inputs,
            write,
            options=options.assembly_options(settings),
            on_progress=told,
        )
    for problem in summary.rejected:
        typer.echo(f"otel-turns: {problem}", err=True)
    if summary.rejected:
        raise typer.Exit(1)
