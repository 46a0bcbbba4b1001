"""Answers that are sent part by part: of function URLs whose invoke mode is RESPONSE_STREAM, and of REST APIs whose
integration streams. The emulator collects them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from infra.rehearsal.emulator.required import replace, required

SERVICE, RUNTIME = "ministack.services.lambda_svc", "ministack.core.lambda_runtime"
END_OF_HEAD = bytes(8)
FAILED = (502, {"Content-Type": "application/json"}, b'{"Message":"Internal Server Error"}')

logger = logging.getLogger(__name__)

Json = dict[str, Any]
Send = Callable[[Json], Awaitable[None]]


def install() -> None:
    """Serve streaming URLs; all others as the emulator does."""
    whole = required(SERVICE, "handle_function_url_request")

    async def handle(
        url_id: str,
        method: str,
        path: str,
        headers: Json,
        body: bytes,
        query_params: Json,
        resolved: Any = None,
        source_ip: str | None = None,
    ) -> Any:
        resolved = resolved or required(SERVICE, "resolve_function_url")(url_id)
        streams = resolved is not None and resolved[4].get("InvokeMode") == "RESPONSE_STREAM"
        if not streams or (resolved[4].get("AuthType") == "AWS_IAM"):
            return await whole(
                url_id, method, path, headers, body, query_params, resolved=resolved, source_ip=source_ip
            )
        account, region, name, qualifier, _ = resolved
        event = required(SERVICE, "_build_function_url_event")(
            url_id, account, region, method, path, headers, body, query_params, anonymous=True
        )
        return await answer(Invocation(account, region, name, qualifier, event))

    replace(SERVICE, "handle_function_url_request", handle)


class Invocation:
    """One invocation in a thread of its own; what it says comes through a queue.

    Args:
        event: as the function URL or the REST API makes it.
    """

    def __init__(self, account: str, region: str, name: str, qualifier: str, event: Json) -> None:
        self._loop = asyncio.get_running_loop()
        self._said: asyncio.Queue[Json] = asyncio.Queue()
        self._event = event
        reference = f"{name}:{qualifier}" if qualifier else name
        find = required(SERVICE, "_get_func_record_for_ref_in_scope")
        record, self._config, _ = find(reference, account_id=account, region=region)
        self._record = required(SERVICE, "_execution_record_for_config")(record, self._config)
        self._name = name
        scoped = required(SERVICE, "_run_with_function_config_scope")  # layers are found by account and region
        threading.Thread(target=scoped, args=(self._record, self._run), daemon=True).start()

    async def next(self) -> Json:
        """{"part": base64}, or the {"status": …} that closes the answer."""
        return await self._said.get()

    def _tell(self, said: Json) -> None:
        self._loop.call_soon_threadsafe(self._said.put_nowait, said)

    def _run(self) -> None:
        acquire, release = required(RUNTIME, "acquire_worker"), required(RUNTIME, "release_worker")
        version = self._config.get("Version", "$LATEST")
        worker, _ = acquire(self._name, self._config, self._record["code_zip"], qualifier=version)
        context = {
            "request_id": self._event["requestContext"]["requestId"],
            "invoked_function_arn": self._config["FunctionArn"],
            "timeout_ms": self._config["Timeout"] * 1000,
        }
        try:
            if worker._proc is None or worker._proc.poll() is not None:
                worker._spawn()
            worker._proc.stdin.write(json.dumps({"event": self._event, "ctx": context}) + "\n")
            worker._proc.stdin.flush()
            said: Json = {}
            while "status" not in said:
                said = json.loads(worker._proc.stdout.readline() or '{"status": "error", "error": "it died"}')
                self._tell(said)
        except Exception as error:
            self._tell({"status": "error", "error": str(error)})
        finally:
            text = worker._drain_stderr_bounded()
            if text:
                logger.info("%s said: %s", self._name, text)
                required(SERVICE, "_emit_lambda_logs")(self._record, context["request_id"], text, False, 0)
            release(worker)


async def answer(invocation: Invocation) -> Any:
    """What the emulator's server takes: status, headers and a body that is sent while it comes."""
    head = b""
    while END_OF_HEAD not in head:
        said = await invocation.next()
        if "part" not in said:
            logger.error("a streaming function answered nothing: %s", said)
            return FAILED
        head += base64.b64decode(said["part"])
    prelude, _, rest = head.partition(END_OF_HEAD)
    told = json.loads(prelude)
    headers = {**told["headers"], **({"Set-Cookie": told["cookies"]} if told.get("cookies") else {})}

    async def body(send: Send, receive: Any) -> None:
        if rest:
            await send({"type": "http.response.body", "body": rest, "more_body": True})
        while "part" in (said := await invocation.next()):
            part = base64.b64decode(said["part"])
            await send({"type": "http.response.body", "body": part, "more_body": True})
        if said["status"] == "ok":  # else the connection breaks, as Lambda's does
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    return told["statusCode"], headers, required("ministack.core.responses", "StreamingResponse")(body)
