"""Whether a turn holds reasoning, told by the markers of all families."""

from __future__ import annotations

from functools import cache
from typing import Any

from renderlayer.parsers.core.message_frames import MessageFormat
from renderlayer.parsers.reasoning.formats import REASONING


@cache
def _markers() -> tuple[tuple[str, str], ...]:
    """What opens reasoning and what closes it."""
    forms = [form for form in REASONING.values() if not isinstance(form, MessageFormat)]
    found = {
        (opener, closer)
        for form in forms
        for opener, closer in zip(form.opens, form.closes, strict=False)
        if opener.strip() and closer.strip() and "{" not in opener + closer
    }
    return tuple(sorted(found))


_ANALYSIS = "<|channel|>analysis<|message|>"


def has_thought(turn: str) -> bool:
    """Whether a turn's text has reasoning that is not blank; where its prompt opened it, the turn only closes it."""
    if _ANALYSIS in turn:
        return True
    for opener, closer in _markers():
        inside, closed, _ = turn.rpartition(closer)
        if not closed and opener not in turn:
            continue
        if (inside if closed else turn).rpartition(opener)[2].strip():
            return True
    return False


def thought_around(content: Any) -> tuple[str, str] | None:
    """What opens and closes the reasoning that a message's content holds; None: it holds none."""
    if not isinstance(content, str):
        return None
    for opener, closer in _markers():
        if closer in content:
            return (opener if opener in content else "", closer)
    return None
