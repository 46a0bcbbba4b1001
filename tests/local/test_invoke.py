"""`python -m infra.local invoke` on the recorded events; `sam local invoke -e` takes the same files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local.__main__ import main
from infra.local.template import read
from renderlayer.batch.storage import keys
from tests.batch.conftest import bucket, cloud, first_cloud
from tests.batch.steps import lines
from tests.events import recorded

__all__ = ["bucket", "cloud", "first_cloud"]

EVENTS = Path(__file__).parents[1] / "events"


def invoke(function: str, event: Path, **environment: str) -> Any:
    command = [sys.executable, "-m", "infra.local", "invoke", function, "-e", str(event)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout[done.stdout.rindex("\n{\n") if "\n{\n" in done.stdout else 0 :])


@pytest.mark.parametrize("name", ["http_api", "rest_api", "load_balancer"])
def test_a_request_is_rendered(name: str, model_folder: Path) -> None:
    result = invoke("RenderFunction", EVENTS / f"{name}.json", RENDERLAYER_MODEL=str(model_folder))
    assert result["statusCode"] == 200
    assert json.loads(result["body"])["token_ids"]


def test_the_front_door_says_that_there_is_no_engine(model_folder: Path) -> None:
    environment = {"RENDERLAYER_MODEL": str(model_folder), "RENDERLAYER_ENGINE_URL": "http://127.0.0.1:9"}
    result = invoke(str(read().streaming), EVENTS / "function_url.json", **environment)
    assert result["statusCode"] == 503


def test_a_file_in_the_bucket_becomes_shards(cloud: Any, s3: Any, tmp_path: Path) -> None:
    """S3 tells a queue of it, whose message the function gets: the S3 event is the body of the SQS event."""
    told, event = recorded("s3"), recorded("sqs")
    assert json.loads(event["Records"][0]["body"]) == told
    key = told["Records"][0]["s3"]["object"]["key"]
    assert key.startswith(keys.INBOX)
    put = s3.put_object(Bucket=cloud.bucket, Key=key, Body=lines({"n": 1}, {"n": 2}))
    told["Records"][0]["s3"]["bucket"]["name"] = cloud.bucket
    told["Records"][0]["s3"]["object"]["versionId"] = put.get("VersionId", "null")
    event["Records"][0]["body"] = json.dumps(told)
    (tmp_path / "event.json").write_text(json.dumps(event))
    result = invoke("BatchSplitFunction", tmp_path / "event.json", **cloud.environment())
    assert result == {"batchItemFailures": []}
    assert s3.list_objects_v2(Bucket=cloud.bucket, Prefix="batches/status/")["KeyCount"] == 1


@pytest.fixture
def s3(cloud: Any) -> Any:
    return cloud.client("s3")


def test_an_unknown_function_and_a_broken_event_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "event.json").write_text("{")
    assert main(["invoke", "NoSuchFunction", "-e", str(EVENTS / "sqs.json")]) == 2
    assert "RenderFunction" in capsys.readouterr().err
    assert main(["invoke", "RenderFunction", "-e", str(tmp_path / "event.json")]) == 2
    assert "is no event" in capsys.readouterr().err
