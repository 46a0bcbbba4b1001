"""Requests as they reach an engine: names, authentication, and the environment's proxy."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from renderlayer.pipeline.connections import Connections
from tests.pipeline.loop import wait

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nRetry-After: 7\r\n\r\n{}"
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


async def heard(host: str, url: str, monkeypatch: pytest.MonkeyPatch | None = None, **sent: Any) -> list[str]:
    """The lines of a request's head, from a server at `host`."""
    lines: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.extend((await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[:-2])
        writer.write(ANSWER)
        writer.close()

    server = await asyncio.start_server(answer, host, 0)
    port = server.sockets[0].getsockname()[1]
    if monkeypatch is not None:
        monkeypatch.setenv("http_proxy", f"http://someone:word@127.0.0.1:{port}")
    connections = Connections(url.format(port=port))
    try:
        async with asyncio.timeout(60):
            response = await connections.send("POST", "/inference/v1/generate", b"{}", **sent)
            assert (response.status, response.header(b"retry-after")) == (200, "7")
            assert await response.read() == b"{}"
    finally:
        await connections.aclose()
        server.close()
    return lines


def test_a_request() -> None:
    first, *headers = wait(heard("127.0.0.1", "http://127.0.0.1:{port}/behind/", key="k"))
    told = dict(line.split(": ", 1) for line in headers)

    assert first == "POST /behind/inference/v1/generate HTTP/1.1"
    assert told["Host"].startswith("127.0.0.1:")
    assert told["Authorization"] == "Bearer k"
    assert (told["Content-Type"], told["Content-Length"]) == ("application/json", "2")


def test_a_name_and_password_in_the_url() -> None:
    lines = wait(heard("127.0.0.1", "http://me:p%40ss@127.0.0.1:{port}"))

    assert "Authorization: Basic bWU6cEBzcw==" in lines
    assert not any("me:p" in line for line in lines)


def test_a_key_goes_before_the_password_of_the_url() -> None:
    lines = wait(heard("127.0.0.1", "http://me:word@127.0.0.1:{port}", key="k"))

    assert [line for line in lines if line.startswith("Authorization")] == ["Authorization: Bearer k"]


def test_an_address_of_six() -> None:
    try:
        lines = wait(heard("::1", "http://[::1]:{port}"))
    except OSError:
        pytest.skip("this machine has no IPv6")

    assert any(line.startswith("Host: [::1]:") for line in lines)


def test_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *headers = wait(heard("127.0.0.1", "http://bücher.example:8000/v", monkeypatch))

    assert first == "POST http://xn--bcher-kva.example:8000/v/inference/v1/generate HTTP/1.1"
    assert "Host: xn--bcher-kva.example:8000" in headers
    assert "Proxy-Authorization: Basic c29tZW9uZTp3b3Jk" in headers


def test_a_host_that_the_proxy_is_not_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert wait(heard("127.0.0.1", "http://127.0.0.1:{port}"))[0] == "POST /inference/v1/generate HTTP/1.1"
