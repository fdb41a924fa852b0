"""The plain-data side of a record's `otel` member: the id of a turn, and a record without the member.

Comes in: ids as they came with the telemetry, records as dicts. Goes out: the same for the same input on
every machine and after every restart. No clock, no counter, no randomness, and no pydantic: assembly and
sinks use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

__all__ = ["bare", "group_turn_id", "turn_id"]


def turn_id(trace_id: bytes, root_span_id: bytes) -> str:
    """The id of the turn whose root is this span: the trace id's 32 hex digits, then the span id's 16.

    Raises `ValueError` for ids of another length, since two turns could then share an id.
    """
    if len(trace_id) != 16 or len(root_span_id) != 8:
        raise ValueError("a trace id has 16 bytes and a span id has 8")
    return trace_id.hex() + root_span_id.hex()


def group_turn_id(convention: str, group: str) -> str:
    """The id of a turn that stands on log records without spans, by its convention's own prompt or turn id.

    The first 48 hex digits of a SHA-256 over both, so that all ids have one form.
    """
    return sha256(f"{convention}\0{group}".encode("utf-8", "surrogatepass")).hexdigest()[:48]


def bare(record: Mapping[str, Any]) -> dict[str, Any]:
    """The Turn alone: a record without its `otel` member. The record itself is left as it is."""
    return {name: value for name, value in record.items() if name != "otel"}
