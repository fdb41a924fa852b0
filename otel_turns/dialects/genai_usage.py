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
from dataclasses import dataclass
from typing import Any

from otel_turns.dialects.values import as_int
from otel_turns.model.facts import TokenUsage

__all__ = ["UsageKeys", "read_usage", "usage_keys"]

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
_SPELLINGS = (_INPUT, _OUTPUT, _CACHE_READ, _CACHE_CREATION, _REASONING)


@dataclass(frozen=True, slots=True)
class UsageKeys:
    """The spellings of the five counts behind a prefix: the present names, and the others of each."""

    present: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    every_other: frozenset[str]


def usage_keys(prefix: str) -> UsageKeys:
    """All spellings behind a prefix such as `gen_ai.usage.`."""
    spellings = [tuple(prefix + name for name in names) for names in _SPELLINGS]
    others = tuple(names[1:] for names in spellings)
    return UsageKeys(
        tuple(names[0] for names in spellings), others, frozenset(key for names in others for key in names)
    )


_GENAI = usage_keys(_PREFIX)


def read_usage(attributes: Mapping[str, Any], keys: UsageKeys = _GENAI) -> TokenUsage | None:
    """The counts that the attributes report; None where they report none. An explicit 0 is a report."""
    counts: list[Any] = list(map(attributes.get, keys.present))
    for index, value in enumerate(counts):
        if value is not None and (type(value) is not int or value < 0):
            counts[index] = as_int(value)
    if not keys.every_other.isdisjoint(attributes):
        for index, spellings in enumerate(keys.others):
            for key in spellings:
                if counts[index] is not None:
                    break
                counts[index] = as_int(attributes.get(key))
    usage = TokenUsage(*counts)
    return usage if usage else None
