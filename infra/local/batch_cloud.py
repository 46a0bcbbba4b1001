"""The bucket and the queues of batches on a laptop: moto's S3 and SQS over loopback, wired as in `template.yaml`."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from renderlayer.batch.storage import keys
from renderlayer.errors import ConfigurationError

REGION = "eu-central-1"
QUEUES = ("split", "work", "join")
DEAD = "dead"
"""The queue of what failed repeatedly in one of them."""
ATTEMPTS = 5
"""Receipts of a message before it is a dead letter, as in the template."""


@dataclass(frozen=True)
class Cloud:
    """What was made.

    Attributes:
        url: where S3 and SQS answer.
        bucket: name of the bucket.
        queues: URLs by name: split, work, join and dead.
    """

    url: str
    bucket: str
    queues: dict[str, str]

    def client(self, service: str) -> Any:
        """A boto3 client; one for all who ask."""
        return _client(self.url, service)

    def environment(self, url: str = "") -> dict[str, str]:
        """Variables by which the functions find it; `url`: another address for S3, such as a proxy's."""
        return {
            "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL_S3": url or self.url,
            "AWS_ENDPOINT_URL_SQS": self.url,
            "RENDERLAYER_BATCH_BUCKET": self.bucket,
            "RENDERLAYER_BATCH_SPLIT_QUEUE": self.queues["split"],
            "RENDERLAYER_BATCH_WORK_QUEUE": self.queues["work"],
        }


CREDENTIALS = {"aws_access_key_id": "local", "aws_secret_access_key": "local"}


@contextmanager
def running_cloud(bucket: str = "batches", attempts: int = ATTEMPTS, visibility: int = 900) -> Iterator[Cloud]:
    """S3 and SQS for as long as the context lasts.

    Args:
        attempts: receipts of a message before it is a dead letter.
        visibility: seconds in which nobody else receives a message that was received.

    Raises:
        ConfigurationError: moto is not installed.
    """
    try:
        from moto.server import ThreadedMotoServer
    except ImportError as error:
        raise ConfigurationError("batches on this machine need moto: pip install 'moto[s3,server,sqs]'") from error

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield made(Cloud(f"http://{host}:{port}", bucket, {}), attempts, visibility)
    finally:
        server.stop()


def made(cloud: Cloud, attempts: int = ATTEMPTS, visibility: int = 900) -> Cloud:
    """Make bucket, queues and notifications."""
    sqs, s3 = cloud.client("sqs"), cloud.client("s3")
    urls: dict[str, str] = {}
    arns: dict[str, str] = {}
    for name in (DEAD, *QUEUES):
        attributes = {"VisibilityTimeout": str(visibility)}
        if name != DEAD:
            attributes["RedrivePolicy"] = json.dumps({"deadLetterTargetArn": arns[DEAD], "maxReceiveCount": attempts})
        urls[name] = sqs.create_queue(QueueName=f"{cloud.bucket}-{name}", Attributes=attributes)["QueueUrl"]
        found = sqs.get_queue_attributes(QueueUrl=urls[name], AttributeNames=["QueueArn"])
        arns[name] = found["Attributes"]["QueueArn"]
    s3.create_bucket(Bucket=cloud.bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_notification_configuration(
        Bucket=cloud.bucket,
        NotificationConfiguration={
            "QueueConfigurations": [
                _notification(arns["split"], keys.INBOX),
                _notification(arns["join"], keys.PARTS),
            ]
        },
    )
    return Cloud(cloud.url, cloud.bucket, urls)


@cache
def _client(url: str, service: str) -> Any:
    import boto3

    return boto3.client(service, endpoint_url=url, region_name=REGION, **CREDENTIALS)


def enter(environment: dict[str, str]) -> None:
    """Let functions of this process find it."""
    os.environ.update(environment)


def _notification(queue: str, prefix: str) -> dict[str, Any]:
    rules = [{"Name": "prefix", "Value": prefix}]
    return {"QueueArn": queue, "Events": ["s3:ObjectCreated:*"], "Filter": {"Key": {"FilterRules": rules}}}
