"""How a batch comes along, for a person: counts, rate and time left."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from renderlayer.batch.api.service import BatchService
from renderlayer.batch.storage import keys
from renderlayer.batch.storage.status import Batch
from renderlayer.errors import ConfigurationError, NotFound, RenderLayerError
from renderlayer.storage.bucket import Bucket

MOST = 20
"""Batches that are shown of a bucket."""
WIDTH = 30

Json = dict[str, Any]

_CREDENTIALS = "give them by AWS_PROFILE, or by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_REASONS = {
    "NoCredentialsError": f"no AWS credentials were found: {_CREDENTIALS}",
    "PartialCredentialsError": f"the AWS credentials are incomplete: {_CREDENTIALS}",
    "ProfileNotFound": "AWS_PROFILE names a profile that does not exist",
    "NoRegionError": "no region is known: set AWS_DEFAULT_REGION",
    "EndpointConnectionError": "S3 is out of reach",
    "AccessDenied": "the credentials may not read this bucket",
    "InvalidAccessKeyId": "S3 does not know the access key",
    "SignatureDoesNotMatch": "S3 refuses the secret access key",
    "NoSuchBucket": "there is no such bucket",
}
"""Sentences by botocore's exception or by S3's error code."""


def rate(batch: Batch, now: float) -> float:
    """Lines a second since the work began; 0 when none is done."""
    counts, began = batch["request_counts"], batch["in_progress_at"]
    done = counts["completed"] + counts["failed"]
    ends = (batch["completed_at"], batch["failed_at"], batch["expired_at"], batch["cancelled_at"])
    until = next((end for end in ends if end is not None), now)
    return done / max(until - began, 1) if began is not None else 0.0


def time_left(batch: Batch, now: float) -> float | None:
    """Seconds until the last line is done at the rate so far; None when nobody can say."""
    counts, speed = batch["request_counts"], rate(batch, now)
    left = counts["total"] - counts["completed"] - counts["failed"]
    return left / speed if speed and left >= 0 else None


def bar(batch: Batch, now: float) -> str:
    """One line that is written over and over."""
    counts = batch["request_counts"]
    done, total = counts["completed"] + counts["failed"], counts["total"]
    filled = WIDTH * done // total if total else 0
    return f"[{'#' * filled}{'.' * (WIDTH - filled)}] {summary(batch, now)}  "


def summary(batch: Batch, now: float) -> str:
    """Status, counts, rate, and the time left while there is some."""
    counts = batch["request_counts"]
    done = counts["completed"] + counts["failed"]
    parts = [f"{batch['status']}: {done}/{counts['total']} lines", f"{counts['failed']} failed"]
    parts.append(f"{rate(batch, now):.1f} lines/s")
    left = time_left(batch, now)
    if batch["status"] in ("in_progress", "cancelling") and left is not None:
        parts.append(f"{clock(left)} left")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """A time span as h:mm:ss."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def print_status(address: str, as_json: bool) -> int:
    """Print how batches come along; the exit status.

    Args:
        address: `s3://bucket` for the newest batches, `s3://bucket/batch_…` for one, `s3://bucket/<key of an input>`
            for those of a file.

    Raises:
        ConfigurationError: the address is none, or there is no such batch.
    """
    scheme, _, rest = address.partition("://")
    name, _, wanted = rest.strip("/").partition("/")
    if scheme != "s3" or not name:
        raise ConfigurationError(f"{address}: not of the form s3://BUCKET[/BATCH]")
    try:
        found = list(_wanted(BatchService(Bucket(name), ()), wanted))
    except ImportError as error:
        raise ConfigurationError("reading S3 needs boto3: pip install 'renderlayer[aws]'") from error
    except RenderLayerError as error:
        raise ConfigurationError(f"s3://{name}: {_reason(error)}") from error
    if wanted and not found:
        raise ConfigurationError(f"{address}: no such batch")
    now = time.time()
    for batch in found:
        print(json.dumps(batch) if as_json else f"{batch['id']}  {summary(batch, now)}")
    return 0


def _reason(error: RenderLayerError) -> str:
    """Why a bucket cannot be read, from what AWS's library said."""
    cause = error.__context__
    kind = type(cause).__name__
    code = getattr(cause, "response", {}).get("Error", {}).get("Code", "")
    return _REASONS.get(code) or _REASONS.get(kind) or f"{error.message} ({code or kind})"


def _wanted(orders: BatchService, wanted: str) -> Iterator[Batch]:
    if not wanted:
        return islice(orders.listed(None), MOST)
    if wanted.startswith(keys.ROOT):
        file_id = keys.file_id(wanted)
        return (batch for batch in orders.listed(None) if batch["input_file_id"] == file_id)
    try:
        return iter([orders.retrieve(wanted)])
    except NotFound:
        return iter(())
