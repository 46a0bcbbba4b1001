"""Token ids, raw pieces, bytes and text of a packed vocabulary, from a memory-mapped table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from renderlayer.bundle.decoding import Decoder, decoder_of
from renderlayer.bundle.table import ADDED, PRESENT, SKIPPED, SPECIAL, VocabularyTable


class Vocabulary:
    """What logprobs, detokenization and the parsers ask of a vocabulary.

    Args:
        table: the bundle's table.
        decoding: description of the decoder (`decoding`).
        fallback: joins pieces into text where `decoding` says "other".
    """

    def __init__(self, table: VocabularyTable, decoding: Mapping[str, Any], fallback: Decoder) -> None:
        self._table = table
        self.decoder: str = decoding["kind"]
        self._decode = decoder_of(decoding, fallback)
        self._pieces: dict[int, str | None] = {}

    def __len__(self) -> int:
        """Entries, added tokens included: ids at or above it are out of vocabulary (wire.md 6.3)."""
        length: int = self._table.length
        return length

    def piece(self, token_id: int) -> str | None:
        """The raw vocabulary piece, or None when there is no such id."""
        try:
            return self._pieces[token_id]
        except KeyError:
            known = self._flag(token_id, PRESENT)
            piece = self._table.piece(token_id).decode() if known else None
            if known:
                self._pieces[token_id] = piece
            return piece

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes that this token contributes to decoded text; empty when there is no such id."""
        return self._table.data(token_id) if self._flag(token_id, PRESENT) else b""

    def is_special(self, token_id: int) -> bool:
        """Whether it is one of the tokenizer's named special tokens (`all_special_ids` of the reference)."""
        return self._flag(token_id, SPECIAL)

    def is_skipped(self, token_id: int) -> bool:
        """Whether a whole decode that skips special tokens leaves it out."""
        return self._flag(token_id, SKIPPED)

    def id_of(self, piece: str) -> int | None:
        """Id of a piece, added tokens included."""
        return self._table.find(piece.encode("utf-8", "surrogatepass"))

    def text(self, pieces: Sequence[str]) -> str:
        """Join raw pieces into text with the tokenizer's decoder."""
        return self._decode(pieces)

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Text of `token_ids`; unknown ids give nothing."""
        pieces = [
            piece
            for token_id in token_ids
            if (piece := self.piece(token_id)) is not None and not (skip_special_tokens and self.is_skipped(token_id))
        ]
        return self._decode(pieces)

    @cached_property
    def special_ids(self) -> frozenset[int]:
        """Ids of the named special tokens."""
        return frozenset(self._table.with_flag(SPECIAL))

    @cached_property
    def added(self) -> Mapping[str, int]:
        """Added tokens: text to id, in the order of ids."""
        return MappingProxyType({self._table.piece(i).decode(): i for i in self._table.with_flag(ADDED)})

    def _flag(self, token_id: int, flag: int) -> bool:
        return 0 <= token_id < self._table.rows and bool(self._table.flags[token_id] & flag)
