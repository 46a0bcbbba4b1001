from __future__ import annotations

import socket

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.http.server.address import Address


def test_a_port_that_is_taken_is_told_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigurationError, match=f"port {port} of 127.0.0.1 is taken; choose another with --port"):
            Address("127.0.0.1", port).bound()


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid", "a" * 70])
def test_a_host_that_is_none_of_this_machine_is_named(host: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--host {host}"):
        Address(host, 0).bound()


def test_all_addresses_of_a_host_have_one_port() -> None:
    sockets = Address("localhost", 0).bound()
    try:
        assert len({one.getsockname()[1] for one in sockets}) == 1
        assert sockets[0].getsockname()[1] > 0
    finally:
        for one in sockets:
            one.close()
