"""Options that several commands share, each with one meaning everywhere, and the settings that follow from
them.

An option that was not given is None, so that the environment, a file or the default speaks.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from otel_turns.assembly.options import AssemblyOptions
    from otel_turns.config import Settings

__all__ = [
    "Bare",
    "Config",
    "Content",
    "IncludeUserMessages",
    "Json",
    "ResumedOperations",
    "UsageBasis",
    "assembly_options",
]

Config = Annotated[
    Path | None,
    typer.Option(help="A YAML file of settings; see `otel-turns config`.", show_default=False),
]
Bare = Annotated[
    bool | None,
    typer.Option("--bare/--no-bare", help="Leave out `otel`, which says where a Turn came from."),
]
Content = Annotated[
    bool | None,
    typer.Option("--content/--no-content", help="Keep or leave out texts, arguments and results."),
]
IncludeUserMessages = Annotated[
    bool | None,
    typer.Option("--include-user-messages/--no-user-messages", help="Make events of user messages too."),
]
UsageBasis = Annotated[
    str | None,
    typer.Option(
        metavar="reported|exclusive",
        help="Token counts as reported, or input in buckets that do not overlap.",
        show_default=False,
    ),
]
ResumedOperations = Annotated[
    str | None,
    typer.Option(
        metavar="pair|finish",
        help="What a Turn holds of a paused call that it resumes.",
        show_default=False,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def assembly_options(settings: Settings) -> AssemblyOptions:
    """What a user may choose about Turns, as the settings say."""
    from otel_turns.assembly.options import AssemblyOptions

    return AssemblyOptions(
        include_user_messages=settings.include_user_messages,
        usage_basis=settings.usage_basis,
        resumed_operations=settings.resumed_operations,
        content=settings.content,
    )
