"""Pieces to text, as the decoder of the tokenizer's file does it.

A decoder is described in `bundle.json` by a small object; packing proves it equal to `tokenizers`:

    {"kind": "byte_level"}                          characters stand for bytes (GPT-2's table)
    {"kind": "metaspace", "replacement": "▁",       a character stands for a space
     "drop_first": bool,                            the first piece loses its replacement characters
     "byte_fallback": bool,                         pieces such as <0x0A> stand for bytes
     "strip": n}                                    at most n spaces are cut from the start
    {"kind": "other"}                               `tokenizers` itself decodes
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

Decoder = Callable[[Sequence[str]], str]

_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")


def _byte_of_character() -> dict[int, int]:
    """GPT-2's table from characters to bytes: printable bytes stand for themselves, the others follow 255.

    Characters below 256 that stand for nothing are sent above it, where encoding as Latin-1 refuses them.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = dict.fromkeys(others, 0xFFFF) | {byte: byte for byte in printable}
    return table | {256 + index: byte for index, byte in enumerate(others)}


_BYTES = _byte_of_character()
_CHARACTERS = {byte: chr(code) for code, byte in _BYTES.items() if byte < 256}


@lru_cache(maxsize=1 << 16)
def byte_level_bytes(piece: str) -> bytes:
    """Bytes of a byte-level piece; a piece with any other character (an added token) stands for its own UTF-8."""
    try:
        return piece.translate(_BYTES).encode("latin-1")
    except UnicodeEncodeError:
        return piece.encode()


def byte_level_piece(data: bytes) -> str:
    """The byte-level piece that stands for `data`."""
    return "".join(map(_CHARACTERS.__getitem__, data))


def byte_level(pieces: Sequence[str]) -> str:
    return b"".join(map(byte_level_bytes, pieces)).decode("utf-8", "replace")


class Metaspace:
    """Decoder of SentencePiece-like vocabularies."""

    def __init__(self, replacement: str, drop_first: bool, byte_fallback: bool, strip: int) -> None:
        self.replacement = replacement
        self.drop_first = drop_first
        self.byte_fallback = byte_fallback
        self.strip = strip

    def __call__(self, pieces: Sequence[str]) -> str:
        out: list[str] = []
        run = bytearray()
        for index, piece in enumerate(pieces):
            byte = _BYTE_PIECE.match(piece) if self.byte_fallback else None
            if byte:
                run.append(int(byte[1], 16))
                continue
            out.append(_run_text(run))
            run.clear()
            out.append(piece.replace(self.replacement, "" if self.drop_first and index == 0 else " "))
        out.append(_run_text(run))
        text = "".join(out)
        spaces = min(len(text) - len(text.lstrip(" ")), self.strip)
        return text[spaces:]

    def piece_bytes(self, piece: str) -> bytes:
        """Bytes of a piece that is not the first."""
        byte = _BYTE_PIECE.match(piece) if self.byte_fallback else None
        return bytes([int(byte[1], 16)]) if byte else piece.replace(self.replacement, " ").encode()


def _run_text(run: bytearray) -> str:
    """A run of byte pieces is a string when all of it is UTF-8, else one U+FFFD a byte."""
    try:
        return run.decode()
    except UnicodeDecodeError:
        return "\ufffd" * len(run)


def bytes_of(description: Mapping[str, Any], fallback: Decoder) -> Callable[[str], bytes]:
    """A function from a piece that is not the first to the bytes that it stands for."""
    if description["kind"] == "byte_level":
        return byte_level_bytes.__wrapped__
    decode = decoder_of(description, fallback)
    return decode.piece_bytes if isinstance(decode, Metaspace) else lambda piece: decode([piece]).encode()


def decoder_of(description: Mapping[str, Any], fallback: Decoder) -> Decoder:
    """The decoder that `bundle.json` describes; `fallback` decodes for the kind "other"."""
    if description["kind"] == "byte_level":
        return byte_level
    if description["kind"] == "metaspace":
        return Metaspace(
            description["replacement"], description["drop_first"], description["byte_fallback"], description["strip"]
        )
    return fallback
