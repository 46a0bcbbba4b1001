"""Data URLs, files and objects."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from renderlayer.errors import BadRequest, NotImplementedHere, RenderLayerError, Unprocessable
from renderlayer.multimodal.fetch import fetch_all, s3
from renderlayer.multimodal.items import EncodedMedia
from renderlayer.settings import Settings


def get(url: str, **settings: Any) -> bytes:
    return fetch_all([("image", url)], Settings(**settings))[0].data


@pytest.mark.parametrize(
    "head",
    [
        "data:image/png;base64",
        "DATA:;base64",
        "data:image/png;charset=x;base64",
        "data:image/png;BASE64",
        "Data:IMAGE/PNG;Base64;name=a.png",
    ],
)
def test_data_urls(head: str) -> None:
    assert get(f"{head},{base64.b64encode(b'content').decode()}") == b"content"


def test_lists_of_frames_stay_text() -> None:
    url = "data:video/JPEG;base64,QQ==,Qg=="
    assert fetch_all([("video", url)], Settings()) == [EncodedMedia(b"QQ==,Qg==", "video/jpeg")]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("data:image/png", BadRequest),
        ("data:image/png;base64", BadRequest),
        ("data:image/png,abc", NotImplementedHere),
        ("data:base64,abcd", NotImplementedHere),
        ("data:;base64x,abcd", NotImplementedHere),
        ("data:image/svg+xml;base64,PHN2Zy8+", BadRequest),
        ("data:image/svg+xml;utf8,<svg/>", BadRequest),
        ("data:;base64,!!!!", BadRequest),
        ("data:;base64,abc", BadRequest),
        ("data:;base64,YWJj\n", BadRequest),
        ("data:;base64,YW Jj", BadRequest),
        ("data:;base64,YWJjZA", BadRequest),
        ("data:;base64,é", BadRequest),
    ],
)
def test_malformed_data_urls(url: str, kind: type[RenderLayerError]) -> None:
    with pytest.raises(kind) as caught:
        get(url)
    assert caught.value.param is None
    assert caught.value.message


def test_files_below_the_allowed_folder(tmp_path: Path) -> None:
    allowed, outside = tmp_path / "allowed", tmp_path / "outside"
    for folder in (allowed / "deep", outside):
        folder.mkdir(parents=True)
    (allowed / "deep" / "a b.png").write_bytes(b"inside")
    (outside / "secret").write_bytes(b"secret")
    (allowed / "link").symlink_to(outside / "secret")
    settings = {"allowed_local_media_path": str(allowed)}
    assert get(f"file://{allowed}/deep/a%20b.png", **settings) == b"inside"
    assert get(f"file://localhost{allowed}/deep/a%20b.png", **settings) == b"inside"
    for path in ("link", "../outside/secret", "%2e%2e/outside/secret", "deep", "missing", "", "x%00y"):
        with pytest.raises(BadRequest) as caught:
            get(f"file://{allowed}/{path}", **settings)
        assert str(tmp_path) not in caught.value.message
    with pytest.raises(BadRequest, match="host"):
        get(f"file://elsewhere{allowed}/deep/a%20b.png", **settings)


def test_files_need_a_folder() -> None:
    with pytest.raises(BadRequest, match="--allowed-local-media-path"):
        get("file:///etc/hostname")


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real client against moto's server."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    client = boto3.client("s3")
    client.create_bucket(Bucket="media")
    s3.client.cache_clear()
    yield client
    s3.client.cache_clear()
    client.close()
    server.stop()


def test_objects_of_allowed_buckets(bucket: Any) -> None:
    bucket.put_object(Bucket="media", Key="a b/c.png", Body=b"object")
    allowed = {"allowed_media_buckets": ["media"]}
    assert get("s3://media/a%20b/c.png", **allowed) == b"object"
    with pytest.raises(Unprocessable, match="NoSuchKey"):
        get("s3://media/missing", **allowed)
    with pytest.raises(BadRequest, match="name an object"):
        get("s3://media/", **allowed)
    with pytest.raises(BadRequest, match="allowed bucket"):
        get("s3://other/a", **allowed)
    with pytest.raises(BadRequest, match="allowed bucket"):
        get("s3://media/a%20b/c.png")


@pytest.mark.parametrize(
    ("text", "hint"), [("YWJj\nZGVm", "in one piece"), ("YWJjZA", "pad it with '='"), ("YW-_", "standard one")]
)
def test_common_mistakes_in_base64_are_named(text: str, hint: str) -> None:
    with pytest.raises(BadRequest, match=hint):
        get(f"data:image/png;base64,{text}")
