"""Records on standard output, also into a pipe whose reader leaves."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from otel_turns.errors import SinkError
from otel_turns.sinks.direct import DirectSink
from otel_turns.sinks.stdout import StdoutWriter
from tests.sinks.records import record


def test_each_record_is_a_line_that_is_there_at_once(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with os.fdopen(os.dup(1), "wb") as stream:
        sink = DirectSink(StdoutWriter(stream, bare=True))
        sink.write(record(1, text="é"))
        assert capfdbinary.readouterr().out.decode() == (
            '{"events":[{"type":"message","role":"assistant","text":"é"}],"status":"completed",'
            '"usage":{"inputTokens":12,"outputTokens":3}}\n'
        )
        sink.close()


def test_by_default_it_is_the_standard_output_of_the_process(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    DirectSink(StdoutWriter()).write({"status": "completed"})
    assert capsysbinary.readouterr().out == b'{"status":"completed"}\n'


def test_a_reader_that_leaves_ends_the_sink_and_nothing_else() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stream:
        sink = DirectSink(StdoutWriter(stream))
        sink.write(record(1))
        sink.write(record(2))
        assert sink.gone
        assert dict(sink.counters.dropped) == {"gone": 2}


def test_a_program_whose_reader_leaves_exits_without_a_word() -> None:
    program = (
        "from otel_turns.sinks import open_sink\n"
        "sink = open_sink('-', queued=False)\n"
        "while not sink.gone:\n"
        "    sink.write({'events': [], 'status': 'completed'})\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b'{"events":[],"status":"completed"}\n'
    child.stdout.close()
    said = child.stderr.read()
    child.stderr.close()
    assert child.wait(60) == 0
    assert b"Traceback" not in said
    assert b"Exception ignored" not in said


def test_a_disk_that_is_full_is_a_failure_in_words() -> None:
    with open("/dev/full", "wb", buffering=0) as full:
        sink = DirectSink(StdoutWriter(full))
        sink.write(record(1))
    assert sink.last_error == "write: No space left on device"
    assert not sink.gone


def test_a_stream_that_was_closed_ends_the_sink() -> None:
    stream = io.BytesIO()
    sink = DirectSink(StdoutWriter(stream))
    stream.close()
    sink.write(record(1))
    assert sink.gone


def test_the_end_of_a_stream_without_a_descriptor_is_quiet_too() -> None:
    class Broken(io.BytesIO):
        def flush(self) -> None:
            raise BrokenPipeError

    stream = Broken()
    sink = DirectSink(StdoutWriter(stream))
    sink.write(record(1))
    assert sink.gone


def test_a_standard_output_that_cannot_be_written_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.TextIOWrapper(io.BytesIO())
    closed.close()
    for stream, wanted in ((None, "closed"), (closed, "closed"), (io.StringIO(), "no bytes")):
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(SinkError, match=wanted):
            StdoutWriter()
