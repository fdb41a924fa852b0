"""All figures, one line each. `--quick` takes a fraction of the traffic, to see that everything runs."""

from __future__ import annotations

import platform
import sys

from tests.bench import convert_memory, growth, in_process, stages, throughput


def main(arguments: list[str]) -> None:
    """Prints the figures as they come."""
    quick = "--quick" in arguments
    sys.stdout.write(f"Python {platform.python_version()}, {platform.machine()}; CPU time, medians\n")
    for module in (throughput, stages, in_process, growth, convert_memory):
        few = {"requests": 2, "rounds": 1} if module in (throughput, stages, in_process) else {"requests": 2}
        found = module.figures(**({"size": 4_000_000} if module is convert_memory else few) if quick else {})
        for figure in found:
            sys.stdout.write(f"{figure}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
