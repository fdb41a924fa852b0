"""The id of a session, in the names that conventions share.

Comes in: a span's or record's attributes. Goes out: the conversation's id as text, or None. A convention with
a name of its own reads that itself. It never takes a user's id for a session's.

| attribute | of |
|---|---|
| `gen_ai.conversation.id` | GenAI, since 1.31 |
| `session.id` | OpenTelemetry, OpenInference, Langfuse, MLflow |
| `langfuse.session.id` | spans of other instrumentations that are sent to Langfuse |
| `gen_ai.thread.id` | Azure AI agents |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from otel_turns.dialects.values import as_text

__all__ = ["session_of"]

_NAMES: Final = ("gen_ai.conversation.id", "session.id", "langfuse.session.id", "gen_ai.thread.id")


def session_of(attributes: Mapping[str, Any]) -> str | None:
    """The first of the names above that says something."""
    for name in _NAMES:
        text = as_text(attributes.get(name))
        if text is not None:
            return text
    return None
