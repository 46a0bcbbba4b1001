"""A packed model, opened: what every endpoint works with."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from renderlayer.bundle.facts import Facts
from renderlayer.bundle.table import VocabularyTable
from renderlayer.bundle.templates import Templates
from renderlayer.bundle.tokenizer import Tokenizer, join_pieces
from renderlayer.bundle.vocabulary import Vocabulary
from renderlayer.errors import ConfigurationError
from renderlayer.settings import Settings

FORMAT = 8
"""Version of the bundle's layout; a bundle of another version is packed again."""
MANIFEST = "bundle.json"


@dataclass(frozen=True)
class Model:
    """A model's facts, tokenizer, vocabulary and templates."""

    facts: Facts
    tokenizer: Tokenizer
    vocabulary: Vocabulary
    templates: Templates


def open_bundle(path: str | Path, settings: Settings | None = None, encodes: bool = True) -> Model:
    """Open a bundle that `renderlayer pack` wrote.

    Args:
        path: the bundle's folder.
        settings: gives the server's chat template, content format and limits (default: none of them set).
        encodes: whether texts will be encoded, so that what does it is loaded at once; else with the first of them.

    Raises:
        ConfigurationError: no bundle there, or one of another version.
    """
    folder, settings = Path(path), settings or Settings()
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        raise ConfigurationError(f"{folder} holds no {MANIFEST}: make a bundle with `renderlayer pack`") from error
    except ValueError as error:
        raise ConfigurationError(f"{folder}/{MANIFEST} is damaged: pack the model again") from error
    if manifest.get("format") != FORMAT:
        raise ConfigurationError(f"{folder} is a bundle of another version: pack the model again")
    facts = Facts.from_json(manifest["facts"])
    if settings.chat_template:
        facts = replace(facts, thinking_switches={})  # they were found for the model's own template
    vocabulary = Vocabulary(
        VocabularyTable(folder / "vocabulary.bin"),
        manifest["vocabulary"]["decoder"],
        lambda pieces: join_pieces(tokenizer.reference, pieces),
    )
    tokenizer = Tokenizer(folder, manifest["tokenizer"], vocabulary, settings.fast_tokenizer_after or 0)
    if encodes:
        tokenizer.load()
    templates = Templates(
        folder,
        manifest["templates"],
        facts.special_tokens,
        settings.chat_template,
        settings.chat_template_content_format,
        settings.template_seconds,
        settings.template_memory_bytes,
    )
    return Model(facts, tokenizer, vocabulary, templates)
