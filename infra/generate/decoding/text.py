"""Text of a choice while it grows, and the stop strings found in it (wire.md 6.3)."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.derender.core.output import first_match


class OutputText:
    """The text of one choice: what has been released, and what is held back for a stop string.

    Args:
        detokenizer: turns its tokens into text.
        stops: the stop strings.
        include_stop: keep the stop string in the text.
    """

    def __init__(self, detokenizer: Detokenizer, stops: Sequence[str], include_stop: bool) -> None:
        self._detokenizer = detokenizer
        self._stops = stops
        self._include_stop = include_stop
        self._held = 0 if include_stop or not stops else max(map(len, stops)) - 1
        self._text = ""
        self._released = 0

    def add(self, token_id: int, search: bool) -> str | None:
        """Take a token; the stop string that it completed, if any.

        Args:
            search: False while `min_tokens` forbids stopping.
        """
        before = len(self._text)
        self._text += self._detokenizer.push(token_id)
        match = first_match(self._text, self._stops, before) if search and len(self._text) > before else None
        if match is None:
            return None
        start, end, string = match
        self._text = self._text[: end if self._include_stop else start]
        return string

    def release(self, finished: bool) -> str:
        """The text that became certain since the last call."""
        end = len(self._text) if finished else max(self._released, len(self._text) - self._held)
        out = self._text[self._released : end]
        self._released = end
        return out
