"""The tokenizer of a model as packing sees it, whatever form its files have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from renderlayer.bundle.pack.families import MISTRAL, renderer_of
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.pack.special_tokens import named_tokens, unnamed_tokens
from renderlayer.bundle.pack.tokenizer import build_reference


class Reference(NamedTuple):
    """A model's tokenizer, whose file is written to the bundle.

    Attributes:
        full: the `tokenizers.Tokenizer` that decodes and knows every token.
        encoder: the one that encodes; it differs where texts never become special tokens.
        named: named special tokens, by name.
        special: texts of all tokens that count as special.
        options: what the renderer needs to know (`Facts.renderer_options`).
    """

    full: Any
    encoder: Any
    named: dict[str, str]
    special: list[str]
    options: dict[str, Any]


def reference_of(source: ModelSource, out: Path) -> Reference:
    """Write the bundle's tokenizer.json.

    Raises:
        ConfigurationError: the model has no tokenizer that can be packed.
    """
    if renderer_of(source) == MISTRAL:
        from renderlayer.bundle.pack.mistral import build_mistral

        return build_mistral(source, out)
    reference, named = build_reference(source, out), named_tokens(source)
    return Reference(reference, reference, named, [*named.values(), *unnamed_tokens(source)], {})
