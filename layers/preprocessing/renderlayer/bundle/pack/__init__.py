"""Packing: a model folder or a Hub id becomes a bundle. All that is slow or doubtful happens here, once."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from renderlayer import __version__
from renderlayer.bundle.model import FORMAT, MANIFEST
from renderlayer.bundle.pack.boundaries import describe_boundaries
from renderlayer.bundle.pack.facts import describe_facts
from renderlayer.bundle.pack.families import check_supported, keeps_texts
from renderlayer.bundle.pack.plain import describe_plain
from renderlayer.bundle.pack.reference import reference_of
from renderlayer.bundle.pack.scratch import scratch
from renderlayer.bundle.pack.source import ModelSource, find_source
from renderlayer.bundle.pack.templates import describe_templates
from renderlayer.bundle.pack.tokenizer import describe_engine, proof_texts
from renderlayer.bundle.pack.vocabulary import describe_decoder, proof_ids, write_vocabulary
from renderlayer.errors import ConfigurationError

logger = logging.getLogger(__name__)

__all__ = ["pack", "pack_source", "packer_versions", "write_manifest"]


def pack(
    source: str | Path, out: str | Path, revision: str | None = None, check: Callable[[Path], None] | None = None
) -> Path:
    """Pack a model into a bundle. Packing the same model twice gives the same bytes.

    Args:
        source: a local folder in Hub layout, or a Hub id.
        out: the folder to write; it must not exist, be empty, or be a bundle (which is replaced).
        revision: branch, tag or commit of a Hub id.
        check: is given the finished bundle before it takes its place; what it raises keeps the bundle from it.

    Returns:
        The folder written.

    Raises:
        ConfigurationError: the model cannot be packed, or `out` holds something else.
    """
    out = Path(out)
    if out.exists() and not (out.is_dir() and (not any(out.iterdir()) or (out / MANIFEST).is_file())):
        raise ConfigurationError(f"{out} exists and is no bundle: choose another folder")
    found = find_source(str(source), revision)
    try:
        pack_source(found, out, check=check)
    except OSError as error:
        raise ConfigurationError(
            f"cannot pack {source} into {out}: {error.strerror or error} ({error.filename})"
        ) from error
    return out


def pack_source(
    source: ModelSource, out: Path, fastokens: bool = True, check: Callable[[Path], None] | None = None
) -> None:
    """Pack `source` into `out`, which is replaced when the bundle is complete.

    Args:
        fastokens: prove fastokens as well, where it is installed; it takes seconds to load.

    Raises:
        ConfigurationError: the model cannot be packed.
    """
    check_supported(source)
    out.parent.mkdir(parents=True, exist_ok=True)
    with scratch(out) as work:
        _write(source, work, fastokens)
        work.chmod(0o755)
        if check is not None:
            check(work)
        _replace(work, out)


def packer_versions() -> dict[str, str]:
    """Versions of what packs and is proved; another one means packing again."""
    engines = ("jinja2", "kitoken", "minijinja", "tokenizers")
    return {"format": str(FORMAT), "renderlayer": __version__, **{name: version(name) for name in engines}}


def _write(source: ModelSource, out: Path, fastokens: bool) -> None:
    logger.info("reading the tokenizer of %s", source.name)
    reference = reference_of(source, out)
    full, encoder = reference.full, reference.encoder
    texts = proof_texts(full)
    logger.info("trying which tokenizer engines equal Hugging Face's tokenizers, on %s texts", f"{len(texts):,}")
    expected = [encoding.ids for encoding in encoder.encode_batch(texts, add_special_tokens=False)]
    vocabulary = describe_decoder(full, proof_ids(full, expected))
    tokenizer = describe_engine(encoder, out, vocabulary["decoder"], texts, expected, fastokens)
    tokenizer["boundaries"] = describe_boundaries(encoder, reference.special)
    if keeps_texts(source):
        tokenizer["plain"] = describe_plain(out, texts)
    logger.info("writing the vocabulary")
    longest = write_vocabulary(out / "vocabulary.bin", full, vocabulary["decoder"], reference.special)
    logger.info("trying whether minijinja renders the chat templates as jinja2 does")
    templates = describe_templates(source, reference.named, out)
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "facts": describe_facts(source, reference, tokenizer, templates, longest, packer_versions()),
        "tokenizer": tokenizer,
        "vocabulary": vocabulary,
        "templates": templates,
        "source": {"name": source.name, "revision": source.revision, "files": source.digests()},
        "files": {path.name: path.stat().st_size for path in sorted(out.iterdir())},
    }
    manifest["facts"]["fingerprint"] = _fingerprint(out)
    write_manifest(manifest, out)


def write_manifest(manifest: dict[str, Any], out: Path) -> None:
    """Write a bundle's manifest; the same one gives the same bytes."""
    (out / MANIFEST).write_text(
        json.dumps(manifest, ensure_ascii=False, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def _fingerprint(out: Path) -> str:
    """SHA-256 over the names and contents of the files written."""
    digest = hashlib.sha256()
    for path in sorted(out.iterdir()):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _replace(work: Path, out: Path) -> None:
    """Move a finished bundle into place; a bundle that was there goes."""
    if not out.exists():
        os.rename(work, out)
        return
    with scratch(out) as old:
        os.rename(out, old / "bundle")
        os.rename(work, out)
