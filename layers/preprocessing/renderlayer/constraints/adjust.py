"""What the parsers change on a request at render, so that the engine writes what derender will parse (wire.md 2.7).

Three things may change: the constraint on the output, whether special tokens stay in the text, and whether the
constraint already covers the reasoning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from renderlayer.constraints.structural_tags import formats
from renderlayer.constraints.structural_tags.params import Params, as_format, constrains, params
from renderlayer.constraints.structural_tags.tools import HARMONY, KIMI_K3, Demand, is_strict, read_tools
from renderlayer.errors import BadRequest

if TYPE_CHECKING:
    from renderlayer.parsers.response_template.template import Beginning

# What builds tags and schemas is imported where it is needed: most requests have no tools, and a cold start is quicker.

ToolChoice = str | Mapping[str, Any] | None
Dumps = Sequence[dict[str, Any]]
# How far calls are constrained: only what a strict tool or tool_choice demands, every call's frame and name, or the
# arguments of all tools, too.
Level = Literal["auto", "function", "parameter"]


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


@dataclass(frozen=True)
class _ToolParser:
    """What a tool parser asks of a request.

    Attributes:
        tag: structural-tag model that constrains its calls; "" for none.
        forced: without a tag, how a demanded call is written: as JSON by its schema, as Mistral's JSON, or in the
            parser's own format, unconstrained.
        special_tokens: when the special tokens must stay in the text: never, with tools in play, unless tool_choice is
            "none", or always.
        level: the level when the operator sets none.
    """

    tag: str = ""
    forced: Literal["schema", "mistral", "native"] = "schema"
    special_tokens: Literal["never", "tools", "choice", "always"] = "never"
    level: Level = "auto"


_DEFAULT = _ToolParser()
_KEEPS_WITH_TOOLS = _ToolParser(special_tokens="tools")
_KEEPS_ALWAYS = _ToolParser(special_tokens="always")
_NATIVE = _ToolParser(forced="native", special_tokens="tools")
_TEMPLATED = _ToolParser(forced="native", special_tokens="always")
_GLM = _ToolParser("glm_4_7", special_tokens="always", level="function")
_HERMES = _ToolParser("hermes", special_tokens="tools")
_LLAMA = _ToolParser("llama")
_QWEN_XML = _ToolParser("qwen_3_coder", special_tokens="always")

# Rows for the names of wire.md 7.4; a name that is not here needs nothing but the schema of a demanded call.
_TOOL_PARSERS: dict[str, _ToolParser] = {
    "apertus": _KEEPS_WITH_TOOLS,
    "beam": _TEMPLATED,
    "cohere_command3": _KEEPS_WITH_TOOLS,
    "cohere_command4": _KEEPS_WITH_TOOLS,
    "deepseek_v3": _ToolParser("deepseek_r1"),
    "deepseek_v31": _ToolParser("deepseek_v3_1"),
    "deepseek_v32": _ToolParser("deepseek_v3_2", special_tokens="always"),
    "deepseek_v4": _ToolParser("deepseek_v4", special_tokens="always"),
    "deepseek_v41": _ToolParser("deepseek_v4_1", special_tokens="always"),
    "dots": _KEEPS_WITH_TOOLS,
    "functiongemma": _KEEPS_WITH_TOOLS,
    "gemma4": _ToolParser(forced="native", special_tokens="always"),
    "gigachat3": _KEEPS_WITH_TOOLS,
    "glm45": _GLM,
    "glm47": _GLM,
    "granite": _KEEPS_ALWAYS,
    "granite4": _KEEPS_WITH_TOOLS,
    "hermes": _HERMES,
    "hf": _TEMPLATED,
    "hy_v3": _KEEPS_WITH_TOOLS,
    "hy_v4": _NATIVE,
    "inkling": _KEEPS_ALWAYS,
    "internlm": _KEEPS_WITH_TOOLS,
    "jamba": _KEEPS_WITH_TOOLS,
    "k2_horizon": _KEEPS_WITH_TOOLS,
    "kimi_k2": _ToolParser("kimi", special_tokens="always"),
    "kimi_k3": _ToolParser(KIMI_K3, special_tokens="always"),
    "lfm2": _KEEPS_WITH_TOOLS,
    "ling3": replace(_GLM, level="auto"),
    "llama3_json": _LLAMA,
    "llama4_json": _LLAMA,
    "longcat": _ToolParser("longcat", special_tokens="tools"),
    "mimo": _ToolParser("mimo", special_tokens="always"),
    "minicpm5": _KEEPS_WITH_TOOLS,
    "minimax_m2": _ToolParser("minimax", special_tokens="always"),
    "minimax_m3": _KEEPS_WITH_TOOLS,
    "mistral": _ToolParser(forced="mistral", special_tokens="choice"),
    "muse": _NATIVE,
    "muse_glimmer": _NATIVE,
    "musespark1x": _NATIVE,
    "openai": _ToolParser(HARMONY),
    "plamo3": _ToolParser("plamo3", special_tokens="always"),
    "poolside_v1": _NATIVE,
    "qwen3_coder": _QWEN_XML,
    "qwen3_json": _HERMES,
    "qwen3_xml": _QWEN_XML,
    "seed_oss": _KEEPS_ALWAYS,
    "step3": _KEEPS_WITH_TOOLS,
    "step3p5": replace(_QWEN_XML, special_tokens="tools"),
    "step5": _QWEN_XML,
}

# Reasoning parsers whose markers are special tokens: these must stay in the text, tools or not.
_KEEPING_REASONING_PARSERS = frozenset(
    {
        "beam",
        "deepseek_v4",
        "deepseek_v41",
        "gemma4",
        "glm45",
        "glm47",
        "granite_thinking_parser",
        "hf",
        "inkling",
        "kimi_k2",
        "kimi_k3",
        "ling3",
        "mimo",
        "minicpmv",
        "minimax_m2",
        "nemotron_v3",
        "plamo3",
        "qwen3",
        "seed_oss",
        "step3p5",
    }
)


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
        hold_demanded: hold the arguments of demanded calls to the tools' schemas, unless a tool is not `strict`; the
            reference does so for tools that are `strict`.

    Raises:
        BadRequest: the tools or the constraint cannot be turned into a grammar.
    """
    row = _TOOL_PARSERS.get(parsers.tool, _DEFAULT)
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
        if in_play and tools and tool_choice is not None:
            structured_outputs = _with_tools(
                row,
                tools,
                tool_choice,
                single=parallel_tool_calls is False,
                given=structured_outputs,
                level=strict_level or row.level,
                hold_demanded=hold_demanded,
            )
    except RecursionError:
        raise BadRequest("The schemas of tools or structured outputs are nested too deeply.", "tools") from None
    return Adjustment(structured_outputs, skip)


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

    held = hold_demanded and demand != "auto"
    callable_tools = read_tools(tools, name, level == "parameter", held) if tools else []
    held_to = None if given is None or not constrains(given) else as_format(given)
    content = answer(beginning, callable_tools, demand, single or demand == "named", held_to)
    return Adjustment(params(structural_tag=formats.written(content)), False, reasoning_ended=beginning.fresh)


