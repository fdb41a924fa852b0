"""The pytest plugin: a fixture that captures the Turns of a block. Loaded by every pytest, so it is light."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["otel_turns"]


@pytest.fixture
def otel_turns() -> Callable[..., Any]:
    """`otel_turns.capture_turns`: `with otel_turns() as turns: ...` gives the Turns of the block."""
    from otel_turns.attach import capture_turns

    return capture_turns
