"""The page of conventions is what the dialects say of themselves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from otel_turns.dialects.base import Dialect
from otel_turns.dialects.mcp import MCP
from otel_turns.dialects.page import account, conventions_page, main
from otel_turns.dialects.registry import built_in_dialects
from otel_turns.errors import OtelTurnsError
from otel_turns.model.facts import Convention

PAGE = Path(__file__).parents[2] / "docs" / "conventions.md"
DIALECTS = [pytest.param(d, id=type(d).__name__) for d in built_in_dialects()]


def test_the_page_in_docs_is_the_one_that_the_docstrings_make() -> None:
    """`python -m otel_turns.dialects.page --write` brings it up to date."""
    assert PAGE.read_text(encoding="utf-8") == conventions_page()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_says_what_it_reads_what_was_seen_and_what_cannot_be_told(dialect: Dialect) -> None:
    said = account(dialect)
    assert said.title
    assert said.versions.endswith(".")
    assert said.cannot_tell.endswith(".")
    assert dialect.convention.content_switch
    for table in said.tables:
        assert all(cell for row in table for cell in row[:2])
        assert all(row[2] for row in table), "every row says since when"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_has_its_section_with_every_row(dialect: Dialect) -> None:
    said = account(dialect)
    page = PAGE.read_text(encoding="utf-8")
    section = page.partition(f"\n## {said.title}\n")[2].partition("\n## ")[0]
    for table in said.tables:
        assert all(f"| {' | '.join(row)} |" in section for row in table)
    for words in (said.versions, said.cannot_tell, *dialect.scopes):
        assert words in section
    assert dialect.convention.content_switch.rstrip(".")[1:] in section


def test_titles_tell_conventions_apart() -> None:
    titles = [account(d).title for d in built_in_dialects()]
    assert len(set(titles)) == len(titles)


def test_attributes_that_a_table_names_are_ones_that_the_dialects_know() -> None:
    """A name that no dialect's code holds is a row that was left behind."""
    folder = Path(__file__).parents[2] / "otel_turns" / "dialects"
    code = "\n".join(
        re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8")) for path in folder.glob("*.py")
    )
    unknown: set[str] = set()
    for dialect in built_in_dialects():
        for row in (row for table in account(dialect).tables for row in table[1:]):
            for name in re.findall(
                r"`((?:gen_ai|llm|langsmith|mastra|lk|mlflow|genkit)[.:][a-z_.:]+)`", row[0]
            ):
                parts = name.split(".")
                if name not in code and not any(f'"{".".join(parts[:n])}.' in code for n in (1, 2, 3)):
                    unknown.add(name)
    assert unknown == set()


class _Bare(MCP):
    convention = Convention("bare", "somehow")


class _Wrong(MCP):
    """Something.

    | attribute | fact |
    |---|---|
    | a | b |

    Versions seen: 1.

    Cannot tell: much.
    """


class _Untold(MCP):
    """Something.

    | attribute | fact | since |
    |---|---|---|
    | a | b | 1 |

    Versions seen: 1.
    """


@pytest.mark.parametrize(
    ("dialect", "says"),
    [
        (_Bare(), "_Bare lacks Versions seen, Cannot tell"),
        (_Wrong(), "a table in the docstring of _Wrong is not"),
        (_Untold(), "_Untold lacks Cannot tell"),
    ],
)
def test_a_docstring_that_lacks_something_is_refused(dialect: Dialect, says: str) -> None:
    with pytest.raises(OtelTurnsError, match=says):
        account(dialect)


def test_printed_or_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == conventions_page()
    target = tmp_path / "new" / "page.md"
    assert main(["--write", str(target)]) == 0
    assert target.read_text(encoding="utf-8") == conventions_page()
    assert main(["--other"]) == 2
    assert "usage" in capsys.readouterr().err
