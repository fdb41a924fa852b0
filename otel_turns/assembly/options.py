"""What a user may choose about Turns.

Comes in: nothing. Goes out: `AssemblyOptions`, plain data that the whole assembly reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["AssemblyOptions"]


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """include_user_messages: user messages become events too.

    usage_basis: "reported" (as the instrumentation says) or "exclusive" (the three input buckets without
    overlap, only where a convention says whether its input count includes the cache). resumed_operations:
    "pair" (a turn that resumes a paused call holds its start and finish) or "finish" (the start is left out
    where the earlier turn of the session had it). content: False leaves all content out (texts, inputs,
    outputs, data).
    """

    include_user_messages: bool = False
    usage_basis: Literal["reported", "exclusive"] = "reported"
    resumed_operations: Literal["pair", "finish"] = "pair"
    content: bool = True
