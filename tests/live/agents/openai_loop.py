"""The loop on the OpenAI SDK with its official instrumentation: no framework, and no span around it."""

from __future__ import annotations

from importlib import import_module

from opentelemetry.trace import set_tracer_provider

from tests.live.agents.telemetry import provider_with_everything
from tests.live.agents.untouched import loop

set_tracer_provider(provider_with_everything())
import_module("opentelemetry.instrumentation.genai.openai").OpenAIInstrumentor().instrument()
loop()
