"""Random telemetry for tests, and random ways to encode one protobuf message."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from hypothesis import strategies as st

from otel_turns.model.span import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink

texts = st.one_of(
    st.text(max_size=20),
    # Lengths around those at which protobuf's length prefixes grow.
    st.integers(120, 140).map(lambda n: "x" * n),
    st.integers(16_370, 16_390).map(lambda n: "é" + "y" * (n - 2)),
)
keys = st.one_of(
    st.sampled_from(["gen_ai.system", "gen_ai.usage.input_tokens", "", "é"]), st.text(max_size=8)
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 300),
    st.floats(allow_nan=False),
    texts,
    st.binary(max_size=20),
)
values = st.recursive(
    scalars, lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(keys, v, max_size=3)), max_leaves=6
)
mappings = st.dictionaries(keys, values, max_size=6)
small_mappings = st.dictionaries(keys, scalars, max_size=2)
counts = st.integers(0, 2**32 - 1)
times = st.integers(0, 2**64 - 1)


def ids(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size).filter(any)


events = st.builds(SpanEvent, time=times, name=texts, attributes=small_mappings, dropped_attributes=counts)
links = st.builds(SpanLink, trace_id=ids(16), span_id=ids(8), attributes=small_mappings)
scopes = st.builds(Scope, name=texts, version=texts, attributes=small_mappings)
resources = st.builds(Resource, attributes=small_mappings)
spans = st.builds(
    Span,
    trace_id=ids(16),
    span_id=ids(8),
    parent_id=st.none() | ids(8),
    name=texts,
    start=times,
    end=times,
    kind=st.integers(0, 5),
    status=st.integers(0, 2),
    status_message=texts,
    attributes=mappings,
    events=st.lists(events, max_size=2).map(tuple),
    links=st.lists(links, max_size=2).map(tuple),
    scope=scopes,
    resource=resources,
    dropped_attributes=counts,
    dropped_events=counts,
    dropped_links=counts,
    flags=counts,
)


light_spans = st.builds(
    Span,
    trace_id=ids(16),
    span_id=ids(8),
    parent_id=st.none() | ids(8),
    name=texts,
    start=times,
    end=times,
    attributes=small_mappings,
    scope=st.sampled_from([Scope(), Scope("lib", "1", {"a": 1})]),
    resource=st.sampled_from([Resource(), Resource({"service.name": "agent", "n": 1})]),
)
"""Quick to make; for tests of what is outside of spans."""


@st.composite
def records(draw: st.DrawFn) -> LogRecord:
    trace_id = draw(st.none() | ids(16))
    return LogRecord(
        time=draw(times),
        event_name=draw(texts),
        body=draw(values),
        attributes=draw(mappings),
        trace_id=trace_id,
        span_id=None if trace_id is None else draw(st.none() | ids(8)),
        severity=draw(st.integers(0, 24)),
        scope=draw(scopes),
        resource=draw(resources),
        dropped_attributes=draw(counts),
    )


randoms = st.integers(0, 2**32 - 1).map(Random)

# --- encodings ----------------------------------------------------------------------------------------------

Shape = Mapping[int, "Shape"]
"""Which fields of a message are messages, and what is in them."""

_VALUE: dict[int, Any] = {}
_PAIR: dict[int, Any] = {2: _VALUE}
_VALUE.update({5: {1: _VALUE}, 6: {1: _PAIR}})
SPAN: Shape = {9: _PAIR, 11: {3: _PAIR}, 13: {4: _PAIR}, 15: {}}
RECORD: Shape = {5: _VALUE, 6: _PAIR}
TRACES: Shape = {1: {1: {1: _PAIR}, 2: {1: {3: _PAIR}, 2: SPAN}}}
LOGS: Shape = {1: {1: {1: _PAIR}, 2: {1: {3: _PAIR}, 2: RECORD}}}
PAIR: Shape = _PAIR

Field = tuple[int, int, bytes]
"""Number, wire type, and the value without its length."""


def fields(data: bytes) -> list[Field]:
    """The fields of a message that protobuf wrote."""
    out: list[Field] = []
    i = 0
    while i < len(data):
        tag, i = read_varint(data, i)
        start = i
        if tag & 7 == 0:
            _, i = read_varint(data, i)
        elif tag & 7 == 2:
            size, start = read_varint(data, i)
            i = start + size
        else:
            i += 8 if tag & 7 == 1 else 4
        out.append((tag >> 3, tag & 7, data[start:i]))
    return out


def read_varint(data: bytes, i: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[i] & 0x7F) << shift
        i, shift = i + 1, shift + 7
        if data[i - 1] < 0x80:
            return value, i


def varint(value: int, extra: int = 0) -> bytes:
    """`value`, in `extra` bytes more than it needs."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    for _ in range(extra):
        out[-1] |= 0x80
        out.append(0)
    return bytes(out)


def encoded(field: Field, extra: int = 0) -> bytes:
    number, kind, value = field
    head = varint(number << 3 | kind, extra)
    return head + (varint(len(value), extra) + value if kind == 2 else value)


def disordered(data: bytes, shape: Shape, random: Random) -> bytes:
    """The message in an odd but valid encoding.

    Fields are shuffled, numbers longer than they need to be, singular fields given twice, messages in two
    pieces, and there are fields that no schema has.
    """
    out: list[bytes] = []
    listed = fields(data)
    random.shuffle(listed)
    for field in listed:
        number, kind, value = field
        if number in shape and kind == 2:
            pieces = [value]
            if random.random() < 0.2:
                inner = fields(value)
                cut = random.randint(0, len(inner))
                pieces = [b"".join(map(encoded, part)) for part in (inner[:cut], inner[cut:])]
            out.extend(
                encoded((number, kind, disordered(piece, shape[number], random)), random.randint(0, 1))
                for piece in pieces
            )
            continue
        if random.random() < 0.1:
            out.append(encoded((number, kind, _other(kind, value, random))))
        out.append(encoded(field, random.choice((0, 0, 0, 1, 2))))
        if random.random() < 0.2:
            out.append(unknown(random))
    return b"".join(out)


def unknown(random: Random) -> bytes:
    """A field of some number that OTLP has not given to anything."""
    number = random.choice((100, 1_000, 2**29 - 1))
    return random.choice(
        (
            encoded((number, 0, varint(random.getrandbits(40)))),
            encoded((number, 1, random.randbytes(8))),
            encoded((number, 2, random.randbytes(random.randint(0, 40)))),
            encoded((number, 5, random.randbytes(4))),
            varint(number << 3 | 3) + encoded((1, 0, b"\x01")) + varint(number << 3 | 4),
        )
    )


def _other(kind: int, value: bytes, random: Random) -> bytes:
    if kind == 0:
        return varint(random.randint(0, 2))
    if kind == 2:
        # Ids stay ids, and text stays text.
        return bytes(random.randint(97, 122) for _ in value)
    return random.randbytes(len(value))
