"""OpenAI's Responses API → a chat request (docs/wire.md 2.8)."""
