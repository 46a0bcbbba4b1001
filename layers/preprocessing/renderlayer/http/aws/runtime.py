"""A Lambda runtime that sends an answer while it is made; the managed one for Python collects it first.

`python -m renderlayer.http.aws.runtime` takes the place of the managed runtime (AWS_LAMBDA_EXEC_WRAPPER) and serves the
handler that `_HANDLER` names, a `LambdaHandler`, behind a function URL whose invoke mode is RESPONSE_STREAM.
https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html and, for the streaming,
…/runtimes-custom.html#runtimes-custom-response-streaming
"""

from __future__ import annotations

import base64
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from typing import Any, Protocol

from renderlayer.http.application import described

RUNTIME = "/2018-06-01/runtime"
FRAMED = "application/vnd.awslambda.http-integration-response"
END_OF_HEAD = bytes(8)
ERROR_TYPE = "Lambda-Runtime-Function-Error-Type"
ERROR_BODY = "Lambda-Runtime-Function-Error-Body"

PAUSE = 0.05
"""Seconds before the Runtime API is asked anew."""
MOST_FAULTS = 100
"""Times that it fails one after the other until it is taken for gone, and the process ends."""

logger = logging.getLogger(__name__)


class Streaming(Protocol):
    """A handler whose answer can be taken part by part."""

    def stream(self, event: dict[str, Any], context: Any, answer: RuntimeAnswer) -> None: ...


@dataclass(frozen=True)
class Context:
    """What a handler is told of its invocation.

    Attributes:
        deadline: milliseconds since 1970 at which Lambda ends the invocation.
    """

    aws_request_id: str
    invoked_function_arn: str
    deadline: int

    def get_remaining_time_in_millis(self) -> int:
        return max(self.deadline - int(time.time() * 1000), 0)


class RuntimeAnswer:
    """The answer of one invocation on its way to Lambda."""

    def __init__(self, connection: HTTPConnection, request_id: str) -> None:
        self._connection = connection
        self._path = f"{RUNTIME}/invocation/{request_id}"
        self._begun = False

    def begin(self, status: int, headers: Iterable[Sequence[bytes]]) -> None:
        """Send status and headers."""
        pairs = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in headers]
        head = {
            "statusCode": status,
            "headers": _joined(pair for pair in pairs if pair[0] != "set-cookie"),
            "cookies": [value for name, value in pairs if name == "set-cookie"],
        }
        send = self._connection.putheader
        self._connection.putrequest("POST", f"{self._path}/response")
        send("Content-Type", FRAMED)
        send("Lambda-Runtime-Function-Response-Mode", "streaming")
        send("Transfer-Encoding", "chunked")
        send("Trailer", f"{ERROR_TYPE}, {ERROR_BODY}")
        self._connection.endheaders()
        self._begun = True
        self.write(json.dumps(head).encode() + END_OF_HEAD)

    def write(self, part: bytes) -> None:
        """Send a part of the body."""
        if part:
            self._connection.send(b"%x\r\n%b\r\n" % (len(part), part))

    def end(self) -> None:
        """The body is complete."""
        self._close({})

    def fail(self, error: Exception) -> None:
        """Report an invocation that did not end well; the error's message is kept back, as it may quote a prompt."""
        payload = json.dumps({"errorType": type(error).__name__, "errorMessage": described(error)})
        if self._begun:
            body = base64.b64encode(payload.encode()).decode()
            self._close({ERROR_TYPE: type(error).__name__, ERROR_BODY: body})
        else:
            report(self._connection, f"{self._path}/error", error, payload)

    def _close(self, trailers: dict[str, str]) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in trailers.items())
        self._connection.send(f"0\r\n{lines}\r\n".encode())
        self._connection.getresponse().read()


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by name; the values of one that is repeated, such as `vary`, in one line (RFC 9110, 5.3)."""
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def report(connection: HTTPConnection, path: str, error: Exception, payload: str) -> None:
    """Post an error to the Runtime API."""
    connection.request("POST", path, payload, {"Content-Type": "application/json", ERROR_TYPE: type(error).__name__})
    connection.getresponse().read()


def serve_one(connection: HTTPConnection, handler: Streaming) -> None:
    """Wait for an invocation and answer it."""
    connection.request("GET", f"{RUNTIME}/invocation/next")
    response = connection.getresponse()
    body, headers = response.read(), response.headers
    if response.status != 200:
        raise HTTPException(f"status {response.status}")
    request_id = headers["Lambda-Runtime-Aws-Request-Id"]
    os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")
    context = Context(
        request_id, headers["Lambda-Runtime-Invoked-Function-Arn"], int(headers["Lambda-Runtime-Deadline-Ms"])
    )
    answer = RuntimeAnswer(connection, request_id)
    try:
        handler.stream(json.loads(body), context, answer)
    except Exception as error:
        logger.error("invocation failed: %s", described(error))
        answer.fail(error)
    else:
        answer.end()


def main() -> None:
    """Load the handler and serve it for as long as Lambda lets the process live, or until its Runtime API is gone."""
    connection = HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
    module, _, name = os.environ["_HANDLER"].rpartition(".")
    try:
        handler = getattr(import_module(module), name)
    except Exception as error:
        payload = json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)})
        report(connection, f"{RUNTIME}/init/error", error, payload)
        sys.exit(1)
    faults = 0
    while faults < MOST_FAULTS:
        try:
            serve_one(connection, handler)
            faults = 0
        except (HTTPException, OSError) as error:  # the Runtime API hung up, such as on an answer nobody waits for
            logger.error("the Runtime API broke off: %s", described(error))
            connection.close()
            faults += 1
            time.sleep(PAUSE)
    sys.exit(1)


if __name__ == "__main__":
    main()
