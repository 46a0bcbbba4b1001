"""The engine's client: `/inference/v1/generate`, whole and streamed (wire.md 5)."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

import httpx

from renderlayer.deadline import is_over, out_of_time, seconds_left
from renderlayer.errors import BadGateway, RenderLayerError, Unavailable
from renderlayer.secrets.secret import FRESH_SECONDS, Secret

GENERATE = "/inference/v1/generate"
DEFAULT_TIMEOUT = httpx.Timeout(600.0, connect=5.0)


BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which the same request may succeed; 502 and 504 are those of a load balancer that loses a target."""


class EngineError(RenderLayerError):
    """The engine refused a request; its status and error body are passed on unchanged."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message", "")), error.get("param"))
        self.status = status
        self.type = str(error.get("type", "BadRequestError"))


class Bearer(httpx.Auth):
    """Sends the engine's key; one that a secret holds may have been rotated."""

    def __init__(self, key: str | Secret) -> None:
        self._key = key

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response]:
        if isinstance(self._key, str):
            if self._key:
                request.headers["Authorization"] = f"Bearer {self._key}"
            yield request
            return
        for oldest in (FRESH_SECONDS, 0.0):
            request.headers["Authorization"] = f"Bearer {self._key.texts(oldest)[0]}"
            if (yield request).status_code != httpx.codes.UNAUTHORIZED:
                return


class Engine:
    """A connection pool to one generate service.

    Args:
        url: base URL, without `/inference/v1/generate`.
        api_key: sent as a bearer token; a secret is read anew where the engine does not take what it held.
        transport: how requests travel; default: the network.
        refuse_aborted: treat whole answers that the engine ended with "abort", as it does while it is being stopped,
            as failures.

    Raises (all calls):
        EngineError: the engine answered with a client error.
        Unavailable: it is overloaded, starting, or out of reach; try again.
        BadGateway: it answered something that is not the wire.
    """

    def __init__(
        self,
        url: str,
        api_key: str | Secret = "",
        transport: httpx.BaseTransport | None = None,
        refuse_aborted: bool = False,
    ) -> None:
        self._refuse_aborted = refuse_aborted
        self._client = httpx.Client(
            base_url=url.rstrip("/"), auth=Bearer(api_key), timeout=DEFAULT_TIMEOUT, transport=transport
        )

    def close(self) -> None:
        self._client.close()

    def generate(self, request: dict[str, Any]) -> dict[str, Any]:
        """One whole answer (wire.md 5.2)."""
        with _translated():
            body = {**request, "stream": False, "stream_options": None}
            response = self._client.post(GENERATE, json=body, timeout=_timeout())
            _check(response)
            answer = response.json()
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list):
            raise BadGateway("The engine's answer is not a generate response.")
        if self._refuse_aborted and any(_aborted(choice) for choice in answer["choices"]):
            raise BadGateway("The engine was stopped before this answer was complete.")
        return answer

    def stream(self, request: dict[str, Any]) -> Generator[dict[str, Any]]:
        """The events of a streamed answer (wire.md 5.3), without the closing [DONE].

        Closing the iterator closes the connection, which makes the engine stop.
        """
        body = {**request, "stream": True}
        with _translated(), self._client.stream("POST", GENERATE, json=body, timeout=_timeout()) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
            _check(response)
            for event in events(response.iter_lines()):
                yield event
                seconds_left(inf)


def events(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Decode server-sent events up to [DONE].

    Raises:
        EngineError: the engine reported a failure in mid-stream.
        BadGateway: a line is no event, or the stream ends without [DONE].
    """
    for line in lines:
        if not line.startswith("data:"):
            continue
        data = line[5:].strip()
        if data == "[DONE]":
            return
        try:
            event = json.loads(data)
        except ValueError:
            raise BadGateway("The engine sent an event that is not JSON.") from None
        if not isinstance(event, dict):
            raise BadGateway("The engine sent an event that is not an object.")
        if isinstance(event.get("error"), dict):
            raise EngineError(int(event["error"].get("code") or 500), event["error"])
        yield event
    raise BadGateway("The engine's stream ended before it was complete.")


def _aborted(choice: Any) -> bool:
    return isinstance(choice, dict) and choice.get("finish_reason") == "abort"


def _check(response: httpx.Response) -> None:
    status = response.status_code
    if status == httpx.codes.OK:
        return
    if status in BUSY:
        wait = response.headers.get("retry-after", "")
        raise Unavailable("The engine is busy. Try again.", retry_after=int(wait) if wait.isdigit() else 1)
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        error = None
    if isinstance(error, dict) and httpx.codes.is_client_error(status):
        raise EngineError(status, error)
    raise BadGateway(f"The engine failed with status {status}.")


def _timeout() -> httpx.Timeout:
    """What the engine has, which is no more than the request has left."""
    return httpx.Timeout(
        seconds_left(DEFAULT_TIMEOUT.read or inf), connect=seconds_left(DEFAULT_TIMEOUT.connect or inf)
    )


@contextmanager
def _translated() -> Iterator[None]:
    """Turn transport faults into errors of the tree; the engine's address stays out of the message."""
    try:
        yield
    except httpx.TimeoutException:
        if is_over():
            raise out_of_time() from None
        raise Unavailable("The engine did not answer in time.", retry_after=5) from None
    except httpx.TransportError:
        raise Unavailable("The engine is out of reach.", retry_after=5) from None
    except ValueError:
        raise BadGateway("The engine's answer is not JSON.") from None
