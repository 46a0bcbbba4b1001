"""The engines behind URLs: a name that has several addresses stands for several."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from renderlayer.pipeline.connections import proxy_of

Place = tuple[str, str]
"""A URL, and the address of its host that is meant; "" for any."""


def is_name(url: str) -> bool:
    """Whether the host of a URL may have several addresses."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return False
    try:
        ip_address(host)
    except ValueError:
        return True
    return False


async def places(urls: Sequence[str], before: Sequence[Place] = ()) -> list[Place]:
    """The engines of URLs, in order.

    Args:
        before: what was found the last time; kept for a name that has no address just now.
    """
    found = await asyncio.gather(*(asyncio.to_thread(_places, url) if is_name(url) else _one(url) for url in urls))
    every: list[Place] = []
    for url, some in zip(urls, found, strict=True):
        every += some or [place for place in before if place[0] == url] or [(url, "")]
    return list(dict.fromkeys(every))


async def _one(url: str) -> list[Place]:
    return [(url, "")]


def _places(url: str) -> list[Place]:
    """Those of one name; its IPv4 addresses where it has some, since an engine may have one of either kind."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if proxy_of(parts.scheme, host) is not None:
        return [(url, "")]
    try:
        infos = socket.getaddrinfo(host, parts.port or parts.scheme, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    for family in (socket.AF_INET, socket.AF_INET6):
        addresses = sorted({str(info[4][0]) for info in infos if info[0] == family})
        if len(addresses) > 1:
            return [(url, address) for address in addresses]
    return [(url, "")]
