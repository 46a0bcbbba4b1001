"""Encode, prefill and decode on engines of their own: the three calls of a coordinator (wire.md 4.9).

Encode gets one request an image, with its payload (inline or by reference), and answers where the embedding is
(`ec_transfer_params`); prefill gets the whole prompt with the metadata and those coordinates, and answers where the
key-value cache is (`kv_transfer_params`); decode gets both and generates. Pixels travel to the encode engine alone.
Each role is one engine or several; of several, one that is lost is replaced by another for what it has not begun.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from renderlayer.errors import BadGateway, BadRequest
from renderlayer.pipeline.pending import Service, Several, side_by_side
from renderlayer.request_context import timed

Json = dict[str, Any]

ENCODES = 8
"""Encode calls of one request at a time."""


@dataclass(frozen=True)
class Roles:
    """Who does what; one engine may play several roles. None: the next one does it, too."""

    encode: Service | None
    prefill: Service | None
    decode: Service


class Coordinator:
    """Engines of several roles, called as one (`Service`)."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._services = [one for one in (roles.encode, roles.prefill, roles.decode) if one is not None]

    async def generate(self, request: Mapping[str, Any], timeout: float | None = None) -> Json:
        """One whole answer."""
        answer = await disaggregated({**request, "stream": False, "stream_options": None}, self._roles, timeout)
        assert isinstance(answer, dict)
        return answer

    async def stream(self, request: Mapping[str, Any], timeout: float | None = None) -> AsyncGenerator[Json]:
        """The events of a streamed answer."""
        events = await disaggregated({**request, "stream": True}, self._roles, timeout)
        assert not isinstance(events, dict)
        async with aclosing(events):
            async for event in events:
                yield event

    async def check(self) -> None:
        """Raise an error where a role has no engine that is well."""
        for service in self._services:
            await service.check()

    def described(self) -> list[dict[str, str | int]]:
        """The engines of roles that have several, and their states."""
        return [told for one in self._services if isinstance(one, Several) for told in one.described()]

    async def aclose(self) -> None:
        """Close all connections."""
        for service in self._services:
            await service.aclose()


async def disaggregated(rendered: Json, roles: Roles, timeout: float | None = None) -> Json | AsyncGenerator[Json]:
    """Generate from a rendered request.

    Args:
        rendered: a GenerateRequest with its payloads or references (`mm_payload` other than "none").
        timeout: seconds that each engine may take.

    Returns:
        The decode engine's answer; for `"stream": true` its events.

    Raises:
        BadRequest: an item has no payload.
        EngineError, Unavailable: what an engine answered, such as 424 for a payload that is gone.
        BadGateway: an engine is not set up for its role.
    """
    coordinates, cache = {}, None
    if roles.encode is not None and (requests := encode_requests(rendered)):
        with timed("encode"):
            coordinates = await _encoded(requests, roles.encode, timeout)
    if roles.prefill is not None:
        with timed("prefill"):
            answer = await roles.prefill.generate(prefill_request(rendered, coordinates), timeout)
        cache = answer.get("kv_transfer_params")
    request = decode_request(rendered, coordinates, cache)
    if rendered.get("stream"):
        return _decoded(request, roles.decode, timeout)
    with timed("decode"):
        return await roles.decode.generate(request, timeout)


async def _decoded(request: Json, engine: Service, timeout: float | None) -> AsyncGenerator[Json]:
    with timed("decode"):
        async with aclosing(engine.stream(request, timeout)) as events:
            async for event in events:
                yield event


def encode_requests(rendered: Json) -> list[Json]:
    """One request for each different item: the prompt's first token and the item's placeholder.

    Items of families without metadata are left out: prefill could not place their embeddings, so it encodes them.
    """
    requests: dict[str, Json] = {}
    features = rendered.get("features") or {}
    for modality, hashes in features.get("mm_hashes", {}).items():
        for at, mm_hash in enumerate(hashes):
            if _entry(features, "kwargs_data", modality, at) is None:
                raise BadRequest(f"features.kwargs_data.{modality}[{at}] is needed to encode the item.", "features")
            if _entry(features, "mm_metadata", modality, at) is not None:
                requests[mm_hash] = _encode_request(rendered, modality, at)
    return list(requests.values())


def _encode_request(rendered: Json, modality: str, at: int) -> Json:
    features, ids = rendered["features"], rendered["token_ids"]
    place = features["mm_placeholders"][modality][at]
    start, end = place["offset"], place["offset"] + place["length"]
    return {
        "request_id": f"{rendered['request_id']}-encode-{modality}-{at}",
        "model": rendered.get("model"),
        "token_ids": ids[:1] + ids[start:end],
        "features": {
            "mm_placeholders": {modality: [{**place, "offset": 1}]},
            **{
                name: {modality: [features[name][modality][at]]} for name in ("mm_hashes", "kwargs_data", "mm_metadata")
            },
        },
        "sampling_params": {"max_tokens": 1},
    }


def prefill_request(rendered: Json, coordinates: Json) -> Json:
    """The whole prompt, for one token; the cache that it leaves is meant for another engine."""
    return {
        **_without_pixels(rendered, coordinates),
        "sampling_params": {"max_tokens": 1},
        "output_mode": "tokens",
        "stream": False,
        "stream_options": None,
        "kv_transfer_params": {"do_remote_decode": True, "do_remote_prefill": False},
    }


def decode_request(rendered: Json, coordinates: Json, cache: Json | None) -> Json:
    """The request itself; where the prefill engine has no connector, this one computes the prompt again."""
    given = rendered.get("kv_transfer_params") or {}
    handed_over = {**given, **cache, "do_remote_decode": False, "do_remote_prefill": True} if cache else None
    return {
        **_without_pixels(rendered, coordinates),
        "kv_transfer_params": handed_over or rendered.get("kv_transfer_params"),
    }


async def _encoded(requests: list[Json], engine: Service, timeout: float | None) -> Json:
    """Where the embeddings are, by hash."""
    answers = await side_by_side(requests, lambda request: engine.generate(request, timeout), ENCODES)
    coordinates: Json = {}
    for answer in answers:
        coordinates |= answer.get("ec_transfer_params") or {}
    if len(coordinates) < len(requests):
        raise BadGateway("The encode engine gave no ec_transfer_params: it needs an encoder-cache connector.")
    return coordinates


def _without_pixels(rendered: Json, coordinates: Json) -> Json:
    """The request with metadata in place of the payloads that were encoded."""
    if not coordinates:
        return rendered
    features = rendered["features"]
    left = {
        modality: [
            payload if _entry(features, "mm_metadata", modality, at) is None else None
            for at, payload in enumerate(payloads)
        ]
        for modality, payloads in features["kwargs_data"].items()
    }
    any_left = any(payload is not None for payloads in left.values() for payload in payloads)
    return {
        **rendered,
        "features": {**features, "kwargs_data": left if any_left else None},
        "ec_transfer_params": {**(rendered.get("ec_transfer_params") or {}), **coordinates},
    }


def _entry(features: Json, name: str, modality: str, at: int) -> Any:
    entries = (features.get(name) or {}).get(modality) or []
    return entries[at] if at < len(entries) else None
