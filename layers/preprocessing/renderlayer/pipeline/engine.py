"""The engine's client: `/inference/v1/generate`, whole and streamed (wire.md 5)."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from renderlayer.errors import BadGateway, RenderLayerError, Unavailable

GENERATE = "/inference/v1/generate"
DEFAULT_TIMEOUT = httpx.Timeout(600.0, connect=5.0)


class EngineError(RenderLayerError):
    """The engine refused a request; its status and error body are passed on unchanged."""

    def __init__(self, status: int, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message", "")), error.get("param"))
        self.status = status
        self.type = str(error.get("type", "BadRequestError"))


class Engine:
    """A connection pool to one generate service.

    Args:
        url: base URL, without `/inference/v1/generate`.
        api_key: sent as a bearer token.
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
        api_key: str = "",
        transport: httpx.BaseTransport | None = None,
        refuse_aborted: bool = False,
    ) -> None:
        self._refuse_aborted = refuse_aborted
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(
            base_url=url.rstrip("/"), headers=headers, timeout=DEFAULT_TIMEOUT, transport=transport
        )

    def close(self) -> None:
        self._client.close()

    def generate(self, request: dict[str, Any]) -> dict[str, Any]:
        """One whole answer (wire.md 5.2)."""
        with _translated():
            response = self._client.post(GENERATE, json={**request, "stream": False, "stream_options": None})
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
        with _translated(), self._client.stream("POST", GENERATE, json=body) as response:
            if response.status_code != httpx.codes.OK:
                response.read()
            _check(response)
            yield from events(response.iter_lines())


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
    if status in (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE):
        wait = response.headers.get("retry-after", "")
        raise Unavailable("The engine is busy. Try again.", retry_after=int(wait) if wait.isdigit() else 1)
    try:
        error = response.json()["error"]
    except (ValueError, KeyError, TypeError):
        error = None
    if isinstance(error, dict) and httpx.codes.is_client_error(status):
        raise EngineError(status, error)
    raise BadGateway(f"The engine failed with status {status}.")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn transport faults into errors of the tree; the engine's address stays out of the message."""
    try:
        yield
    except httpx.TimeoutException:
        raise Unavailable("The engine did not answer in time.", retry_after=5) from None
    except httpx.TransportError:
        raise Unavailable("The engine is out of reach.", retry_after=5) from None
    except ValueError:
        raise BadGateway("The engine's answer is not JSON.") from None
