"""The page of conventions: what is read of each, what its telemetry cannot tell, how to turn content on.

Comes in: the dialects' own docstrings, which are the one place where these facts stand. Goes out: Markdown. A
dialect's docstring is its title, one or more tables `attribute | fact | since`, and two paragraphs that begin
with `Versions seen:` and `Cannot tell:`.

    python -m otel_turns.dialects.page            prints the page
    python -m otel_turns.dialects.page --write    writes docs/conventions.md
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from otel_turns.dialects.base import Dialect
from otel_turns.dialects.registry import built_in_dialects, own_keys
from otel_turns.errors import OtelTurnsError

__all__ = ["Account", "account", "conventions_page"]

PAGE: Final = Path("docs") / "conventions.md"
_INTRODUCTION: Final = """\
# Conventions

<!-- Made by `python -m otel_turns.dialects.page --write` out of the dialects' docstrings; edit those. -->

A dialect reads the spans and log records of one convention. A span is offered to the dialects that name its
instrumentation scope first, then to those that know its attributes, from the narrowest to the widest. What no
dialect reads is structure: it says nothing, and what stands below it still counts. Events in the spelling of
NormalizedEvents are read on any span, whatever its convention.

`otel-turns explain FILES` says which dialect read which span of your telemetry, and what is missing from it.
Each Turn says the same in `otel.evidence`.

"Cannot tell" is what the telemetry of a convention does not hold, however well it is read: an assertion about
it has nothing to stand on. "Since" is the version of the convention or of its instrumentation in which the
fact first stood there.
"""


@dataclass(frozen=True, slots=True)
class Account:
    """What a dialect says of itself. `tables`: each a list of rows, the header first, without the rule."""

    title: str
    tables: list[list[list[str]]]
    versions: str
    cannot_tell: str
    notes: list[str]


def account(dialect: Dialect) -> Account:
    """Reads the docstring of a dialect's class. Raises `OtelTurnsError` where a part of it is missing."""
    name = type(dialect).__name__
    text = inspect.cleandoc(vars(type(dialect)).get("__doc__") or "")
    paragraphs = [p for p in text.split("\n\n") if p.strip()]
    tables: list[list[list[str]]] = []
    said: dict[str, str] = {}
    notes: list[str] = []
    for paragraph in paragraphs[1:]:
        if paragraph.startswith("|"):
            tables.append(_table(paragraph, name))
            continue
        words = " ".join(paragraph.split())
        label, colon, rest = words.partition(": ")
        if colon and label in ("Versions seen", "Cannot tell"):
            said[label] = rest
        else:
            notes.append(words)
    missing = [word for word in ("Versions seen", "Cannot tell") if word not in said]
    if not paragraphs or not tables or missing:
        raise OtelTurnsError(f"the docstring of {name} lacks {', '.join(missing) or 'a title or a table'}")
    return Account(
        " ".join(paragraphs[0].split()).rstrip("."), tables, said["Versions seen"], said["Cannot tell"], notes
    )


def _table(paragraph: str, name: str) -> list[list[str]]:
    lines = paragraph.splitlines()
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.strip()]
    if len(rows) < 3 or rows[0][1:] != ["fact", "since"] or any(len(row) != 3 for row in rows):
        raise OtelTurnsError(f"a table in the docstring of {name} is not `... | fact | since`")
    return [rows[0], *rows[2:]]


def conventions_page(dialects: Sequence[Dialect] | None = None) -> str:
    """The whole page, for the dialects of this package or for the given ones."""
    chosen = built_in_dialects() if dialects is None else dialects
    found = sorted(((account(d), d) for d in chosen), key=lambda each: each[0].title.lower())
    parts = [_INTRODUCTION]
    parts.append(
        "\n| stack | name in `otel.conventions` | versions seen | to have content |\n|---|---|---|---|\n"
    )
    for said, dialect in found:
        cells = (said.title, f"`{dialect.convention.name}`", said.versions, _sentence(dialect))
        parts.append(f"| {' | '.join(cells)} |\n")
    for said, dialect in found:
        parts.append(_section(said, dialect))
    return "".join(parts)


def _section(said: Account, dialect: Dialect) -> str:
    lines = [
        f"\n## {said.title}\n",
        f"Name: `{dialect.convention.name}`. {_marks(dialect)}\n",
        *(_drawn(table) for table in said.tables),
        *(f"{note}\n" for note in said.notes),
        f"Versions seen: {said.versions}\n",
        f"Cannot tell: {said.cannot_tell}\n",
        f"To have content: {_sentence(dialect)}\n",
    ]
    return "\n".join(lines)


def _marks(dialect: Dialect) -> str:
    """How spans of this convention are known."""
    scopes = ", ".join(f"`{scope}`" for scope in dialect.scopes)
    keys = ", ".join(f"`{key}`" for key in own_keys(dialect))
    if scopes and keys:
        return f"Known by the scopes {scopes}, or by the attributes {keys}."
    return f"Known by the scopes {scopes}." if scopes else f"Known by the attributes {keys}."


def _drawn(table: list[list[str]]) -> str:
    header, *rows = table
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, ["---"] * 3, *rows))


def _sentence(dialect: Dialect) -> str:
    words = dialect.convention.content_switch
    return f"{words[:1].upper()}{words[1:].rstrip('.')}."


def main(arguments: Sequence[str]) -> int:
    """Prints the page, or writes it where `--write` stands (with a path behind it: there)."""
    if not arguments:
        sys.stdout.write(conventions_page())
        return 0
    if arguments[0] != "--write" or len(arguments) > 2:
        sys.stderr.write("usage: python -m otel_turns.dialects.page [--write [PATH]]\n")
        return 2
    target = Path(arguments[1]) if len(arguments) == 2 else PAGE
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(conventions_page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
