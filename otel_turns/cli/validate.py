"""`otel-turns validate`: files of Turns against the schema and the rules of pairing."""

from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import orjson
import typer

from otel_turns.cli import options
from otel_turns.cli.turnfiles import numbered_lines
from otel_turns.errors import SourceError

__all__ = ["validate"]


def validate(
    files: Annotated[list[str], typer.Argument(help="Files of Turns, one JSON object a line; `-` is stdin.")],
    as_json: options.Json = False,
    resumed_operations: options.ResumedOperations = None,
    config: options.Config = None,
) -> None:
    """Check files of Turns: every member against the schema, every operation for its pair.

    Each problem is one line, `file:line: path: reason`. The exit status is 1 where there is one.

    \b
    otel-turns validate turns.jsonl
    otel-turns convert traces.jsonl | otel-turns validate - --json
    """
    from otel_turns.config import load

    settings = load({"resumed_operations": resumed_operations}, file=config).settings
    turns = problems = 0
    for path in files:
        try:
            for number, line in numbered_lines(path):
                turns += 1
                for where, reason in _problems(line, settings.resumed_operations):
                    problems += 1
                    _report(as_json, path, number, where, reason)
        except SourceError as error:
            problems += 1
            typer.echo(f"otel-turns: {error}", err=True)
    typer.echo(f"{_counted(turns, 'Turn')}, {_counted(problems, 'problem')}", err=True)
    if problems:
        raise typer.Exit(1)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _problems(line: bytes, resumed: Literal["pair", "finish"]) -> list[tuple[str, str]]:
    from otel_turns.model.validate import iter_problems

    try:
        content: Any = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return [("", f"not JSON: {error}")]
    # The path of a member never holds ": ", since a key that is no plain word is shown as "?".
    split = (problem.partition(": ") for problem in iter_problems(content, resumed_operations=resumed))
    return [(where, reason) for where, _, reason in split]


def _report(as_json: bool, path: str, number: int, where: str, reason: str) -> None:
    if as_json:
        problem = {"file": path, "line": number, "path": where, "reason": reason}
        sys.stdout.write(orjson.dumps(problem).decode() + "\n")
    else:
        sys.stdout.write(f"{path}:{number}: {where + ': ' if where else ''}{reason}\n")
