"""Images, video and audio of a prompt: token ranges, hashes and tensors for the engine (wire.md section 4).

Fetch and identify, layout, pixels are separate steps; what a caller does not need is not computed, and numpy, torch
and Pillow are imported by the step that needs them.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import limits
from renderlayer.multimodal.apply import Expanded, apply, not_multimodal
from renderlayer.multimodal.items import PART_TYPES, MediaItem, modality_of
from renderlayer.multimodal.limits import check_trust
from renderlayer.multimodal.model import family_of
from renderlayer.multimodal.payload import Slot, Writer
from renderlayer.multimodal.truncate import truncated
from renderlayer.settings import Settings

__all__ = [
    "PART_TYPES",
    "Expanded",
    "MediaItem",
    "Slot",
    "Writer",
    "apply",
    "check_counts",
    "check_trust",
    "modality_of",
    "placeholder",
    "promise",
    "truncated",
]


def placeholder(model: Model, modality: str, ordinal: int) -> str:
    """The text that stands for an item in a template of the string format; `ordinal` counts from 1 (wire.md 3.3).

    Raises:
        BadRequest: the model does not take the modality.
    """
    family = family_of(model)
    if family is None or modality not in family.modalities:
        raise BadRequest(f"At most 0 {modality}(s) may be provided in one prompt.", modality)
    return family.placeholder(modality, ordinal)


def promise(model: Model) -> str | None:
    """What is promised of the model's tensors: "exact", or "approximate: …" with the gap; None for a text model."""
    family = family_of(model)
    return family.promise if family is not None else None


def check_counts(model: Model, settings: Settings, items: Sequence[MediaItem]) -> None:
    """Refuse media for a text model, unsupported modalities, and more items than allowed (wire.md 1.7).

    Raises:
        BadRequest: param is the modality where a count is exceeded.
    """
    if not items:
        return
    family = family_of(model)
    if family is None:
        raise not_multimodal(settings)
    limits.check_counts(family.modalities, settings, items)
