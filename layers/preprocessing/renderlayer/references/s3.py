"""Amazon S3 as the object store, with the process's own role; boto3 is imported by the first call."""

from __future__ import annotations

import base64
import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from renderlayer.errors import BadGateway, Unavailable
from renderlayer.references.address import Address
from renderlayer.references.store import Conflict, Gone, Stored
from renderlayer.request_context import trace_headers

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

    Conditional writes keep the first of several writers; S3 shows an object only once all of it has arrived and its
    checksum is right.
    """

    def __init__(self, **client: Any) -> None:
        self._arguments = client
        self._lock = threading.Lock()
        self._made: Any = None

    def describe(self, address: Address) -> Stored | None:
        try:
            with translated(address):
                answer = self._client.head_object(**named(address), ChecksumMode="ENABLED")
        except Gone:
            return None
        return _stored(answer)

    def put(
        self,
        address: Address,
        data: bytes | bytearray,
        sha256: bytes,
        metadata: Mapping[str, str],
        replaces: Stored | None = None,
    ) -> bool:
        condition = {"IfNoneMatch": "*"} if replaces is None else {"IfMatch": replaces.etag}
        try:
            with translated(address):
                self._client.put_object(
                    **named(address),
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

    def renew(self, address: Address, stored: Stored) -> bool:
        try:
            with translated(address):
                self._client.copy_object(
                    **named(address),
                    CopySource=named(address),
                    CopySourceIfMatch=stored.etag,
                    MetadataDirective="REPLACE",
                    Metadata=stored.metadata,
                    ContentType="application/octet-stream",
                    ChecksumAlgorithm="SHA256",
                )
        except Gone:
            return False
        return True

    def read(self, address: Address, stored: Stored) -> Iterator[bytes]:
        with translated(address):
            body = self._client.get_object(**named(address), IfMatch=stored.etag)["Body"]
            try:
                while piece := body.read(PIECE):
                    yield piece
            finally:
                body.close()

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                self._made = make_client(self._arguments)
        return self._made


def make_client(arguments: dict[str, Any]) -> Any:
    """An S3 client with this package's time limits; `arguments` go over them."""
    from boto3.session import Session
    from botocore.config import Config

    # the content is checked against the label's digest, once; not by the client beside that
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        max_pool_connections=CONNECTIONS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    client = Session().client("s3", **{"config": config, **arguments})
    client.meta.events.register("before-call.s3", _traced)
    return client


def _traced(params: dict[str, Any], **_: Any) -> None:
    """Let a call carry the trace of the request that causes it."""
    params["headers"].update(trace_headers())


def named(address: Address) -> dict[str, str]:
    """An address as every call of boto3 takes it."""
    return {"Bucket": address.bucket, "Key": address.key}


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
def translated(address: Address) -> Iterator[None]:
    """Faults of the store as errors of the tree; only their kind is logged."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _OTHER_WRITER:
            raise Conflict from None
        if code in _MISSING | _OTHER_VERSION:
            raise Gone from None
        logger.warning("the object store answered %s for bucket %s", code, address.bucket)
        if code in _DENIED:
            raise BadGateway(
                f"The object store refuses this server ({code}): its bucket or role is set up wrongly."
            ) from None
        raise Unavailable("The object store failed. Try again.", retry_after=RETRY_AFTER) from None
    except BotoCoreError as error:
        logger.warning("the object store failed with %s for bucket %s", type(error).__name__, address.bucket)
        raise Unavailable("The object store is out of reach. Try again.", retry_after=RETRY_AFTER) from None
