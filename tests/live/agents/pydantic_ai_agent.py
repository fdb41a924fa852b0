"""An agent of pydantic-ai with one tool, as its documentation shows it."""

from __future__ import annotations

import os

from opentelemetry.trace import set_tracer_provider
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.live.agents.telemetry import provider_with_everything

set_tracer_provider(provider_with_everything())
Agent.instrument_all()

model = OpenAIChatModel("fake-1", provider=OpenAIProvider(base_url=os.environ["MODEL"], api_key="none"))
agent = Agent(model, name="weather_agent", system_prompt="You tell the weather.")


@agent.tool_plain
def get_weather(city: str) -> dict[str, object]:
    """The weather of a city."""
    return {"city": city, "temp_c": 18}


print(agent.run_sync("What is the weather in Paris?").output)
