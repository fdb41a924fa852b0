"""What the pipeline reads on its way loads nothing heavy; what readers use is loaded when it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import otel_turns.model

LIGHT = ("span", "facts", "item", "normalized", "variants", "variant_fields", "evidence", "provenance")


def loaded_after(statement: str) -> set[str]:
    """The top-level packages that a fresh interpreter holds after a statement."""
    code = f"{statement}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("module", LIGHT)
def test_plain_data_loads_nothing_heavy(module: str) -> None:
    loaded = loaded_after(f"import otel_turns.model.{module}")
    assert "otel_turns" in loaded
    assert not loaded & {"pydantic", "pydantic_core", "google", "grpc", "httpx", "typer", "opentelemetry"}


def test_protobuf_loads_no_pydantic() -> None:
    loaded = loaded_after("import otel_turns.model.proto")
    assert "google" in loaded
    assert not loaded & {"pydantic", "grpc"}


def test_the_package_loads_a_name_when_it_is_used() -> None:
    assert "pydantic" not in loaded_after("import otel_turns.model")
    assert "pydantic" in loaded_after("from otel_turns.model import Turn")


@pytest.mark.parametrize("name", otel_turns.model.__all__)
def test_each_public_name_is_there(name: str) -> None:
    assert getattr(otel_turns.model, name) is not None
    assert name in dir(otel_turns.model)


def test_another_name_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(otel_turns.model, "nothing")  # noqa: B009  # as an attribute the type checker refuses it
