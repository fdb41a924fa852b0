"""What agents did, turn by turn, out of the OpenTelemetry they already emit.

The public names, and nothing else. Importing them loads neither the pipeline nor any library: that happens
when they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# Not lazily: `attach` is also the name of a module, which would take the function's place once it is
# imported.
from otel_turns.attach import Attachment, attach, capture_turns

if TYPE_CHECKING:
    from otel_turns.model import Record, StreamEvent, Turn, Usage
    from otel_turns.pipeline import AssemblyOptions, Pipeline, convert
    from otel_turns.producer import Recorder, record
    from otel_turns.sources.exporter import TurnSpanExporter
    from otel_turns.sources.processor import TurnSpanProcessor

__all__ = [
    "AssemblyOptions",
    "Attachment",
    "Pipeline",
    "Record",
    "Recorder",
    "StreamEvent",
    "Turn",
    "TurnSpanExporter",
    "TurnSpanProcessor",
    "Usage",
    "attach",
    "capture_turns",
    "convert",
    "record",
]

_HOMES = {
    "AssemblyOptions": "otel_turns.pipeline",
    "Pipeline": "otel_turns.pipeline",
    "convert": "otel_turns.pipeline",
    "Record": "otel_turns.model",
    "StreamEvent": "otel_turns.model",
    "Turn": "otel_turns.model",
    "Usage": "otel_turns.model",
    "Recorder": "otel_turns.producer",
    "record": "otel_turns.producer",
    "TurnSpanExporter": "otel_turns.sources.exporter",
    "TurnSpanProcessor": "otel_turns.sources.processor",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)
