"""`python -m infra.local batch FILE MODEL`: a file through the batch functions on this machine, with a progress bar."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

from infra.local.batch_cloud import DEAD, QUEUES, Cloud, enter, running_cloud
from infra.local.batch_pump import EventSource, Pump
from infra.local.serve import configure
from renderlayer.batch.api.report import bar
from renderlayer.batch.storage import keys
from renderlayer.batch.storage.status import ENDED, RANKS, Batch
from renderlayer.errors import ConfigurationError
from renderlayer.flags import add_flags
from renderlayer.settings import Settings

EVERY = 0.2
"""Seconds between two looks at the status."""

Json = dict[str, Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file, where results go, the model and the flags of the settings."""
    parser.add_argument("file", type=Path, help="JSON lines, each with custom_id, method, url and body")
    parser.add_argument(
        "-o", "--output", type=Path, help="folder for output.jsonl and errors.jsonl (default: FILE.out)"
    )
    add_flags(parser)


def run(arguments: argparse.Namespace) -> None:
    """Put the file into the bucket and wait for its results; the functions' log goes into the folder of the results.

    Raises:
        ConfigurationError: there is no such file, or the settings or the model cannot work.
    """
    if not arguments.file.is_file():
        raise ConfigurationError(f"{arguments.file} is not a file")
    configure(Settings.from_arguments(arguments))
    output: Path = arguments.output or arguments.file.with_name(arguments.file.name + ".out")
    output.mkdir(parents=True, exist_ok=True)
    with running_cloud() as cloud, (output / "log.jsonl").open("w") as log, redirect_stdout(log):
        enter(cloud.environment())
        with Pump(cloud.client("sqs"), sources(cloud)):
            cloud.client("s3").upload_file(str(arguments.file), cloud.bucket, keys.INBOX + arguments.file.name)
            batch = _watch(cloud)
        _fetch(cloud, batch, output)
    print(json.dumps({"status": batch["status"], **batch["request_counts"], "folder": str(output)}))


def sources(cloud: Cloud) -> list[EventSource]:
    """Queues and the deployed handlers that they call."""
    split, work, join, dead = (import_module(f"functions.batch_{name}.app") for name in (*QUEUES, DEAD))
    return [
        EventSource("BatchSplitFunction", cloud.queues["split"], split.handler),
        EventSource("BatchWorkFunction", cloud.queues["work"], work.handler, messages=1),
        EventSource("BatchJoinFunction", cloud.queues["join"], join.handler),
        EventSource("BatchDeadFunction", cloud.queues[DEAD], dead.handler),
    ]


def _watch(cloud: Cloud) -> Batch:
    """Show how the one batch of the bucket comes along; what it is in the end."""
    s3 = cloud.client("s3")
    while True:
        found = s3.list_objects_v2(Bucket=cloud.bucket, Prefix=keys.STATUSES).get("Contents", [])
        if found:
            batch: Batch = json.loads(s3.get_object(Bucket=cloud.bucket, Key=found[0]["Key"])["Body"].read())
            print(f"\r{bar(batch, time.time())}", end="", file=sys.stderr, flush=True)
            if RANKS[batch["status"]] == ENDED:
                print(file=sys.stderr)
                return batch
        time.sleep(EVERY)


def _fetch(cloud: Cloud, batch: Mapping[str, Any], output: Path) -> None:
    for field, name in (("output_file_id", "output.jsonl"), ("error_file_id", "errors.jsonl")):
        target = output / name
        target.unlink(missing_ok=True)
        if batch[field]:
            cloud.client("s3").download_file(cloud.bucket, keys.key_of(batch[field]), str(target))
