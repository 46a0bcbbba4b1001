"""Encoding a text in which nothing becomes an added token, whatever it spells: text that must stay text.

Most texts spell no added token; those are encoded by the tokenizer itself. The rare others need a tokenizer without
added tokens: compiled where packing proved it equal, else made from the bundle's tokenizer.json.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from renderlayer.bundle.utf8 import require_utf8

Encode = Callable[[str], list[int]]

PLAIN_FILE = "plain.kitoken"


class PlainEncoder:
    """Callable that encodes a text as text.

    Args:
        folder: the bundle.
        encode: the tokenizer's own encoding, which recognises added tokens.
        added: gives the texts of the added tokens.
    """

    def __init__(self, folder: Path, encode: Encode, added: Callable[[], Iterable[str]]) -> None:
        self._folder = folder
        self._encode = encode
        self._added = added
        self._lock = threading.Lock()
        self._pattern: re.Pattern[str] | None = None
        self._plain: Encode | None = None

    def __call__(self, text: str) -> list[int]:
        """Token ids of `text`.

        Raises:
            BadRequest: the text holds a lone surrogate.
        """
        if self._pattern is None:
            self._pattern = re.compile("|".join(map(re.escape, self._added())) or r"(?!)")
        if not self._pattern.search(text):
            return self._encode(text)
        require_utf8(text)
        with self._lock:
            if self._plain is None:
                self._plain = self._load()
        return self._plain(text)

    def _load(self) -> Encode:
        file = self._folder / PLAIN_FILE
        self._encode("")  # waits for the tokenizer's own engine, whose thread must be the one that imports kitoken
        if file.is_file():
            from kitoken import Kitoken

            encode = Kitoken.from_file(str(file)).encode
            return lambda text: encode(text, True)
        reference = without_added(self._folder / "tokenizer.json")
        return lambda text: reference.encode(text, add_special_tokens=False).ids


def without_added(file: Path) -> Any:
    """The `tokenizers.Tokenizer` of a tokenizer file, without added tokens and post-processor."""
    from tokenizers import Tokenizer as HFTokenizer

    return HFTokenizer.from_str(json.dumps(bare(file)))


def bare(file: Path) -> dict[str, Any]:
    """The content of a tokenizer file without added tokens, post-processor, truncation and padding."""
    content: dict[str, Any] = json.loads(file.read_bytes())
    return {**content, "added_tokens": [], "post_processor": None, "truncation": None, "padding": None}
