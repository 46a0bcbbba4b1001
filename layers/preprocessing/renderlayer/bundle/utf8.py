"""Texts that can be encoded: Python's strings may hold lone surrogates, which UTF-8 and the tokenizers may not."""

from __future__ import annotations

from renderlayer.errors import LoneSurrogate


def require_utf8(text: str) -> None:
    """Raise LoneSurrogate, with Python's own words, when `text` holds a lone surrogate (wire.md 0)."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise LoneSurrogate(str(error)) from error
