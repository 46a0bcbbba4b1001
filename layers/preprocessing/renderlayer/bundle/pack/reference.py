"""The tokenizer of a model as packing sees it, whatever form its files have."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from renderlayer.bundle.pack.families import MISTRAL, renderer_of
from renderlayer.bundle.pack.mistral import build_mistral
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.bundle.pack.special_tokens import named_tokens, unnamed_tokens
from renderlayer.bundle.pack.tokenizer import Reference, build_reference
from renderlayer.errors import ConfigurationError

_VOCABULARIES = ("vocab.json", "vocab.txt", "tokenizer.model*")
"""Files from which transformers makes a tokenizer."""


def reference_of(source: ModelSource, out: Path) -> Reference:
    """Write the bundle's tokenizer.json.

    Raises:
        ConfigurationError: the model has no tokenizer that can be packed.
    """
    if renderer_of(source) == MISTRAL:
        return build_mistral(source, out)
    with TemporaryDirectory() as made:
        reference, named = build_reference(source, _file(source, Path(made)), out), named_tokens(source)
    return Reference(reference, reference, named, [*named.values(), *unnamed_tokens(source)], {})


def _file(source: ModelSource, made: Path) -> Path:
    """The model's tokenizer.json, or one that transformers makes of its vocabulary, as the reference has it made.

    Raises:
        ConfigurationError: there is neither, or it cannot be made.
    """
    original = source.folder / "tokenizer.json"
    if original.is_file():
        return original
    if not any(path for pattern in _VOCABULARIES for path in source.folder.glob(pattern)):
        raise ConfigurationError(f"{source.name} has no tokenizer.json, and no vocabulary to make one of")
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise ConfigurationError(
            f"{source.name} has no tokenizer.json, and transformers, which can make one of its vocabulary, is not "
            "installed: pip install transformers"
        ) from error
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(source.folder), trust_remote_code=False, local_files_only=True)
        tokenizer.backend_tokenizer.save(str(made / "tokenizer.json"))
    except Exception as error:  # of whatever the model's class reads
        raise ConfigurationError(
            f"{source.name} has no tokenizer.json, and transformers cannot make one: {str(error)[:500]}"
        ) from error
    return made / "tokenizer.json"
