"""Who is speaking, for those at the other end."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

__all__ = ["own_version"]


def own_version() -> str:
    """The installed version of this package; "0" where it runs from a source tree that is not installed."""
    try:
        return version("otel_turns")
    except PackageNotFoundError:
        return "0"
