"""Media come from public addresses only, whatever the version of `ipaddress` calls public."""

from __future__ import annotations

import pytest

from renderlayer.errors import BadRequest
from renderlayer.multimodal.fetch.address import resolve
from renderlayer.settings import Settings

CLOSED = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.8
192.0.2.1 192.88.99.1 192.168.1.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255
:: ::1 ::1.2.3.4 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:0:1.2.3.4 64:ff9b::1.2.3.4 64:ff9b:1::1 100::1 2001::1
2001:db8::1 2002:7f00:1::1 3fff::1 4000::1 5f00::1 8000::1 fc00::1 fd12:3456::1 fe80::1 fec0::1 feff::1 ff02::1
"""
OPEN = "1.1.1.1 8.8.8.8 93.184.216.34 2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8"


@pytest.mark.parametrize("address", CLOSED.split())
def test_addresses_that_are_not_public_are_refused(address: str) -> None:
    with pytest.raises(BadRequest, match="no public address"):
        resolve(address, 80, Settings())


@pytest.mark.parametrize("address", OPEN.split())
def test_public_addresses_are_taken(address: str) -> None:
    assert resolve(address, 80, Settings()) == [address]
