"""Opening whatever `settings.model` names; a model that is not a bundle is packed into a cache on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from renderlayer.bundle.model import FORMAT, MANIFEST, Model, open_bundle
from renderlayer.errors import ConfigurationError
from renderlayer.settings import Settings


def open_model(settings: Settings, encodes: bool = True) -> Model:
    """Open the model of `settings`: a bundle, a model folder or a Hub id; `encodes` as in `open_bundle`.

    Raises:
        ConfigurationError: there is no such model, or it cannot be packed.
    """
    if not settings.model:
        raise ConfigurationError("no model: give one, or set RENDERLAYER_MODEL")
    folder = Path(settings.model)
    if not (folder / MANIFEST).is_file():
        folder = _packed(settings.model, settings.revision or None, fastokens=bool(settings.fast_tokenizer_after))
    return open_bundle(folder, settings, encodes)


def cache_folder() -> Path:
    """Where packed models are kept: $XDG_CACHE_HOME/renderlayer, by default ~/.cache/renderlayer."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "renderlayer"


def _packed(model: str, revision: str | None, fastokens: bool) -> Path:
    """The cached bundle of a model, packed now if it is not there.

    It is kept under a fingerprint of the model's files and of what packs them. Of several processes that want the
    same bundle, one packs it and the others wait.
    """
    from renderlayer.bundle.pack import pack_source, packer_versions
    from renderlayer.bundle.pack.source import find_source

    source = find_source(model, revision)
    key = source.cheap_fingerprint([*packer_versions().items(), ("format", str(FORMAT)), ("fastokens", str(fastokens))])
    out = cache_folder() / key
    try:
        with _lock(out.with_suffix(".lock")):
            if not (out / MANIFEST).is_file():
                pack_source(source, out, fastokens=fastokens)
    except OSError as error:
        raise ConfigurationError(
            f"cannot pack {model} into {cache_folder()} ({error}): set XDG_CACHE_HOME to a folder that can be "
            "written, or give a bundle made by `renderlayer pack`"
        ) from error
    return out


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold a lock between processes; it ends with its holder."""
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
