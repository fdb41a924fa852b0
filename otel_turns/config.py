"""The settings of the program, and where each value came from.

Comes in: flags of a command, environment variables `OTEL_TURNS_<NAME>`, a YAML file, defaults; the first that
has a value wins, in this order. Goes out: `Settings`. A name that no setting has is an error with the nearest
known one, so that a typing mistake never means "the default, silently". Secrets are shown masked; this module
never prints.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NoReturn

from otel_turns.errors import ConfigError

__all__ = [
    "ENV_ONLY",
    "ENV_PREFIX",
    "Loaded",
    "Says",
    "Secret",
    "Settings",
    "describe",
    "load",
    "parse_bytes",
    "parse_seconds",
]

ENV_PREFIX: Final = "OTEL_TURNS_"
ENV_ONLY: Final = {
    "config": "the YAML file to read",
    "sink_token": "the bearer token that HTTP sinks send",
    "sink_token_file": "a file that holds it",
    "sink_headers": "further headers that HTTP sinks send, `name=value,name=value`",
}
"""Names that the environment alone may give: they are no settings, or secrets of a sink."""

_MASK: Final = "********"


class Secret:
    """A value that is never shown: `repr`, `str` and every listing print a mask; `reveal` gives it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return _MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


@dataclass(frozen=True, slots=True)
class Says:
    """What a setting means, for listings and `--help`, and the unit that its value is in."""

    doc: str
    unit: Literal["", "seconds", "bytes"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting with its default.

    Times are seconds and sizes are bytes; both may be given with a unit (`2m`, `20MiB`).
    """

    sink: Annotated[tuple[str, ...], Says("where Turns go: a file, `-` (standard output), a URL")] = ("-",)
    bare: Annotated[bool, Says("write Turns alone, without the `otel` member that says whence")] = False
    content: Annotated[bool, Says("keep texts, arguments and results")] = True
    include_user_messages: Annotated[bool, Says("make events of user messages too")] = False
    usage_basis: Annotated[
        Literal["reported", "exclusive"],
        Says("token counts as reported, or input split into buckets that do not overlap"),
    ] = "reported"
    resumed_operations: Annotated[
        Literal["pair", "finish"],
        Says("a Turn that resumes a paused call holds its `started` again, or only its `finished`"),
    ] = "pair"

    linger: Annotated[float, Says("how long a trace whose root has ended waits for more", "seconds")] = 2.0
    idle: Annotated[float, Says("how long a trace waits when nothing more comes", "seconds")] = 60.0
    max_age: Annotated[float, Says("how long a trace may stay open at all", "seconds")] = 600.0
    stitch: Annotated[float, Says("how long a bare request waits for the next of its turn", "seconds")] = 30.0
    budget: Annotated[int, Says("how much of open traces is held in memory", "bytes")] = 256 << 20

    host: Annotated[str, Says("the address that the receiver binds")] = "127.0.0.1"
    grpc_port: Annotated[int, Says("the port for OTLP over gRPC; 0 takes a free one")] = 4317
    http_port: Annotated[int, Says("the port for OTLP over HTTP; 0 takes a free one")] = 4318
    max_request: Annotated[int, Says("the largest request as sent", "bytes")] = 20 << 20
    max_decompressed: Annotated[int, Says("the largest request once decompressed", "bytes")] = 64 << 20
    token: Annotated[Secret | None, Says("the bearer token that clients must send")] = None
    token_file: Annotated[Path | None, Says("a file that holds the bearer token")] = None
    drain: Annotated[float, Says("how long an ending receiver may write its last Turns", "seconds")] = 10.0

    def bearer_token(self) -> str | None:
        """The token that clients must send, from `token` or else from `token_file`; None where none is set.

        Raises `ConfigError` for a file that cannot be read or is empty: no token would let everybody in.
        """
        if self.token is not None or self.token_file is None:
            return None if self.token is None else self.token.reveal()
        try:
            text = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.token_file}: cannot read the token: {error}") from error
        if not text:
            raise ConfigError(f"{self.token_file}: the token is empty")
        return text


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and for each name where its value came from: "flag", "env", "file" or "default"."""

    settings: Settings
    origins: Mapping[str, str]
    file: Path | None = None

    def shown(self) -> dict[str, tuple[Any, str]]:
        """Each setting as plain JSON data, and its origin; secrets masked, also passwords inside URLs."""
        return {
            f.name: (_plain(getattr(self.settings, f.name)), self.origins[f.name])
            for f in dataclasses.fields(Settings)
        }


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    env: Mapping[str, str] | None = None,
    file: str | Path | None = None,
) -> Loaded:
    """The settings that hold. A flag that is None was not given. `file` defaults to `OTEL_TURNS_CONFIG`.

    Raises `ConfigError` for an unknown name, a value of the wrong kind, or a file that cannot be read.
    """
    env = os.environ if env is None else env
    named = file or env.get(f"{ENV_PREFIX}CONFIG")
    path = Path(named) if named else None
    layers: list[tuple[str, Mapping[str, tuple[str, Any]]]] = [
        ("flag", {k: (f"--{k.replace('_', '-')}", v) for k, v in (flags or {}).items() if v is not None}),
        ("env", _from_env(env)),
        ("file", _from_file(path) if path is not None else {}),
    ]
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    kinds = _kinds()
    for f in dataclasses.fields(Settings):
        origins[f.name] = "default"
        for origin, layer in layers:
            if f.name in layer:
                where, raw = layer[f.name]
                values[f.name] = _parsed(where, raw, *kinds[f.name])
                origins[f.name] = origin
                break
    return Loaded(Settings(**values), origins, path)


