"""The family of a packed model, and the fingerprint of everything that shapes its payloads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from weakref import ref

from renderlayer.bundle import Model
from renderlayer.multimodal.families import build
from renderlayer.multimodal.families.base import Facts, Family

# Raised when the bytes of payloads change for equal inputs.
PAYLOAD_VERSION = 3


class _Lexicon:
    """What families need of the bundle's tokenizer and vocabulary."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def id_of(self, piece: str) -> int | None:
        return self._model.vocabulary.id_of(piece)

    def encode(self, text: str) -> list[int]:
        return self._model.tokenizer.encode(text)


# A model is frozen but holds lists, so it is found by identity; a dead reference marks an id that was used again.
_families: dict[int, tuple[ref[Model], Family | None]] = {}


def family_of(model: Model) -> Family | None:
    """The family that lays out the model's media; None for a text model."""
    known = _families.get(id(model))
    if known is None or known[0]() is not model:
        known = _families[id(model)] = (ref(model), build(facts_of(model)))
    return known[1]


def facts_of(model: Model) -> Facts:
    """What families read, from the facts of a bundle; a processor_config may hold the other parts itself."""
    files = model.facts.processor
    whole: Mapping[str, Any] = files.get("processor_config", {})
    image = files.get("preprocessor_config") or whole.get("image_processor") or {}
    return Facts(
        config=model.facts.config,
        image=image,
        video=files.get("video_preprocessor_config") or whole.get("video_processor") or image,
        audio=whole.get("feature_extractor") or image,
        processor=whole,
        lexicon=_Lexicon(model),
        named=model.facts.special_tokens,
    )


def fingerprint(model: Model, *options: Any) -> str:
    """A digest of what changes payloads beside the items: model files, options, code."""
    family = family_of(model)
    torch = family is not None and not family.portable and find_spec("torch") is not None
    parts = [PAYLOAD_VERSION, model.facts.fingerprint, torch, options]
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
