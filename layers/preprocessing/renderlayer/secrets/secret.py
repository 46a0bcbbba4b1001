"""Keys out of AWS Secrets Manager: read when they are needed, and again every minute, so that they can be rotated."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from renderlayer.errors import Unavailable
from renderlayer.secrets.signature import Credentials, signed
from renderlayer.settings import Settings

FRESH_SECONDS = 60
"""Age up to which what was read is used as it is."""
READ_SECONDS = 5
SERVICE, TARGET = "secretsmanager", "secretsmanager.GetSecretValue"

logger = logging.getLogger(__name__)


def read_secret(arn: str) -> str:
    """A secret's text, with the process's own role.

    In a function the role is in the environment, and boto3, which takes longer to import than all the rest of a cold
    start, is not needed.

    Raises:
        Unavailable: Secrets Manager failed or refuses this process.
    """
    try:
        found = _called(arn) if "AWS_ACCESS_KEY_ID" in os.environ else _asked_of_boto3(arn)
    except (OSError, HTTPException, ValueError, KeyError) as error:
        logger.error("a secret could not be read: %s", type(error).__name__)
        raise Unavailable("The keys cannot be read at the moment. Try again.", retry_after=2) from None
    return found


def texts(secret: str) -> list[str]:
    """The texts of a secret: separated by commas or lines, or the values of a JSON object or list."""
    try:
        value = json.loads(secret)
    except ValueError:
        value = None
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        value = secret.replace("\n", ",").split(",")
    return [text.strip() for text in value if isinstance(text, str) and text.strip()]


class Secret:
    """The texts of one secret; safe from several threads.

    Args:
        arn: the secret.
        read: gives its text.
    """

    def __init__(self, arn: str, read: Callable[[str], str] = read_secret) -> None:
        self._arn = arn
        self._read = read
        self._lock = threading.Lock()
        self._texts: list[str] = []
        self._read_at = float("-inf")

    def texts(self, oldest: float = FRESH_SECONDS) -> list[str]:
        """What it holds, or held at most `oldest` seconds ago; the last that was read where it cannot be read.

        Raises:
            Unavailable: it could not be read yet, or holds nothing.
        """
        with self._lock:
            now = time.monotonic()
            if now - self._read_at > oldest:
                try:
                    self._texts = _some(texts(self._read(self._arn)))
                except Unavailable:
                    if self._read_at == float("-inf"):
                        raise
                self._read_at = now
            return self._texts


def engine_key(settings: Settings) -> str | Secret:
    """The engine's key: fixed, or in a secret."""
    return Secret(settings.engine_api_key_secret) if settings.engine_api_key_secret else settings.engine_api_key


def _some(found: list[str]) -> list[str]:
    if not found:
        raise Unavailable("The secret with the keys is empty.", retry_after=10)
    return found


def _called(arn: str) -> str:
    partition, region = arn.split(":")[1], arn.split(":")[3]
    suffix = "amazonaws.com.cn" if partition == "aws-cn" else "amazonaws.com"
    given = os.environ.get("AWS_ENDPOINT_URL_SECRETS_MANAGER") or os.environ.get("AWS_ENDPOINT_URL")
    url = urlsplit(given or f"https://{SERVICE}.{region}.{suffix}")
    body = json.dumps({"SecretId": arn}).encode()
    headers = {"Host": url.netloc, "Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": TARGET}
    make = HTTPSConnection if url.scheme == "https" else HTTPConnection
    connection = make(url.netloc, timeout=READ_SECONDS)
    try:
        connection.request("POST", "/", body, signed(headers, body, region, SERVICE, Credentials.from_environment()))
        answer = connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise ValueError(answer.status)
        return str(json.loads(content)["SecretString"])
    finally:
        connection.close()


def _asked_of_boto3(arn: str) -> str:
    from boto3.session import Session
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        answer = Session().client(SERVICE, region_name=arn.split(":")[3]).get_secret_value(SecretId=arn)
    except (BotoCoreError, ClientError) as error:
        raise ValueError(type(error).__name__) from None
    return str(answer["SecretString"])
