"""OpenAI's harmony library with its vocabulary, rebuilt from a tokenizer file: it would download it otherwise."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle.decoding import byte_level_bytes


@contextmanager
def harmony_encoding(tokenizer_file: Path, folder: Path) -> Iterator[Any]:
    """The library's encoding of gpt-oss.

    Args:
        tokenizer_file: a tokenizer.json of gpt-oss.
        folder: an empty folder for the vocabulary in the library's format.
    """
    library = pytest.importorskip("openai_harmony")
    vocabulary = json.loads(tokenizer_file.read_bytes())["model"]["vocab"]
    rows = sorted((token_id, byte_level_bytes(piece)) for piece, token_id in vocabulary.items())
    (folder / "o200k_base.tiktoken").write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(data), token_id) for token_id, data in rows)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_ENCODINGS_BASE", str(folder))
        yield library.load_harmony_encoding(library.HarmonyEncodingName.HARMONY_GPT_OSS)
