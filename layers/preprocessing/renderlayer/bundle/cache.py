"""Opening whatever `settings.model` names; a model that is not a bundle is packed into a cache on first use."""

from __future__ import annotations

import os
from pathlib import Path

from renderlayer import __version__
from renderlayer.bundle.model import FORMAT, MANIFEST, Model, open_bundle
from renderlayer.errors import ConfigurationError
from renderlayer.settings import Settings


def open_model(settings: Settings) -> Model:
    """Open the model of `settings`: a bundle, a model folder or a Hub id.

    Raises:
        ConfigurationError: there is no such model, or it cannot be packed.
    """
    if not settings.model:
        raise ConfigurationError("no model: give one, or set RENDERLAYER_MODEL")
    folder = Path(settings.model)
    if not (folder / MANIFEST).is_file():
        folder = _packed(settings.model, settings.revision or None)
    return open_bundle(folder, settings)


def _packed(model: str, revision: str | None) -> Path:
    """The cached bundle of a model, packed now if it is not there. Safe when several processes do so at once."""
    import hashlib

    from renderlayer.bundle.pack import pack
    from renderlayer.bundle.pack.source import find_source

    source = find_source(model, revision)
    parts = [str(FORMAT), __version__, source.name, source.revision]
    for path in source.files:
        status = path.stat()
        parts += [path.name, str(status.st_size), str(status.st_mtime_ns)]
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    out = cache_folder() / key
    if not (out / MANIFEST).is_file():
        pack(source.folder, out)
    return out


def cache_folder() -> Path:
    """Where packed models are kept: $XDG_CACHE_HOME/renderlayer, by default ~/.cache/renderlayer."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "renderlayer"
