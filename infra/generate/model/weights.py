"""Whether a model folder has weights, told without loading anything."""

from __future__ import annotations

from pathlib import Path

from renderlayer.errors import ConfigurationError

PATTERNS = ("*.safetensors", "pytorch_model*.bin")


def require(model: str) -> None:
    """Refuse a folder without weights; what is no folder is left to transformers.

    Raises:
        ConfigurationError: the folder has none.
    """
    folder = Path(model)
    if folder.is_dir() and not any(path for pattern in PATTERNS for path in folder.glob(pattern)):
        raise ConfigurationError(
            f"{model} holds no weights ({' or '.join(PATTERNS)}), which the engine needs: give a folder that does, a "
            "Hub id, or start the engine with --load-format dummy for random ones"
        )
