"""`python -m otel_turns` is the command `otel-turns`."""

from otel_turns.cli.app import main

if __name__ == "__main__":
    main()
