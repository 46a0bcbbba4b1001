"""What render writes by reference: payloads in the slots of `kwargs_data`, and whole requests as a claim check."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import Any

from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal.wire.payload import Slot, Writer, in_place
from renderlayer.references.address import Address, Place, place_of
from renderlayer.references.content_store import ContentStore, StoredContent
from renderlayer.settings import Settings
from renderlayer.storage.s3 import S3Store


def payload_writer(payload: str, settings: Settings, model: Model, items: int) -> Writer:
    """The writer of a request's slots.

    Args:
        payload: "reference", or "auto": in place while all payloads together have at most `reference_above` bytes in
            base64, which the items share evenly; so it does not depend on which one is ready first. Any other value
            leaves payloads in place, and so does "auto" where there is no bucket.
        items: media items of the request.

    Raises:
        BadRequest: a reference is asked for and this deployment has no bucket.
    """
    if payload not in ("reference", "auto"):
        return in_place()
    if not settings.reference_bucket:
        if payload == "auto":
            return in_place()
        raise BadRequest("This server has no bucket for references (RENDERLAYER_REFERENCE_BUCKET).", "mm_payload")
    return referring(content_store_of(settings, model), settings.reference_above // items if payload == "auto" else 0)


def referring(contents: ContentStore, share: int = 0) -> Writer:
    """A writer that keeps payloads in the store, but for those of at most `share` bytes in base64."""

    def write(slot: Slot) -> str:
        from pybase64 import b64encode_as_string

        kept = contents.get_or_put(
            StoredContent(slot.fingerprint, slot.mm_hash, slot.length, slot.compute), share // 4 * 3
        )
        return str(kept) if isinstance(kept, Address) else str(b64encode_as_string(kept))

    return write


def claims(answer: Any, settings: Settings, model: Model) -> Any:
    """A rendered request, or a list of them, as claim checks; as it is where there is no bucket.

    Raises:
        Unavailable: the store failed.
    """
    if not settings.reference_bucket:
        return answer
    contents = content_store_of(settings, model)
    return (
        [claim(entry, contents, model) for entry in answer]
        if isinstance(answer, list)
        else claim(answer, contents, model)
    )


def claim(request: dict[str, Any], contents: ContentStore, model: Model) -> dict[str, str]:
    """Store a GenerateRequest; `{"request_ref": "s3://…"}` stands for it in the body of `/inference/v1/generate`."""
    data = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()
    content = StoredContent(model.facts.fingerprint, hashlib.sha256(data).hexdigest(), 0, lambda: data)
    return {"request_ref": str(contents.get_or_put(content))}


def content_store_of(settings: Settings, model: Model) -> ContentStore:
    """The store of a deployment; one in a process, so that equal work is done once."""
    return _content_store(place_of(settings), model.facts.fingerprint, settings.reference_days)


@lru_cache(maxsize=8)
def _content_store(place: Place, model: str, days: int) -> ContentStore:
    return ContentStore(S3Store(), place, model, days)
