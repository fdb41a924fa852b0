"""Records as lines of a file.

Comes in: entries. Goes out: JSON lines, appended; each line is given to the system whole, in one write
(several whole lines may share one), so a crash tears at most the last, and the next start begins on a new
line. It never follows a symbolic link in the last part of the path, never opens what is no regular file,
never writes a file that others can read, and never changes the mode of one that exists.

Several programs may write several files of one directory. Where two append to the same file, their lines do
not mix on a local file system, and when one of them rotates it the other notices.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import stat
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal

from otel_turns.errors import SinkError
from otel_turns.sinks.base import DeliveryError, Entry, Writer
from otel_turns.sinks.rotation import Rotation

__all__ = ["DEFAULT_NAME", "FileWriter", "Fsync"]

_logger = logging.getLogger(__name__)

DEFAULT_NAME: Final = "turns.jsonl"
"""The file that is written where a directory is named."""

Fsync = Literal["never", "always"] | float

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_WORDS: Final = {
    errno.ELOOP: "it is a symbolic link, and those are not followed; name the file that it points to",
    errno.EACCES: "this user may not write there",
    errno.ENXIO: "it is not a regular file",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.EISDIR: "it is a directory",
}


class FileWriter(Writer):
    """Appends JSON lines to one file.

    path: the file; for a directory that exists, or a path that ends in a slash, the file `turns.jsonl` in
        it. `~` is the home directory. Missing parents are created with mode 0700, the file with 0600.
    rotation: when a new file begins; see `Rotation`.
    fsync: when lines are forced to the disk: "never" (the system decides), "always" (before they count as
        written), or at least so many seconds after they were written. Closing forces them too, unless
        "never".
    now: seconds since the epoch; clock: monotonic seconds.

    Raises `SinkError` where the file cannot be opened for writing.
    """

    batch_records = 4096

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        rotation: Rotation | None = None,
        fsync: Fsync = "never",
        bare: bool = False,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.path = _file_path(path)
        self.name = f"file {self.path}"
        self.bare = bare
        self._rotation = rotation
        self._fsync = fsync
        self._now = now
        self._clock = clock
        self._descriptor = -1
        self._size = 0
        self._written_at = 0.0
        self._torn = False
        self._unsynced_since: float | None = None
        try:
            _create_parents(self.path.parent)
            self._open()
            if rotation is not None and not os.access(self.path.parent, os.W_OK):
                raise OSError(errno.EACCES, "")
        except OSError as error:
            raise SinkError(f"cannot write {self.path}: {_words(error)}") from None

    def deliver(self, entries: Sequence[Entry]) -> None:
        done = 0
        try:
            self._settle_on_file()
            lines: list[bytes] = []
            size = 0
            for entry in entries:
                line = entry.data + b"\n"
                if self._rotation is not None and self._rotation.is_due(
                    self._size + size, len(line), self._written_at, self._now()
                ):
                    done += self._append(lines)
                    lines, size = [], 0
                    self._rotate(self._rotation)
                lines.append(line)
                size += len(line)
            done += self._append(lines)
            if self._fsync == "always":
                os.fsync(self._descriptor)
        except _Short as short:
            raise self._failure(short.error, done + short.lines) from None
        except OSError as error:
            raise self._failure(error, done) from None
        finally:
            if self._rotation is not None and self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def sync(self) -> None:
        if self._fsync != "never" and self._unsynced_since is not None:
            try:
                os.fsync(self._descriptor)
            except OSError as error:
                raise self._failure(error, 0) from None
            self._unsynced_since = None

    def due_in(self) -> float | None:
        if self._unsynced_since is None or not isinstance(self._fsync, (int, float)):
            return None
        return max(0.0, self._unsynced_since + self._fsync - self._clock())

    def tick(self) -> None:
        if self.due_in() == 0.0:
            self.sync()

    def after_fork(self) -> None:
        self._shut()

    def close(self) -> None:
        with suppress(DeliveryError):
            self.sync()
        self._shut()

    # -- the descriptor

    def _open(self) -> None:
        descriptor = os.open(self.path, _FLAGS, 0o600)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.ENXIO, "not a regular file")
            self._torn = bool(status.st_size) and os.pread(descriptor, 1, status.st_size - 1) != b"\n"
        except OSError:
            os.close(descriptor)
            raise
        self._descriptor = descriptor
        self._size = status.st_size
        self._written_at = status.st_mtime
        if self._fsync != "never" and not status.st_size:
            self._sync_directory()

    def _shut(self) -> None:
        if self._descriptor >= 0:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = -1
            self._unsynced_since = None

    def _settle_on_file(self) -> None:
        """The file that the path names now is open. One that was renamed or removed by somebody else is let
        go.
        """
        while True:
            if self._descriptor >= 0:
                if self._rotation is not None:
                    # Whoever compresses a rotated file waits until nobody is still writing to it.
                    fcntl.flock(self._descriptor, fcntl.LOCK_SH)
                mine = os.fstat(self._descriptor)
                if self._is_at_path(mine):
                    self._size = mine.st_size
                    return
                self._shut()
            _create_parents(self.path.parent)
            self._open()

    def _is_at_path(self, mine: os.stat_result) -> bool:
        try:
            there = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return (there.st_ino, there.st_dev) == (mine.st_ino, mine.st_dev)

    def _append(self, lines: Sequence[bytes]) -> int:
        """Writes lines; returns how many. Raises `_Short` where not all of them went in."""
        if not lines:
            return 0
        repair = b"\n" if self._torn else b""
        data = memoryview(repair + b"".join(lines))
        written = 0
        failure: OSError | None = None
        try:
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            failure = error
        if written:
            self._torn = False
            self._size += written
            self._written_at = self._now()
            if self._unsynced_since is None:
                self._unsynced_since = self._clock()
        if failure is not None:
            raise _Short(failure, self._whole_lines(lines, written - len(repair)))
        return len(lines)

    def _whole_lines(self, lines: Sequence[bytes], written: int) -> int:
        """How many of the lines are in the file, where the first `written` bytes of them are. A line that
        did not go in whole is cut off, unless somebody wrote behind it: then the next line begins after a
        line break.
        """
        whole = kept = 0
        while whole < len(lines) and kept + len(lines[whole]) <= written:
            kept += len(lines[whole])
            whole += 1
        torn = max(0, written - kept)
        if torn:
            self._torn = True
            with suppress(OSError):
                end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
                if os.fstat(self._descriptor).st_size == end:
                    os.ftruncate(self._descriptor, end - torn)
                    self._torn = False
        return whole

    def _rotate(self, rotation: Rotation) -> None:
        # Of two programs that rotate the same file at once, the second finds that it is already another.
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        moved = None
        if self._is_at_path(os.fstat(self._descriptor)):
            if self._fsync != "never":
                os.fsync(self._descriptor)
            moved = rotation.move(self.path, self._now())
        self._shut()
        self._settle_on_file()
        if moved is not None:
            try:
                rotation.finish(self.path, moved)
            except OSError as error:
                _logger.warning("%s: %s is whole but not tidied up: %s", self.name, moved.name, _words(error))

    def _sync_directory(self) -> None:
        with suppress(OSError):  # some file systems have no such thing
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def _failure(self, error: OSError, done: int) -> DeliveryError:
        return DeliveryError("write", detail=_words(error), retry=True, done=done)


class _Short(Exception):
    """Not all lines went in: why, and how many did."""

    def __init__(self, error: OSError, lines: int) -> None:
        super().__init__()
        self.error = error
        self.lines = lines


def _file_path(path: str | os.PathLike[str]) -> Path:
    named: str = os.fspath(path)
    text = os.path.expanduser(named)
    if not text or "\0" in text:
        raise SinkError("a file sink needs a path")
    if text.endswith("/") or os.path.isdir(text):
        text = os.path.join(text, DEFAULT_NAME)
    return Path(os.path.abspath(text))


def _create_parents(directory: Path) -> None:
    missing: list[Path] = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for part in reversed(missing):
        with suppress(FileExistsError):
            part.mkdir(mode=0o700)


def _words(error: OSError) -> str:
    return _WORDS.get(error.errno or 0) or os.strerror(error.errno or 0)
