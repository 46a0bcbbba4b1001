"""The protocol of the package `renderers` (0.1.12) on a model of ours: for prime-rl, verifiers and their like.

    from renderlayer.rollout.renderers import Adapter

    renderer = Adapter(renderlayer.load("some-model", tool_call_parser="auto", enable_auto_tool_choice=True))

Its bridge is given ids without the messages that they hold; the adapter remembers which messages it rendered to them.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from renderlayer.errors import RenderLayerError
from renderlayer.library import LoadedModel

Json = dict[str, Any]
_REMEMBERED = 1024


class Adapter:
    """A renderer in the sense of that package, for any chat template.

    Args:
        model: with parsers, where tools and reasoning are to be read.
        kwargs: template kwargs of every prompt.
        history: "template" or "keep", as in `continue_from`.
    """

    is_prefix_stable = False
    """No claim is made of full renders."""

    def __init__(self, model: LoadedModel, kwargs: Mapping[str, Any] | None = None, history: str = "template") -> None:
        self._model = model
        self._kwargs = dict(kwargs or {})
        self._history = history
        self._held: OrderedDict[tuple[int, ...], list[Json]] = OrderedDict()

    def render_ids(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> list[int]:
        """Token ids of a conversation."""
        held = [_as_chat(message) for message in messages]
        body = {**self._request(held, tools), "add_generation_prompt": add_generation_prompt}
        ids = self._model.render_chat(body)["token_ids"]
        self._remember(ids, held)
        return ids

    def render(
        self, messages: Sequence[Mapping[str, Any]], *, tools: Any = None, add_generation_prompt: bool = False
    ) -> Any:
        """Token ids, each with its message, and whether a model would have sampled it."""
        held = [_as_chat(message) for message in messages]
        body = {**self._request(held, tools), "add_generation_prompt": add_generation_prompt}
        rendered: Any = self._model.render_chat({**body, "return_token_spans": True})
        ids = rendered["token_ids"]
        indices, content = [-1] * len(ids), [False] * len(ids)
        for start, end, message, _ in rendered["token_spans"]:
            indices[start:end] = [message] * (end - start)
            content[start:end] = [True] * (end - start)
        self._remember(ids, held)
        return _peer().RenderedTokens(
            token_ids=ids,
            message_indices=indices,
            sampled_mask=[bool(flag) for flag in rendered["assistant_mask"]],
            is_content=content,
            message_roles=[message["role"] for message in messages],
            message_tool_names=_peer().extract_message_tool_names([*messages]),
        )

    def parse_response(
        self, token_ids: Sequence[int], *, tools: Any = None, prompt_ids: Sequence[int] | None = None
    ) -> Any:
        """What was sampled, as the model's parsers read it."""
        peer, told = _peer(), self._told(token_ids, tools, prompt_ids)
        return peer.ParsedResponse(
            content=told.get("content") or "",
            reasoning_content=told.get("reasoning"),
            tool_calls=[
                peer.ParsedToolCall(
                    raw=call["function"]["arguments"],
                    name=call["function"]["name"],
                    arguments=_arguments(call),
                    id=call["id"],
                )
                for call in told.get("tool_calls") or ()
            ],
        )

    def get_stop_token_ids(self) -> list[int]:
        """Ids at which an engine ends an answer."""
        served = self._model.served
        own = served.model.facts.eos_token_id
        return sorted({*served.eos_token_ids, *([] if own is None else [own])})

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: Sequence[int],
        previous_completion_ids: Sequence[int],
        new_messages: Sequence[Mapping[str, Any]],
        *,
        tools: Any = None,
    ) -> Any:
        """The prompt of the next turn, which begins with the given ids; None where that cannot be proved."""
        held = self._held.get(tuple(previous_prompt_ids))
        if held is None:
            return None
        new = [_as_chat(message) for message in new_messages]
        try:
            turn = self._told(previous_completion_ids, tools, previous_prompt_ids)
            messages = [*held, {name: turn[name] for name in _SAID if turn.get(name)}]
            messages[-1].setdefault("content", None)
            given = {
                "prompt_token_ids": list(previous_prompt_ids),
                "output_token_ids": list(previous_completion_ids),
                "messages": len(messages),
                "history": self._history,
                "require": True,
            }
            messages += new
            ids = self._model.render_chat({**self._request(messages, tools), "continue_from": given})["token_ids"]
        except RenderLayerError:
            return None
        self._remember(ids, messages)
        return _peer().RenderedTokens(
            token_ids=ids, message_indices=[-1] * len(ids), message_roles=[message["role"] for message in new_messages]
        )

    def _request(self, messages: Sequence[Json], tools: Any) -> Json:
        described = [tool if "function" in tool else {"type": "function", "function": tool} for tool in tools or ()]
        parsed = bool(self._model.served.parsers.tool) or self._model.served.native_tools
        choice = {"tools": described, "tool_choice": "auto" if parsed else "none"} if described else {}
        return {"messages": list(messages), "chat_template_kwargs": self._kwargs, **choice}

    def _told(self, token_ids: Sequence[int], tools: Any, prompt_ids: Sequence[int] | None) -> Json:
        choice = {"index": 0, "token_ids": list(token_ids), "finish_reason": "stop"}
        request = self._request([{"role": "user", "content": ""}], tools)
        generated = {"request_id": "", "choices": [choice]}
        return {**self._model.derender_chat(generated, request, prompt_ids)["choices"][0]["message"]}

    def _remember(self, ids: Sequence[int], messages: list[Json]) -> None:
        self._held[tuple(ids)] = messages
        if len(self._held) > _REMEMBERED:
            self._held.popitem(last=False)


def _peer() -> Any:
    """The package's types; it need not be installed for anything else."""
    return import_module("renderers.base")


_SAID = ("role", "content", "reasoning", "tool_calls")


def _as_chat(message: Mapping[str, Any]) -> Json:
    """A message of that package in chat's form: arguments as JSON text."""
    calls = [
        {"id": call.get("id") or f"call_{number}", "type": "function", "function": _as_function(call["function"])}
        for number, call in enumerate(message.get("tool_calls") or ())
    ]
    return {**message, "tool_calls": calls} if calls else dict(message)


def _as_function(function: Mapping[str, Any]) -> Json:
    given = function["arguments"]
    return {**function, "arguments": given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)}


def _arguments(call: Json) -> Any:
    try:
        return json.loads(call["function"]["arguments"])
    except ValueError:
        return {}
