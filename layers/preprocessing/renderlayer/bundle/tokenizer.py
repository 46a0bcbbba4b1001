"""Text to token ids and back, with the engine that packing proved.

The engine is loaded in a thread as soon as the bundle opens, so that a cold start imports what else it needs meanwhile.
Decoding does not need it: the vocabulary table decodes wherever packing proved it equal.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from renderlayer.bundle.background import Background
from renderlayer.bundle.plain import PlainEncoder
from renderlayer.bundle.utf8 import require_utf8
from renderlayer.bundle.vocabulary import Vocabulary
from renderlayer.errors import BadRequest, LoneSurrogate

Encode = Callable[[str], list[int]]

_LONG = 4096
"""Characters from which what was tokenized before is made use of."""
_FAST_DELAY = 1.0
"""Seconds after the first text that fastokens starts to load, so that it does not hold up the first answer."""
FOLDED = re.compile("[\u017f\u212a]")
"""Characters whose lower case is an ASCII letter, for `(?i:'s)` and its like: fastokens does not look at that."""


class Tokenizer:
    """The tokenizer of a bundle. Safe to use from several threads.

    Args:
        folder: the bundle.
        description: the `tokenizer` object of `bundle.json`.
        vocabulary: the bundle's vocabulary, which decodes.
        fast_after: characters from which fastokens encodes, once it is loaded; 0: never.
    """

    def __init__(self, folder: Path, description: dict[str, Any], vocabulary: Vocabulary, fast_after: int = 0) -> None:
        self.engine: str = description["engine"]
        self.prefix_ids: list[int] = description["prefix_ids"]
        self.suffix_ids: list[int] = description["suffix_ids"]
        self.boundaries = frozenset(description["boundaries"]["both"])
        """Added tokens over which the tokenizer never merges, as packing proved."""
        self.right_boundaries = self.boundaries | frozenset(description["boundaries"]["right"])
        """The same, and those that take white space before them away: what follows them is tokenized alone."""
        self._file = folder / "tokenizer.json"
        self._vocabulary = vocabulary
        self._fast_after = fast_after if description["fastokens"]["equal"] else 0
        self._fast: Background[Encode] | None = None
        self._fast_lock = threading.Lock()
        self._reference_lock = threading.Lock()
        self._reference: Any = None
        self._divergent = divergent_pattern(description["divergent_characters"]) if self.engine == "kitoken" else None
        self._divergent_in_ascii = any(low < 0x80 for low, _ in description["divergent_characters"])
        self.encode_plain = PlainEncoder(folder, self.encode, lambda: vocabulary.added)
        """Token ids of a text that stays text: no special token that it spells becomes one."""
        self._engine: Background[Encode] | None = None
        self._engine_lock = threading.Lock()
        self._encode_short: Encode | None = None

    def load(self) -> Background[Encode]:
        """Begin to load the engine, unless that has begun; a process that only decodes goes without."""
        with self._engine_lock:
            if self._engine is None:
                self._engine = Background(lambda: self._load_engine(self._file.with_name("tokenizer.kitoken")))
            return self._engine

    def _loaded(self) -> Encode:
        """The engine, waited for."""
        self._encode_short = self.load().value
        return self._encode_short

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        """Token ids of `text`; special tokens that are spelled in it become their ids.

        Args:
            add_special_tokens: put the tokenizer's own prefix and suffix around, such as BOS (wire.md 3.6).

        Raises:
            BadRequest: the text holds a lone surrogate.
        """
        ids = self._encode(text) if len(text) < _LONG else self._long(text)
        if not add_special_tokens:
            return ids
        return [*self.prefix_ids, *ids, *self.suffix_ids]

    def _encode(self, text: str) -> list[int]:
        return self._encoder(text)(text)

    @cached_property
    def _long(self) -> Encode:
        """Encodes long texts, of which the beginning is often known."""
        from renderlayer.bundle.engines.encoded_prefixes import EncodedPrefixes, apart

        added = self._vocabulary.added
        cuts = {added[text]: text for text in apart(list(added)) if added[text] in self.boundaries}
        return EncodedPrefixes(self._encode, cuts) if cuts else self._encode

    def encode_with_offsets(
        self, text: str, add_special_tokens: bool = False
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """Token ids and, for each, the span of code points of `text` that it covers.

        Raises:
            BadRequest: the text holds a lone surrogate.
        """
        require_utf8(text)
        encoding = self.reference.encode(text, add_special_tokens=add_special_tokens)
        return encoding.ids, encoding.offsets

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Text of `token_ids`; ids outside the vocabulary give nothing.

        Raises:
            BadRequest: an id is negative or does not fit in 32 bits.
        """
        for token_id in token_ids:
            if not 0 <= token_id < 1 << 32:
                raise BadRequest(f"token id {token_id} is out of range")
        return self._vocabulary.decode(token_ids, skip_special_tokens)

    @property
    def reference(self) -> Any:
        """The Hugging Face `tokenizers.Tokenizer` of this bundle, loaded on first use."""
        with self._reference_lock:
            if self._reference is None:
                self._reference = load_reference(self._file)
            return self._reference

    def _load_engine(self, file: Path) -> Encode:
        if self.engine == "kitoken":
            from kitoken import Kitoken

            encode = Kitoken.from_file(str(file)).encode

            def encode_text(text: str) -> list[int]:
                try:
                    return encode(text, True)
                except UnicodeEncodeError as error:
                    raise LoneSurrogate(str(error)) from error

            return encode_text
        return self._encode_with_reference

    def _encode_with_reference(self, text: str) -> list[int]:
        require_utf8(text)
        return self.reference.encode(text, add_special_tokens=False).ids  # type: ignore[no-any-return]

    def _encoder(self, text: str) -> Encode:
        """The engine for this text."""
        engine = self._encode_short or self._loaded()
        fast = self._fast_engine() if self._fast_after else None
        if fast is not None and len(text) >= self._fast_after and (text.isascii() or not FOLDED.search(text)):
            return fast
        looked_for = self._divergent if self._divergent_in_ascii or not text.isascii() else None
        if looked_for is not None and looked_for.search(text):
            return self._encode_with_reference
        return engine

    def _fast_engine(self) -> Encode | None:
        """fastokens, once it is loaded; the first call starts that."""
        if self._fast is None:
            with self._fast_lock:
                if self._fast is None:
                    self._fast = Background(self._load_fastokens, _FAST_DELAY)
        return self._fast.value if self._fast.ready else None

    def _load_fastokens(self) -> Encode:
        import fastokens

        encode = fastokens.Tokenizer.from_file(str(self._file)).encode

        def fast(text: str) -> list[int]:
            require_utf8(text)
            return encode(text).ids  # type: ignore[no-any-return]

        return fast


def divergent_pattern(ranges: Sequence[Sequence[int]]) -> re.Pattern[str] | None:
    """A pattern that finds any character of the ranges (both ends included); None when there is none."""
    if not ranges:
        return None
    return re.compile("[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]")


def load_reference(file: Path) -> Any:
    """The `tokenizers.Tokenizer` of a tokenizer file, without its own truncation and padding."""
    from tokenizers import Tokenizer as HFTokenizer

    reference = HFTokenizer.from_file(str(file))
    reference.no_truncation()
    reference.no_padding()
    return reference


def join_pieces(reference: Any, pieces: Sequence[str]) -> str:
    """Join raw pieces with the decoder of a `tokenizers.Tokenizer`, by spaces when it has none."""
    if reference.decoder is None:
        return " ".join(pieces)
    return str(reference.decoder.decode(list(pieces)))
