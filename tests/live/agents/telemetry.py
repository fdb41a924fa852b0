"""What both agents do about telemetry: the SDK's own exporters to receivers, and otel_turns in process."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from otel_turns.attach import attach

__all__ = ["provider_with_everything"]


def _json(endpoint: str) -> SpanExporter:
    # Its releases pin others of their own, so that no environment need have it.
    exporters = importlib.import_module("opentelemetry.exporter.otlp.json.http.trace_exporter")
    return exporters.OTLPSpanExporter(endpoint=endpoint)


def _grpc(endpoint: str) -> SpanExporter:
    return GrpcExporter(endpoint=endpoint, insecure=True)


def _http(endpoint: str) -> SpanExporter:
    return HttpExporter(endpoint=endpoint)


_EXPORTERS: dict[str, Callable[[str], SpanExporter]] = {"GRPC": _grpc, "HTTP": _http, "JSON": _json}


def provider_with_everything() -> TracerProvider:
    """A provider whose spans go into the file `TURNS` and to receivers `TO_GRPC`, `TO_HTTP`, `TO_JSON`."""
    provider = TracerProvider(resource=Resource.create({"service.name": "live"}))
    attach(os.environ["TURNS"], provider=provider)
    for name, make in _EXPORTERS.items():
        if endpoint := os.environ.get(f"TO_{name}"):
            provider.add_span_processor(BatchSpanProcessor(make(endpoint)))
    return provider
