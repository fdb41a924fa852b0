"""What happens to queues when the process forks or ends.

Comes in: each queued sink, when it is made. Goes out: in a forked child, `after_fork`; when the interpreter
exits, a flush with a deadline. It keeps no sink alive.
"""

from __future__ import annotations

import atexit
import os
import time
from typing import Final, Protocol
from weakref import WeakSet

__all__ = ["watch"]

_EXIT_S: Final = 5.0


class _Watched(Protocol):
    def after_fork(self) -> None: ...
    def flush(self, timeout_s: float = ...) -> bool: ...


_living: WeakSet[_Watched] = WeakSet()


def watch(sink: _Watched) -> None:
    """Tells the sink of forks and of the end, as long as it lives."""
    _living.add(sink)


def _after_fork_in_child() -> None:
    for sink in list(_living):
        sink.after_fork()


def _flush_at_exit() -> None:
    # Not a close: whoever writes the last Turns, such as a provider that shuts down, may be called after
    # this.
    deadline = time.monotonic() + _EXIT_S
    sinks = list(_living)
    for sink in sinks:
        sink.flush(0.0)  # so that all of them are at it while each is waited for
    for sink in sinks:
        sink.flush(max(0.0, deadline - time.monotonic()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_flush_at_exit)
