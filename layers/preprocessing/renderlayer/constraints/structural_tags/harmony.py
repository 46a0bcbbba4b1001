"""Harmony (gpt-oss): messages in channels, calls addressed to a recipient (wire.md 2.7 step 5, 3.8).

A tag covers the answer from its first token: reasoning may run freely in the analysis channel, then comes what is
constrained. Messages end in `<|end|>` or in a stop token, which the engine cuts off and which is therefore written "".
"""

from __future__ import annotations

from collections.abc import Sequence

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.formats import Format
from renderlayer.constraints.structural_tags.params import Params, as_format, constrains, retagged
from renderlayer.constraints.structural_tags.tools import Demand, Tool

_ENDS = ["<|end|>", ""]
_CHANNELS = ("commentary", "analysis", "final")
# How a message states that it holds JSON.
_JSON = (" json", " <|constrain|>json")
# Ways to write a call: recipient before or behind the channel, with each channel and each mark of JSON.
SPELLINGS = 2 * len(_CHANNELS) * len(_JSON)


def constrained_answer(given: Params) -> Params:
    """Move a constraint, if it is one, into the final channel.

    Raises:
        BadRequest: a schema or a structural tag in it is not what it claims to be.
    """
    if not constrains(given):
        return given
    content = as_format(given)
    if content["type"] == "json_schema":
        final = formats.either(_final(mark, content) for mark in _JSON)
    else:
        final = _final("", content)
    return retagged(given, formats.sequence(_free("analysis"), final))


def tool_calls(tools: Sequence[Tool], demand: Demand) -> Format:
    """The format of a whole answer: reasoning, a preamble, and then a call or, if calls are not demanded, an answer."""
    ways = [
        formats.tag(begin, formats.json_schema(tool.json_schema), _ENDS)
        for tool in tools
        for begin in _calls(tool.name)
    ]
    if demand == "auto":
        ways += [_final(mark, formats.any_text()) for mark in (*_JSON, "")]
    return formats.sequence(_free("analysis"), _free("commentary"), formats.either(ways))


def _calls(name: str) -> list[str]:
    recipient = f" to=functions.{name}"
    recipient_first = [f"{recipient}<|channel|>{channel}{mark}<|message|>" for mark in _JSON for channel in _CHANNELS]
    channel_first = [f"<|channel|>{channel}{recipient}{mark}<|message|>" for mark in _JSON for channel in _CHANNELS]
    return recipient_first + channel_first


def _final(mark: str, content: Format) -> Format:
    return formats.tag(f"<|channel|>final{mark}<|message|>", content, _ENDS)


def _free(channel: str) -> Format:
    """A message of the channel, if the model writes one, and the header of the next."""
    message = formats.tag(f"<|channel|>{channel}<|message|>", formats.any_text(), "<|end|>")
    return formats.optional(formats.sequence(message, formats.const("<|start|>assistant")))
