"""What the template deploys of batches agrees with the code."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

import pytest
import yaml

from infra.local.batch_cloud import ATTEMPTS, QUEUES, Cloud
from infra.local.template import TEMPLATE, _Loader, read
from renderlayer.batch import setup
from renderlayer.batch.consumer import Consumer
from renderlayer.batch.storage import keys
from renderlayer.errors import Unavailable
from renderlayer.http.complete import PATHS
from renderlayer.storage.bucket import Bucket
from tests.batch.steps import ENGINE, Steps, lines
from tests.deployment.rules.test_metric_filters import matches, patterns


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


def test_batches_are_swept_on_schedule(
    resources: dict[str, Any], bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep = resources["BatchJoinFunction"]["Properties"]["Events"]["Sweep"]
    assert sweep["Type"] == "Schedule"
    assert sweep["Properties"]["Schedule"].startswith("rate(")
    monkeypatch.setenv("RENDERLAYER_BATCH_BUCKET", bucket.name)
    setup.joiner.cache_clear()
    handler = import_module("functions.batch_join.app").handler
    assert handler(json.loads(sweep["Properties"]["Input"]), None) == {"looked_at": 0}
    setup.joiner.cache_clear()


def test_what_failed_repeatedly_is_given_up(resources: dict[str, Any]) -> None:
    given_up = resources["BatchDeadFunction"]["Properties"]["Events"]["Messages"]["Properties"]["Queue"]
    for step in QUEUES:
        queue = resources[f"Batch{step.capitalize()}Queue"]["Properties"]
        assert queue["RedrivePolicy"]["deadLetterTargetArn"] == given_up


def test_a_shard_that_waits_for_the_engine_is_counted(cloud: Cloud, capsys: pytest.CaptureFixture[str]) -> None:
    def out_of_reach(body: Any, request_id: str) -> Any:
        raise Unavailable("The engine is out of reach.")

    steps = Steps(cloud, engine=out_of_reach)
    (shard,) = steps.split(lines({"n": 1}, url=ENGINE))
    event = {"Records": [{"messageId": "1", "body": json.dumps(shard.message())}]}
    Consumer("batch_work", lambda: steps.worker.receive)(event, None)
    (pattern,) = patterns("BatchWorkLogs")
    assert [matches(pattern, json.loads(line)) for line in capsys.readouterr().out.splitlines()] == [True]
    assert not matches(pattern, {"outcome": "returned", "waiting_for": "time"})
