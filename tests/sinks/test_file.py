"""Lines in a file: whole, private, in one place, and in the next file when that is due."""

from __future__ import annotations

import errno
import gzip
import json
import logging
import multiprocessing
import os
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_turns.errors import SinkError
from otel_turns.sinks.direct import DirectSink
from otel_turns.sinks.encoding import encode_record
from otel_turns.sinks.file import FileWriter
from otel_turns.sinks.queued import QueuedSink
from otel_turns.sinks.rotation import Rotation
from tests.sinks.records import record

LONG = 30.0
# 2023-11-14 22:13:20 UTC, and midnight after it.
NIGHT = 1_700_000_000.0
MIDNIGHT = 1_700_006_400.0


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines()


def ids(path: Path) -> list[str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line)["otel"]["turnId"] for line in data.splitlines()]


def deliver(writer: FileWriter, *numbers: int) -> None:
    writer.deliver([encode_record(record(number)) for number in numbers])


# -- the file


def test_each_record_is_a_line_appended_to_what_is_there(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    for number in (1, 2):
        sink = QueuedSink(FileWriter(path))
        sink.write(record(number, text="two\nlines"))
        sink.close()
    assert [json.loads(line) for line in lines(path)] == [
        record(1, text="two\nlines"),
        record(2, text="two\nlines"),
    ]
    assert path.read_bytes().endswith(b"\n")


def test_bare_lines_are_turns_alone(tmp_path: Path) -> None:
    sink = DirectSink(FileWriter(tmp_path / "turns.jsonl", bare=True))
    sink.write(record(1))
    sink.close()
    assert set(json.loads(lines(tmp_path / "turns.jsonl")[0])) == {"events", "status", "usage"}


def test_new_files_and_directories_are_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        FileWriter(tmp_path / "a" / "b" / "turns.jsonl").close()
    finally:
        os.umask(old)
    assert (tmp_path / "a" / "b" / "turns.jsonl").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_the_mode_of_a_file_that_exists_is_its_owners_choice(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.touch(0o640)
    path.chmod(0o640)
    FileWriter(path).close()
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("slash", ["", "/"])
def test_in_a_directory_it_is_the_file_of_the_usual_name(tmp_path: Path, slash: str) -> None:
    (tmp_path / "out").mkdir()
    writer = FileWriter(f"{tmp_path}/out{slash}")
    writer.close()
    assert writer.path == tmp_path / "out" / "turns.jsonl"


def test_a_trailing_slash_makes_the_directory(tmp_path: Path) -> None:
    FileWriter(f"{tmp_path}/new/").close()
    assert (tmp_path / "new" / "turns.jsonl").exists()


def test_the_home_directory_may_be_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    FileWriter("~/turns.jsonl").close()
    assert (tmp_path / "turns.jsonl").exists()


# -- what is refused at once


def symbolic_link(directory: Path) -> Path:
    (directory / "target").touch()
    (directory / "link").symlink_to(directory / "target")
    return directory / "link"


def pipe(directory: Path) -> Path:
    os.mkfifo(directory / "pipe")
    return directory / "pipe"


def below_a_file(directory: Path) -> Path:
    (directory / "file").touch()
    return directory / "file" / "turns.jsonl"


def device(_: Path) -> Path:
    return Path("/dev/null")


@pytest.mark.parametrize(
    ("make", "wanted"),
    [
        (symbolic_link, "symbolic link"),
        (pipe, "not a regular file"),
        (below_a_file, "not a directory"),
        (device, "not a regular file"),
    ],
)
def test_what_cannot_be_a_file_of_turns_is_refused_with_the_reason(
    tmp_path: Path, make: Callable[[Path], Path], wanted: str
) -> None:
    path = make(tmp_path)
    with pytest.raises(SinkError, match=wanted) as caught:
        FileWriter(path)
    assert str(path) in str(caught.value)


def test_a_path_that_may_not_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> int:  # as for a user who is not root
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(SinkError, match="this user may not write there"):
        FileWriter(tmp_path / "turns.jsonl")


def test_rotation_needs_a_directory_that_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> bool:
        return False

    monkeypatch.setattr(os, "access", refuse)
    FileWriter(tmp_path / "turns.jsonl").close()
    with pytest.raises(SinkError, match="may not write"):
        FileWriter(tmp_path / "turns.jsonl", rotation=Rotation(bytes=1))


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_path_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(SinkError, match="needs a path"):
        FileWriter(path)


# -- crashes, full disks, others at the same file


@given(cut=st.integers(1, 400))
def test_a_line_torn_by_a_crash_spoils_no_other_line(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("torn") / "turns.jsonl"
    first, second, third = (encode_record(record(n)).data + b"\n" for n in (1, 2, 3))
    torn = second[: min(cut, len(second) - 1)]
    path.write_bytes(first + torn)
    writer = FileWriter(path)
    assert path.read_bytes() == first + torn  # opening alone changes nothing
    deliver(writer, 3)
    writer.close()
    assert path.read_bytes() == first + torn + b"\n" + third


def test_every_line_is_whole_when_many_go_out_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What reaches the system in one write ends at the end of a line."""
    written: list[bytes] = []
    real = os.write

    def write(descriptor: int, data: Any) -> int:
        written.append(bytes(data))
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    writer = FileWriter(tmp_path / "turns.jsonl")
    deliver(writer, *range(5))
    deliver(writer, 5)
    writer.close()
    assert [data.count(b"\n") for data in written] == [5, 1]
    assert all(data.endswith(b"\n") for data in written)


class Disk:
    """A disk with room for so many bytes. When it is full it gets room again: now for no line, now for one
    and a half.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room = room
        self.growth = cycle((100, 900))
        self.real = os.write
        monkeypatch.setattr(os, "write", self.write)

    def write(self, descriptor: int, data: Any) -> int:
        fits = min(self.room, len(data))
        if not fits:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= fits
        return self.real(descriptor, data[:fits])

    def grow(self) -> None:
        self.room = next(self.growth)


@pytest.mark.parametrize("room", [0, 1, 300, 600, 601, 1_500])
def test_a_full_disk_delays_and_loses_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    path = tmp_path / "turns.jsonl"
    writer = FileWriter(path)
    writer.linger_s = 1e6  # all of them in one batch
    disk = Disk(monkeypatch, room)

    def wait(_: float) -> None:
        assert path.read_bytes()[-1:] in (b"", b"\n")  # no torn line is left meanwhile
        disk.grow()

    sink = QueuedSink(writer, sleep=wait)
    for number in range(5):
        sink.write(record(number))
    assert sink.flush(LONG)
    sink.close()
    assert ids(path) == [f"turn-{n}" for n in range(5)]
    assert sink.counters.written == 5
    assert sink.counters.failed > 0


def test_a_line_that_tore_before_anothers_is_closed_by_a_line_break(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "turns.jsonl"
    real = os.write
    calls = 0

    def write(descriptor: int, data: Any) -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            return real(descriptor, data[:10])
        if calls == 2:  # the disk is full, and somebody else's bytes went in just before
            with path.open("ab") as other:
                other.write(b"other\n")
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    sink = QueuedSink(FileWriter(path), sleep=lambda _: None)
    sink.write(record(1))
    assert sink.flush(LONG)
    sink.close()
    line = encode_record(record(1)).data
    assert lines(path) == [line[:10] + b"other", b"", line]


def test_a_file_that_was_moved_away_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    writer = FileWriter(path)
    deliver(writer, 1)
    path.rename(tmp_path / "moved")
    deliver(writer, 2)
    path.unlink()
    path.symlink_to(tmp_path / "moved")
    with pytest.raises(Exception, match="symbolic link"):
        deliver(writer, 3)
    path.unlink()
    deliver(writer, 3)
    writer.close()
    assert ids(tmp_path / "moved") == ["turn-1"]
    assert ids(path) == ["turn-3"]


def test_a_directory_that_was_removed_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "out" / "turns.jsonl"
    writer = FileWriter(path)
    path.unlink()
    path.parent.rmdir()
    deliver(writer, 1)
    writer.close()
    assert ids(path) == ["turn-1"]


def _write_many(path: Path, first: int, rotate: int | None) -> None:
    writer = FileWriter(path, rotation=Rotation(bytes=rotate, compress=True) if rotate else None)
    for number in range(first, first + 100):
        deliver(writer, number)
    writer.close()


@pytest.mark.parametrize("rotate", [None, 5_000])
def test_several_programs_at_one_file_mix_no_lines_and_lose_none(tmp_path: Path, rotate: int | None) -> None:
    path = tmp_path / "turns.jsonl"
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_many, args=(path, start, rotate)) for start in (0, 100, 200)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
        assert process.exitcode == 0
    files = list(tmp_path.iterdir())
    assert (len(files) > 1) is bool(rotate)
    assert sorted(name for file in files for name in ids(file)) == sorted(f"turn-{n}" for n in range(300))


def test_a_forked_child_opens_the_file_for_itself(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path / "turns.jsonl")
    writer.after_fork()
    deliver(writer, 1)
    writer.close()
    assert ids(tmp_path / "turns.jsonl") == ["turn-1"]


# -- rotation


class Time:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_a_file_is_rotated_before_it_would_grow_too_large(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    size = len(encode_record(record(1)).data) + 1
    writer = FileWriter(path, rotation=Rotation(bytes=2 * size), now=Time(NIGHT))
    deliver(writer, 1, 2, 3)
    deliver(writer, 4)
    deliver(writer, 5)
    writer.close()
    assert {file.name: ids(file) for file in tmp_path.iterdir()} == {
        "turns-20231114T221320Z-000.jsonl": ["turn-1", "turn-2"],
        "turns-20231114T221320Z-001.jsonl": ["turn-3", "turn-4"],
        "turns.jsonl": ["turn-5"],
    }


def test_a_line_larger_than_a_file_may_be_gets_a_file_of_its_own(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path / "turns.jsonl", rotation=Rotation(bytes=1), now=Time(NIGHT))
    deliver(writer, 1, 2)
    writer.close()
    assert sorted(len(lines(file)) for file in tmp_path.iterdir()) == [1, 1]


def test_no_file_holds_lines_of_two_periods_even_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    rotation = Rotation(seconds=86_400)
    time = Time(NIGHT)
    writer = FileWriter(path, rotation=rotation, now=time)
    deliver(writer, 1)
    time.now = MIDNIGHT - 1
    deliver(writer, 2)
    writer.close()
    os.utime(path, (time.now, time.now))
    time.now = MIDNIGHT
    writer = FileWriter(path, rotation=rotation, now=time)
    deliver(writer, 3)
    writer.close()
    assert {file.name: ids(file) for file in tmp_path.iterdir()} == {
        "turns-20231115T000000Z-000.jsonl": ["turn-1", "turn-2"],
        "turns.jsonl": ["turn-3"],
    }


def test_rotated_files_are_compressed_and_as_private_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    writer = FileWriter(path, rotation=Rotation(bytes=1, compress=True), now=Time(NIGHT))
    (tmp_path / "turns-20231114T221320Z-000.jsonl.gz.part").write_bytes(b"left by a crash")
    deliver(writer, 1)
    deliver(writer, 2)
    deliver(writer, 3)
    writer.close()
    packed = sorted(tmp_path.glob("*.gz"))
    assert [file.name for file in packed] == [
        "turns-20231114T221320Z-000.jsonl.gz",
        "turns-20231114T221320Z-001.jsonl.gz",
    ]
    assert [json.loads(gzip.decompress(file.read_bytes()))["otel"]["turnId"] for file in packed] == [
        "turn-1",
        "turn-2",
    ]
    assert {file.stat().st_mode & 0o777 for file in packed} == {0o600}
    assert len(list(tmp_path.iterdir())) == 3


def test_compression_that_fails_leaves_the_plain_file_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "turns.jsonl"
    writer = FileWriter(path, rotation=Rotation(bytes=1, compress=True), now=Time(NIGHT))
    deliver(writer, 1)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", fail)
    with caplog.at_level(logging.WARNING):
        deliver(writer, 2)
    writer.close()
    assert {file.name: ids(file) for file in tmp_path.iterdir()} == {
        "turns-20231114T221320Z-000.jsonl": ["turn-1"],
        "turns.jsonl": ["turn-2"],
    }
    assert "No space left on device" in caplog.text


def test_only_so_many_rotated_files_are_kept_and_no_other_file_is_touched(tmp_path: Path) -> None:
    strangers = [
        "turns-20200101T000000Z-000.jsonl.bak",
        "turns-notes.jsonl",
        "other-20200101T000000Z-000.jsonl",
    ]
    for name in strangers:
        (tmp_path / name).touch()
    writer = FileWriter(tmp_path / "turns.jsonl", rotation=Rotation(bytes=1, keep=2), now=Time(NIGHT))
    deliver(writer, 1, 2, 3, 4, 5)
    writer.close()
    mine = {file.name: ids(file) for file in tmp_path.iterdir() if file.name not in strangers}
    assert mine == {
        "turns-20231114T221320Z-002.jsonl": ["turn-3"],
        "turns-20231114T221320Z-003.jsonl": ["turn-4"],
        "turns.jsonl": ["turn-5"],
    }
    assert all((tmp_path / name).exists() for name in strangers)


def test_a_file_that_another_program_rotated_meanwhile_is_not_rotated_again(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    rotation = Rotation(bytes=600)
    mine, others = (FileWriter(path, rotation=rotation, now=Time(NIGHT)) for _ in "ab")
    deliver(mine, 1)
    deliver(others, 2)
    deliver(mine, 3)
    mine.close()
    others.close()
    assert sorted(name for file in tmp_path.iterdir() for name in ids(file)) == ["turn-1", "turn-2", "turn-3"]


# -- the disk


class Syncs:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        monkeypatch.setattr(os, "fsync", self)

    def __call__(self, _: int) -> None:
        self.count += 1


def test_by_default_the_system_decides_when_lines_reach_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = Syncs(monkeypatch)
    writer = FileWriter(tmp_path / "turns.jsonl")
    deliver(writer, 1)
    writer.sync()
    assert writer.due_in() is None
    writer.close()
    assert syncs.count == 0


def test_always_forces_each_batch_before_it_counts_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = Syncs(monkeypatch)
    writer = FileWriter(tmp_path / "turns.jsonl", fsync="always")
    before = syncs.count
    deliver(writer, 1, 2)
    assert syncs.count == before + 1
    assert writer.due_in() is None
    writer.close()


def test_an_interval_forces_what_was_written_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = Syncs(monkeypatch)
    time = Time(100.0)
    writer = FileWriter(tmp_path / "turns.jsonl", fsync=5.0, clock=time)
    before = syncs.count
    assert writer.due_in() is None
    deliver(writer, 1)
    time.now += 2
    deliver(writer, 2)
    assert writer.due_in() == 3
    writer.tick()
    assert syncs.count == before
    time.now += 3
    writer.tick()
    assert syncs.count == before + 1
    assert writer.due_in() is None
    deliver(writer, 3)
    writer.close()
    assert syncs.count == before + 2


def test_a_disk_that_refuses_to_sync_is_a_failure_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = FileWriter(tmp_path / "turns.jsonl", fsync="always")
    sink = QueuedSink(writer, sleep=lambda _: None)

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    sink.write(record(1))
    assert sink.flush(LONG)
    sink.close()
    assert ids(tmp_path / "turns.jsonl") == ["turn-1"]
    assert sink.counters.failed >= 1
    assert "Input/output error" in str(sink.last_error)
