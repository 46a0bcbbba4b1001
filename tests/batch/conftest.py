"""A cloud of its own for every test: bucket, queues and notifications on moto's server, over the real boto3."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import openai
import pytest

from infra.local.batch_cloud import Cloud, made, running_cloud
from renderlayer.storage.bucket import Bucket
from tests.local.test_serve import running

GATEWAY = [sys.executable, "-m", "infra.local", "serve"]


@pytest.fixture(scope="package")
def first_cloud() -> Iterator[Cloud]:
    with running_cloud(f"b{uuid.uuid4().hex}") as cloud, pytest.MonkeyPatch.context() as patch:
        for name, value in cloud.environment().items():
            if name.startswith("AWS_"):
                patch.setenv(name, value)
        yield cloud


@pytest.fixture
def cloud(first_cloud: Cloud) -> Cloud:
    """Messages are dead letters after five receipts, as deployed."""
    return made(replace(first_cloud, bucket=f"b{uuid.uuid4().hex}"))


@pytest.fixture
def bucket(cloud: Cloud) -> Bucket:
    return Bucket(cloud.bucket)


@pytest.fixture
def s3(cloud: Cloud) -> Any:
    return cloud.client("s3")


@dataclass
class Deployed:
    """OpenAI's client at a gateway, and the cloud behind it."""

    client: openai.OpenAI
    cloud: Cloud


@pytest.fixture
def deployed(cloud: Cloud, server: Any) -> Iterator[Deployed]:
    environment = {**cloud.environment(), "RENDERLAYER_SERVED_MODEL_NAME": "small"}
    command = [*GATEWAY, server.settings.model, "--max-response-bytes", "300000"]
    with (
        running(command, **environment) as gateway,
        openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="none", max_retries=0) as client,
    ):
        yield Deployed(client, cloud)
