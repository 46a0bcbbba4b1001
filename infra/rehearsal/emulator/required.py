"""The emulator's own names that the rehearsal replaces: all of them must be there, or it says which is not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

PINNED = "ministack==1.5.33"


def required(module: str, name: str) -> Any:
    """A name of the emulator.

    Raises:
        SystemExit: this version of the emulator has none.
    """
    found = getattr(import_module(module), name, None)
    if found is None:
        raise SystemExit(f"{module}.{name} is gone: the rehearsal knows {PINNED}; look at infra/rehearsal/emulator")
    return found


def replace(module: str, name: str, value: Any) -> None:
    """Put something in the place of a name of the emulator, which must be there."""
    required(module, name)
    setattr(import_module(module), name, value)
