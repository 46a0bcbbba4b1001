"""Who may call: keys of the settings and of a secret, as bearer tokens and as x-api-key."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from renderlayer.errors import Unavailable
from renderlayer.http.middleware.auth import Keys, RequireKey
from renderlayer.secrets.secret import Secret


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(keys: Keys, path: str = "/v1/models", method: str = "GET", **headers: str) -> int:
    scope: dict[str, Any] = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        "aws.event": {},
    }
    seen: list[Message] = []

    async def send(message: Message) -> None:
        seen.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(RequireKey(answer, keys)(scope, receive, send))
    return int(seen[0]["status"])


FIXED = Keys(["first", "second"])


@pytest.mark.parametrize(
    "path", ["/tokenize", "/detokenize", "/docs", "/openapi.json", "/version", "/v1/models", "/", "/x"]
)
def test_every_path_asks_for_a_key(path: str) -> None:
    assert status(FIXED, path) == 401
    assert status(FIXED, path, authorization="Bearer first") == 204


@pytest.mark.parametrize("path", ["/health", "/ping"])
def test_health_is_open(path: str) -> None:
    assert status(FIXED, path) == 204
    assert status(FIXED, path + "/x") == 401


def test_a_preflight_is_open() -> None:
    assert status(FIXED, method="OPTIONS") == 204


def test_a_key_may_come_beside_a_signature() -> None:
    assert status(FIXED, authorization="AWS4-HMAC-SHA256 Credential=x", x_api_key="second") == 204
    assert status(FIXED, authorization="AWS4-HMAC-SHA256 Credential=x", x_api_key="third") == 401
    assert status(FIXED, x_api_key="first") == 204


def test_a_new_key_counts_at_once_and_a_revoked_one_within_the_age_of_the_secret() -> None:
    held = ["old"]
    keys = Keys([], Secret("arn", lambda arn: ",".join(held)))
    assert status(keys, x_api_key="old") == 204
    held[:] = ["new", "old"]
    keys._secret._read_at -= 6  # type: ignore[union-attr]
    assert status(keys, x_api_key="new") == 204
    assert status(keys, x_api_key="old") == 204
    held[:] = ["new"]
    keys._secret._read_at -= 61  # type: ignore[union-attr]
    assert status(keys, x_api_key="old") == 401


def test_without_the_secret_nobody_passes() -> None:
    def down(arn: str) -> str:
        raise Unavailable("down")

    assert status(Keys([], Secret("arn", down)), x_api_key="any") == 503
    assert status(Keys(["fixed"], Secret("arn", down)), x_api_key="fixed") == 204
