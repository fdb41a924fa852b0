"""The command `otel-turns`. Data goes to standard output and everything else to standard error."""
