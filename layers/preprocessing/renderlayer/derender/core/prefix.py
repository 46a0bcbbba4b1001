"""The digest under which a prompt and its output are kept for the next turn (wire.md 2.10)."""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.render.continuing.prefixes import keep_prefix
from renderlayer.served_model import ServedModel


def kept_prefix(prompt: Sequence[int] | None, output: Sequence[int] | None, server: ServedModel) -> str | None:
    """The digest of a prompt and its output, which are kept (wire.md 2.10); None where one is not known."""
    if not prompt or output is None:
        return None
    return keep_prefix(prompt, output, server)
