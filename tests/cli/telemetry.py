"""Small telemetry written out by hand: one agent, one tool, as the GenAI convention says it."""

from __future__ import annotations

from typing import Any

import orjson

__all__ = ["span", "traces", "weather"]

_SECOND = 1_000_000_000
_START = 1_700_000_000 * _SECOND


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]


def span(
    name: str, number: int, parent: int | None, start: float, end: float, **attributes: Any
) -> dict[str, Any]:
    """One span; times are seconds after the start, `__` in a name stands for a dot."""
    made: dict[str, Any] = {
        "traceId": f"{1:032x}",
        "spanId": f"{number:016x}",
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(_START + int(start * _SECOND)),
        "endTimeUnixNano": str(_START + int(end * _SECOND)),
        "attributes": _attributes({key.replace("__", "."): value for key, value in attributes.items()}),
    }
    if parent is not None:
        made["parentSpanId"] = f"{parent:016x}"
    return made


def traces(*spans: dict[str, Any]) -> bytes:
    """One line of OTLP/JSON."""
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}) + b"\n"


def weather() -> bytes:
    """An agent that looks the weather up and says it."""
    call = (
        '[{"role":"assistant","parts":[{"type":"tool_call","id":"c1","name":"get_weather",'
        '"arguments":{"city":"Paris"}}]}]'
    )
    said = '[{"role":"assistant","parts":[{"type":"text","content":"It is clear."}]}]'
    agent = {"gen_ai__operation__name": "invoke_agent", "gen_ai__agent__name": "helper"}
    return traces(
        span("invoke_agent helper", 1, None, 0, 2, **agent),
        span("chat m", 2, 1, 0.1, 0.5, gen_ai__operation__name="chat", gen_ai__output__messages=call),
        span(
            "execute_tool get_weather",
            3,
            1,
            0.5,
            1,
            gen_ai__operation__name="execute_tool",
            gen_ai__tool__name="get_weather",
            gen_ai__tool__call__id="c1",
            gen_ai__tool__call__arguments='{"city":"Paris"}',
            gen_ai__tool__call__result='{"sky":"clear"}',
        ),
        span("chat m", 4, 1, 1, 1.9, gen_ai__operation__name="chat", gen_ai__output__messages=said),
    )
