"""Amazon S3 as the object store, with the process's own role; boto3 is imported by the first call."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadGateway, Unavailable
from renderlayer.request_context import trace_headers
from renderlayer.storage.objects import Conflict, Gone, Location, Stored

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

logger = logging.getLogger(__name__)

PIECE = 3 << 18
"""Bytes read at a time."""
CONNECT_SECONDS, READ_SECONDS, ATTEMPTS = 2, 5, 3
CONNECTIONS = 32
RETRY_AFTER = 2
"""Seconds after which a caller may try again when the store fails."""

_MISSING = frozenset({"404", "NoSuchKey", "NotFound", "NoSuchUpload", "NoSuchVersion"})
_DENIED = frozenset(
    {"NoSuchBucket", "AccessDenied", "AllAccessDisabled", "InvalidAccessKeyId", "SignatureDoesNotMatch"}
)
_DENIED |= {"403", "Forbidden", "401", "PermanentRedirect", "InvalidBucketName"}
_OTHER_VERSION = frozenset({"412", "PreconditionFailed"})
_OTHER_WRITER = frozenset({"409", "ConditionalRequestConflict"})


class S3Store:
    """An `ObjectStore` over boto3, configured by the usual AWS_ variables (AWS_ENDPOINT_URL_S3 for other makes).

    Args:
        client: as `make_client` takes it.

    Conditional writes keep the first of several writers; S3 shows an object only once all of it has arrived and its
    checksum is right.
    """

    def __init__(self, **client: Any) -> None:
        self._arguments = client
        self._lock = threading.Lock()
        self._made: Any = None

    def describe(self, location: Location) -> Stored | None:
        try:
            with translated(location):
                answer = self._client.head_object(**named(location), ChecksumMode="ENABLED")
        except Gone:
            return None
        return _stored(answer)

    def put(
        self,
        location: Location,
        data: bytes | bytearray,
        sha256: bytes,
        metadata: Mapping[str, str],
        replaces: Stored | None = None,
    ) -> bool:
        condition = {"IfNoneMatch": "*"} if replaces is None else {"IfMatch": replaces.etag}
        try:
            with translated(location):
                self._client.put_object(
                    **named(location),
                    **condition,
                    Body=data,
                    ContentType="application/octet-stream",
                    ChecksumAlgorithm="SHA256",
                    ChecksumSHA256=base64.b64encode(sha256).decode(),
                    Metadata=metadata,
                )
        except Gone:
            return False
        return True

    def renew(self, location: Location, stored: Stored) -> bool:
        try:
            with translated(location):
                self._client.copy_object(
                    **named(location),
                    CopySource=named(location),
                    CopySourceIfMatch=stored.etag,
                    MetadataDirective="REPLACE",
                    Metadata=stored.metadata,
                    ContentType="application/octet-stream",
                    ChecksumAlgorithm="SHA256",
                )
        except Gone:
            return False
        return True

    def read(self, location: Location, stored: Stored) -> Iterator[bytes]:
        with translated(location):
            body = self._client.get_object(**named(location), IfMatch=stored.etag)["Body"]
            try:
                while piece := body.read(PIECE):
                    yield piece
            finally:
                body.close()

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = make_client(**self._arguments)
        return self._made


def make_client(
    *, read_seconds: float = READ_SECONDS, attempts: int = ATTEMPTS, verifies: bool = False, **arguments: Any
) -> Any:
    """An S3 client with this package's time limits.

    Args:
        read_seconds: how long an answer may keep silent.
        verifies: whether it checks contents against S3's checksums; else its user does, once, by a digest of its own.
        arguments: for boto3; they go over what is said here.
    """
    from boto3.session import Session
    from botocore.config import Config

    checksums = "when_supported" if verifies else "when_required"
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=read_seconds,
        max_pool_connections=CONNECTIONS,
        retries={"total_max_attempts": attempts, "mode": "standard"},
        request_checksum_calculation=checksums,
        response_checksum_validation=checksums,
    )
    client = Session().client("s3", **{"config": config, **arguments})
    client.meta.events.register("before-call.s3", _traced)
    return client


def _traced(params: dict[str, Any], **_: Any) -> None:
    """Let a call carry the trace of the request that causes it."""
    params["headers"].update(trace_headers())


def named(location: Location) -> dict[str, str]:
    """A location as every call of boto3 takes it."""
    return {"Bucket": location.bucket, "Key": location.key}


def error_code(error: ClientError) -> str:
    """What S3 calls a fault; "" where it does not say."""
    return str(error.response.get("Error", {}).get("Code", ""))


def _stored(answer: Mapping[str, Any]) -> Stored:
    digest = answer.get("ChecksumSHA256")
    return Stored(
        answer["ContentLength"],
        answer["ETag"],
        answer["LastModified"].timestamp(),
        base64.b64decode(digest).hex() if digest else None,
        answer["Metadata"],
    )


@contextmanager
def translated(location: Location) -> Iterator[None]:
    """Faults of the store as errors of the tree; only their kind is logged."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = error_code(error)
        if code in _OTHER_WRITER:
            raise Conflict from None
        if code in _MISSING | _OTHER_VERSION:
            raise Gone from None
        logger.warning("the object store answered %s for bucket %s", code, location.bucket)
        if code in _DENIED:
            raise BadGateway(
                f"The object store refuses this server ({code}): its bucket or role is set up wrongly."
            ) from None
        raise Unavailable("The object store failed. Try again.", retry_after=RETRY_AFTER) from None
    except BotoCoreError as error:
        logger.warning("the object store failed with %s for bucket %s", type(error).__name__, location.bucket)
        raise Unavailable("The object store is out of reach. Try again.", retry_after=RETRY_AFTER) from None
