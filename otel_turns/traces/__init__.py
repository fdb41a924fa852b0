"""Waiting: items that belong to one trace are held together until the trace settles."""
