"""Records as lines on standard output.

Comes in: entries. Goes out: JSON lines, flushed after each batch, so that a reader at the other end of a
pipe sees a Turn when it is there. When the reader goes away the sink is gone, quietly: that is how `| head`
ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import BinaryIO

from otel_turns.errors import SinkError
from otel_turns.sinks.base import DeliveryError, Entry, Writer

__all__ = ["StdoutWriter"]


class StdoutWriter(Writer):
    """Writes to a binary stream, standard output by default."""

    batch_records = 1024
    name = "stdout"

    def __init__(self, stream: BinaryIO | None = None, *, bare: bool = False) -> None:
        self.bare = bare
        if stream is None:
            # A test runner or a host program may have put something in its place, or have closed it.
            standard = sys.stdout
            if standard is None or standard.closed:  # pyright: ignore[reportUnnecessaryComparison] # None under pythonw
                raise SinkError("standard output is closed; write to a file instead")
            stream = getattr(standard, "buffer", None)
            if stream is None:
                raise SinkError("standard output takes no bytes here; write to a file instead")
        self._stream = stream

    def deliver(self, entries: Sequence[Entry]) -> None:
        try:
            self._stream.write(b"".join([entry.data + b"\n" for entry in entries]))
            self._stream.flush()
        except BrokenPipeError:
            self._silence()
            raise DeliveryError("gone", detail="the reader of standard output went away", gone=True) from None
        except ValueError:
            raise DeliveryError("gone", detail="standard output was closed", gone=True) from None
        except OSError as error:
            raise DeliveryError("write", detail=os.strerror(error.errno or 0)) from None

    def _silence(self) -> None:
        # What is buffered cannot be written any more, and the interpreter would complain of it when it exits.
        try:
            descriptor = self._stream.fileno()
        except OSError:
            return
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, descriptor)
        os.close(null)
