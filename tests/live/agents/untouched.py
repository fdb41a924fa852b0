"""A tool loop on the OpenAI SDK that knows nothing of telemetry."""

from __future__ import annotations

import json
import os
from typing import Any

from openai import OpenAI

__all__ = ["loop"]

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def get_weather(city: str) -> dict[str, object]:
    """The tool."""
    return {"city": city, "temp_c": 18}


def loop() -> None:
    """Asks, runs the tools that the model asks for, and prints its answer."""
    client = OpenAI(base_url=os.environ["MODEL"], api_key="none", max_retries=0)
    messages: list[Any] = [
        {"role": "system", "content": "You tell the weather."},
        {"role": "user", "content": "What is the weather in Paris?"},
    ]
    while True:
        answer = client.chat.completions.create(model="fake-1", messages=messages, tools=[TOOL])
        reply: Any = answer.choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        if not reply.tool_calls:
            print(reply.content)
            return
        for call in reply.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})


if __name__ == "__main__":
    loop()
