"""A client of the deployed stack: HTTP alone, with a key or without."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx

from infra.rehearsal.stack import Stack
from renderlayer.errors import ConfigurationError

SECONDS = 120


@dataclass(frozen=True)
class Caller:
    """Calls one public URL of a stack; `key` is a bearer token, `plan_key` a key of API Gateway."""

    stack: Stack
    url: str
    key: str = ""
    plan_key: str = ""

    def call(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> httpx.Response:
        """One request: a POST where there is a body, else a GET."""
        base, host = self.stack.local(self.url)
        sent = {**host, **self._authorization(), **(headers or {})}
        with httpx.Client(timeout=SECONDS) as client:
            if body is None:
                return client.get(base + path, headers=sent)
            return client.post(base + path, headers=sent, json=body)

    def send_form(self, path: str, field: str, content: bytes, **fields: str) -> Any:
        """The answer to a form with one file, which must succeed."""
        base, host = self.stack.local(self.url)
        headers = {**host, **self._authorization()}
        with httpx.Client(timeout=SECONDS) as client:
            return _read(path, client.post(base + path, headers=headers, files={field: content}, data=fields))

    def delete(self, path: str) -> Any:
        """The answer of a DELETE that must succeed."""
        base, host = self.stack.local(self.url)
        with httpx.Client(timeout=SECONDS) as client:
            return _read(path, client.delete(base + path, headers={**host, **self._authorization()}))

    def json(self, path: str, body: Any = None) -> Any:
        """The answer of a call that must succeed.

        Raises:
            ConfigurationError: it did not.
        """
        return _read(path, self.call(path, body))

    def events(self, path: str, body: Any) -> Iterator[tuple[float, str]]:
        """(seconds since the call, data) of each server-sent event, when it comes."""
        base, host = self.stack.local(self.url)
        began = time.monotonic()
        with (
            httpx.Client(timeout=SECONDS) as client,
            client.stream("POST", base + path, headers={**host, **self._authorization()}, json=body) as answer,
        ):
            if answer.status_code != httpx.codes.OK:
                raise ConfigurationError(f"{path} answered {answer.status_code}: {answer.read().decode()[:1000]}")
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    yield time.monotonic() - began, line.removeprefix("data:").strip()

    def _authorization(self) -> dict[str, str]:
        bearer = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return {**bearer, **({"x-api-key": self.plan_key} if self.plan_key else {})}


def _read(path: str, answer: httpx.Response) -> Any:
    if answer.status_code != httpx.codes.OK:
        raise ConfigurationError(f"{path} answered {answer.status_code}: {answer.text[:1000]}")
    return answer.json()
