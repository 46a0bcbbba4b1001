"""What browsers and proxies expect of a server: CORS, HTTPS."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from renderlayer.http.middleware.cors import with_cors
from renderlayer.served_model import ServedModel
from tests.local.test_serve import COMMANDS, running

PAGE = "https://page.example"
PREFLIGHT = {"origin": PAGE, "access-control-request-method": "POST", "access-control-request-headers": "authorization"}


def app() -> Starlette:
    return Starlette(routes=[Route("/", lambda request: PlainTextResponse("yes"), methods=["GET", "POST"])])


@pytest.mark.parametrize(("origins", "allowed"), [([PAGE], PAGE), (["*"], "*"), (["https://other.example"], None)])
def test_pages_of_allowed_origins(origins: list[str], allowed: str | None) -> None:
    client = TestClient(with_cors(app(), origins))
    asked = client.options("/", headers=PREFLIGHT)
    assert asked.headers.get("access-control-allow-origin") == allowed
    assert (asked.status_code == 200) == (allowed is not None)
    assert client.post("/", headers={"origin": PAGE}).headers.get("access-control-allow-origin") == allowed


def test_off_is_off() -> None:
    same = app()
    assert with_cors(same, []) is same


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    key, chain = str(folder / "key.pem"), str(folder / "chain.pem")
    options = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", *options, *names, "-keyout", key, "-out", chain], check=True, capture_output=True
    )
    return chain, key


@pytest.mark.parametrize("command", COMMANDS, ids=["gateway", "server"])
def test_https(server: ServedModel, command: list[str], certificate: tuple[str, str]) -> None:
    chain, key = certificate
    flags = [server.settings.model, "--ssl-certfile", chain, "--ssl-keyfile", key, "--allowed-origins", PAGE]
    with running(command, *flags) as started:
        assert started.url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=chain)
        with httpx2.Client(verify=context, base_url=started.url, timeout=60) as client:
            assert client.get("/health").status_code == 200
            assert client.options("/v1/models", headers=PREFLIGHT).headers["access-control-allow-origin"] == PAGE


@pytest.mark.parametrize("flags", [["--ssl-keyfile", "k"], ["--ssl-certfile", "nowhere"]], ids=["alone", "no file"])
def test_a_certificate_that_cannot_be_used(server: ServedModel, flags: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMANDS[1], server.settings.model, *flags], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "--ssl-certfile" in done.stderr
    assert "Traceback" not in done.stderr
