"""Turns from within the agent's own process: attached to the SDK for good, or captured around a block.

Comes in: where Turns go, and the tracer provider that makes the spans. Goes out: an `Attachment`, or the
list of a block's Turns. What is not given as an argument comes from the environment (`OTEL_TURNS_...`),
then from a file (`OTEL_TURNS_CONFIG`), then from the defaults, with two of its own: Turns go to
`turns.jsonl`, and a trace settles at once when its root has ended and none of its spans is open. Only
`attach` raises, and only at once.
"""

from __future__ import annotations

import contextlib
import difflib
import logging
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from otel_turns.errors import ConfigError

# Everything else is imported where it is used: this module is part of `import otel_turns`.
if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from otel_turns.capture import CapturedTurns
    from otel_turns.config import Loaded
    from otel_turns.pipeline import Pipeline
    from otel_turns.sinks import OpenedSink, Sink, SinkSpec
    from otel_turns.sources.processor import TurnSpanProcessor
    from otel_turns.sources.tally import FeedCounts

__all__ = [
    "DEFAULT_SINK",
    "Attachment",
    "attach",
    "capture_turns",
    "opening_of_exporter",
    "opening_of_processor",
]

_log = logging.getLogger("otel_turns")

DEFAULT_SINK: Final = "turns.jsonl"
"""Where Turns go from within a process when nobody says. Standard output belongs to the agent."""


def attach(
    sink: SinkSpec | Sequence[SinkSpec] | None = None,
    *,
    provider: Any = None,
    cost_usd: Callable[[dict[str, Any]], float | None] | None = None,
    redact: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
    **settings: Any,
) -> Attachment:
    """Adds otel_turns to a tracer provider: from now on each Turn is written as soon as its trace has
    settled.

    sink: a file, `-`, an http(s) URL, `otlp`, a function that is called with each record, a sink of your
    own, or several of them; None takes `OTEL_TURNS_SINK`, else `turns.jsonl` in the working directory.
    provider: the tracer provider of the OpenTelemetry SDK; None takes the global one, and where there is
    none yet makes one and sets it. cost_usd: called with each record; what it returns becomes
    `usage.costUSD`. The only way a cost gets in. redact: called with each record before any sink; gives the
    record that is written. settings: any other of `otel-turns config` (`linger`, `idle`, `budget`,
    `content`, `include_user_messages`, ...).

    The same sink on the same provider again gives the same attachment. Raises `SinkError` where a sink
    cannot be written, and `ConfigError` for a provider that takes no span processors or a setting that is
    unknown.
    """
    from otel_turns.sources.processor import TurnSpanProcessor

    with _attaching:
        target = _provider(provider)
        loaded = _load(settings)
        sinks = _specs(sink, loaded)
        for reference, attachment in _attached:
            if reference() is target and attachment.sinks == sinks and not attachment.closed:
                return attachment
        opening = _Opening(sinks, loaded, default_linger_s=0.0, cost_usd=cost_usd, redact=redact)
        attachment = Attachment(TurnSpanProcessor(opening), sinks)
        target.add_span_processor(attachment.processor)
        _attached[:] = [(r, a) for r, a in _attached if r() is not None and not a.closed]
        _attached.append((weakref.ref(target), attachment))
        return attachment


class Attachment:
    """What `attach` added. As a context manager it shuts down at the end."""

    def __init__(self, processor: TurnSpanProcessor, sinks: tuple[SinkSpec, ...]) -> None:
        self.processor = processor
        """The span processor that was added to the provider."""
        self.sinks = sinks
        """Where Turns go, as given."""
        self.closed = False
        """Whether `shutdown` was called. The provider's own shutdown closes it too, and is not seen here."""

    def flush(self, timeout_s: float = 30.0) -> bool:
        """Writes the Turns of everything that has ended. False where `timeout_s` seconds were not enough."""
        return self.processor.force_flush(int(timeout_s * 1000))

    def shutdown(self, timeout_s: float = 5.0) -> None:
        """Writes the rest and closes the sinks, within `timeout_s` seconds. More calls do nothing."""
        self.closed = True
        self.processor.shutdown(int(timeout_s * 1000))

    def counts(self) -> FeedCounts:
        """What became of the ended spans: accepted, skipped or dropped, and why."""
        return self.processor.counts()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.shutdown()


_attaching = threading.Lock()
_attached: list[tuple[weakref.ref[Any], Attachment]] = []


