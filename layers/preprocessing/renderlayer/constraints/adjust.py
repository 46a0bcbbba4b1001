"""What the parsers change on a request at render, so that the engine writes what derender will parse (wire.md 2.7).

Three things may change: the constraint on the output, whether special tokens stay in the text, and whether the
constraint already covers the reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from renderlayer.constraints.needs import KEEPING_REASONING_PARSERS, NO_NEEDS, TOOL_NEEDS, ToolNeeds
from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.params import Params, as_format, constrains, params
from renderlayer.constraints.structural_tags.tools import MUSE, Demand, read_tools
from renderlayer.errors import BadRequest
from renderlayer.request_context import remark
from renderlayer.wire.chat_tools import is_strict

if TYPE_CHECKING:
    from renderlayer.parsers.response_template.template import Beginning

# What builds tags and schemas is imported where it is needed: most requests have no tools, and a cold start is quicker.

ToolChoice = str | Mapping[str, Any] | None
Dumps = Sequence[dict[str, Any]]


class Parsers(Protocol):
    """The names of the parsers that are active; "" is none."""

    @property
    def tool(self) -> str: ...

    @property
    def reasoning(self) -> str: ...


@dataclass(frozen=True)
class Adjustment:
    """What becomes of the request.

    Attributes:
        structured_outputs: the constraint to send, all keys present, or None.
        skip_special_tokens: False when a parser needs the special tokens in the text, else None: as it was.
        reasoning_ended: the constraint covers the reasoning, so that it holds from the first token on.
    """

    structured_outputs: Params | None
    skip_special_tokens: bool | None = None
    reasoning_ended: bool = False


def check_tool_choice(parsers: Parsers, tool_choice: ToolChoice, *, native: bool = False) -> None:
    """Refuse a tool choice that no parser could serve (wire.md 1.7, 3.1 step 2).

    Args:
        native: the model's own machinery understands calls without a parser (harmony, mistral tokenizers).

    Raises:
        BadRequest: naming the flags that are missing.
    """
    if native or parsers.tool or tool_choice in (None, "none"):
        return
    if tool_choice == "auto":
        raise BadRequest('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
    name = named_tool(tool_choice)
    shown = f'"{tool_choice}"' if name is None else f'function "{name}"'
    raise BadRequest(f"tool_choice={shown} requires --tool-call-parser to be set")


def named_tool(tool_choice: ToolChoice) -> str | None:
    """The function that a tool choice names, in the form of chat completions or of responses."""
    if not isinstance(tool_choice, Mapping):
        return None
    name: str = tool_choice.get("function", tool_choice)["name"]
    return name


def adjust(
    parsers: Parsers,
    tools: Dumps | None,
    tool_choice: ToolChoice,
    *,
    parallel_tool_calls: bool | None = True,
    structured_outputs: Params | None = None,
    strict_level: str = "",
    harmony_model: bool = False,
    tokenizer_grammar: str | None = None,
    beginning: Beginning | None = None,
    always: bool = True,
    hold_demanded: bool = False,
    marker_suffix: str = "",
) -> Adjustment:
    """Decide what the parsers change on a request.

    Args:
        parsers: the active parsers.
        tools: dumped function tools (wire.md 2.7), or None.
        tool_choice: "none", "auto", "required", a named choice, or None.
        parallel_tool_calls: False stops the engine behind the first call.
        structured_outputs: the request's own constraint, all keys present.
        strict_level: the operator's level; "" leaves it to the parser.
        harmony_model: constraints are moved into the final channel.
        tokenizer_grammar: a Lark grammar by which the tokenizer describes a whole answer (mistral).
        beginning: the tokenizer's response template, by which whole answers are constrained (beam).
        always: such a constraint is for every request, not only where something is demanded.
        hold_demanded: hold the arguments of demanded calls to the tools' schemas (`read_tools`); the reference does so
            for tools that are `strict`, in some formats.
        marker_suffix: what the vocabulary's markers end in (Hunyuan).

    Raises:
        BadRequest: the tools or the constraint cannot be turned into a grammar.
    """
    row = TOOL_NEEDS.get(parsers.tool, NO_NEEDS)
    demanded = tool_choice not in (None, "none", "auto")
    in_play = bool(parsers.tool and tools and tool_choice != "none")
    skip = False if _keeps_special_tokens(parsers, row, in_play, tool_choice) else None
    if tokenizer_grammar is not None:
        return Adjustment(params(grammar=tokenizer_grammar), None, reasoning_ended=True)
    try:
        if harmony_model and structured_outputs is not None:
            from renderlayer.constraints.structural_tags import harmony

            structured_outputs = harmony.constrained_answer(structured_outputs)
        if beginning is not None:
            callable_tools = tools if in_play and tool_choice is not None else None
            single, level = parallel_tool_calls is False, strict_level or row.level
            return _by_template(
                beginning, callable_tools or [], tool_choice, single, structured_outputs, level, always, hold_demanded
            )
        if in_play and tools and parsers.tool == "hf":
            _check_guarantees(tools, tool_choice, parallel_tool_calls)
        if hold_demanded and in_play and tools and not (demanded or row.tag) and any(map(is_strict, tools)):
            remark("strict tools are a hint: the format of the model's calls has no grammar that could hold it to them")
        if in_play and tools and tool_choice is not None:
            structured_outputs = _with_tools(
                row,
                tools,
                tool_choice,
                single=parallel_tool_calls is False,
                given=structured_outputs,
                level=strict_level or row.level,
                held=hold_demanded and demanded,
                suffix=marker_suffix,
            )
    except RecursionError:
        raise BadRequest("The schemas of tools or structured outputs are nested too deeply.", "tools") from None
    whole = in_play and demanded and hold_demanded and row.held == MUSE
    return Adjustment(structured_outputs, skip, reasoning_ended=whole)


def _check_guarantees(tools: Dumps, tool_choice: ToolChoice, parallel_tool_calls: bool | None) -> None:
    """Refuse what no grammar holds an answer to, as the reference does for `hf`."""
    asked = {
        "tools": "strict tools" if any(map(is_strict, tools)) else "",
        "tool_choice": "required tool choice" if tool_choice == "required" else "",
        "parallel_tool_calls": "parallel_tool_calls=False" if parallel_tool_calls is False else "",
    }
    if isinstance(tool_choice, Mapping):
        asked["tool_choice"] = "named tool choice"
    for param, guarantee in asked.items():
        if guarantee:
            without = "without a format-compatible structural grammar"
            raise BadRequest(f"response_template parsing cannot guarantee {guarantee} {without}", param)


def _by_template(
    beginning: Beginning,
    tools: Dumps,
    tool_choice: ToolChoice,
    single: bool,
    given: Params | None,
    level: str,
    always: bool,
    hold_demanded: bool,
) -> Adjustment:
    """The constraint of a whole answer by the response template (wire.md 2.7, beam)."""
    name = named_tool(tool_choice) if tools else None
    demand: Demand = "auto" if not tools or tool_choice == "auto" else "required" if name is None else "named"
    demanded = demand != "auto" or given or (tools and (single or level != "auto" or any(map(is_strict, tools))))
    if beginning.field == "tool_calls" or not (always or demanded):
        return Adjustment(given, False)
    from renderlayer.constraints.structural_tags.by_template import answer
    from renderlayer.parsers.response_template.patterns import PatternError

    held = hold_demanded and demand != "auto"
    callable_tools = read_tools(tools, name, level == "parameter", held) if tools else []
    held_to = None if given is None or not constrains(given) else as_format(given)
    try:
        content = answer(beginning, callable_tools, demand, single or demand == "named", held_to)
    except PatternError as error:  # of hf: beam's template is checked at the start
        param = "tools" if tools else "structured_outputs"
        raise BadRequest(f"The model's response template gives no grammar to hold answers to: {error}", param) from None
    return Adjustment(params(structural_tag=formats.written(content)), False, reasoning_ended=beginning.fresh)


def _keeps_special_tokens(parsers: Parsers, row: ToolNeeds, in_play: bool, tool_choice: ToolChoice) -> bool:
    if parsers.reasoning in KEEPING_REASONING_PARSERS or row.special_tokens == "always":
        return True
    return in_play if row.special_tokens == "tools" else row.special_tokens == "choice" and tool_choice != "none"


def _with_tools(
    row: ToolNeeds,
    tools: Dumps,
    tool_choice: ToolChoice,
    *,
    single: bool,
    given: Params | None,
    level: str,
    held: bool,
    suffix: str,
) -> Params | None:
    """The constraint of a request whose tools are in play; what it was when the tools add none."""
    name = named_tool(tool_choice)
    demand: Demand = "auto" if tool_choice == "auto" else "required" if name is None else "named"
    model = row.held if held and row.held else row.tag
    if not model or (demand == "auto" and row.demanded_only):
        if held and row.forced == "native":
            remark("a call is demanded of the model, but its format has no grammar that could hold the model to it")
        schema = _forced_schema(row, tools, demand, name)
        return given if schema is None else params(json=schema)
    # A request for one call at most needs its frame in the grammar, unless a constraint of the client's own is there:
    # the wish must not bring in calls that would be impossible without it.
    if single and level == "auto" and not (demand == "auto" and given):
        level = "function"
    if demand == "auto" and level == "auto" and not any(map(is_strict, tools)):
        return given
    from renderlayer.constraints.structural_tags.build import tool_calls

    callable_tools = read_tools(tools, name, level == "parameter", held)
    if demand == "auto" and given is not None:
        from renderlayer.constraints.structural_tags.support import supported

        if not supported(given):
            return given
        # Plain text would pass the tag of auto and make the client's constraint void.
        calls = tool_calls(model, callable_tools, "required", single=single)
        return params(structural_tag=formats.written(formats.either([calls, as_format(given)])))
    calls = tool_calls(model, callable_tools, demand, single=single, suffix=suffix)
    return params(structural_tag=formats.written(calls))


def _forced_schema(row: ToolNeeds, tools: Dumps, demand: Demand, name: str | None) -> dict[str, Any] | None:
    """The JSON schema of a demanded call, for parsers whose calls no structural tag describes."""
    if demand == "auto" or row.forced == "native":
        return None
    from renderlayer.constraints.structural_tags import call_schema

    if row.forced == "mistral":
        return call_schema.mistral_calls(tools, name)
    return call_schema.calls(tools) if name is None else call_schema.arguments(tools, name)
