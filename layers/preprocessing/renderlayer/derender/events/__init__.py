"""Answers told as named events: the Responses and the Messages API (docs/wire.md 6)."""
