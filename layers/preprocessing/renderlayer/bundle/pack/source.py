"""Where a model is packed from: a local folder in Hub layout, or a Hub id of which the small files are downloaded."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from renderlayer.bundle.pack.params import config_of
from renderlayer.errors import ConfigurationError

PATTERNS = (
    "config.json",
    "params.json",
    "generation_config.json",
    "tokenizer*.json",
    "tokenizer.model*",
    "tekken.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "chat_template*",
    "*.jinja",
    "additional_chat_templates/*.jinja",
    "preprocessor_config.json",
    "processor_config.json",
    "response_template.json",
    "video_preprocessor_config.json",
)
"""The files of a model that a bundle is made from; weights are never fetched."""

_PROCESSOR_STEMS = ("preprocessor_config", "processor_config", "video_preprocessor_config")


class ModelSource:
    """The small files of a model.

    Args:
        folder: where they lie.
        name: what they are called in the bundle: the Hub id, or the folder's name.
        revision: commit of a Hub id, or "".
    """

    def __init__(self, folder: Path, name: str, revision: str = "") -> None:
        self.folder = folder
        self.name = name
        self.revision = revision

    @cached_property
    def files(self) -> list[Path]:
        """The files a bundle depends on, sorted by their path within the folder."""
        found = {path for pattern in PATTERNS for path in self.folder.glob(pattern) if path.is_file()}
        return sorted(found)

    def digests(self) -> dict[str, str]:
        """SHA-256 of each file, by path within the folder."""
        return {
            path.relative_to(self.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in self.files
        }

    def cheap_fingerprint(self, extra: Iterable[tuple[str, str]]) -> str:
        """A key for this state of the files, from their names, sizes and times, and from `extra`."""
        parts = [self.name, self.revision, *(text for pair in extra for text in pair)]
        for path in self.files:
            status = path.stat()
            parts += [path.name, str(status.st_size), str(status.st_mtime_ns)]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]

    def json(self, name: str) -> dict[str, Any]:
        """A JSON object of the folder; empty when there is no such file.

        Raises:
            ConfigurationError: the file is no JSON object.
        """
        path = self.folder / name
        if not path.is_file():
            return {}
        try:
            value = json.loads(path.read_bytes())
        except ValueError as error:
            raise ConfigurationError(f"{path} is not JSON: {error}") from error
        if not isinstance(value, dict):
            raise ConfigurationError(f"{path} is not a JSON object")
        return value

    @cached_property
    def config(self) -> dict[str, Any]:
        """config.json, or what Mistral's own params.json says in its place."""
        return self.json("config.json") or config_of(self.json("params.json"))

    @cached_property
    def tokenizer_config(self) -> dict[str, Any]:
        return self.json("tokenizer_config.json")

    @cached_property
    def processor(self) -> dict[str, Any]:
        """Processor configurations by their file's stem; only those that exist."""
        return {stem: value for stem in _PROCESSOR_STEMS if (value := self.json(f"{stem}.json"))}


def find_source(model: str, revision: str | None = None) -> ModelSource:
    """The files of `model`, a folder or a Hub id; a Hub id's small files are downloaded into the Hub's cache.

    Raises:
        ConfigurationError: neither a model folder nor a Hub id that can be reached.
    """
    folder = Path(model)
    if folder.is_dir():
        if not any((folder / name).is_file() for name in ("config.json", "params.json")):
            raise ConfigurationError(f"{model} is no model folder: it has no config.json and no params.json")
        return ModelSource(folder, folder.resolve().name)
    if model.startswith((".", "/", "~")) or model.count("/") != 1:
        raise ConfigurationError(f"{model!r} is neither a folder nor a Hub id such as Qwen/Qwen3-0.6B")
    return _download(model, revision)


def _download(model: str, revision: str | None) -> ModelSource:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ConfigurationError(
            f"{model!r} is not a folder, and huggingface-hub, which fetches Hub ids, is not installed: "
            "pip install 'renderlayer[hub]'"
        ) from error
    try:
        folder = Path(snapshot_download(model, revision=revision, allow_patterns=list(PATTERNS)))
    except Exception as error:
        raise ConfigurationError(f"cannot fetch {model!r} from the Hub: {error}") from error
    return ModelSource(folder, model, folder.name)
