"""What constrains a request's output: its own wish, and what the parsers need (wire.md 2.6, 2.7).

Most requests have neither; for those nothing is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.errors import BadRequest
from renderlayer.render.renderers import open_renderer
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.sampling import SamplingFields

if TYPE_CHECKING:
    from renderlayer.constraints.adjust import Adjustment
    from renderlayer.parsers.response_template.template import Beginning

Json = dict[str, Any]


def wish(request: SamplingFields, named_tool_choice: bool = False, checked: bool = True) -> Json | None:
    """The constraint that the request asks for, or None.

    Raises:
        BadRequest, ValidationFailed: it cannot be understood, or contradicts itself.
    """
    if request.structured_outputs is None and request.response_format is None:
        return None
    from renderlayer.constraints.structured import structured_outputs

    return structured_outputs(request.structured_outputs, request.response_format, named_tool_choice, checked)


def check_tool_choice(request: ChatCompletionRequest, server: ServedModel) -> None:
    """Refuse a tool choice that no parser of this server could serve."""
    if request.tool_choice not in (None, "none"):
        from renderlayer.constraints.adjust import check_tool_choice

        check_tool_choice(server.parsers, request.choice(), native=server.native_tools)


def check_demand(request: ChatCompletionRequest, server: ServedModel) -> None:
    """Refuse a call that is demanded, where no parser of this server could read it; the other dialects' renders do not.

    Raises:
        BadRequest: naming the flag that is missing.
    """
    if request.tool_choice != "auto":
        check_tool_choice(request, server)


def adjustment(
    request: ChatCompletionRequest, server: ServedModel, prompt_token_ids: Sequence[int], grammars: bool = True
) -> Adjustment | None:
    """What becomes of a chat request's constraint, special tokens and reasoning; None: nothing is to be done.

    Args:
        grammars: whether the tokenizer's own grammar for whole answers applies, and tags are read here.

    Raises:
        BadRequest, ValidationFailed: the constraint or the tools cannot be turned into a grammar.
    """
    chosen = request.named_tool is not None
    if grammars:  # a choice that is null counts as one, where the body of chat says it
        chosen = chosen or (request.tool_choice is None and "tool_choice" in request.model_fields_set)
    constraint = wish(request, chosen, checked=grammars)
    tools, choice = request.tool_dicts(), request.choice()
    if server.parsers.tool and request.named_tool is not None:
        _check_named(request.named_tool, tools or (), server.parsers.tool)
    grammar = None
    renderer = server.derived(open_renderer)
    if renderer is not None and grammars:
        grammar = renderer.grammar(tools, choice, request.parallel_tool_calls, constraint)
    if constraint is None and grammar is None and not any(server.parsers):
        return None
    from renderlayer.constraints.adjust import adjust

    return adjust(
        server.parsers,
        tools,
        choice,
        parallel_tool_calls=request.parallel_tool_calls,
        structured_outputs=constraint,
        strict_level=server.settings.tool_strict_level,
        harmony_model=server.model.facts.harmony,
        tokenizer_grammar=grammar,
        beginning=_beginning(server, prompt_token_ids),
        always=server.settings.beam_always_constrain_output and "beam" in server.parsers,
        hold_demanded=server.is_front_door,
        marker_suffix=_marker_suffix(server),
    )


def _check_named(name: str, tools: Sequence[dict[str, Any]], parser: str) -> None:
    """Refuse a named tool that is declared twice where a structural tag is made of it; elsewhere the last counts."""
    if [tool["function"]["name"] for tool in tools].count(name) < 2:
        return
    from renderlayer.constraints.needs import NO_NEEDS, TOOL_NEEDS

    if TOOL_NEEDS.get(parser, NO_NEEDS).tag or parser in ("beam", "hf"):
        raise BadRequest("Forced tool choice must resolve to exactly one tool.")


def _beginning(server: ServedModel, prompt_token_ids: Sequence[int]) -> Beginning | None:
    """For the parsers that constrain whole answers (hf: at the front door): what the prompt has written of this one."""
    if "beam" not in server.parsers and not ("hf" in server.parsers and server.is_front_door):
        return None
    from renderlayer.parsers.response_template.parser import TemplateParser

    return server.parser.beginning(prompt_token_ids) if isinstance(server.parser, TemplateParser) else None


def _marker_suffix(server: ServedModel) -> str:
    if server.parsers.tool != "hy_v4":
        return ""
    from renderlayer.parsers.registry import marker_suffix

    return marker_suffix(server.model.vocabulary)
