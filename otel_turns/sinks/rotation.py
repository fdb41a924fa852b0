"""When a file of Turns is full or old, and what becomes of it then.

Comes in: a path, sizes and times. Goes out: a renamed file beside it, compressed where asked for, and old
ones removed where a number to keep is given. It never touches the current file except to rename it, and no
file whose name it did not give itself.
"""

from __future__ import annotations

import fcntl
import gzip
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

__all__ = ["Rotation"]


@dataclass(frozen=True, slots=True)
class Rotation:
    """When to begin a new file, and what to do with the last one.

    bytes: no file grows beyond it, unless by a single longer line. None: no bound.
    seconds: no file holds lines of two periods of this length; the periods are counted from the Unix epoch,
        so 86400 means midnight UTC, also for a program that is restarted often. None: no periods.
    compress: rotated files become `.gz`.
    keep: how many rotated files stay; the oldest are removed. None: all.
    """

    bytes: int | None = None
    seconds: float | None = None
    compress: bool = False
    keep: int | None = None

    def is_due(self, size: int, more: int, written_at: float, now: float) -> bool:
        """Whether `more` bytes at the time `now` belong into a new file, where the current one has `size`
        bytes and was last written at `written_at` (seconds since the epoch).
        """
        if not size:
            return False
        if self.bytes is not None and size + more > self.bytes:
            return True
        return self.seconds is not None and int(now // self.seconds) > int(written_at // self.seconds)

    def move(self, path: Path, now: float) -> Path:
        """Renames the current file to the next free name of this second, and returns that name:
        `turns.jsonl` becomes `turns-20250131T235959Z-000.jsonl`. Names sort in the order of rotation."""
        stamp = datetime.fromtimestamp(now, timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        # Behind those of this second that are still there: the last one always is, so names never go back.
        prefix = f"{path.stem}-{stamp}-"
        taken = [
            file.name[len(prefix) :] for file in self.rotated_files(path) if file.name.startswith(prefix)
        ]
        number = max((int(rest.split(".")[0]) for rest in taken), default=-1) + 1
        target = path.with_name(f"{prefix}{number:03}{path.suffix}")
        os.rename(path, target)
        return target

    def finish(self, path: Path, rotated: Path) -> None:
        """Compresses the rotated file and removes those beyond `keep`. Raises `OSError`; the lines are safe
        all the same.
        """
        if self.compress:
            _compress(rotated)
        if self.keep is not None:
            mine = self.rotated_files(path)
            for old in mine[: max(0, len(mine) - self.keep)]:
                old.unlink(missing_ok=True)

    @staticmethod
    def rotated_files(path: Path) -> list[Path]:
        """The rotated files of a path, the oldest first."""
        name = re.compile(
            rf"{re.escape(path.stem)}-\d{{8}}T\d{{6}}Z-\d{{3,}}{re.escape(path.suffix)}(\.gz)?", re.ASCII
        )
        return sorted(Path(entry.path) for entry in os.scandir(path.parent) if name.fullmatch(entry.name))


def _compress(path: Path) -> None:
    # Under another name until it is whole: a crash leaves the plain file, and a `.part` that the next
    # attempt replaces.
    part = path.with_name(path.name + ".gz.part")
    with suppress(FileNotFoundError):
        part.unlink()
    try:
        with path.open("rb") as source:
            fcntl.flock(source.fileno(), fcntl.LOCK_EX)
            mode = os.fstat(source.fileno()).st_mode & 0o777
            descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
            with os.fdopen(descriptor, "wb") as target:
                with gzip.GzipFile(filename="", mode="wb", fileobj=target, compresslevel=6) as packed:
                    shutil.copyfileobj(source, packed, 1024 * 1024)
                target.flush()
                os.fsync(target.fileno())
        os.rename(part, path.with_name(path.name + ".gz"))
        path.unlink()
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
