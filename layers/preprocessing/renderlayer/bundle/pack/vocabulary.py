"""The vocabulary table of a tokenizer, and the decoder that is proved to join its pieces as `tokenizers` does."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from renderlayer.bundle.decoding import bytes_of, decoder_of
from renderlayer.bundle.table import ADDED, SKIPPED, SPECIAL, Row, write_table
from renderlayer.bundle.tokenizer import join_pieces

OTHER = {"kind": "other"}


def describe_decoder(reference: Any, id_lists: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Find the decoder of a `tokenizers.Tokenizer` and prove it on lists of ids.

    Returns:
        The `vocabulary` object of `bundle.json`: the decoder (`decoding`) and the evidence.
    """
    found = _recognise(reference)
    if found["kind"] == "other":
        return {"decoder": OTHER, "equal": 0, "difference": "no decoder of a known kind"}
    decode = decoder_of(found, lambda pieces: "")
    for ids in id_lists:
        pieces = [piece for token_id in ids if (piece := reference.id_to_token(token_id)) is not None]
        if decode(pieces) != reference.decode(list(ids), skip_special_tokens=False):
            return {"decoder": OTHER, "equal": 0, "difference": f"ids {list(ids)[:16]}"}
    return {"decoder": found, "equal": len(id_lists), "difference": ""}


def proof_ids(reference: Any, encoded: Sequence[list[int]], count: int = 1500) -> list[list[int]]:
    """Lists of ids on which decoders are compared: encoded texts, whole and cut, and random ids."""
    source = random.Random(13)
    size = reference.get_vocab_size()
    lists = [ids for ids in encoded[:count] if ids]
    lists += [ids[source.randrange(len(ids)) :][: source.randint(1, 6)] for ids in lists]
    return lists + [source.choices(range(size), k=source.randint(1, 8)) for _ in range(count)]


def write_vocabulary(path: Path, reference: Any, decoder: dict[str, Any], special: Iterable[str]) -> int:
    """Write the table and return the number of code points of the longest piece.

    Args:
        decoder: what `describe_decoder` found.
        special: texts of the named special tokens.
    """
    named = {token_id for text in special if (token_id := reference.token_to_id(text)) is not None}
    added = reference.get_added_tokens_decoder()
    piece_bytes = bytes_of(decoder, lambda pieces: join_pieces(reference, pieces))
    rows = []
    vocabulary: dict[str, int] = reference.get_vocab(with_added_tokens=True)
    for piece, token_id in vocabulary.items():
        token = added.get(token_id)
        flags = SPECIAL if token_id in named else 0
        if token is not None:
            flags |= ADDED | SKIPPED if token.special else ADDED
        rows.append(Row(token_id, piece, piece_bytes(piece), flags))
    write_table(path, rows)
    return max(map(len, vocabulary), default=0)


def _recognise(reference: Any) -> dict[str, Any]:
    """The description of the decoder in a tokenizer file (`decoding`)."""
    written = json.loads(reference.decoder.__getstate__()) if reference.decoder is not None else {}
    steps = written.get("decoders", [written])
    kinds = [step.get("type") for step in steps]
    if kinds == ["ByteLevel"]:
        return {"kind": "byte_level"}
    if kinds == ["Metaspace"]:
        drop = steps[0].get("prepend_scheme", "always") != "never"
        return _metaspace(steps[0]["replacement"], drop_first=drop)
    if kinds[:3] == ["Replace", "ByteFallback", "Fuse"]:
        return _replace(steps)
    return OTHER


def _replace(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """Llama 2 and Gemma: a character is replaced by a space, bytes are joined, and perhaps a space is cut in front."""
    pattern, rest = steps[0].get("pattern", {}).get("String"), steps[3:]
    if not pattern or steps[0].get("content") != " ":
        return OTHER
    if not rest:
        return _metaspace(pattern, byte_fallback=True)
    if len(rest) == 1 and rest[0].get("type") == "Strip" and rest[0].get("content") == " " and not rest[0].get("stop"):
        return _metaspace(pattern, byte_fallback=True, strip=rest[0]["start"])
    return OTHER


def _metaspace(
    replacement: str, drop_first: bool = False, byte_fallback: bool = False, strip: int = 0
) -> dict[str, Any]:
    return {
        "kind": "metaspace",
        "replacement": replacement,
        "drop_first": drop_first,
        "byte_fallback": byte_fallback,
        "strip": strip,
    }
