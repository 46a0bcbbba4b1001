"""Anthropic's Messages API → a chat request (docs/wire.md 2.9)."""
