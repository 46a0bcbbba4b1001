"""`/v1/completions`: every prompt through render → generate → derender, whole or streamed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, cast

from renderlayer.derender import CompletionStream, derender_completion
from renderlayer.errors import BadRequest, RenderLayerError
from renderlayer.pipeline.pending import Json, Service, complete
from renderlayer.render.completion import render_completion
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import parse
from renderlayer.wire.completion import CompletionRequest

if TYPE_CHECKING:
    from renderlayer.wire.answers import Completion, GenerateRequest


async def complete_completion(
    body: Any, server: ServedModel, engine: Service, header_id: str | None = None, timeout: float | None = None
) -> Json | AsyncGenerator[Json]:
    """Answer a completion request; arguments, result and errors as for `complete_chat`."""
    return await complete(PendingCompletion(body, server, header_id), engine, timeout)


class PendingCompletion:
    """A completion request, its prompts rendered.

    In a stream, a prompt's choices are numbered behind those of the prompts before it, and the closing usages of the
    prompts are added up into one, which closes the whole.
    """

    def __init__(self, body: Any, server: ServedModel, header_id: str | None = None) -> None:
        self._body = body
        self._server = server
        self._request = parse(CompletionRequest, body)
        _check(body)
        self.prompts = render_completion(self._request, server, header_id)
        self.stream = bool(self._request.stream)
        self._id = {"id": _stem(self.prompts)}
        self._streams: dict[int, CompletionStream] = {}
        self._closing: Json | None = None
        self._texts: dict[int, str] = {}  # of prompts that are echoed
        self._told: set[int] = set()  # choices whose prompt is echoed

    def whole(self, generated: Sequence[Json]) -> Json:
        derendered = derender_completion(
            {
                "model": self._request.model,
                "generate_responses": list(generated),
                "prompt_tokens": [len(prompt["token_ids"]) for prompt in self.prompts],
                "prompt_token_ids": [prompt["token_ids"] for prompt in self.prompts],
                "completion_request": self._body,
            },
            self._server,
        )
        answer = cast("Completion", derendered)
        if self._request.echo:
            n = self._request.n
            for choice in answer["choices"]:
                choice["text"] = self._echoed(choice["index"] // n, choice["text"])
        return {**answer, **self._id}

    def step(self, prompt: int, event: Json) -> list[Json]:
        stream = self._streams.get(prompt)
        if stream is None:
            stream = self._streams[prompt] = self._begun(prompt)
        chunk = stream.step(event)
        if chunk is None:
            return []
        if len(self.prompts) > 1 and not chunk["choices"]:
            self._closing = _summed(self._closing, chunk)
            return []
        if self._request.echo:
            for choice in chunk["choices"]:
                self._echo(prompt, choice)
        return [{**chunk, **self._id}]

    def end(self) -> list[Json]:
        return [] if self._closing is None else [{**self._closing, **self._id}]

    def failed(self, error: RenderLayerError) -> NoReturn:
        raise error

    def _echo(self, prompt: int, choice: Json) -> None:
        """Put the prompt before the first text of a choice, and no text behind it where no token was wanted."""
        if choice["index"] not in self._told:
            self._told.add(choice["index"])
            choice["text"] = self._echoed(prompt, choice["text"])
        elif self._body.get("max_tokens") == 0:
            choice["text"] = ""

    def _echoed(self, prompt: int, text: str) -> str:
        if prompt not in self._texts:
            token_ids = self.prompts[prompt]["token_ids"]
            given = _prompts(self._request.prompt)
            as_text = given[prompt] if prompt < len(given) else None
            self._texts[prompt] = (
                as_text if isinstance(as_text, str) else self._server.model.tokenizer.decode(token_ids)
            )
        return self._texts[prompt] + ("" if self._body.get("max_tokens") == 0 else text)

    def _begun(self, prompt: int) -> CompletionStream:
        token_ids = self.prompts[prompt]["token_ids"]
        return CompletionStream(
            self._server,
            self._request,
            model=self._request.model,
            prompt_token_ids=token_ids,
            prompt_tokens=len(token_ids),
            first_index=prompt * self._request.n,
        )


def _check(body: Json) -> None:
    """Refuse what no engine of this wire does, instead of answering something else."""
    if body.get("best_of") not in (None, 1):
        raise BadRequest("best_of is not supported: ask for n answers, with logprobs, and choose.", "best_of")
    if body.get("echo") and body.get("logprobs") is not None:
        raise BadRequest("echo with logprobs is not supported: ask for prompt_logprobs.", "echo")


def _prompts(given: Any) -> list[Any]:
    """A body's prompts, one each."""
    several = isinstance(given, list) and given and isinstance(given[0], (str, list))
    return given if several else [given]


def _stem(rendered: list[GenerateRequest]) -> str:
    """The id of the whole answer: that of its prompts, without their number."""
    first: str = rendered[0]["request_id"]
    return first if len(rendered) == 1 else first.rpartition("-")[0]


def _summed(before: Json | None, chunk: Json) -> Json:
    if before is None:
        return chunk
    counts = ("prompt_tokens", "total_tokens", "completion_tokens")
    usage = {**chunk["usage"], **{name: before["usage"][name] + chunk["usage"][name] for name in counts}}
    return {**chunk, "usage": usage}
