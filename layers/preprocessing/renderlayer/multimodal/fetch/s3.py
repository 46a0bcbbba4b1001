"""s3:// URLs of buckets that the deployment allows, read with its own role."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from renderlayer.errors import BadRequest
from renderlayer.multimodal.fetch.budget import Deadline, FetchBudget, unfetchable
from renderlayer.settings import Settings
from renderlayer.storage.s3 import error_code, make_client

_CHUNK = 1 << 20
ATTEMPTS = 2


def fetch(url: str, settings: Settings, deadline: Deadline, budget: FetchBudget) -> bytes:
    """The object's content.

    Raises:
        BadRequest: the bucket is not on the allow-list.
        Unprocessable: the object is missing, too large, or the store did not answer in time.
    """
    parts = urlsplit(url)
    if parts.netloc not in settings.allowed_media_buckets:
        raise BadRequest("The s3 URL must name an allowed bucket (setting allowed_media_buckets).")
    key = unquote(parts.path.lstrip("/"))
    if not key:
        raise BadRequest("The s3 URL must name an object.")
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = client().get_object(Bucket=parts.netloc, Key=key)
        budget.check_item(int(answer["ContentLength"]))
        return _read(answer["Body"], deadline, budget)
    except ClientError as error:
        raise unfetchable(error_code(error) or "error") from error
    except TimeoutError as error:
        raise unfetchable("timed out") from error
    except BotoCoreError as error:
        raise unfetchable("the object store cannot be reached") from error


@lru_cache(maxsize=1)
def client() -> Any:
    """The S3 client, made once and only where s3 URLs are used."""
    return make_client(attempts=ATTEMPTS, verifies=True)


def _read(body: Any, deadline: Deadline, budget: FetchBudget) -> bytes:
    chunks: list[bytes] = []
    for chunk in body.iter_chunks(_CHUNK):
        deadline.require()
        budget.receive(len(chunk))
        chunks.append(chunk)
    return b"".join(chunks)
