"""The fixture that pytest finds by itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from otel_turns.testing import plugin


def test_pytest_finds_the_plugin() -> None:
    (point,) = entry_points(group="pytest11", name="otel_turns")
    assert point.load() is plugin


def test_the_fixture_is_capture_turns(otel_turns: Callable[..., Any]) -> None:
    assert otel_turns is import_module("otel_turns.attach").capture_turns
