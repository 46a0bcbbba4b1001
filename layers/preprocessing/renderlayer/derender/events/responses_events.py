"""The events of a streamed response, as OpenAI's Responses API sends them."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from renderlayer.derender.core.custom_input import CustomInput
from renderlayer.derender.events.blocks import Action, Begin, More
from renderlayer.derender.events.encoder import Memory, Named, named
from renderlayer.derender.events.responses_items import (
    PART_TYPES,
    TEXT_FIELDS,
    Head,
    extend,
    new_item,
    new_part,
    outcome,
    response,
)
from renderlayer.derender.events.sequence import Counts, Step
from renderlayer.render.responses.tools import tool_set
from renderlayer.served_model import ServedModel
from renderlayer.wire.responses import ResponsesRequest

Json = dict[str, Any]
# The events that carry an item's text, by the item's type; each has a .delta and a .done.
_TEXT_EVENTS = {
    "reasoning": "response.reasoning_text",
    "message": "response.output_text",
    "function_call": "response.function_call_arguments",
    "custom_tool_call": "response.custom_tool_call_input",
}


class ResponsesEncoder:
    """Tells a response.

    Args:
        output: the items that earlier calls have told.
        index: output index of the last of them.
        memory: what `memory` gave, to go on where another call ended.
        repeat: whether closing events repeat what the deltas told; without it only the open item is kept, empty.
    """

    def __init__(
        self,
        request: ResponsesRequest,
        server: ServedModel,
        head: Head,
        *,
        output: list[Json] | None = None,
        index: int = -1,
        memory: Memory = (0, 0, 0, ""),
        repeat: bool = True,
    ) -> None:
        self._request = request
        self._server = server
        self._head = head
        self._origins = tool_set(request).origins
        self._repeat = repeat
        self._index = index
        self.output = output or []
        _, self._sequence, phase, rest = memory
        self._custom = CustomInput(phase, rest)

    def memory(self) -> Memory:
        """When it began, the next sequence number, and where a custom tool's input stands."""
        return (self._head.created, self._sequence, *self._custom.memory())

    def begin(self, counts: Counts) -> list[Named]:
        """response.created and response.in_progress."""
        return [self._event(f"response.{what}", response=self.response()) for what in ("created", "in_progress")]

    def encode(self, action: Action) -> list[Named]:
        """What happens to an item: added, deltas, done."""
        if isinstance(action, Begin):
            return self._added(action)
        if isinstance(action, More):
            custom = self.output[-1]["type"] == "custom_tool_call"
            return self._more(self._custom.push(action.text) if custom else action.text, action.logprobs)
        return self._done("completed" if action.complete else "incomplete")

    def end(self, step: Step, called: bool, counts: Counts) -> list[Named]:
        """The event that closes the response: completed, incomplete or failed."""
        status, _ = outcome(step.finish_reason)
        return [self._event(f"response.{status}", response=self.response(step.finish_reason, counts))]

    def failed(self, error: Json) -> Named:
        """The API's error event."""
        return self._event("error", code=error["type"], message=error["message"], param=error["param"])

    def response(self, finish_reason: str | None = None, counts: Counts | None = None) -> Json:
        """The Response object: in progress without a finish reason."""
        if finish_reason is None:
            return response(self._request, self._server, self._head)
        status, reason = outcome(finish_reason)
        output = self.output if self._repeat else None
        return response(
            self._request, self._server, self._head, status=status, reason=reason, output=output, counts=counts
        )

    def _added(self, begin: Begin) -> list[Named]:
        item = new_item(begin, self._head.answer_id, self._origins)
        self._index = begin.index
        self._custom = CustomInput()
        self.output.append(item)
        events = [self._event("response.output_item.added", output_index=self._index, item=deepcopy(item))]
        part = new_part(item)
        if part is not None:
            item["content"].append(part)
            events.append(self._in_item("response.content_part.added", part=deepcopy(part)))
        return events

    def _more(self, text: str, logprobs: list[Json]) -> list[Named]:
        item = self.output[-1]
        if not text:
            return []
        if self._repeat:
            extend(item, text, logprobs)
        kind = item["type"]
        extra = {"logprobs": logprobs} if kind == "message" else {}
        return [self._in_item(f"{_TEXT_EVENTS[kind]}.delta", delta=text, **extra)]

    def _done(self, status: str) -> list[Named]:
        item = self.output[-1]
        kind = item["type"]
        events = self._more(self._custom.finish(), []) if kind == "custom_tool_call" else []
        item["status"] = status
        done = f"{_TEXT_EVENTS[kind]}.done"
        if kind in PART_TYPES:
            part = item["content"][0]
            extra = {"logprobs": part["logprobs"]} if kind == "message" else {}
            events.append(self._in_item(done, text=part["text"], **extra))
            events.append(self._in_item("response.content_part.done", part=part))
        else:
            field = TEXT_FIELDS[kind]
            extra = {"name": item["name"]} if kind == "function_call" else {}
            events.append(self._in_item(done, **extra, **{field: item[field]}))
        events.append(self._event("response.output_item.done", output_index=self._index, item=item))
        if not self._repeat:
            self.output.clear()
        return events

    def _in_item(self, name: str, /, **data: Any) -> Named:
        item = self.output[-1]
        place: Json = {"item_id": item["id"], "output_index": self._index}
        if item["type"] in PART_TYPES:
            place["content_index"] = 0
        return self._event(name, **place, **data)

    def _event(self, name: str, /, **data: Any) -> Named:
        event = named(name, {"sequence_number": self._sequence, **data})
        self._sequence += 1
        return event
