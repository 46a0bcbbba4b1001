"""The public face of the package: `renderlayer.load(model)`, and what a loaded model does.

Requests are what clients send (dictionaries in OpenAI's form), or the models of `renderlayer.wire`. Answers are
dictionaries in the wire's form (docs/wire.md); nothing here does input or output apart from reading the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeVar, cast

from pydantic import BaseModel

from renderlayer.derender import derender_chat, derender_completion, stream_chat, stream_completion
from renderlayer.render.chat import render_chat
from renderlayer.render.completion import render_completion
from renderlayer.render.tokenize import detokenize_request, tokenize_request
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.answers import ChatChunk, ChatCompletion, Chunk, Completion, CompletionChunk, GenerateRequest
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.tokenize import DetokenizeRequest, TokenizeChatRequest, TokenizeCompletionRequest

__all__ = ["ChatCompletion", "Chunk", "Completion", "GenerateRequest", "LoadedModel", "Request", "load"]

Request = Mapping[str, Any] | BaseModel
Wire = TypeVar("Wire", bound=BaseModel)


class LoadedModel:
    """A model, ready to render and to derender. Safe to share between threads.

    Every method raises a `renderlayer.errors.RenderLayerError` for what cannot be understood; its `status` is the HTTP
    status of the same fault, and `param` the field.

    Attributes:
        served: the model with its settings, for the functions of the rooms below.
    """

    def __init__(self, served: ServedModel) -> None:
        self.served = served

    def __repr__(self) -> str:
        return f"LoadedModel({self.served.names[0]!r})"

    @property
    def max_model_len(self) -> int:
        """Context length in tokens."""
        return self.served.max_model_len

    def render_chat(self, request: Request) -> GenerateRequest:
        """Turn a chat request into what an engine generates from.

        Example:
            >>> rendered = model.render_chat({"messages": [{"role": "user", "content": "Hello"}]})
            >>> "Hello" in model.detokenize(rendered["token_ids"])
            True
        """
        return render_chat(_read(ChatCompletionRequest, request), self.served)

    def continue_chat(
        self,
        request: Mapping[str, Any],
        prompt_token_ids: Sequence[int],
        output_ids: Sequence[int],
        new_messages: Sequence[Mapping[str, Any]],
        *,
        require: bool = False,
        history: str = "template",
    ) -> GenerateRequest:
        """Render the next turn on the tokens of the last one (docs/continue.md).

        Args:
            request: the last turn's chat request, and behind its messages the sampled one.
            prompt_token_ids: what it was rendered to.
            output_ids: what was sampled, its stop token included.
            new_messages: what follows.
            require: a prompt that cannot be extended is an error (`Conflict`), not rendered anew.
            history: "keep" extends also where the template drops reasoning that is in the ids.

        Example:
            >>> sampled = model.tokenize("Hello there<|im_end|>")
            >>> said = {"messages": [*request["messages"], {"role": "assistant", "content": "Hello there"}]}
            >>> again = {"role": "user", "content": "Again"}
            >>> rendered = model.render_chat(request)
            >>> continued = model.continue_chat(said, rendered["token_ids"], sampled, [again])
            >>> continued["token_ids"][: len(rendered["token_ids"]) + len(sampled)] == rendered["token_ids"] + sampled
            True
        """
        messages = list(request["messages"])
        given = {
            "prompt_token_ids": list(prompt_token_ids),
            "output_token_ids": list(output_ids),
            "messages": len(messages),
            "require": require,
            "history": history,
        }
        return self.render_chat({**request, "messages": [*messages, *new_messages], "continue_from": given})

    def spans(self, request: Mapping[str, Any]) -> list[tuple[int, int, int, str]]:
        """Runs of a prompt's tokens: start, end, index of their message, and what of it they are (docs/wire.md 2.11).

        Example:
            >>> [(message, part) for _, _, message, part in model.spans(request)]
            [(0, 'content')]
        """
        rendered = self.render_chat({**request, "return_token_spans": True})
        return [cast(tuple[int, int, int, str], tuple(run)) for run in rendered["token_spans"]]

    def mask(self, request: Mapping[str, Any]) -> list[int]:
        """A 0 or 1 for each token of a prompt: 1 for what a model would have sampled (docs/wire.md 2.11).

        Example:
            >>> sum(model.mask(request))
            0
        """
        return self.render_chat({**request, "return_token_spans": True})["assistant_mask"]

    def render_completion(self, request: Request) -> list[GenerateRequest]:
        """Turn a completion request into what an engine generates from, one object a prompt, in order.

        Example:
            >>> rendered = model.render_completion({"prompt": ["Once", "Twice upon"]})
            >>> [model.detokenize(one["token_ids"]) for one in rendered]
            ['Once', 'Twice upon']
        """
        return render_completion(_read(CompletionRequest, request), self.served)

    def derender_chat(
        self,
        response: Mapping[str, Any],
        request: Request | None = None,
        prompt_token_ids: Sequence[int] | None = None,
    ) -> ChatCompletion:
        """Turn an engine's whole answer into a chat completion.

        Args:
            response: what `/inference/v1/generate` answered.
            request: the chat request; needed where the model has parsers.
            prompt_token_ids: what it was rendered to; parsers read it to tell whether the answer begins in reasoning.

        Example:
            >>> answer = model.derender_chat(generated, request, rendered["token_ids"])
            >>> answer["choices"][0]["message"]["content"]
            'Hello there'
        """
        body = {"generate_response": response, **_context("chat_request", request, prompt_token_ids)}
        return cast(ChatCompletion, derender_chat(body, self.served))

    def derender_completion(
        self,
        responses: Sequence[Mapping[str, Any]],
        request: Request | None = None,
        prompt_token_ids: Sequence[Sequence[int] | None] | None = None,
    ) -> Completion:
        """Turn an engine's whole answers, one a prompt, into a text completion.

        Example:
            >>> answer = model.derender_completion([generated], {"prompt": "Hello"})
            >>> answer["choices"][0]["text"]
            'Hello there'
        """
        body = {"generate_responses": list(responses), **_context("completion_request", request, prompt_token_ids)}
        return cast(Completion, derender_completion(body, self.served))

    def stream_chat(
        self,
        events: Iterable[Mapping[str, Any]],
        request: Request | None = None,
        prompt_token_ids: Sequence[int] | None = None,
    ) -> Iterator[ChatChunk]:
        """Turn the events of an engine's stream into chat completion chunks, as they come.

        Args:
            events: the decoded `data` of the events of `/inference/v1/generate`, without `[DONE]`.
            request, prompt_token_ids: as for `derender_chat`.

        Yields:
            Chunks; an event that reports an error is handed on as it is, and ends the stream.

        Example:
            >>> chunks = model.stream_chat(events, request, rendered["token_ids"])
            >>> "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
            'Hello there'
        """
        preamble = _context("chat_request", request, prompt_token_ids)
        return cast(Iterator[ChatChunk], stream_chat(chain([preamble], events), self.served))

    def stream_completion(
        self,
        events: Iterable[Mapping[str, Any]],
        request: Request | None = None,
        prompt_token_ids: Sequence[int] | None = None,
    ) -> Iterator[CompletionChunk]:
        """The same for text completions."""
        preamble = _context("completion_request", request, prompt_token_ids)
        return cast(Iterator[CompletionChunk], stream_completion(chain([preamble], events), self.served))

    def tokenize(self, prompt: str | Sequence[Mapping[str, Any]], **options: Any) -> list[int]:
        """Token ids of a text, or of a conversation in the model's template.

        Args:
            prompt: a text, or chat messages.
            options: fields of `/tokenize` (docs/wire.md 1.9), such as `add_special_tokens` or `tools`.

        Example:
            >>> model.detokenize(model.tokenize("Hello there"))
            'Hello there'
        """
        request: TokenizeChatRequest | TokenizeCompletionRequest
        if isinstance(prompt, str):
            request = parse(TokenizeCompletionRequest, {"prompt": prompt, **options})
        else:
            request = parse(TokenizeChatRequest, {"messages": list(prompt), **options})
        return tokenize_request(request, self.served)["tokens"]

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """The text of token ids, special tokens included; ids outside the vocabulary are nothing.

        Example:
            >>> model.detokenize(model.tokenize("Hello"))
            'Hello'
        """
        return detokenize_request(parse(DetokenizeRequest, {"tokens": list(token_ids)}), self.served)["prompt"]


def load(model: str, **settings: Any) -> LoadedModel:
    """Load a model: a folder that `renderlayer pack` made, a folder of a model, or a name on the Hugging Face Hub.

    Args:
        model: the folder or the name; what is not packed yet is packed once into a cache.
        settings: fields of `renderlayer.settings.Settings` (docs/settings.md), such as `tool_call_parser="auto"` with
            `enable_auto_tool_choice=True`.

    Raises:
        ConfigurationError: there is no such model, or the settings contradict it.

    Example:
        >>> import renderlayer
        >>> model = renderlayer.load("qwen3-8b")
    """
    return LoadedModel(ServedModel.open(Settings(model=model, **settings)))


def _read(kind: type[Wire], request: Request) -> Wire:
    return request if isinstance(request, kind) else parse(kind, request)


def _context(name: str, request: Request | None, prompt_token_ids: Sequence[Any] | None) -> dict[str, Any]:
    """The fields of a derender call that come from the request; absent ones are left out."""
    dumped = request.model_dump(mode="json", exclude_unset=True) if isinstance(request, BaseModel) else request
    fields = {name: dumped, "prompt_token_ids": None if prompt_token_ids is None else list(prompt_token_ids)}
    return {key: value for key, value in fields.items() if value is not None}
