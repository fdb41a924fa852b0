"""OTLP, decoded: bytes of an export request in, items out.

    decode       one request, either encoding, either signal; what the servers and the files call
    wire         protobuf: the outer walk, from a request to slices of bytes, within limits
    protobuf     slices as items, and a slice into a `Span` or `LogRecord`
    raw          OTLP's messages as protobuf's parser cuts them, nested ones left as bytes
    values       encoded attributes and values into Python's
    json         OTLP/JSON into spans and records, through orjson
    json_values  attributes, ids and numbers of OTLP/JSON
    draft        frozen spans, made quickly

Protobuf and JSON of the same telemetry give equal spans. A bad span is rejected alone and the rest of its
request lives. Nothing here knows what an attribute means.
"""
