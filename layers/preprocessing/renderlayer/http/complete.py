"""The front door: OpenAI endpoints that chain render, generate and derender."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from starlette.types import Receive, Scope

from renderlayer.errors import LoneSurrogate
from renderlayer.http.application import Endpoint
from renderlayer.http.execution.disconnect import Disconnected, NoAnswer, while_connected
from renderlayer.http.execution.garbage import uncollected
from renderlayer.http.execution.waiting import Waiting
from renderlayer.http.execution.work import aside_of, count_generated, count_tokens
from renderlayer.http.request import decoded, header, read_body, require_json
from renderlayer.http.response import Response, json_response
from renderlayer.http.streams import EventStream
from renderlayer.pipeline.pending import Begin, Pending, Service, chunks, generated
from renderlayer.request_context import HEADER, header_value, observe_stage, remarks, timed
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.json_text import dumped
from renderlayer.wire.common.surrogates import located

Json = dict[str, Any]


@dataclass(frozen=True)
class FrontDoor:
    """One endpoint.

    Attributes:
        open: gives what begins an answer; imports what that needs when it is asked for.
        named_events: its stream's values are {"event": name, "data": …}, and no [DONE] follows them.
    """

    open: Callable[[], Begin]
    named_events: bool = False

    @cached_property
    def begin(self) -> Begin:
        """What begins an answer, opened once."""
        with uncollected():
            return self.open()


def _chat() -> Begin:
    from renderlayer.pipeline.chat import PendingChat

    return PendingChat


def _completion() -> Begin:
    from renderlayer.pipeline.completion import PendingCompletion

    return PendingCompletion


def _responses() -> Begin:
    from renderlayer.pipeline.responses import pending_responses

    return pending_responses


def _messages() -> Begin:
    from renderlayer.pipeline.messages import pending_messages

    return pending_messages


PATHS: dict[str, FrontDoor] = {
    "/v1/chat/completions": FrontDoor(_chat),
    "/v1/completions": FrontDoor(_completion),
    "/v1/responses": FrontDoor(_responses, named_events=True),
    "/v1/messages": FrontDoor(_messages, named_events=True),
}


def complete_endpoints(server: ServedModel, engine: Service) -> dict[str, Endpoint]:
    """The front door, by path; answers come from `engine`."""
    waiting = Waiting(server.settings.max_waiting_answers)
    return {path: _endpoint(door, server, engine, waiting) for path, door in PATHS.items()}


def _endpoint(door: FrontDoor, server: ServedModel, engine: Service, waiting: Waiting) -> Endpoint:
    async def endpoint(scope: Scope, receive: Receive) -> Response:
        require_json(scope)
        waiting.enter()
        response: Response | None = None
        try:
            body = await read_body(scope, receive, server.settings.max_body_bytes)
            response = await while_connected(receive, answer(scope, body))
        except Disconnected:
            return NoAnswer()
        finally:
            if not isinstance(response, EventStream):  # which goes on
                waiting.leave()
        return response

    async def answer(scope: Scope, body: bytes) -> Response:
        run_blocking = aside_of(scope)
        header_id = header(scope, b"x-request-id")

        def rendered() -> Pending:
            value = decoded(body)
            try:
                with timed("render"):
                    return door.begin(value, server, header_id)
            except (LoneSurrogate, UnicodeEncodeError) as error:
                raise located(error, value) from None

        with remarks() as left_out:
            pending: Pending = await run_blocking(rendered)
        headers = {HEADER: header_value(left_out)} if left_out else {}
        if pending.stream:
            count_tokens(scope, pending.prompts)
            stream = chunks(
                pending, engine, run_blocking=run_blocking, seen=partial(count_generated, scope), ended=observe_stage
            )
            try:
                # what fails before the first chunk is an ordinary error
                first = [chunk] if (chunk := await anext(stream, None)) is not None else []
                response: Response = EventStream(first, stream, door.named_events, waiting.leave)
                response.headers.update(headers)
                return response
            except BaseException:
                await stream.aclose()
                raise
        with timed("generate"):
            answers = await generated(pending, engine)

        def whole() -> bytes:
            with timed("derender"):
                answer = pending.whole(answers)
            count_tokens(scope, answer)
            return dumped(answer)

        response = json_response(await run_blocking(whole))
        response.headers.update(headers)
        return response

    return endpoint
