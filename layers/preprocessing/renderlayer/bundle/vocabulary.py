"""Token ids, raw pieces, bytes and text of a packed vocabulary, from a memory-mapped table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from renderlayer.bundle.decoding import Decoder, decoder_of
from renderlayer.bundle.table import ADDED, PRESENT, SKIPPED, SPECIAL, VocabularyTable

T = TypeVar("T")


class _Rows(dict[int, T]):
    """What was read of the table's rows so far; ids outside of it are answered but not kept."""

    def __init__(self, rows: int, read: Callable[[int], T], outside: T) -> None:
        super().__init__()
        self._rows = rows
        self._read = read
        self._outside = outside

    def __missing__(self, token_id: int) -> T:
        if not 0 <= token_id < self._rows:
            return self._outside
        value = self[token_id] = self._read(token_id)
        return value


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
        self._pieces: _Rows[str | None] = _Rows(table.rows, self._read_piece, None)
        self._bytes: _Rows[bytes] = _Rows(table.rows, table.data, b"")
        self._kept_bytes: _Rows[bytes] = _Rows(table.rows, self._read_kept_bytes, b"")
        self._ids = lru_cache(maxsize=4096)(self._find)

    def __len__(self) -> int:
        """Entries, added tokens included: ids at or above it are out of vocabulary (wire.md 6.3)."""
        length: int = self._table.length
        return length

    def piece(self, token_id: int) -> str | None:
        """The raw vocabulary piece, or None when there is no such id."""
        return self._pieces[token_id]

    def token_bytes(self, token_id: int) -> bytes:
        """Bytes that this token contributes to decoded text; empty when there is no such id."""
        return self._bytes[token_id]

    def is_special(self, token_id: int) -> bool:
        """Whether it is one of the tokenizer's named special tokens (`all_special_ids` of the reference)."""
        return self._flag(token_id, SPECIAL)

    def is_skipped(self, token_id: int) -> bool:
        """Whether a whole decode that skips special tokens leaves it out."""
        return self._flag(token_id, SKIPPED)

    def id_of(self, piece: str) -> int | None:
        """Id of a piece, added tokens included; None when there is no such piece."""
        return self._ids(piece)

    def text(self, pieces: Sequence[str]) -> str:
        """Join raw pieces into text with the tokenizer's decoder."""
        return self._decode(pieces)

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Text of `token_ids`; unknown ids give nothing."""
        if self.decoder == "byte_level":
            rows = self._kept_bytes if skip_special_tokens else self._bytes
            return b"".join(map(rows.__getitem__, token_ids)).decode("utf-8", "replace")
        kept = [token_id for token_id in token_ids if not (skip_special_tokens and self.is_skipped(token_id))]
        return self._decode([piece for token_id in kept if (piece := self._pieces[token_id]) is not None])

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

    def _read_piece(self, token_id: int) -> str | None:
        return self._table.piece(token_id).decode() if self._flag(token_id, PRESENT) else None

    def _read_kept_bytes(self, token_id: int) -> bytes:
        return b"" if self._flag(token_id, SKIPPED) else self._table.data(token_id)

    def _find(self, piece: str) -> int | None:
        return self._table.find(piece.encode("utf-8", "surrogatepass"))
