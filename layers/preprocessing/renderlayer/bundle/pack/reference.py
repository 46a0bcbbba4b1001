"""The tokenizer of a model as packing sees it, whatever form its files have."""

from __future__ import annotations

from pathlib import Path

from renderlayer.bundle.pack.families import MISTRAL, renderer_of
from renderlayer.bundle.pack.mistral import build_mistral
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.pack.special_tokens import named_tokens, unnamed_tokens
from renderlayer.bundle.pack.tokenizer import Reference, build_reference


def reference_of(source: ModelSource, out: Path) -> Reference:
    """Write the bundle's tokenizer.json.

    Raises:
        ConfigurationError: the model has no tokenizer that can be packed.
    """
    if renderer_of(source) == MISTRAL:
        return build_mistral(source, out)
    reference, named = build_reference(source, out), named_tokens(source)
    return Reference(reference, reference, named, [*named.values(), *unnamed_tokens(source)], {})
