"""What holds for every test: a clean environment, no deadline for a slow machine to miss, no silent skip."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["otel_turns.testing.plugin"]

# Set where everything that a test may need is there: a skip is then a failure.
_REQUIRE_ALL = os.environ.get("OTEL_TURNS_REQUIRE_ALL") == "1"

settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] # autouse
    """No setting of the machine that runs the tests reaches them."""
    for name in list(os.environ):
        if name.startswith("OTEL_") or name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)


def _fail_if_skipped(report: Any) -> None:
    if _REQUIRE_ALL and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: skipped where nothing may be: {report.longrepr}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _fail_if_skipped(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _fail_if_skipped(report)
    return report
