"""Texts that can be encoded: Python's strings may hold lone surrogates, which UTF-8 and the tokenizers may not."""

from __future__ import annotations

from renderlayer.errors import BadRequest


def require_utf8(text: str) -> None:
    """Raise BadRequest, with Python's own words, when `text` holds a lone surrogate (wire.md 0)."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadRequest(str(error)) from error
