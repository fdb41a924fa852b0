"""CPU time of several jobs, taken in turn in one process, so that what the machine does meets all of them
alike.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Figure", "cpu_seconds", "peak_resident"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One result. `target` is the most that `value` may be; None where there is none."""

    what: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        return self.target is None or self.value <= self.target

    def __str__(self) -> str:
        goal = "" if self.target is None else f"(at most {self.target:g}{'' if self.met else ', MISSED'})"
        return f"{self.what:66} {self.value:8.2f} {self.unit:8} {goal:22} {self.note}".rstrip()


def cpu_seconds(
    jobs: Mapping[str, Callable[[], object]],
    rounds: int,
    *,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """The median CPU seconds of each job over `rounds` rounds, after one that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name, job in jobs.items():
            gc.collect()
            began = clock()
            job()
            spent = clock() - began
            if number:
                taken[name].append(spent)
    return {name: statistics.median(times) for name, times in taken.items()}


def peak_resident(field: str = "VmHWM") -> int:
    """This process's peak (`VmHWM`) or present (`VmRSS`) resident memory in bytes, as Linux counts it."""
    with open("/proc/self/status", encoding="ascii") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")