@contextlib.contextmanager
def capture_turns(
    *,
    provider: Any = None,
    cost_usd: Callable[[dict[str, Any]], float | None] | None = None,
    timeout_s: float = 30.0,
    **settings: Any,
) -> Generator[CapturedTurns]:
    """The Turns of the spans that start inside the block, in the order in which they began.

    The list is filled when the block ends; within it, `turns.flush()` fills in what has ended so far. Spans
    that are still open at the end are not waited for. A span whose parent began before the block counts as
    a root.

    provider, cost_usd, settings: as for `attach`. timeout_s: how long the end of the block may take, in
    seconds.

        with capture_turns() as turns:
            agent.run("What is the weather in Paris?")
        assert turns[0].status == "completed"
    """
    from otel_turns.capture import Capture

    loaded = _load(settings)

    def open_with(sinks: Sequence[Sink]) -> Pipeline:
        return _pipeline(sinks, loaded, default_linger_s=0.0, cost_usd=cost_usd)

    capture = Capture.on(_provider(provider), open_with)
    try:
        yield capture.turns
    finally:
        capture.end(timeout_s)


def opening_of_processor() -> Callable[[], Pipeline]:
    """How a `TurnSpanProcessor()` without arguments opens its pipeline: as the environment says."""
    loaded = _load({})
    return _Opening(_specs(None, loaded, tell=True), loaded, default_linger_s=0.0)


def opening_of_exporter() -> Callable[[], Pipeline]:
    """How a `TurnSpanExporter()` without arguments opens its pipeline: as the environment says."""
    from otel_turns.sources.exporter import default_linger_s

    loaded = _load({})
    return _Opening(_specs(None, loaded, tell=True), loaded, default_linger_s=default_linger_s())


class _Opening:
    """Opens a pipeline when called. The sink is opened once: a forked child goes on with the same one."""

    def __init__(self, specs: tuple[SinkSpec, ...], loaded: Loaded, **options: Any) -> None:
        self._specs, self._loaded, self._options = specs, loaded, options
        self._sink: OpenedSink | None = None

    def __call__(self) -> Pipeline:
        from otel_turns.sinks import open_sink

        if self._sink is None:
            self._sink = open_sink(self._specs, bare=self._loaded.settings.bare)
        return _pipeline([self._sink], self._loaded, **self._options)


def _pipeline(
    sinks: Sequence[Sink],
    loaded: Loaded,
    *,
    default_linger_s: float,
    cost_usd: Callable[[dict[str, Any]], float | None] | None = None,
    redact: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> Pipeline:
    from otel_turns.pipeline import AssemblyOptions, Pipeline

    settings = loaded.settings
    return Pipeline(
        sinks,
        linger_s=settings.linger if loaded.origins["linger"] != "default" else default_linger_s,
        idle_s=settings.idle,
        max_age_s=settings.max_age,
        budget_bytes=settings.budget,
        stitch_s=settings.stitch,
        options=AssemblyOptions(
            include_user_messages=settings.include_user_messages,
            usage_basis=settings.usage_basis,
            resumed_operations=settings.resumed_operations,
            content=settings.content,
        ),
        cost_usd=cost_usd,
        redact=redact,
    )


def _load(settings: dict[str, Any]) -> Loaded:
    from otel_turns.config import describe, load

    known = describe()
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`otel-turns config` lists the known ones"
            raise ConfigError(f"setting {name!r} is unknown: {hint}")
    return load(settings)


def _specs(
    given: SinkSpec | Sequence[SinkSpec] | None, loaded: Loaded, *, tell: bool = False
) -> tuple[SinkSpec, ...]:
    if given is not None:
        if isinstance(given, list | tuple):
            return tuple(cast("Sequence[SinkSpec]", given))
        return (cast("SinkSpec", given),)
    if loaded.origins["sink"] != "default":
        return loaded.settings.sink
    if tell:
        _log.warning("otel_turns: OTEL_TURNS_SINK is not set: Turns go to %s", Path(DEFAULT_SINK).absolute())
    return (DEFAULT_SINK,)


def _provider(given: Any) -> Any:
    """The provider to add to; a new one, set for the process, where the API has only its stand-in."""
    from opentelemetry import trace

    provider = trace.get_tracer_provider() if given is None else given
    if isinstance(provider, trace.ProxyTracerProvider):
        from opentelemetry.sdk.trace import TracerProvider

        trace.set_tracer_provider(TracerProvider())
        provider = trace.get_tracer_provider()  # another thread may have been first
    if not hasattr(provider, "add_span_processor"):
        kind = f"{type(provider).__module__}.{type(provider).__qualname__}"
        raise ConfigError(
            f"provider: {kind} takes no span processors; give the OpenTelemetry SDK's TracerProvider"
        )
    return provider
