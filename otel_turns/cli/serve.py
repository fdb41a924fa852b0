"""`otel-turns serve`: the OTLP receiver."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from otel_turns.cli import options
from otel_turns.errors import ConfigError, SourceError

__all__ = ["serve"]


def _option(help_: str, *names: str, metavar: str | None = None) -> typer.models.OptionInfo:
    return typer.Option(*names, help=help_, metavar=metavar, show_default=False)


def serve(
    sink: Annotated[
        list[str] | None,
        _option("Where Turns go: a file, `-`, an http(s) URL, `otlp`. May be given several times."),
    ] = None,
    host: Annotated[str | None, _option("The address to bind [127.0.0.1].")] = None,
    grpc_port: Annotated[str | None, _option("OTLP over gRPC; 0 takes a free port [4317].")] = None,
    http_port: Annotated[str | None, _option("OTLP over HTTP; 0 takes a free port [4318].")] = None,
    linger: Annotated[str | None, _option("How long a trace waits after its root ended [2s].")] = None,
    stitch: Annotated[str | None, _option("How long a bare request waits for its next one [30s].")] = None,
    idle: Annotated[str | None, _option("How long a trace waits when nothing comes [60s].")] = None,
    max_age: Annotated[str | None, _option("How long a trace may stay open [10m].")] = None,
    budget: Annotated[str | None, _option("How much of open traces is held in memory [256MiB].")] = None,
    max_request: Annotated[str | None, _option("The largest request as sent [20MiB].")] = None,
    max_decompressed: Annotated[str | None, _option("The largest request decompressed [64MiB].")] = None,
    drain: Annotated[str | None, _option("How long the last Turns may take at the end [10s].")] = None,
    token_file: Annotated[Path | None, _option("A file with the bearer token clients must send.")] = None,
    bare: options.Bare = None,
    content: options.Content = None,
    include_user_messages: options.IncludeUserMessages = None,
    usage_basis: options.UsageBasis = None,
    resumed_operations: options.ResumedOperations = None,
    config: options.Config = None,
) -> None:
    """Receive OTLP over gRPC and HTTP, and write a Turn as soon as its trace has settled.

    Every option is also a setting: OTEL_TURNS_LINGER=5s, or `linger: 5s` in the file of --config. The
    bearer token is OTEL_TURNS_TOKEN or --token-file, never an option, since others can read the arguments
    of a process.

    \b
    otel-turns serve                                       Turns to the terminal
    otel-turns serve --sink turns.jsonl                    to a file
    otel-turns serve --sink turns.jsonl --sink https://evals.example/turns

    SIGTERM and SIGINT end it: it takes nothing more, writes what it has, and exits 0.
    """
    given = dict(locals())
    file = given.pop("config")
    from otel_turns.config import load
    from otel_turns.pipeline import Pipeline
    from otel_turns.sinks import open_sink

    settings = load(given, file=file).settings
    token = settings.bearer_token()
    try:
        from otel_turns.server.serve import serve as run
        from otel_turns.sources.reception import Limits
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("otel_turns"):
            raise
        raise ConfigError(f"the receiver needs `pip install 'otel_turns[server]'` ({error})") from error
    pipeline = Pipeline(
        [open_sink(settings.sink, bare=settings.bare)],
        linger_s=settings.linger,
        idle_s=settings.idle,
        max_age_s=settings.max_age,
        budget_bytes=settings.budget,
        stitch_s=settings.stitch,
        options=options.assembly_options(settings),
    )
    try:
        status = run(
            pipeline,
            host=settings.host,
            grpc_port=settings.grpc_port,
            http_port=settings.http_port,
            limits=Limits(settings.max_request, settings.max_decompressed),
            token=token,
            drain_s=settings.drain,
        )
    except SourceError as error:
        # A port that is taken: nothing was received.
        raise ConfigError(str(error)) from error
    raise typer.Exit(status)
