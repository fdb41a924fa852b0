"""Token counts under the GenAI names, in every spelling of them.

Comes in: attributes of a span, event or log record. Goes out: `TokenUsage` as reported, or None. Nothing is
converted or added up: the first spelling that holds a count is the count, so one value under two spellings
counts once.

| count | spellings, the present one first |
|---|---|
| input | `gen_ai.usage.input_tokens`, `.prompt_tokens` (before 1.27) |
| output | `gen_ai.usage.output_tokens`, `.completion_tokens` (before 1.27) |
| cache read | `gen_ai.usage.cache_read.input_tokens` (1.38), `.cache_read_input_tokens`, `.details.*` |
| cache write | `gen_ai.usage.cache_creation.input_tokens` (1.38), `.cache_write.input_tokens` (1.41) |
| reasoning | `gen_ai.usage.reasoning.output_tokens` (1.40), `.reasoning_tokens`, `.details.*` |

`gen_ai.usage.partial.*` is no report of its own and is not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from otel_turns.dialects.values import as_int
from otel_turns.model.facts import TokenUsage

__all__ = ["read_usage"]

_PREFIX = "gen_ai.usage."
_INPUT = ("input_tokens", "prompt_tokens")
_OUTPUT = ("output_tokens", "completion_tokens")
_CACHE_READ = (
    "cache_read.input_tokens",
    "cache_read_input_tokens",
    "details.cache_read_tokens",
    "details.cache_read_input_tokens",
    "input_cached_tokens",
    "cached_input_tokens",
    "input_tokens.cached",
    "input_token_details.cached",
    "prompt_tokens_details.cached_tokens",
    "cached_tokens",
)
_CACHE_CREATION = (
    "cache_creation.input_tokens",
    "cache_write.input_tokens",
    "cache_creation_input_tokens",
    "cache_write_input_tokens",
    "details.cache_write_tokens",
    "details.cache_creation_input_tokens",
)
_REASONING = (
    "reasoning.output_tokens",
    "reasoning_tokens",
    "details.reasoning_tokens",
    "output_tokens.reasoning",
    "output_reasoning_tokens",
    "reasoning_output_tokens",
    "completion_tokens_details.reasoning_tokens",
)
Keys = tuple[tuple[str, ...], ...]


def usage_keys(prefix: str) -> Keys:
    """The spellings of the five counts behind a prefix, in the order of `TokenUsage`."""
    return tuple(
        tuple(prefix + name for name in names)
        for names in (_INPUT, _OUTPUT, _CACHE_READ, _CACHE_CREATION, _REASONING)
    )


_GENAI = usage_keys(_PREFIX)


def read_usage(attributes: Mapping[str, Any], keys: Keys = _GENAI) -> TokenUsage | None:
    """The counts that the attributes report; None where they report none. An explicit 0 is a report."""
    get = attributes.get
    found: list[int | None] = []
    seen = False
    for spellings in keys:
        count: int | None = None
        for key in spellings:
            value = get(key)
            if value is not None:
                count = value if type(value) is int and value >= 0 else as_int(value)
                if count is not None:
                    seen = True
                    break
        found.append(count)
    return TokenUsage(*found) if seen else None
