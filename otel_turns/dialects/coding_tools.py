"""The one table of coding agents' own tools and the canonical names for them.

Comes in: an agent and a tool's name as the agent writes it. Goes out: the canonical name, or None. It never
renames a tool: the canonical name stands beside the tool's own. A tool that no canonical name fits, and every
tool that is not the agent's own (MCP servers, extensions), has none, since a consumer that sees a canonical
name matches on it instead of the name.

| canonical | Claude Code | Codex | Gemini CLI, Qwen Code | opencode | Copilot CLI |
|---|---|---|---|---|---|
| file_read | Read, NotebookRead | read_file | read_file, read_many_files | read | view |
| file_write | Write | | write_file | write | create |
| file_edit | Edit, MultiEdit, NotebookEdit | apply_patch | replace, edit | edit, patch | edit, apply_patch |
| shell | Bash, PowerShell | exec_command, shell | run_shell_command | bash | bash, powershell |
| web_fetch | WebFetch | | web_fetch | webfetch | web_fetch |
| web_search | WebSearch | web_search | google_web_search, web_search | websearch | web_search |
| glob | Glob | | glob | glob | glob |
| grep | Grep | grep_files | search_file_content, grep_search | grep | grep, rg |
| list_dir | LS | list_dir | list_directory | list | |
| agent_task | Agent, Task | spawn_agent | invoke_agent, agent, task | task | task |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["CLAUDE_CODE", "CODEX", "COPILOT_CLI", "GEMINI_CLI", "OPENCODE", "QWEN_CODE"]

CLAUDE_CODE: Final[Mapping[str, str]] = {
    "Read": "file_read",
    "NotebookRead": "file_read",
    "Write": "file_write",
    "Edit": "file_edit",
    "MultiEdit": "file_edit",
    "NotebookEdit": "file_edit",
    "Bash": "shell",
    "PowerShell": "shell",
    "WebFetch": "web_fetch",
    "WebSearch": "web_search",
    "Glob": "glob",
    "Grep": "grep",
    "LS": "list_dir",
    "Agent": "agent_task",
    "Task": "agent_task",
}

CODEX: Final[Mapping[str, str]] = {
    "read_file": "file_read",
    "apply_patch": "file_edit",
    "exec_command": "shell",
    "shell": "shell",
    "shell_command": "shell",
    "local_shell": "shell",
    "local_shell_call": "shell",
    "container.exec": "shell",
    "unified_exec": "shell",
    "write_stdin": "shell",
    "web_search": "web_search",
    "web_search_call": "web_search",
    "grep_files": "grep",
    "list_dir": "list_dir",
    "spawn_agent": "agent_task",
}

GEMINI_CLI: Final[Mapping[str, str]] = {
    "read_file": "file_read",
    "read_many_files": "file_read",
    "write_file": "file_write",
    "replace": "file_edit",
    "edit": "file_edit",
    "run_shell_command": "shell",
    "web_fetch": "web_fetch",
    "google_web_search": "web_search",
    "glob": "glob",
    "search_file_content": "grep",
    "grep_search": "grep",
    "list_directory": "list_dir",
    "invoke_agent": "agent_task",
    "delegate_to_agent": "agent_task",
}

QWEN_CODE: Final[Mapping[str, str]] = {
    **GEMINI_CLI,
    "web_search": "web_search",
    "notebook_edit": "file_edit",
    "agent": "agent_task",
    "task": "agent_task",
}

OPENCODE: Final[Mapping[str, str]] = {
    "read": "file_read",
    "write": "file_write",
    "edit": "file_edit",
    "multiedit": "file_edit",
    "patch": "file_edit",
    "apply_patch": "file_edit",
    "bash": "shell",
    "webfetch": "web_fetch",
    "websearch": "web_search",
    "glob": "glob",
    "grep": "grep",
    "list": "list_dir",
    "task": "agent_task",
}

COPILOT_CLI: Final[Mapping[str, str]] = {
    "view": "file_read",
    "create": "file_write",
    "edit": "file_edit",
    "str_replace_editor": "file_edit",
    "apply_patch": "file_edit",
    "bash": "shell",
    "powershell": "shell",
    "local_shell": "shell",
    "web_fetch": "web_fetch",
    "web_search": "web_search",
    "glob": "glob",
    "grep": "grep",
    "rg": "grep",
    "task": "agent_task",
}
