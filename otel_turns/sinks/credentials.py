"""Headers and tokens that an HTTP sink sends, and that nobody sees.

Comes in: names of environment variables and of files. Goes out: headers. A value never appears in a
message, a log or a `repr`; an error names the variable or the file, and what is wrong with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from otel_turns.errors import SinkError

__all__ = ["HEADERS_ENV", "TOKEN_ENV", "TOKEN_FILE_ENV", "Credentials", "default_is_set"]

TOKEN_ENV: Final = "OTEL_TURNS_SINK_TOKEN"  # noqa: S105 # the name of a variable
TOKEN_FILE_ENV: Final = "OTEL_TURNS_SINK_TOKEN_FILE"  # noqa: S105 # as above
HEADERS_ENV: Final = "OTEL_TURNS_SINK_HEADERS"
"""Read where an HTTP sink names none of its own. The headers are written `name=value,name=value`,
percent-encoded where needed, as in `OTEL_EXPORTER_OTLP_HEADERS`.
"""

_MOST_BYTES: Final = 64 * 1024
# RFC 9110, sections 5.1 and 5.5: a token, and visible ASCII with spaces and tabs inside.
_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?|")
# What this sink says itself, or what frames the message.
_RESERVED: Final = frozenset(
    (
        "content-type",
        "content-encoding",
        "content-length",
        "transfer-encoding",
        "host",
        "connection",
        "idempotency-key",
    )
)


def default_is_set() -> bool:
    """Whether the environment gives credentials to HTTP sinks that name none."""
    return any(os.environ.get(name) for name in (TOKEN_ENV, TOKEN_FILE_ENV, HEADERS_ENV))


class Credentials:
    """The headers of one sink.

    headers: given by the program itself. headers_env: a variable, in the form above. headers_file: a file
        with a line
    `name: value` for each. token_env: a variable that holds a bearer token. token_file: a file that holds
    one; it is read again when it changes, since tokens are renewed. At most one of the two token members
    may be given.

    Raises `SinkError` where something named is missing, empty or no header.
    """

    def __init__(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        headers_env: str | None = None,
        headers_file: str | os.PathLike[str] | None = None,
        token_env: str | None = None,
        token_file: str | os.PathLike[str] | None = None,
    ) -> None:
        if not (headers or headers_env or headers_file or token_env or token_file):
            headers_env = HEADERS_ENV if os.environ.get(HEADERS_ENV) else None
            token_file = os.environ.get(TOKEN_FILE_ENV) or None
            token_env = TOKEN_ENV if os.environ.get(TOKEN_ENV) else None
        if token_env and token_file:
            raise SinkError("a bearer token comes from a variable or from a file; both are given")
        self._fixed: dict[str, str] = {}
        if headers_file:
            self._take(_file_headers(Path(headers_file)), f"the file {headers_file}")
        if headers_env:
            self._take(_variable_headers(_variable(headers_env)), headers_env)
        self._take(list((headers or {}).items()), "the given headers")
        if token_env:
            self._fixed["authorization"] = _bearer(_variable(token_env), token_env)
        self._token_file = Path(token_file) if token_file else None
        self._token: str | None = None
        self._token_version: tuple[int, int, int] | None = None
        self.headers()

    def __repr__(self) -> str:
        return f"Credentials({', '.join(sorted(self._fixed)) or 'none'})"

    def __bool__(self) -> bool:
        """Whether there is anything to keep secret."""
        return bool(self._fixed or self._token_file)

    def headers(self) -> dict[str, str]:
        """The headers to send now. Raises `SinkError` where the token's file cannot be read any more and
        never could.
        """
        if self._token_file is None:
            return dict(self._fixed)
        return {**self._fixed, "authorization": self._current_token(self._token_file)}

    def _current_token(self, path: Path) -> str:
        try:
            status = path.stat()
            version = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._token is None or version != self._token_version:
                self._token = _bearer(_read(path), f"the file {path}")
                self._token_version = version
        except SinkError:
            if self._token is None:
                raise
        except OSError as error:
            if self._token is None:
                raise SinkError(f"cannot read the token file {path}: {error.strerror}") from None
        return self._token or ""

    def _take(self, headers: list[tuple[str, str]], where: str) -> None:
        for name, value in headers:
            if not _NAME.fullmatch(name):
                raise SinkError(f"{where}: a header name is not valid")
            if name.lower() in _RESERVED:
                raise SinkError(f"{where}: the header {name} is set by the sink itself")
            if not _VALUE.fullmatch(value):
                raise SinkError(f"{where}: the value of {name} holds characters that no header may hold")
            self._fixed[name.lower()] = value


def _variable(name: str) -> str:
    value = os.environ.get(name, "")
    if not value.strip():
        raise SinkError(f"the environment variable {name} is not set or is empty")
    return value


def _read(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise SinkError(f"the file {path} is too large to hold headers or a token")
    try:
        return data.decode("ascii")
    except UnicodeDecodeError:
        raise SinkError(f"the file {path} holds something other than ASCII text") from None


def _bearer(token: str, where: str) -> str:
    text = token.strip()
    if not text or not _VALUE.fullmatch(text) or " " in text:
        raise SinkError(f"{where} holds no bearer token (one word of visible ASCII)")
    return f"Bearer {text}"


def _variable_headers(text: str) -> list[tuple[str, str]]:
    pairs = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return [(unquote(name.strip()), unquote(value.strip())) for name, _, value in pairs]


def _file_headers(path: Path) -> list[tuple[str, str]]:
    try:
        text = _read(path)
    except OSError as error:
        raise SinkError(f"cannot read the header file {path}: {error.strerror}") from None
    pairs = [line.partition(":") for line in text.splitlines() if line.strip()]
    return [(name.strip(), value.strip()) for name, _, value in pairs]
