"""Lone surrogates: JSON can escape them, but no text that is sent or tokenized may hold them (wire.md 0)."""

from __future__ import annotations

from typing import Any

from renderlayer.errors import LoneSurrogate


def located(error: LoneSurrogate | UnicodeEncodeError, body: Any) -> LoneSurrogate:
    """The error with the place in the request's body that it comes from, where it does."""
    place = _place(body)
    message = error.message if isinstance(error, LoneSurrogate) else str(error)
    return LoneSurrogate(f"{place}: {message}" if place else message)


def _place(body: Any) -> str:
    """The first string in the body that holds one, as in `messages[0].content`; of a key, the object that has it."""
    left = [("", body)]
    while left:
        place, value = left.pop()
        if isinstance(value, str):
            if not _encodable(value):
                return place
        elif isinstance(value, dict):
            if not all(map(_encodable, value)):
                return f"a key of {place or 'the body'}"
            left += [(f"{place}.{key}" if place else key, item) for key, item in reversed(value.items())]
        elif isinstance(value, list):
            left += [(f"{place}[{at}]", item) for at, item in reversed(list(enumerate(value)))]
    return ""


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