def _from_env(env: Mapping[str, str]) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    for key, value in env.items():
        if key.startswith(ENV_PREFIX) and value != "":
            name = key[len(ENV_PREFIX) :].lower()
            if name not in ENV_ONLY:
                _known(name, f"environment variable {key}", lambda n: ENV_PREFIX + n.upper(), (*ENV_ONLY,))
                found[name] = (key, value)
    return found


def _from_file(path: Path) -> dict[str, tuple[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot read the configuration: {error}") from error
    try:
        import yaml
    except ImportError as error:
        raise ConfigError(f"{path}: reading a YAML file needs `pip install 'otel_turns[server]'`") from error
    try:
        content: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"{path}: not valid YAML: {reason}") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: expected settings as `name: value`, found {type(content).__name__}")
    found: dict[str, tuple[str, Any]] = {}
    for key, value in typing.cast("dict[object, Any]", content).items():
        name = str(key).replace("-", "_")
        _known(name, f"{path}: setting {str(key)!r}", str)
        if value is not None:
            found[name] = (f"{path}: {name}", value)
    return found


def _known(name: str, where: str, spelled: Callable[[str], str], more: tuple[str, ...] = ()) -> None:
    names = [*(f.name for f in dataclasses.fields(Settings)), *more]
    if name in names:
        return
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {spelled(near[0])}?" if near else "`otel-turns config` lists the known ones"
    raise ConfigError(f"{where} is unknown: {hint}")


_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


def describe() -> dict[str, str]:
    """What each setting means, in the order in which `Settings` lists them."""
    return {name: says.doc for name, (_, says) in _kinds().items()}


def _kinds() -> dict[str, tuple[Any, Says]]:
    hints = typing.get_type_hints(Settings, include_extras=True)
    return {f.name: typing.get_args(hints[f.name])[:2] for f in dataclasses.fields(Settings)}


def _parsed(where: str, raw: Any, hint: Any, says: Says) -> Any:
    """`raw` (text, or what YAML made of it) as the type `hint` asks for."""

    def wrong(expected: str) -> NoReturn:
        shown = "" if hint == (Secret | None) else f", not {_URL_PASSWORD.sub(f'{_MASK}@', repr(raw))}"
        raise ConfigError(f"{where}: expected {expected}{shown}")

    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        return raw if raw in choices else wrong(" or ".join(choices))
    if hint == tuple[str, ...]:
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, list | tuple):
            wrong("text or a list of texts")
        given = typing.cast("list[object]", parts)
        texts = [part.strip() for part in given if isinstance(part, str) and part.strip()]
        return tuple(texts) if len(texts) == len(given) else wrong("a list of texts")
    if hint is bool:
        word = str(raw).strip().lower()
        return word in _TRUE if word in _TRUE + _FALSE else wrong("true or false")
    if hint in (int, float):
        if isinstance(raw, bool):
            wrong("a number")
        try:
            if says.unit == "seconds":
                return parse_seconds(str(raw))
            return parse_bytes(str(raw)) if says.unit == "bytes" else int(str(raw))
        except ValueError as error:
            wrong(str(error) if says.unit else "a whole number")
    if not isinstance(raw, str | Path):
        wrong("text")
    if hint == (Secret | None):
        return Secret(str(raw).strip())
    return Path(raw) if hint == (Path | None) else str(raw)


_SECONDS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES: Final = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "kib": 1 << 10,
    "mib": 1 << 20,
    "gib": 1 << 30,
}
_QUANTITY: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_seconds(text: str) -> float:
    """`"2"`, `"500ms"`, `"2s"`, `"10m"` or `"1h"` in seconds. Raises `ValueError`."""
    number, unit = _quantity(text, _SECONDS, "a time such as 2s, 500ms or 10m")
    return number * _SECONDS[unit]


def parse_bytes(text: str) -> int:
    """`"1048576"`, `"20MiB"` or `"64 MB"` in bytes. Raises `ValueError`."""
    number, unit = _quantity(text, _BYTES, "a size such as 20MiB")
    return int(number * _BYTES[unit])


def _quantity(text: str, units: Mapping[str, float], expected: str) -> tuple[float, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2].lower() not in units:
        raise ValueError(expected)
    return float(match[1]), match[2].lower()


_URL_PASSWORD: Final = re.compile(r"(?<=://)[^/@\s]+@")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_URL_PASSWORD.sub(f"{_MASK}@", str(v)) for v in typing.cast("tuple[Any, ...]", value)]
    if isinstance(value, Secret | Path):
        return str(value)
    return value
