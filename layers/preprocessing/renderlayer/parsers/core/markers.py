"""Markers: pieces → text in which one that is a token is a character that no output can spell; finding them in it.

Decoded output never holds a lone surrogate, so a surrogate can stand for a token: a format that honours a marker only
as a token (wire.md 7.3) searches for that character, and the same words spelled by ordinary tokens stay plain text.
Special tokens that no format declares are bracketed, for the machines that drop them and those that keep their text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

from renderlayer.parsers.core.events import Piece

_FIRST = 0xD800
_OPEN, _CLOSE = "\udffe", "\udfff"
_MOST = 0xDF00 - _FIRST
_ANY = re.compile("[\ud800-\udfff]")
_DECLARED = re.compile("[\ud800-\udffd]")
_BRACKETED = re.compile(f"{_OPEN}[^{_CLOSE}]*{_CLOSE}")


class Vocabulary(Protocol):
    """What parsers ask of a tokenizer: its added tokens by text, which ids are special, and what a token spells."""

    @property
    def added(self) -> Mapping[str, int]: ...

    @property
    def special_ids(self) -> Set[int]: ...

    def token_bytes(self, token_id: int) -> bytes: ...


class SpecialTokenMap:
    """The characters that stand for tokens in one parser.

    Args:
        vocabulary: the model's.
        declared: markers that count only as tokens where the vocabulary has them.
        spelled: texts that hold special tokens as parts of longer markers; those tokens stay plain text.
        brackets: special tokens that nobody declared are bracketed, also where nothing is declared.
    """

    def __init__(
        self, vocabulary: Vocabulary, declared: Sequence[str], spelled: Sequence[str] = (), brackets: bool = False
    ) -> None:
        added = vocabulary.added
        known = [marker for marker in dict.fromkeys(declared) if marker in added][:_MOST]
        self._character = {marker: chr(_FIRST + n) for n, marker in enumerate(known)}
        self._known = re.compile("|".join(map(re.escape, sorted(known, key=len, reverse=True))) or r"(?!)")
        self._text = {character: marker for marker, character in self._character.items()}
        self._text |= {_OPEN: "", _CLOSE: ""}
        self._replacement = {added[marker]: character for marker, character in self._character.items()}
        if declared or brackets:
            for text, token_id in added.items():
                apart = token_id in vocabulary.special_ids and not any(text in whole for whole in spelled)
                if apart and text not in self._character:
                    self._replacement[token_id] = _OPEN + text + _CLOSE
        self._texts = {token_id: text for text, token_id in added.items() if token_id in self._replacement}

    def literal(self, marker: str) -> str:
        """What to search for to find `marker`, in which tokens are characters."""
        return self._known.sub(lambda token: self._character[token.group()], marker)

    def read(self, pieces: Sequence[Piece]) -> str:
        """Join the texts of the pieces, with characters for tokens."""
        replacement = self._replacement
        if not replacement:
            return "".join([text for _, text in pieces])
        return "".join([self._marked(token_id, text) if token_id in replacement else text for token_id, text in pieces])

    def spelled(self, text: str) -> str:
        """The text in which declared tokens are spelled, too."""
        return text if text.isascii() else _DECLARED.sub(self._spelled, text)

    def in_json(self, text: str) -> str:
        """The inside of a JSON string as it was spelled, with escapes for what tokens spell."""
        return text if text.isascii() else _ANY.sub(lambda token: json.dumps(self._spelled(token))[1:-1], text)

    def plain(self, text: str) -> str:
        """The text as it was spelled."""
        return text if text.isascii() else _ANY.sub(self._spelled, text)

    def declared(self, text: str) -> str:
        """The text without the special tokens that nobody declared."""
        return text if text.isascii() or not _ANY.search(text) else _ANY.sub(self._spelled, _BRACKETED.sub("", text))

    def _spelled(self, character: re.Match[str]) -> str:
        return self._text.get(character.group(), character.group())

    def _marked(self, token_id: int, text: str) -> str:
        """The token's stand-in, after what an incomplete character before it left in its text."""
        own = self._texts[token_id]
        before = text[: -len(own)] if own and text.endswith(own) else ""
        standing = self._replacement[token_id]
        return before + standing if text or standing[0] != _OPEN else ""


class Markers:
    """A set of literal markers, searched for together; where two begin at one place the longer one wins.

    The empty string is no marker.
    """

    def __init__(self, literals: Iterable[str]) -> None:
        self.literals = tuple(sorted(filter(None, set(literals)), key=len, reverse=True))
        self.longest = max(map(len, self.literals), default=0)
        self.pattern = re.compile("|".join(map(re.escape, self.literals)) or r"(?!)")
        self._prefixes = {literal[:n] for literal in self.literals for n in range(1, len(literal))}
        self._longest = max(map(len, self._prefixes), default=0)
        first = "".join({re.escape(prefix[0]) for prefix in self._prefixes})
        self._first = re.compile(f"[{first}]" if first else r"(?!)")

    def find(self, text: str, start: int) -> re.Match[str] | None:
        """The first marker at or after `start`."""
        return self.pattern.search(text, start)

    def at(self, text: str, start: int) -> str | None:
        """The marker that begins at `start`, if one does."""
        match = self.pattern.match(text, start)
        return match.group() if match else None

    def safe_end(self, text: str, start: int) -> int:
        """Where the longest end of `text` begins that more text could make a marker; len(text) if there is none."""
        position = max(start, len(text) - self._longest)
        while match := self._first.search(text, position):
            position = match.start()
            if text[position:] in self._prefixes:
                return position
            position += 1
        return len(text)

    def may_begin(self, text: str, start: int) -> bool:
        """Whether all of `text` from `start` on is an incomplete marker."""
        return len(text) - start <= self._longest and text[start:] in self._prefixes
