"""What the Responses and the Messages API share: one choice, told whole or as named events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.derender.events.encoder import EventStreamEncoder
from renderlayer.errors import RenderLayerError
from renderlayer.pipeline.pending import Json
from renderlayer.served_model import ServedModel

if TYPE_CHECKING:
    from renderlayer.wire.answers import GenerateRequest

Derender = Callable[[Any, ServedModel], Json]
Tell = Callable[[Json, ServedModel], EventStreamEncoder]


class PendingDialect:
    """A request of such an API, rendered.

    Args:
        rendered: what it became.
        body: the decoded JSON body.
        stream: whether it asks for a stream.
        field: names the request for `derender` and `tell`.
        derender: makes an answer of a derender body.
        tell: begins to tell a stream, from a first event with what does not change (`DerenderStreamPreamble`).
    """

    def __init__(
        self,
        rendered: GenerateRequest,
        body: Json,
        stream: bool,
        field: str,
        derender: Derender,
        tell: Tell,
        server: ServedModel,
    ) -> None:
        token_ids = rendered["token_ids"]
        told = rendered.pop("continuation", None)
        self._continuation: Json = {} if told is None else {"continuation": told}
        self.prompts = [rendered]
        self.stream = stream
        self._preamble = {
            "model": body.get("model"),
            "prompt_tokens": len(token_ids),
            "prompt_token_ids": token_ids,
            field: body,
        }
        self._id = {"request_id": rendered["request_id"]}
        self._derender = derender
        self._tell = tell
        self._server = server
        self._telling: EventStreamEncoder | None = None

    def whole(self, generated: Sequence[Json]) -> Json:
        answer = self._derender({**self._preamble, "generate_response": {**generated[0], **self._id}}, self._server)
        return {**answer, **self._continuation}

    def step(self, prompt: int, event: Json) -> list[Json]:
        return self._told().step({**event, **self._id})

    def end(self) -> list[Json]:
        return self._told().end()

    def failed(self, error: RenderLayerError) -> list[Json]:
        return self._told().failed(error)

    def _told(self) -> EventStreamEncoder:
        if self._telling is None:
            self._telling = self._tell(self._preamble, self._server)
        return self._telling
