"""S3 for the tests: moto's server over loopback, and a proxy before it that fails on demand."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from renderlayer.references.address import Place
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.storage.s3 import S3Store
from tests.models import open_server
from tests.references.faults import FaultyStore
from tests.references.vision import make_vision_folder

REGION = "eu-central-1"


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    """The address of an S3 that only these tests use; this process and its children find it by the AWS_ variables."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        }.items():
            patch.setenv(name, value)
        yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="session")
def s3(s3_url: str) -> Any:
    """A plain client, for what a person would do behind the product's back."""
    import boto3

    return boto3.client("s3", endpoint_url=s3_url)


@pytest.fixture
def place(s3: Any, request: pytest.FixtureRequest) -> Place:
    """A bucket of the test's own."""
    bucket = "b" + "".join(c for c in request.node.name.lower() if c.isalnum())[:40] + f"{id(request):x}"
    s3.create_bucket(Bucket=bucket[:60], CreateBucketConfiguration={"LocationConstraint": REGION})
    return Place(bucket[:60], "references")


@pytest.fixture
def store(s3_url: str) -> S3Store:
    return S3Store()


@pytest.fixture
def faulty(s3_url: str) -> Iterator[FaultyStore]:
    """The same S3 through a proxy that counts requests and fails as told."""
    with FaultyStore(s3_url) as proxy:
        yield proxy


@pytest.fixture
def faulty_store(faulty: FaultyStore) -> S3Store:
    """A store behind the proxy, which does not try again, so that tests need not wait."""
    from botocore.config import Config

    config = Config(retries={"total_max_attempts": 1}, response_checksum_validation="when_required")
    return S3Store(endpoint_url=faulty.url, config=config)


@pytest.fixture(scope="session")
def vision_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model of the Qwen3-VL family, without weights."""
    return make_vision_folder(tmp_path_factory.mktemp("models") / "vision")


@pytest.fixture
def vision(vision_folder: Path, place: Place) -> Callable[..., ServedModel]:
    """Serves the vision model with references in the test's bucket; takes settings."""

    def serve(**settings: Any) -> ServedModel:
        chosen = {"served_model_name": ["vision"], "reference_bucket": place.bucket, **settings}
        return open_server(vision_folder, Settings(**chosen))

    return serve
