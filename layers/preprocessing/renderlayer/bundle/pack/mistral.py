"""Packing tokenizers in Mistral's own forms, `tekken.json` and `tokenizer.model.v*` (wire.md 3.7).

They become a Hugging Face tokenizer that is proved equal to mistral-common's. Its file has no added tokens, since
mistral-common never reads a control token out of a text; the vocabulary table knows them as special.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from renderlayer.bundle.decoding import byte_level_piece
from renderlayer.bundle.pack.families import mistral_file
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.pack.tokenizer import Reference, proof_texts
from renderlayer.errors import ConfigurationError

VISIBLE = ("[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]")
"""Control tokens that stay in decoded text, because parsers look for them."""
_NAMED = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
_SPACE = "▁"


def build_mistral(source: ModelSource, out: Path) -> Reference:
    """Write the bundle's tokenizer.json and prove it.

    Raises:
        ConfigurationError: mistral-common is not installed, cannot read the file, or encodes otherwise.
    """
    from tokenizers import Tokenizer

    file = mistral_file(source)
    assert file is not None
    theirs = _load(source, file)
    content = _tekken(json.loads(file.read_bytes())) if file.suffix == ".json" else _sentencepiece(file)
    controls = {theirs.id_to_piece(token_id): token_id for token_id in sorted(theirs.special_ids)}
    vocabulary = content["model"]["vocab"]
    if controls.keys() & vocabulary.keys():
        raise ConfigurationError(f"{source.name} cannot be packed: a control token is a piece of its vocabulary, too")
    vocabulary |= controls
    bare = {"version": "1.0", "added_tokens": [], "post_processor": _with_bos(theirs), **content}
    (out / "tokenizer.json").write_text(json.dumps(bare, ensure_ascii=False), encoding="utf-8")
    encoder = Tokenizer.from_str(json.dumps(bare))
    full = Tokenizer.from_str(json.dumps({**bare, "added_tokens": [_added(*row) for row in controls.items()]}))
    _prove(source, theirs, encoder, proof_texts(full))
    named = {name: text for name, text in _NAMED.items() if text in controls}
    special = [text for text in controls if text not in VISIBLE]
    return Reference(full, encoder, named, special, _options(theirs))


def _prove(source: ModelSource, theirs: Any, encoder: Any, texts: Sequence[str]) -> None:
    for text, encoding in zip(texts, encoder.encode_batch(texts, add_special_tokens=False), strict=True):
        if encoding.ids != theirs.encode(text, bos=False, eos=False):
            raise ConfigurationError(f"{source.name} cannot be packed: mistral-common encodes {text[:80]!r} otherwise")


def _load(source: ModelSource, file: Path) -> Any:
    """mistral-common's tokenizer of a file, without its instructions."""
    try:
        from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
    except ImportError as error:
        raise ConfigurationError(
            f"{source.name} has a tokenizer of the family mistral, whose prompts mistral-common writes, and that is "
            "not installed: pip install 'renderlayer[dialects]'"
        ) from error
    try:
        return MistralTokenizer.from_file(file).instruct_tokenizer.tokenizer
    except Exception as error:
        raise ConfigurationError(f"{source.name} cannot be packed: mistral-common says: {error}") from error


def _options(theirs: Any) -> dict[str, Any]:
    settings = theirs.model_settings_builder
    return {
        "version": theirs.version.value,
        "model_settings": None if settings is None else settings.model_dump(mode="json"),
    }


def _tekken(content: dict[str, Any]) -> dict[str, Any]:
    """Byte-level BPE: a piece's rank is its priority, and its id behind the control tokens."""
    config = content["config"]
    shift, size = config["default_num_special_tokens"], config["default_vocab_size"]
    pieces = [byte_level_piece(base64.b64decode(row["token_bytes"])) for row in content["vocab"][: size - shift]]
    split = {"type": "Split", "pattern": {"Regex": config["pattern"]}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
        "decoder": level,
        "model": {
            "type": "BPE",
            "vocab": {piece: shift + rank for rank, piece in enumerate(pieces)},
            "merges": _merges(pieces),
        },
    }


def _sentencepiece(file: Path) -> dict[str, Any]:
    """BPE over characters with a leading space, and bytes for those that the vocabulary lacks.

    A piece's priority is its score. Runs of spaces share one; SentencePiece then takes the leftmost, which grows a run
    from the left, as does a priority for longer pieces.
    """
    from sentencepiece import SentencePieceProcessor

    model = SentencePieceProcessor(model_file=str(file))
    ids = [token_id for token_id in range(model.get_piece_size()) if not model.IsControl(token_id)]
    vocabulary = {model.id_to_piece(token_id): token_id for token_id in ids}
    scores = {
        piece: model.get_score(token_id)
        for piece, token_id in vocabulary.items()
        if not (model.IsByte(token_id) or model.IsUnknown(token_id))
    }
    space = {"type": "Replace", "pattern": {"String": " "}, "content": _SPACE}
    back = {"type": "Replace", "pattern": {"String": _SPACE}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return {
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": _SPACE}, space]},
        "pre_tokenizer": None,
        "decoder": {"type": "Sequence", "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]},
        "model": {
            "type": "BPE",
            "vocab": vocabulary,
            "merges": _merges(sorted(scores, key=lambda piece: (-scores[piece], -len(piece)))),
            "byte_fallback": True,
        },
    }


def _merges(pieces: Sequence[str]) -> list[tuple[str, str]]:
    """Every way to put a piece together from two others, in the order of the pieces."""
    known = set(pieces)
    return [
        (piece[:cut], piece[cut:])
        for piece in pieces
        for cut in range(len(piece) - 1, 0, -1)
        if piece[:cut] in known and piece[cut:] in known
    ]


def _with_bos(theirs: Any) -> dict[str, Any]:
    """A post-processor that puts BOS in front."""
    bos, text = "<s>", {"Sequence": {"id": "A", "type_id": 0}}
    start = {"SpecialToken": {"id": bos, "type_id": 0}}
    return {
        "type": "TemplateProcessing",
        "single": [start, text],
        "pair": [start, text, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {bos: {"id": bos, "ids": [theirs.bos_id], "tokens": [bos]}},
    }


def _added(text: str, token_id: int) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token_id, "content": text, "special": text not in VISIBLE, **flags}
