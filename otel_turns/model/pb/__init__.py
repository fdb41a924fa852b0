"""Generated from `proto/otel_turns/v1/turn.proto`; edit that file and run `proto/generate.py`."""
