"""Token ids to text, token by token, with the window of the reference (wire.md 6.3).

A token may carry a part of a character, and what a token says may depend on its neighbours. So text is not made of one
token at a time: a window of pieces is decoded with and without the new piece, and what the new one adds is emitted once
it does not end in the middle of a character. The window starts as the end of the prompt.

Where tokens stand for bytes on their own (byte-level vocabularies, most of today's) the window need not be decoded
again: the same text comes from the bytes since the last emission. Both ways give equal results; a token costs constant
time in either.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.bundle import Vocabulary
from renderlayer.errors import BadRequest
from renderlayer.wire.derender import WINDOW_PIECES, DerenderStreamState

SEED_TOKENS = 7
SEED_CONTEXT = 5
HELD_PIECES = 16
WINDOW_CHARACTERS = 65_536
CHARACTER_PIECES = 4

REPLACEMENT = "�"


class Detokenizer:
    """Decodes one output sequence.

    Args:
        vocabulary: the model's table of pieces.
        skip_special: leave special tokens out of the text.
        window: pieces (text) or token ids that came before; `read` of them have been emitted, what follows `prefix` is
            decoded again with every new piece.

    Raises:
        BadRequest: the window is larger than any that this class gives.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        skip_special: bool,
        window: Sequence[str | int] = (),
        prefix: int = 0,
        read: int = 0,
    ) -> None:
        _check_window(window)
        self._vocabulary = vocabulary
        self._skipped: frozenset[int] = vocabulary.special_ids if skip_special else frozenset()
        self._bytewise = vocabulary.decoder == "byte_level"
        self._window = list(window)
        self._prefix = prefix
        self._read = read
        self._pending = self._nothing_pending()

    @classmethod
    def after_prompt(cls, vocabulary: Vocabulary, skip_special: bool, prompt: Sequence[int] | None) -> Detokenizer:
        """A detokenizer whose window is the end of the prompt (token ids; None or empty: no window)."""
        skipped = vocabulary.special_ids if skip_special else frozenset()
        seed = [token_id for token_id in (prompt or ())[-SEED_TOKENS:] if token_id not in skipped]
        return cls(vocabulary, skip_special, seed, max(len(seed) - SEED_CONTEXT, 0), len(seed))

    def push(self, token_id: int) -> str:
        """The text that this token completes; "" while a character is incomplete or for a skipped token."""
        if token_id in self._skipped:
            return ""
        if self._pending is None:
            return self._push_piece(token_id)
        return self._push_bytes(token_id)

    def pieces(self) -> tuple[list[str], int]:
        """The window from its prefix on, as pieces of the vocabulary, and how many of them have been emitted."""
        self._trim()
        return self._texts(self._window), self._read

    def token_ids(self) -> tuple[list[int], int]:
        """As `pieces`, as token ids; for a window that began with token ids."""
        self._trim()
        return [entry for entry in self._window if isinstance(entry, int)], self._read

    def _push_piece(self, token_id: int) -> str:
        emitted = self._decode(self._window[self._prefix : self._read])
        self._window.append(token_id)
        text = self._decode(self._window[self._prefix :])
        if len(text) <= len(emitted) or text.endswith(REPLACEMENT):
            return self._held()
        self._advance(len(self._window))
        self._pending = self._nothing_pending()
        return text[len(emitted) :]

    def _push_bytes(self, token_id: int) -> str:
        """As `_push_piece`, given that what was emitted before ended with a whole character."""
        data = self._vocabulary.token_bytes(token_id)
        if self._pending:
            data = self._pending + data
        self._window.append(token_id)
        if not _ends_whole(data):
            self._pending = data
            return self._held()
        self._pending = b""
        self._advance(len(self._window))
        return data.decode("utf-8", "replace")

    def _nothing_pending(self) -> bytes | None:
        """No pending bytes, if what was emitted ends with a whole character; else None: only the window can tell."""
        if not self._bytewise or not 0 <= self._prefix <= self._read == len(self._window):
            return None
        return None if self._decode(self._window[self._prefix :]).endswith(REPLACEMENT) else b""

    def _held(self) -> str:
        """Nothing to emit yet; but bytes that cannot become text any more are not held for ever.

        The reference holds them until a whole character follows, which makes its window grow with the output.
        """
        self._trim()
        if len(self._window) - self._read <= HELD_PIECES and len(self._window) <= WINDOW_PIECES:
            return ""
        emitted = self._decode(self._window[: self._read])
        end = len(self._window) - CHARACTER_PIECES
        text = self._decode(self._window[:end])
        self._advance(end)
        self._pending = None
        return text[len(emitted) :]

    def _advance(self, end: int) -> None:
        self._prefix, self._read = self._read, end
        self._trim()

    def _trim(self) -> None:
        if self._prefix:
            del self._window[: self._prefix]
            self._read -= self._prefix
            self._prefix = 0

    def _decode(self, window: Sequence[str | int]) -> str:
        return self._vocabulary.text(self._texts(window)) if window else ""

    def _texts(self, window: Sequence[str | int]) -> list[str]:
        return [entry if isinstance(entry, str) else self._vocabulary.piece(entry) or "" for entry in window]


def _check_window(window: Sequence[str | int]) -> None:
    pieces = "".join(entry for entry in window if isinstance(entry, str))
    if len(window) > WINDOW_PIECES or len(pieces) > WINDOW_CHARACTERS:
        raise BadRequest("invalid stream_state: the detokenizing window is too large")
    if any("\ud800" <= character <= "\udfff" for character in pieces):
        raise BadRequest("invalid stream_state: the detokenizing window holds a lone surrogate")


def continued(
    state: DerenderStreamState | None, skip_special: bool, prompt: Sequence[int] | None, vocabulary: Vocabulary
) -> Detokenizer:
    """The detokenizer of a stream without parser: from its state, or for its first chunk from the prompt."""
    if state is None:
        return Detokenizer.after_prompt(vocabulary, skip_special, prompt)
    return Detokenizer(vocabulary, skip_special, state.prev_tokens, state.prefix_offset, state.read_offset)


def _ends_whole(data: bytes) -> bool:
    """True when the bytes end with a whole character other than U+FFFD (which is what broken bytes decode to)."""
    if not data:
        return False
    return data[-1] < 0x80 or not data[-4:].decode("utf-8", "replace").endswith(REPLACEMENT)
