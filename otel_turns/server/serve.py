"""The receiver as a program: runs until a signal, drains, says what it did.

Comes in: a pipeline and the receiver's options. Goes out: an exit code; a line for each endpoint, warnings
and a summary on standard error. The first SIGTERM or SIGINT drains; the second ends the process at once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import signal
import sys
from collections.abc import Callable
from typing import Protocol, TextIO

from otel_turns.server.receiver import GRPC_PORT, HTTP_PORT, Receiver
from otel_turns.sources.intake import Intake
from otel_turns.sources.reception import Limits

__all__ = ["CountingIntake", "is_loopback", "serve"]


class CountingIntake(Intake, Protocol):
    """An intake that knows how many Turns it wrote."""

    @property
    def turns(self) -> int: ...


def serve(
    pipeline: CountingIntake,
    *,
    host: str = "127.0.0.1",
    grpc_port: int | None = GRPC_PORT,
    http_port: int | None = HTTP_PORT,
    limits: Limits | None = None,
    token: str | None = None,
    drain_s: float = 10.0,
    err: TextIO | None = None,
    exit_now: Callable[[int], object] = os._exit,
) -> int:
    """Runs the receiver on the main thread until SIGTERM or SIGINT. Ports as in `Receiver`.

    drain_s: seconds for answering what is under way and writing the last Turns. err: where lines go,
    standard error by default. exit_now: what the second signal calls, with 128 + its number.

    Returns 0 where everything was written in time, else 1. Raises `SourceError` where a port cannot be
    taken.
    """
    stream = err or sys.stderr
    receiver = Receiver(
        pipeline,
        host=host,
        grpc_port=grpc_port,
        http_port=http_port,
        limits=limits,
        token=token,
        drain_s=drain_s,
    )

    def say(line: str) -> None:
        print(f"otel-turns: {line}", file=stream, flush=True)

    return asyncio.run(_serve(receiver, pipeline, say, exit_now, guarded=token is not None))


async def _serve(
    receiver: Receiver,
    pipeline: CountingIntake,
    say: Callable[[str], None],
    exit_now: Callable[[int], object],
    *,
    guarded: bool,
) -> int:
    asked = asyncio.Event()

    def on_signal(number: int) -> None:
        if asked.is_set():
            say("ended at once; what was not written is lost")
            exit_now(128 + number)
        asked.set()

    loop = asyncio.get_running_loop()
    handled = (signal.SIGTERM, signal.SIGINT)
    for each in handled:
        loop.add_signal_handler(each, on_signal, each)
    try:
        await receiver.start()
        _announce(receiver, say, guarded=guarded)
        await asked.wait()
        say("draining; a second signal ends it at once")
        kept = await receiver.stop()
    finally:
        for each in handled:
            loop.remove_signal_handler(each)
    counts = receiver.counts()
    refused = sum(counts.refused.values())
    say(
        f"accepted {counts.accepted} spans and records, rejected {counts.rejected}, "
        f"refused {refused} requests, wrote {pipeline.turns} Turns"
    )
    if not kept:
        say("not everything was written before the deadline")
    return 0 if kept else 1


def _announce(receiver: Receiver, say: Callable[[str], None], *, guarded: bool) -> None:
    host = f"[{receiver.host}]" if ":" in receiver.host else receiver.host
    if receiver.grpc_port is not None:
        say(f"OTLP over gRPC on {host}:{receiver.grpc_port}")
    if receiver.http_port is not None:
        say(f"OTLP over HTTP on http://{host}:{receiver.http_port}")
    if not is_loopback(receiver.host):
        token = "" if guarded else " and without a token"
        say(
            f"WARNING: {host} may be reached from other machines, without TLS{token}: others can send "
            "telemetry here, and read what clients send. Bind 127.0.0.1 unless you mean this."
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address. A name other than localhost does not count as such."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