def _keeps_special_tokens(parsers: Parsers, row: _ToolParser, in_play: bool, tool_choice: ToolChoice) -> bool:
    if parsers.reasoning in _KEEPING_REASONING_PARSERS or row.special_tokens == "always":
        return True
    return in_play if row.special_tokens == "tools" else row.special_tokens == "choice" and tool_choice != "none"


def _with_tools(
    row: _ToolParser,
    tools: Dumps,
    tool_choice: ToolChoice,
    *,
    single: bool,
    given: Params | None,
    level: str,
    hold_demanded: bool,
) -> Params | None:
    """The constraint of a request whose tools are in play; what it was when the tools add none."""
    name = named_tool(tool_choice)
    demand: Demand = "auto" if tool_choice == "auto" else "required" if name is None else "named"
    if not row.tag:
        schema = _forced_schema(row, tools, demand, name)
        return given if schema is None else params(json=schema)
    # A request for one call at most needs its frame in the grammar, unless a constraint of the client's own is there:
    # the wish must not bring in calls that would be impossible without it.
    if single and level == "auto" and not (demand == "auto" and given):
        level = "function"
    if demand == "auto" and level == "auto" and not any(map(is_strict, tools)):
        return given
    from renderlayer.constraints.structural_tags.build import tool_calls

    callable_tools = read_tools(tools, name, level == "parameter", hold_demanded and demand != "auto")
    if demand == "auto" and given is not None:
        from renderlayer.constraints.structural_tags.support import supported

        if not supported(given):
            return given
        # Plain text would pass the tag of auto and make the client's constraint void.
        calls = tool_calls(row.tag, callable_tools, "required", single=single)
        return params(structural_tag=formats.written(formats.either([calls, as_format(given)])))
    calls = tool_calls(row.tag, callable_tools, demand, single=single)
    return params(structural_tag=formats.written(calls))


def _forced_schema(row: _ToolParser, tools: Dumps, demand: Demand, name: str | None) -> dict[str, Any] | None:
    """The JSON schema of a demanded call, for parsers whose calls no structural tag describes."""
    if demand == "auto" or row.forced == "native":
        return None
    from renderlayer.constraints.structural_tags import call_schema

    if row.forced == "mistral":
        return call_schema.mistral_calls(tools, name)
    return call_schema.calls(tools) if name is None else call_schema.arguments(tools, name)
