"""The errors that this package raises: one base; messages say what was wrong, where, and what to do."""

from __future__ import annotations

__all__ = ["ConfigError", "MalformedTelemetry", "OtelTurnsError", "SinkError", "SourceError"]


class OtelTurnsError(Exception):
    """Base of every error that otel_turns raises on purpose."""


class MalformedTelemetry(OtelTurnsError):
    """Bytes or JSON that are no valid OTLP. The message says what was wrong and never shows an attribute's
    value.
    """


class SourceError(OtelTurnsError):
    """A file or stream that cannot be read as telemetry. The message names file, line and reason."""


class SinkError(OtelTurnsError):
    """A sink that cannot be opened or written. The message names the sink and what to do."""


class ConfigError(OtelTurnsError):
    """A setting that is unknown or has a wrong value. The message names it and the nearest known one."""
