"""Ids, mask and logprobs of a rollout, turn by turn, none of which ever changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from renderlayer.library import GenerateRequest, LoadedModel

Json = dict[str, Any]


class Rollout:
    """A conversation that is sampled turn by turn.

    Args:
        model: as `renderlayer.load` gives it.
        request: a chat request, whose `messages` begin the conversation; the rest holds for every turn.
        history: "template": reasoning that the template drops ends the rollout with an error. "keep": it stays.

    Attributes:
        messages: the conversation so far.
        request: what the engine generates the next turn from.
        token_ids: all tokens so far.
        mask: a 0 or 1 for each of them: 1 for what was sampled.
        logprobs: a number for each of them: 0.0 for what was not sampled.

    Example:
        >>> rollout = Rollout(model, {"messages": [{"role": "user", "content": "Hello"}]})
        >>> message = rollout.sampled(model.tokenize("Hello there<|im_end|>"))
        >>> rollout.answer({"role": "user", "content": "Again"})["token_ids"] == rollout.token_ids
        True
    """

    def __init__(self, model: LoadedModel, request: Mapping[str, Any], history: str = "template") -> None:
        self._model = model
        self._fields = {name: value for name, value in request.items() if name != "messages"}
        self._history = history
        self.messages: list[Json] = list(request["messages"])
        self.request: GenerateRequest = model.render_chat({**self._fields, "messages": self.messages})
        self.token_ids: list[int] = list(self.request["token_ids"])
        self.mask: list[int] = [0] * len(self.token_ids)
        self.logprobs: list[float] = [0.0] * len(self.token_ids)
        self._prompt = len(self.token_ids)

    def sampled(self, token_ids: Sequence[int], logprobs: Sequence[float] | None = None) -> Json:
        """Add what was sampled for `request`; returns it as a message of the assistant.

        Args:
            token_ids: as the engine gave them, its stop token included.
            logprobs: one for each of them.

        Raises:
            ValueError: there is a logprob more or less, or a turn was added already.
            RenderLayerError: the model's parsers cannot read it.
        """
        if self._prompt != len(self.token_ids):
            raise ValueError("this turn is sampled already: answer it first")
        if logprobs is not None and len(logprobs) != len(token_ids):
            raise ValueError(f"{len(token_ids)} tokens have {len(logprobs)} logprobs")
        choice = {"index": 0, "token_ids": list(token_ids), "finish_reason": "stop"}
        generated = {"request_id": self.request["request_id"], "choices": [choice]}
        request = {**self._fields, "messages": self.messages}
        told = self._model.derender_chat(generated, request, self.token_ids)["choices"][0]["message"]
        kept = {name: told[name] for name in ("role", "content", "reasoning", "tool_calls") if told.get(name)}
        self.messages.append({**kept, "content": told.get("content")})
        self.token_ids += token_ids
        self.mask += [1] * len(token_ids)
        self.logprobs += [0.0] * len(token_ids) if logprobs is None else logprobs
        return self.messages[-1]

    def answer(self, *messages: Mapping[str, Any]) -> GenerateRequest:
        """Add what follows the sampled turn: results of tools, or the user's next message.

        Returns:
            `request` for the next turn: its prompt is `token_ids`, which begin with all that were there before.

        Raises:
            Conflict: the prompt cannot be extended, and a prompt rendered anew would not begin with the tokens so far.
        """
        given = {
            "prompt_token_ids": self.token_ids[: self._prompt],
            "output_token_ids": self.token_ids[self._prompt :],
            "messages": len(self.messages),
            "history": self._history,
            "require": True,
        }
        following = [*self.messages, *map(dict, messages)]
        rendered = self._model.render_chat({**self._fields, "messages": following, "continue_from": given})
        new = rendered["token_ids"][len(self.token_ids) :]
        self.messages = following
        self.request = rendered
        self.token_ids = [*self.token_ids, *new]
        self.mask += [0] * len(new)
        self.logprobs += [0.0] * len(new)
        self._prompt = len(self.token_ids)
        return rendered
