"""Images, video and audio of a prompt: token ranges, hashes and tensors for the engine (wire.md section 4).

Fetch and identify, layout, pixels are separate steps; what a caller does not need is not computed, and numpy, torch
and Pillow are imported by the step that needs them.
"""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.bundle import Model
from renderlayer.errors import BadRequest, NotImplementedHere
from renderlayer.multimodal import limits
from renderlayer.multimodal.apply import Expanded, apply, not_multimodal
from renderlayer.multimodal.families import taken
from renderlayer.multimodal.families.base import Family
from renderlayer.multimodal.items import PART_TYPES, MediaItem, modality_of
from renderlayer.multimodal.limits import check_trust
from renderlayer.multimodal.model import facts_of, family_of
from renderlayer.multimodal.truncate import truncated
from renderlayer.multimodal.wire.payload import Slot, Writer
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
    "promises",
    "refusals",
    "truncated",
    "units",
]


def placeholder(model: Model, modality: str, ordinal: int) -> str:
    """The text that stands for an item in a template of the string format; `ordinal` counts from 1 (wire.md 3.3).

    Raises:
        BadRequest: the model does not take the modality.
        NotImplementedHere: it does, and it is not rendered here.
    """
    family = family_of(model)
    if family is None or modality not in family.modalities:
        _check_rendered(model, modality)
        raise BadRequest(f"At most 0 {modality}(s) may be provided in one prompt.", modality)
    return family.placeholder(modality, ordinal)


def units(model: Model) -> dict[str, tuple[str, list[int]]]:
    """What a template writes for an item and an item's tokens replace: the text → its modality and its token ids."""
    family = family_of(model)
    targets = {modality: family.target(modality) for modality in family.modalities} if family is not None else {}
    texts = {name: model.tokenizer.decode(ids, skip_special_tokens=False) for name, ids in targets.items()}
    return {text: (name, targets[name]) for name, text in texts.items() if text}


def promises(model: Model) -> dict[str, str]:
    """What is promised of each modality that the model takes; nothing for a text model.

    "exact": tokens, ranges, hashes and tensors equal the reference's; "approximate: …" says by how much they do not;
    "refused: …": it is not rendered here.
    """
    family = family_of(model)
    rendered = family.modalities if family is not None else ()
    missing = {modality: f"refused: {_not_rendered(model)}" for modality in taken(facts_of(model))}
    return {**missing, **{modality: _promise(family, modality) for modality in rendered}}


def refusals(model: Model) -> list[str]:
    """A line for each modality that the model takes and that is not rendered."""
    return [f"{name} is {promise}" for name, promise in promises(model).items() if promise.startswith("refused")]


def _promise(family: Family | None, modality: str) -> str:
    gap = family.gaps.get(modality) if family is not None else None
    return f"approximate: {gap}" if gap else "exact"


def _not_rendered(model: Model) -> str:
    return f"media of {' '.join(model.facts.config.get('architectures') or ['this model'])} are not rendered here"


def check_counts(model: Model, settings: Settings, items: Sequence[MediaItem]) -> None:
    """Refuse media for a text model, unsupported modalities, and more items than allowed (wire.md 1.7).

    Raises:
        BadRequest: param is the modality where a count is exceeded.
        NotImplementedHere: the model takes the modality, and it is not rendered here.
    """
    if not items:
        return
    family = family_of(model)
    for modality in {item.modality for item in items}:
        if family is None or modality not in family.modalities:
            _check_rendered(model, modality)
    if family is None:
        raise not_multimodal(settings)
    limits.check_counts(family.modalities, settings, items, family.item_limits)


def _check_rendered(model: Model, modality: str) -> None:
    """Say of a modality without a family whether the model would take it."""
    if modality in taken(facts_of(model)):
        raise NotImplementedHere(f"{modality}: {_not_rendered(model)}.")
