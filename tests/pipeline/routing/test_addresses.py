"""URLs, and names that have several addresses."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from renderlayer.pipeline.connections import Connections
from renderlayer.pipeline.engine import Engine
from renderlayer.pipeline.engines import open_engines
from renderlayer.pipeline.routing import pool as pools
from renderlayer.pipeline.routing.addresses import is_name, places
from renderlayer.pipeline.routing.policy import POLICIES
from renderlayer.pipeline.routing.pool import EnginePool
from renderlayer.settings import Settings
from tests.pipeline.routing.process import engines
from tests.pipeline.routing.test_pool import asked, tokens, up

NAME = "engines.example"


class Names:
    """The system's name service, which says what a test says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.addresses: dict[str, list[str]] = {}
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self._told)

    def _told(self, host: Any, port: Any, *rest: Any, **options: Any) -> Any:
        host = host.decode() if isinstance(host, bytes) else host
        if host not in self.addresses:
            return self._real(host, port, *rest, **options)
        if not self.addresses[host]:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return [entry for one in self.addresses[host] for entry in self._real(one, port, type=socket.SOCK_STREAM)]


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Names:
    return Names(monkeypatch)


def test_which_hosts_are_names() -> None:
    assert [is_name(f"http://{host}:8000") for host in ("10.0.0.1", "[::1]", "localhost", NAME)] == [0, 0, 0, 1]


def test_a_name_stands_for_all_its_addresses(names: Names) -> None:
    url = f"http://{NAME}:8000"
    names.addresses[NAME] = ["10.0.0.2", "10.0.0.1", "::1", "::2"]
    both = asyncio.run(places([url, "http://10.0.0.9"]))
    assert both == [(url, "10.0.0.1"), (url, "10.0.0.2"), ("http://10.0.0.9", "")]
    names.addresses[NAME] = []
    assert asyncio.run(places([url], both)) == both[:2]  # a name service that fails takes no engine away
    assert asyncio.run(places([url])) == [(url, "")]
    names.addresses[NAME] = ["10.0.0.1", "::1"]  # one engine, of two kinds of addresses
    assert asyncio.run(places([url])) == [(url, "")]


def test_an_address_is_called_by_its_name() -> None:
    connections = Connections(f"https://{NAME}:8000", address="10.0.0.1")
    assert connections._origin["host"] == "10.0.0.1"
    assert connections._extensions["sni_hostname"] == NAME
    assert dict(connections._headers)["Host"] == f"{NAME}:8000".encode()


def test_a_pool_follows_its_name(names: Names, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that comes gets requests, one that goes gets none."""
    monkeypatch.setattr(pools, "RESOLVE_SECONDS", 0.0)
    names.addresses[NAME] = ["127.0.0.1"]

    async def run(port: int) -> None:
        pool = EnginePool(
            [f"http://{NAME}:{port}"], lambda place: Engine(place[0], address=place[1]), POLICIES["round-robin"]
        )
        first = await asyncio.gather(*(pool.generate(asked(number)) for number in range(5)))
        assert [tokens(answer) for answer in first] == [asked(number)["token_ids"][:4] for number in range(5)]
        assert len(up(pool)) == 1
        names.addresses[NAME] = ["127.0.0.1", "127.0.0.2"]
        answers = await asyncio.gather(*(pool.generate(asked(number)) for number in range(5)))
        assert [tokens(answer) for answer in answers] == [asked(number)["token_ids"][:4] for number in range(5)]
        assert len(up(pool)) == 2
        for number in range(6):
            assert tokens(await pool.generate(asked(number))) == asked(number)["token_ids"][:4]
        await pool.aclose()

    with engines(1, pause=0.05) as (process,):
        asyncio.run(run(process.port))


def test_one_engine_is_a_client_and_nothing_else() -> None:
    assert isinstance(open_engines(Settings(engine_url="http://engine:8000")), Engine)
    assert isinstance(open_engines(Settings(engine_url="http://10.0.0.1", routing="prefix-affinity")), Engine)
    assert isinstance(open_engines(Settings(engine_url=f"http://{NAME}", routing="prefix-affinity")), EnginePool)
    assert isinstance(open_engines(Settings(engine_url="http://10.0.0.1, http://10.0.0.2")), EnginePool)
