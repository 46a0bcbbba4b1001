"""What the template deploys of batches agrees with the code."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from infra.local.batch_cloud import ATTEMPTS, QUEUES
from infra.local.template import TEMPLATE, _Loader, read
from renderlayer.batch import keys
from renderlayer.http.complete import PATHS


@pytest.fixture(scope="module")
def resources() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(TEMPLATE.read_text(), _Loader)  # a SafeLoader
    return document["Resources"]


@pytest.mark.parametrize(
    ("path", "function"),
    [
        *((path, "CompleteFunction") for path in PATHS),
        ("/v1/files", "BatchApiFunction"),
        ("/v1/files/file-1", "BatchApiFunction"),
        ("/v1/files/file-1/content", "BatchApiFunction"),
        ("/v1/uploads", "BatchApiFunction"),
        ("/v1/uploads/upload_1/parts", "BatchApiFunction"),
        ("/v1/uploads/upload_1/complete", "BatchApiFunction"),
        ("/v1/batches", "BatchApiFunction"),
        ("/v1/batches/batch_1", "BatchApiFunction"),
        ("/v1/batches/batch_1/cancel", "BatchApiFunction"),
        ("/v1/batches/batch_1/other", "RenderFunction"),
        ("/v1/batches/", "RenderFunction"),
    ],
)
def test_routes(path: str, function: str) -> None:
    assert read().function_for("POST", path) == function


def test_notifications_start_where_files_and_parts_are_put(resources: dict[str, Any]) -> None:
    told = resources["BatchBucket"]["Properties"]["NotificationConfiguration"]["QueueConfigurations"]
    prefixes = {entry["Queue"]: entry["Filter"]["S3Key"]["Rules"][0]["Value"] for entry in told}
    assert prefixes == {"BatchSplitQueue.Arn": keys.INBOX, "BatchJoinQueue.Arn": keys.PARTS}


def test_messages_stay_hidden_for_six_times_the_functions_timeout(resources: dict[str, Any]) -> None:
    consumers = [
        (resource["Properties"], event["Properties"])
        for resource in resources.values()
        if resource["Type"] == "AWS::Serverless::Function"
        for event in resource["Properties"].get("Events", {}).values()
        if event["Type"] == "SQS"
    ]
    assert len(consumers) == 4
    for function, event in consumers:
        queue = resources[event["Queue"].removesuffix(".Arn")]["Properties"]
        assert queue["VisibilityTimeout"] >= 6 * function["Timeout"]
        assert event["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert queue["RedrivePolicy"]["maxReceiveCount"] >= ATTEMPTS


def test_what_failed_repeatedly_is_given_up(resources: dict[str, Any]) -> None:
    given_up = resources["BatchDeadFunction"]["Properties"]["Events"]["Messages"]["Properties"]["Queue"]
    for step in QUEUES:
        queue = resources[f"Batch{step.capitalize()}Queue"]["Properties"]
        assert queue["RedrivePolicy"]["deadLetterTargetArn"] == given_up
