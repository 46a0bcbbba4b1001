"""No exception's own words reach a client, and no error repeats at length what was sent."""

from __future__ import annotations

import base64
import gzip
import re
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from renderlayer.bundle import open_bundle
from renderlayer.http.app import create_app
from renderlayer.http.middleware.body_limit import BodyLimitMiddleware
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.multimodal.images import encoded, picture

CHAT = "/v1/chat/completions/render"
LONG = "x" * 300_000
RAW = re.compile(
    r"gaierror|unpack|invalid literal|Errno|Traceback|[a-z]Error\b(?<!RequestError)|object is not|NoneType|list index"
    r"|0x[0-9a-f]{6,}|unhashable|recursion depth exceeded in|byte indices|zlib|struct\."
)
MOST = 2000
"""Characters of an error."""


@pytest.fixture(scope="module")
def http(seeing: Path) -> Iterator[TestClient]:
    settings = Settings(model="seeing", served_model_name=["seeing"], trust_request_mm_kwargs=True)
    app = create_app(settings, server=ServedModel(open_bundle(seeing), settings))
    app.read_with(lambda inner: BodyLimitMiddleware(inner, settings.max_body_bytes))
    with TestClient(app, raise_server_exceptions=False) as opened:
        yield opened


def with_image(data: bytes, **fields: Any) -> dict[str, Any]:
    return with_url(f"data:image/png;base64,{base64.b64encode(data).decode()}", **fields)


def with_url(url: Any, kind: str = "image_url", **fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": kind, kind: {"url": url}}]}], **fields}


def hello(**fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hello"}], **fields}


PNG = encoded(picture(64, 48))
HEAD = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4s", 13, b"IHDR")
BODIES: dict[str, tuple[str, Any]] = {
    "a short TIFF": (CHAT, with_image(b"II*\0\x08\0\0\0\xff\xff")),
    "a PPM of words": (CHAT, with_image(b"P6 one two three")),
    "a PPM of a long number": (CHAT, with_image(b"P6 " + b"9" * 50 + b" 2 255\n")),
    "a short PNG": (CHAT, with_image(HEAD)),
    "a PNG with a cut header": (CHAT, with_image(HEAD + b"\0\0\0")),
    "a damaged PNG": (CHAT, with_image(PNG[:60] + bytes(40) + PNG[100:])),
    "a short GIF": (CHAT, with_image(b"GIF89a\x01")),
    "a short BMP": (CHAT, with_image(b"BM" + bytes(12))),
    "a BMP of another header": (CHAT, with_image(b"BM" + bytes(12) + b"\x05\0\0\0")),
    "a short ICO": (CHAT, with_image(b"\0\0\1\0\1\0")),
    "a short PSD": (CHAT, with_image(b"8BPS\0\1" + bytes(8))),
    "a short DDS": (CHAT, with_image(b"DDS " + bytes(8))),
    "a short QOI": (CHAT, with_image(b"qoif\0\0")),
    "a short WebP": (CHAT, with_image(b"RIFF\x10\0\0\0WEBPVP8 ")),
    "a FITS of words": (CHAT, with_image(b"SIMPLE  =                    T" + b" " * 50 + b"NAXIS   = x" + b" " * 2869)),
    "no base64": (CHAT, with_url("data:image/png;base64,???")),
    "an unknown name": (CHAT, with_url("http://name.invalid/x.png")),
    "a refused connection": (CHAT, with_url("http://127.0.0.1:1/x.png")),
    "a port of words": (CHAT, with_url("http://example.com:port/x.png")),
    "a broken address": (CHAT, with_url("http://[::1/x.png")),
    "a long scheme": (CHAT, with_url(f"{LONG}://x")),
    "a long host": (CHAT, with_url(f"http://{LONG}/x")),
    "a broken video": (CHAT, with_url("data:video/mp4;base64,AAAAGGZ0eXBtcDQy", kind="video_url")),
    "no number as a size": (CHAT, with_image(PNG, mm_processor_kwargs={"size": {"shortest_edge": "x"}})),
    "a list as a size": (CHAT, with_image(PNG, mm_processor_kwargs={"size": [[]]})),
    "a long uuid": (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "uuid": LONG}]}]}),
    "a long model": (CHAT, hello(model=LONG)),
    "a long role": (CHAT, {"messages": [{"role": LONG, "content": "x"}]}),
    "a long tool choice": (CHAT, hello(tool_choice=LONG)),
    "a long effort": (CHAT, hello(reasoning_effort=LONG)),
    "a long payload": (CHAT, hello(mm_payload=LONG)),
    "a structural tag of words": (CHAT, hello(structured_outputs={"structural_tag": "words"})),
    "a structural tag without format": (CHAT, hello(structured_outputs={"structural_tag": "{}"})),
    "a structural tag of an unknown format": (
        CHAT,
        hello(structured_outputs={"structural_tag": f'{{"format": {{"type": "{LONG}"}}}}'}),
    ),
    "a deep structural tag": (CHAT, hello(structured_outputs={"structural_tag": "[" * 100_000})),
    "a long model to derender": ("/v1/chat/completions/derender", {"model": LONG}),
    "a long model to tokenize": ("/tokenize", {"model": LONG, "prompt": "x"}),
}


@pytest.mark.parametrize("name", BODIES)
def test_errors_are_sentences_of_our_own(http: TestClient, name: str) -> None:
    path, body = BODIES[name]
    check(http.post(path, json=body))


@pytest.mark.parametrize(
    "body",
    [
        b"no gzip",
        gzip.compress(b"{}", mtime=0)[:-3],
        gzip.compress(b"{}", mtime=0)[:12] + b"\0" * 9,
        zlib.compress(b"{}"),
    ],
)
def test_broken_gzip(http: TestClient, body: bytes) -> None:
    check(http.post(CHAT, content=body, headers={"content-encoding": "gzip", "content-type": "application/json"}))


def check(answer: Any) -> None:
    assert 400 <= answer.status_code < 500, answer.text[:500]
    message = answer.json()["error"]["message"]
    assert len(message) < MOST
    assert not RAW.search(message), message
