"""How many items a prompt may hold, and who may set processing options (wire.md 1.7, 4.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.items import MediaItem, is_embeds
from renderlayer.settings import Settings

_DEFAULT_COUNT = 999
_EMBEDS_OFF = "You must set `--enable-mm-embeds` to input `{0}_embeds`"


def check_counts(
    modalities: Sequence[str], settings: Settings, items: Sequence[MediaItem], most_taken: Mapping[str, int]
) -> None:
    """Refuse modalities that the model lacks, more items than configured, and embeds that are not enabled.

    Args:
        modalities: what the model's family can take.
        most_taken: modality → most items that it takes, whatever is configured.

    Raises:
        BadRequest: param is the modality where a count is exceeded.
    """
    counts: Counter[str] = Counter()
    for item in items:
        counts[item.modality] += 1
        configured = count_limit(modalities, settings.limit_mm_per_prompt, item.modality)
        most = min(configured, most_taken.get(item.modality, configured))
        if counts[item.modality] > most:
            hint = " Set `--limit-mm-per-prompt` to increase this limit if the model supports it." if most else ""
            raise BadRequest(f"At most {most} {item.modality}(s) may be provided in one prompt.{hint}", item.modality)
        if is_embeds(item) and not settings.enable_mm_embeds:
            raise BadRequest(_EMBEDS_OFF.format(item.modality), f"{item.modality}_embeds")
    _check_unmixed(items)


def count_limit(modalities: Sequence[str], configured: Mapping[str, Any], modality: str) -> int:
    """Most items of a modality in one prompt; `configured` is `--limit-mm-per-prompt`."""
    if modality not in modalities:
        return 0
    limit = configured.get(modality, _DEFAULT_COUNT)
    return int(limit.get("count", _DEFAULT_COUNT) if isinstance(limit, dict) else limit)


def check_trust(
    settings: Settings, media_io_kwargs: Mapping[str, Any] | None, mm_processor_kwargs: Mapping[str, Any] | None
) -> None:
    """Refuse processing options in a request unless the deployment trusts its clients with them.

    Raises:
        BadRequest: param is the offending field.
    """
    if settings.trust_request_mm_kwargs:
        return
    reasons = {
        "media_io_kwargs": (media_io_kwargs, "media loading"),
        "mm_processor_kwargs": (mm_processor_kwargs, "preprocessing"),
    }
    for name, (value, what) in reasons.items():
        if value:
            raise BadRequest(
                f"Per-request {name} are disabled by default because they can change multimodal {what} resource "
                "usage. Start the server with --trust-request-mm-kwargs only when clients are trusted.",
                name,
            )


def _check_unmixed(items: Sequence[MediaItem]) -> None:
    kinds: dict[str, bool] = {}
    for item in items:
        if kinds.setdefault(item.modality, is_embeds(item)) != is_embeds(item):
            raise BadRequest(f"Mixing raw {item.modality} and embedding inputs is not allowed")
