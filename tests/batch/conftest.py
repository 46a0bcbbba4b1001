"""A cloud of its own for every test: bucket, queues and notifications on moto's server, over the real boto3."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.local.batch_cloud import Cloud, made, running_cloud
from renderlayer.batch.store import Bucket


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
