"""The family of a packed model, and the fingerprint of everything that shapes its payloads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from renderlayer.multimodal.families import build
from renderlayer.multimodal.families.base import Facts, Family

# Raised when the bytes of payloads change for equal inputs.
PAYLOAD_VERSION = 1

_families: WeakKeyDictionary[Any, Family | None] = WeakKeyDictionary()


class _Lexicon:
    """What families need of the bundle's tokenizer and vocabulary."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def id_of(self, piece: str) -> int | None:
        found: int | None = self._model.vocabulary.id_of(piece)
        return found

    def encode(self, text: str) -> list[int]:
        return list(self._model.tokenizer.encode(text, add_special_tokens=False))


def family_of(model: Any) -> Family | None:
    """The family that lays out the model's media; None for a text model."""
    if model not in _families:
        _families[model] = build(facts_of(model))
    return _families[model]


def facts_of(model: Any) -> Facts:
    """What families read, from the facts of a bundle.

    `facts.processor` maps the names of the processor files, without `.json`, to their contents; a processor_config
    may hold the image, video and audio parts itself.
    """
    files: Mapping[str, Any] = model.facts.processor or {}
    whole = files.get("processor_config", {})
    image = files.get("preprocessor_config") or whole.get("image_processor") or {}
    return Facts(
        config=model.facts.config,
        image=image,
        video=files.get("video_preprocessor_config") or whole.get("video_processor") or image,
        audio=whole.get("feature_extractor") or image,
        processor=whole,
        lexicon=_Lexicon(model),
    )


def fingerprint(model: Any, *options: Any) -> str:
    """A digest of what changes payloads beside the items: model, processor configuration, options, code."""
    parts = [PAYLOAD_VERSION, model.facts.config, model.facts.processor, options]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
