"""The command line: which commands there are, and how each of them ends.

Comes in: arguments. Goes out: an exit status. 0: all went well. 1: some input was bad or invalid, and
everything else was done. 2: nothing was done, since the command as given cannot work (its arguments, a
setting, an output that cannot be written). Errors that this package raises on purpose become one line on
standard error; a reader of standard output that goes away ends the command quietly. Commands import what
they need when they run, so that a small job starts at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from otel_turns.cli import convert, describe, explain, serve, show, validate
from otel_turns.errors import ConfigError, OtelTurnsError, SinkError

__all__ = ["app", "main"]


class _Commands(TyperGroup):
    """The group of commands, with one place that says how a command ends."""

    def invoke(self, ctx: Any) -> Any:
        try:
            returned = super().invoke(ctx)
            if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison] # None where it is closed
                sys.stdout.flush()
            return returned
        except BrokenPipeError:
            _silence()
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
        except (ConfigError, SinkError) as error:
            typer.echo(f"otel-turns: {error}", err=True)
            raise typer.Exit(2) from None
        except OtelTurnsError as error:
            typer.echo(f"otel-turns: {error}", err=True)
            raise typer.Exit(1) from None
        except OSError as error:  # reading tells its own: it is standard output, or what only its error names
            _silence()
            where = error.filename or "standard output"
            typer.echo(f"otel-turns: {where}: cannot be written: {error.strerror or error}", err=True)
            raise typer.Exit(2) from None


def _silence() -> None:
    """Python flushes standard output once more at exit; it must not fail again there."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    name="otel-turns",
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"otel-turns {version('otel_turns')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Turn the OpenTelemetry spans of agents into what each agent did, turn by turn.

    \b
    From files:            otel-turns convert traces.jsonl -o turns.jsonl
    To read one:           otel-turns show traces.jsonl
    What is missing, why:  otel-turns explain traces.jsonl
    As an OTLP receiver:   otel-turns serve --sink turns.jsonl

    Exit status: 0 fine; 1 some input was bad, the rest was done; 2 nothing was done.
    """


app.command()(convert.convert)
app.command()(show.show)
app.command()(explain.explain)
app.command()(validate.validate)
app.command()(serve.serve)
app.command()(describe.schema)
app.command()(describe.dialects)
app.command()(describe.config)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and end the process with its exit status."""
    app(args=arguments, prog_name="otel-turns")
