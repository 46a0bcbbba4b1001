"""The engine that settings name, or the several as one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from renderlayer.pipeline.engine import Engine
from renderlayer.secrets.secret import engine_key
from renderlayer.settings import split

if TYPE_CHECKING:
    from renderlayer.pipeline.pending import Service
    from renderlayer.pipeline.routing.addresses import Place
    from renderlayer.secrets.secret import Secret
    from renderlayer.settings import Settings


def open_engines(settings: Settings, refuse_aborted: bool = False) -> Service:
    """What answers: one engine, or several and a policy.

    One URL is one engine where no routing is set, as in a function: there its name is most often a load balancer's.

    Args:
        settings: with one engine_url at least.
        refuse_aborted: as for `Engine`.
    """
    decode = _opened(settings.engine_urls, settings, refuse_aborted)
    if not settings.encode_url and not settings.prefill_url:
        return decode
    from renderlayer.pipeline.disaggregated import Coordinator, Roles

    encode, prefill = (
        _opened(split(urls), settings) if urls else None for urls in (settings.encode_url, settings.prefill_url)
    )
    return Coordinator(Roles(encode, prefill, decode))


def _opened(urls: list[str], settings: Settings, refuse_aborted: bool = False) -> Service:
    """The engines of one role."""
    key = engine_key(settings)
    if len(urls) == 1 and not settings.routing:
        return Engine(urls[0], key, refuse_aborted=refuse_aborted)
    from renderlayer.pipeline.routing.addresses import is_name
    from renderlayer.pipeline.routing.policy import POLICIES, STATELESS
    from renderlayer.pipeline.routing.pool import EnginePool

    if len(urls) == 1 and not is_name(urls[0]):
        return Engine(urls[0], key, refuse_aborted=refuse_aborted)
    name = settings.routing or "rendezvous"
    return EnginePool(
        urls,
        partial(_client, key=key, refuse_aborted=refuse_aborted),
        POLICIES[name],
        name not in STATELESS,
        settings.routing_cache_tokens,
    )


def _client(place: Place, key: str | Secret, refuse_aborted: bool) -> Engine:
    url, address = place
    return Engine(url, key, refuse_aborted=refuse_aborted, address=address)
