"""AWS Signature Version 4 of a POST to "/", for the one call of AWS that a cold start makes.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True)
class Credentials:
    """Keys of a role; `token` goes along with temporary ones."""

    access_key: str
    secret_key: str
    token: str = ""

    @classmethod
    def from_environment(cls) -> Credentials:
        """Those that Lambda gives a function."""
        return cls(
            os.environ["AWS_ACCESS_KEY_ID"],
            os.environ["AWS_SECRET_ACCESS_KEY"],
            os.environ.get("AWS_SESSION_TOKEN", ""),
        )


def signed(
    headers: Mapping[str, str],
    body: bytes,
    region: str,
    service: str,
    credentials: Credentials,
    now: float | None = None,
) -> dict[str, str]:
    """The headers, Host among them, with those that sign them and the body.

    Args:
        now: Unix seconds; default: the present.
    """
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    token = {"X-Amz-Security-Token": credentials.token} if credentials.token else {}
    sent = {**headers, "X-Amz-Date": moment, **token}
    lines = sorted((name.lower(), value.strip()) for name, value in sent.items())
    names = ";".join(name for name, _ in lines)
    canonical = "\n".join(
        ["POST", "/", "", *(f"{name}:{value}" for name, value in lines), "", names, hashlib.sha256(body).hexdigest()]
    )
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    text = "\n".join([ALGORITHM, moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{credentials.secret_key}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    access = f"{ALGORITHM} Credential={credentials.access_key}/{scope}"
    return {**sent, "Authorization": f"{access}, SignedHeaders={names}, Signature={signature}"}
