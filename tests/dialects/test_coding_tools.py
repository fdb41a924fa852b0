"""The table of canonical tool names."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from otel_turns.dialects import coding_tools
from otel_turns.dialects.coding_tools import (
    CLAUDE_CODE,
    CODEX,
    COPILOT_CLI,
    GEMINI_CLI,
    OPENCODE,
    QWEN_CODE,
)

CANONICAL = {
    "file_read",
    "file_write",
    "file_edit",
    "shell",
    "web_fetch",
    "web_search",
    "glob",
    "grep",
    "list_dir",
    "agent_task",
}


@pytest.mark.parametrize("name", coding_tools.__all__)
def test_only_canonical_names(name: str) -> None:
    table: Mapping[str, str] = getattr(coding_tools, name)
    assert set(table.values()) <= CANONICAL


@pytest.mark.parametrize(
    ("table", "shell", "reader", "task"),
    [
        (CLAUDE_CODE, "Bash", "Read", "Agent"),
        (CODEX, "exec_command", "read_file", "spawn_agent"),
        (GEMINI_CLI, "run_shell_command", "read_file", "invoke_agent"),
        (QWEN_CODE, "run_shell_command", "read_file", "agent"),
        (OPENCODE, "bash", "read", "task"),
        (COPILOT_CLI, "bash", "view", "task"),
    ],
)
def test_every_agents_own_names(table: Mapping[str, str], shell: str, reader: str, task: str) -> None:
    assert (table[shell], table[reader], table[task]) == ("shell", "file_read", "agent_task")
    assert table.get("mcp__server__tool") is None
