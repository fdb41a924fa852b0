"""From what a user writes to a sink that works.

Comes in: a specification, or a path, a function, a sink or a writer, or several of these. Goes out: an
`OpenedSink`, ready to be written, or `SinkError` now rather than after the first Turn. A module that a sink
needs is imported when such a sink is opened, and not before.

| specification | sink |
|---|---|
| `turns.jsonl`, `dir/`, `file:PATH` | JSON lines in a file; in `turns.jsonl` of a directory |
| `http://...`, `https://...` | POST, one record a request, or lines with `format=ndjson` |
| `otlp`, `otlp+grpc`, `otlp+http` | OTLP log records; an endpoint may follow: `otlp+grpc:https://host:4317` |
| `stdout`, `-` | JSON lines on standard output |
| `memory` | a list |
| `NAME:...` | a sink from the entry point group `otel_turns.sinks` |

Options follow a `?`, or in anything with `://` a `#`, so that a URL's own query stays what it is:
`file:turns.jsonl?rotate_bytes=64MiB&gzip=1`, `https://host/path?tenant=3#format=ndjson&token_env=MY_TOKEN`.
Several specifications are separated by commas; a file whose name holds a comma or a question mark is given
as a `Path`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Union, cast
from urllib.parse import parse_qsl, urlsplit

from otel_turns.errors import SinkError
from otel_turns.sinks.base import OpenedSink, Record, Sink, Writer
from otel_turns.sinks.options import COMMON, FILE, HTTP, PLAIN, Options, checked

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["ENTRY_POINTS", "SinkSpec", "open_sink"]

ENTRY_POINTS: Final = "otel_turns.sinks"
"""Entry point group for sinks of others: `NAME = "module:factory"`; the factory is called with what follows
`NAME:` and the options as keywords, all of them text, and returns a `Sink` or a `Writer`.
"""

# As a Union, since it names itself and is evaluated on Python 3.10.
SinkSpec = Union[str, "os.PathLike[str]", Sink, Writer, Callable[[Record], object]]

_KIND: Final = re.compile(r"([A-Za-z][A-Za-z0-9+._-]+):(.*)", re.DOTALL)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9+_-]*")
_KNOWN: Final = (
    "a path",
    "file:PATH",
    "http://...",
    "https://...",
    "otlp",
    "otlp+grpc",
    "otlp+http",
    "stdout",
    "-",
    "memory",
)
_QUEUE_OPTIONS: Final = ("queue_bytes", "close_timeout_s")


def open_sink(spec: SinkSpec | Iterable[SinkSpec], **options: Any) -> OpenedSink:
    """Opens the sink that `spec` describes; several become one that writes to all of them.

    options: as in a specification, for each sink of it; those in the specification itself win. All sinks
        know `bare` (leave the `otel` member out); those that deliver know `queued` (0: deliver in the
        caller's thread, without retries), `queue_bytes` and `close_timeout_s`.

    Raises `SinkError` where the specification is wrong or the sink cannot work. Nothing stays open then.
    """
    specs = _split(spec)
    _check_credentials(specs, options)
    opened: list[OpenedSink] = []
    try:
        for one in specs:
            opened.append(_open(one, options))
    except BaseException:
        for sink in opened:
            sink.close()
        raise
    if len(opened) == 1:
        return opened[0]
    from otel_turns.sinks.several import SeveralSinks

    return SeveralSinks(opened)


def _split(spec: SinkSpec | Iterable[SinkSpec]) -> list[SinkSpec]:
    if isinstance(spec, str):
        specs: list[SinkSpec] = [part.strip() for part in spec.split(",")]
    elif isinstance(spec, (os.PathLike, Sink, Writer)) or callable(spec):
        specs = [cast("SinkSpec", spec)]
    elif isinstance(spec, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] # callers need not be typed
        specs = list(spec)
    else:
        raise SinkError(f"a sink cannot be made of a {type(spec).__name__}; {_known()}")
    if not specs or any(one == "" for one in specs):
        raise SinkError(f"a sink's specification is empty; {_known()}")
    return specs


def _open(spec: SinkSpec, options: Mapping[str, Any]) -> OpenedSink:
    if isinstance(spec, str):
        return _open_text(spec, options)
    if isinstance(spec, os.PathLike):
        return _open_file(os.fspath(cast("os.PathLike[str]", spec)), options)
    if isinstance(spec, type):
        raise SinkError(f"{spec.__name__} is a class; give an object of it")
    if isinstance(spec, Writer):
        return _wrap(spec, checked(spec.name, options, _without(COMMON, "bare")))
    if isinstance(spec, OpenedSink):
        checked(spec.name, options, {})
        return spec
    from otel_turns.sinks.callback import CallbackWriter, SinkWriter

    values = checked("callback", options, COMMON)
    bare = values.pop("bare", False)
    if isinstance(spec, Sink):
        return _wrap(SinkWriter(spec, bare=bare), values)
    if callable(spec):
        return _wrap(CallbackWriter(spec, bare=bare), values)
    raise SinkError(f"a sink cannot be made of a {type(spec).__name__}; {_known()}")


def _open_text(spec: str, options: Mapping[str, Any]) -> OpenedSink:
    target, _, text = spec.partition("#" if "://" in spec else "?")
    options = {**options, **dict(parse_qsl(text, keep_blank_values=True))}
    match = _KIND.fullmatch(target)
    kind, rest = (match[1].lower(), match[2]) if match else (target.lower(), "")
    if kind in ("http", "https") and match:
        return _open_http(target, options)
    if kind == "file" and match:
        return _open_file(rest, options)
    if kind in ("otlp", "otlp+grpc", "otlp+http"):
        return _open_otlp(kind, rest, options)
    if kind in ("stdout", "-") and not match:
        from otel_turns.sinks.stdout import StdoutWriter

        values = checked("stdout", options, COMMON)
        return _wrap(StdoutWriter(bare=values.pop("bare", False)), values)
    if kind == "memory" and not match:
        from otel_turns.sinks.memory import MemorySink

        return MemorySink(**checked("memory", options, PLAIN))
    entry = _entry_points().get(kind)
    if entry is not None:
        return _open_entry(entry, rest, options)
    if match:
        raise SinkError(f"there is no sink {match[1]!r}; {_known()}; a file of that name is file:{target}")
    if _WORD.fullmatch(target):
        raise SinkError(f"there is no sink {target!r}; {_known()}; a file of that name is ./{target}")
    return _open_file(target, options)


def _open_file(path: str, options: Mapping[str, Any]) -> OpenedSink:
    from otel_turns.sinks.file import FileWriter
    from otel_turns.sinks.rotation import Rotation

    values = checked("file", options, FILE)
    rotation = Rotation(
        bytes=values.pop("rotate_bytes", None),
        seconds=values.pop("rotate_seconds", None),
        compress=values.pop("gzip", False),
        keep=values.pop("keep", None),
    )
    if rotation.bytes is None and rotation.seconds is None:
        if rotation.compress or rotation.keep is not None:
            raise SinkError("gzip and keep are about rotated files; say rotate_bytes or rotate_seconds too")
        rotation = None
    writer = FileWriter(
        path, rotation=rotation, fsync=values.pop("fsync", "never"), bare=values.pop("bare", False)
    )
    return _wrap(writer, values)


def _open_http(url: str, options: Mapping[str, Any]) -> OpenedSink:
    from otel_turns.sinks.credentials import Credentials
    from otel_turns.sinks.http import HttpWriter

    values = checked("HTTP", options, HTTP)
    credentials = Credentials(**{name: values.pop(name) for name in _CREDENTIALS if name in values})
    if "gzip" in values:
        values["compress"] = values.pop("gzip")
    queue = {name: values.pop(name) for name in ("queued", *_QUEUE_OPTIONS) if name in values}
    return _wrap(HttpWriter(url, credentials=credentials, **values), queue)


def _open_otlp(kind: str, target: str, options: Mapping[str, Any]) -> OpenedSink:
    from otel_turns.sinks.otlp import OtlpWriter, Protocol

    values = checked("OTLP", options, COMMON)
    endpoint = f"http:{target}" if target.startswith("//") else target
    if endpoint and kind == "otlp+http" and urlsplit(endpoint).path in ("", "/"):
        endpoint = endpoint.rstrip("/") + "/v1/logs"
    protocols: dict[str, Protocol | None] = {"otlp": None, "otlp+grpc": "grpc", "otlp+http": "http/protobuf"}
    writer = OtlpWriter(
        protocol=protocols[kind],
        endpoint=endpoint or None,
        bare=values.pop("bare", False),
    )
    return _wrap(writer, values)


def _open_entry(entry: EntryPoint, target: str, options: Mapping[str, Any]) -> OpenedSink:
    own, ours = dict(options), _without(COMMON, "bare")
    common = checked(entry.name, {name: own.pop(name) for name in options if name in ours}, ours)
    try:
        made: Any = entry.load()(target, **own)
    except SinkError:
        raise
    except Exception as error:  # anybody's code, behind one border
        raise SinkError(
            f"the sink {entry.name} ({entry.value}) cannot be opened: {type(error).__name__}"
        ) from error
    return _open(made, common)


def _wrap(writer: Writer, values: dict[str, Any]) -> OpenedSink:
    if not values.pop("queued", True):
        if values:
            raise SinkError(f"{' and '.join(sorted(values))}: there is no queue with queued=0")
        from otel_turns.sinks.direct import DirectSink

        return DirectSink(writer)
    from otel_turns.sinks.queued import QueuedSink

    return QueuedSink(writer, **values)


_CREDENTIALS: Final = ("headers", "headers_env", "headers_file", "token_env", "token_file")


def _check_credentials(specs: Iterable[SinkSpec], options: Mapping[str, Any]) -> None:
    """A token from the environment is meant for one host: with several, each must name its own."""
    if any(name in options for name in _CREDENTIALS):
        return
    hosts: set[str] = set()
    for spec in specs:
        if isinstance(spec, str) and spec.lower().startswith(("http://", "https://")):
            named = dict(parse_qsl(spec.partition("#")[2], keep_blank_values=True))
            if not any(name in named for name in _CREDENTIALS):
                hosts.add(urlsplit(spec).netloc.rpartition("@")[2])
    if len(hosts) > 1:
        from otel_turns.sinks.credentials import TOKEN_ENV, default_is_set

        if default_is_set():
            raise SinkError(
                "several HTTP sinks, and the environment holds one set of credentials: "
                f"say for each which are its own, such as #token_env={TOKEN_ENV}"
            )


def _entry_points() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and seldom needed

    return {entry.name.lower(): entry for entry in entry_points(group=ENTRY_POINTS)}


def _known() -> str:
    return f"known are {', '.join((*_KNOWN, *(f'{name}:...' for name in sorted(_entry_points()))))}"


def _without(options: Options, *names: str) -> Options:
    return {name: reader for name, reader in options.items() if name not in names}
