"""Assertions on Turns, for the tests of an agent.

    from otel_turns import capture_turns
    from otel_turns.testing import called_tool, no_failed_actions, not_called_tool

    def test_weather():
        with capture_turns() as turns:
            agent.run_sync("What is the weather in Paris?")
        called_tool(turns[0], "get_weather", input={"city": "Paris"}, status="completed")
        not_called_tool(turns[0], "send_email")
        no_failed_actions(turns[0])

With pytest installed the fixture `otel_turns` is `capture_turns`.
"""

from otel_turns.testing.assertions import (
    ANYTHING,
    called_subagent,
    called_tool,
    no_failed_actions,
    not_called_tool,
    replied,
    tool_order,
)
from otel_turns.testing.operations import Operation, operations, reply

__all__ = [
    "ANYTHING",
    "Operation",
    "called_subagent",
    "called_tool",
    "no_failed_actions",
    "not_called_tool",
    "operations",
    "replied",
    "reply",
    "tool_order",
]
