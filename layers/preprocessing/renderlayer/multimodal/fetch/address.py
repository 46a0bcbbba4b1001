"""Which hosts and addresses media may come from: no requests into the private network on a client's behalf.

A name is resolved once, every address is judged, and the connection goes to an address that passed, so that a name
server that changes its answer between check and connect gains nothing (DNS rebinding).
"""

from __future__ import annotations

import ipaddress
import socket

from renderlayer.errors import BadRequest
from renderlayer.settings import Settings

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Networks that `is_global` may let pass although they lead elsewhere: 6to4, Teredo and NAT64 carry an IPv4 address.
_TUNNELS = tuple(map(ipaddress.ip_network, ("2002::/16", "2001::/32", "64:ff9b::/96", "64:ff9b:1::/48")))

_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All that is assigned of IPv6; the rest, such as the former site-local fec0::/10, may be routed at home."""
# Special purposes that older versions of `ipaddress` do not know: the relays of 6to4, documentation.
_SPECIAL = tuple(map(ipaddress.ip_network, ("192.88.99.0/24", "192.0.0.0/24", "3fff::/20")))


def check_host(host: str, settings: Settings) -> None:
    """Refuse a host that is not on the allow-list, when there is one.

    Raises:
        BadRequest: the list names other hosts only.
    """
    allowed = settings.allowed_media_domains
    if allowed and host not in allowed:
        raise BadRequest(f"The URL must be from one of the allowed domains: {allowed}. Input URL domain: {host}")


def resolve(host: str, port: int, settings: Settings) -> list[str]:
    """The addresses of `host` that may be connected to, as text.

    Raises:
        BadRequest: it has addresses, but none that media may come from.
        OSError: the name does not resolve.
    """
    literal = _literal(host)
    if literal is not None and host in settings.allowed_media_domains:
        return [host]
    found = [host] if literal is not None else _lookup(host, port)
    allowed = [text for text in found if _permitted(ipaddress.ip_address(text), settings.allowed_media_networks)]
    if not allowed:
        raise BadRequest("The URL's host has no public address (setting allowed_media_networks).")
    return allowed


def _lookup(host: str, port: int) -> list[str]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    # A scoped address (fe80::1%eth0) is link-local and is refused below without its scope.
    return list(dict.fromkeys(str(answer[4][0]).partition("%")[0] for answer in answers))


def _literal(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _permitted(address: Address, networks: list[str]) -> bool:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if any(address in ipaddress.ip_network(network, strict=False) for network in networks):
        return True
    if any(address in tunnel for tunnel in _TUNNELS):
        return False
    if isinstance(address, ipaddress.IPv6Address) and address not in _UNICAST:
        return False
    if any(address in network for network in _SPECIAL):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
