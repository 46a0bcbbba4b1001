"""Answers in every format, as a model of the family writes them: two calls; reasoning and a word of content."""

from __future__ import annotations

CALLS = [("get_weather", {"city": "Paris", "days": 3}), ("search", {"q": 'météo "東京" 👍\nx', "n": 2})]
"""What all tool examples say."""

_OBJECTS = (
    '{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}',
    '{"name": "search", "arguments": {"q": "météo \\"東京\\" 👍\\nx", "n": 2}}',
)
_PARAMETERS = tuple(text.replace('"arguments"', '"parameters"') for text in _OBJECTS)
_ARGUMENTS = tuple(text.partition('"arguments": ')[2][:-1] for text in _OBJECTS)
_PYTHON = ("get_weather(city='Paris', days=3)", "search(q='météo \"東京\" 👍\\nx', n=2)")
_VALUES = (("get_weather", (("city", "Paris"), ("days", "3"))), ("search", (("q", 'météo "東京" 👍\nx'), ("n", "2"))))


def _tagged(call: str, key: str, *, call_end: str, value_end: str, after: str = "\n") -> list[str]:
    """Calls of tags: `call` and `key` are formats of the name."""
    return [
        call.format(name)
        + "".join(f"{after}{key.format(field)}{value}{value_end}" for field, value in members)
        + after
        + call_end
        for name, members in _VALUES
    ]


def _qwen3(opener: str, closer: str, lines: bool = True) -> str:
    feed = "\n" if lines else ""
    calls = _tagged("<function={}>", "<parameter={}>" + feed, call_end="</function>", value_end=f"{feed}</parameter>")
    return "\n".join(f"{opener}\n{call}\n{closer}" for call in calls)


def _glm(tag: str = "{}", name_end: str = "\n") -> list[str]:
    return _tagged(
        f"<{tag.format('tool_call')}>{{}}{name_end}",
        f"<{tag.format('arg_key')}>{{}}</{tag.format('arg_key')}>\n<{tag.format('arg_value')}>",
        call_end=f"</{tag.format('tool_call')}>",
        value_end=f"</{tag.format('arg_value')}>",
    )


def _dsml(block: str, space: str = "") -> str:
    tag = f"｜DSML｜{space}"
    calls = "\n".join(
        "\n".join(
            [
                f'<{tag}invoke name="{name}">',
                *(
                    f'<{tag}parameter name="{key}" string="{"false" if value.isdigit() else "true"}">'
                    f"{value}</{tag}parameter>"
                    for key, value in members
                ),
                f"</{tag}invoke>",
            ]
        )
        for name, members in _VALUES
    )
    return f"<{tag}{block}>\n{calls}\n</{tag}{block}>"


def _invokes(prefix: str = "", call: str = "invoke", key: str = "parameter") -> list[str]:
    return _tagged(
        f'<{prefix}{call} name="{{}}">',
        f'<{prefix}{key} name="{{}}">',
        call_end=f"</{prefix}{call}>",
        value_end=f"</{prefix}{key}>",
        after="",
    )


def _kimi(call: int) -> str:
    name = _VALUES[call][0]
    return f"<|tool_call_begin|>functions.{name}:{call}<|tool_call_argument_begin|>{_ARGUMENTS[call]}<|tool_call_end|>"


def _kimi_k3() -> str:
    calls = "".join(
        f'<|open|>call tool="{name}" index="{n}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{"number" if value.isdigit() else "string"}"<|sep|>'
            f"{value}<|close|>argument<|sep|>"
            for key, value in members
        )
        + "<|close|>call<|sep|>"
        for n, (name, members) in enumerate(_VALUES, 1)
    )
    return f"<|open|>tools<|sep|>{calls}<|close|>tools<|sep|><|close|>message<|sep|>"


def _deepseek(head: str, foot: str) -> str:
    calls = "".join(
        f"<｜tool▁call▁begin｜>{head.format(name)}{arguments}{foot}<｜tool▁call▁end｜>"
        for (name, _), arguments in zip(_VALUES, _ARGUMENTS, strict=True)
    )
    return f"<｜tool▁calls▁begin｜>{calls}<｜tool▁calls▁end｜>"


def _plamo() -> str:
    def mark(word: str) -> str:
        return f"<|plamo:{word}:plamo|>"

    calls = "".join(
        f"{mark('begin_tool_request')}{mark('begin_tool_name')}{name}{mark('end_tool_name')}"
        f"{mark('begin_tool_arguments')}<|plamo:constrain|>json<|plamo:msg|>{arguments}"
        f"{mark('end_tool_arguments')}{mark('end_tool_request')}"
        for (name, _), arguments in zip(_VALUES, _ARGUMENTS, strict=True)
    )
    return mark("begin_tool_requests") + calls + mark("end_tool_requests")


def _m3() -> str:
    ns = "]<]minimax[>["
    calls = "".join(
        f'{ns}<invoke name="{name}">'
        + "".join(f"{ns}<{key}>{value}{ns}</{key}>" for key, value in members)
        + f"{ns}</invoke>\n"
        for name, members in _VALUES
    )
    return f"{ns}<tool_call>\n{calls}{ns}</tool_call>"


def _harmony() -> str:
    return "<|start|>assistant".join(
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{arguments}<|call|>"
        for (name, _), arguments in zip(_VALUES, _ARGUMENTS, strict=True)
    )


def _gemma(opener: str, closer: str, quote: str) -> str:
    return "".join(
        f"{opener}call:{name}{{"
        + ",".join(f"{key}:{value if value.isdigit() else quote + value + quote}" for key, value in members)
        + f"}}{closer}"
        for name, members in _VALUES
    )


def _muse() -> str:
    return "<|eom|><|start|>assistant".join(
        f" to={name}<|message|><atem:function_calls>\n{call}\n</atem:function_calls>"
        for (name, _), call in zip(_VALUES, _invokes("atem:"), strict=True)
    )


def _beam() -> str:
    calls = _tagged('<call name="{}">', '<arg name="{}">', call_end="</call>", value_end="</arg>", after="")
    return "".join(f"<|do|>{call}<|end|>" for call in calls)


_TOOL_CALL = "\n".join(f"<tool_call>\n{text}\n</tool_call>" for text in _OBJECTS)
_XML = _qwen3("<tool_call>", "</tool_call>")
_KEYED = tuple(f'{{"{name}": {text}}}' for (name, _), text in zip(_VALUES, _ARGUMENTS, strict=True))
_ARRAY = f"[{', '.join(_OBJECTS)}]"
_INKLING = "".join(
    f"<|message_model|>x<|content_invoke_tool_json|>{text.replace('arguments', 'args')}<|end_message|>"
    for text in _OBJECTS
)
_COHERE = "<|START_ACTION|>[\n" + ",\n".join(_PARAMETERS).replace('"name"', '"tool_name"') + "\n]<|END_ACTION|>"

TOOL_EXAMPLES: dict[str, str] = {
    "apertus": f"<|tools_prefix|>[{', '.join(_KEYED)}]<|tools_suffix|>",
    "beam": _beam(),
    "cohere_command3": _COHERE,
    "cohere_command4": _COHERE,
    "deepseek_v3": _deepseek("function<｜tool▁sep｜>{}\n```json\n", "\n```"),
    "deepseek_v31": _deepseek("{}<｜tool▁sep｜>", ""),
    "deepseek_v32": _dsml("function_calls"),
    "deepseek_v4": _dsml("tool_calls"),
    "deepseek_v41": _dsml("tool_calls", " "),
    "dots": f"<dots_function_call>{''.join(_invokes())}</dots_function_call>",
    "ernie45": _TOOL_CALL,
    "functiongemma": _gemma("<start_function_call>", "<end_function_call>", "<escape>"),
    "gemma4": _gemma("<|tool_call>", "<tool_call|>", '<|"|>'),
    "gigachat3": "".join(f"<|function_call|>{text}" for text in _OBJECTS),
    "glm45": "\n".join(_glm()),
    "glm47": "".join(_glm(name_end="")),
    "granite": f"<|tool_call|>{_ARRAY}",
    "granite-20b-fc": "\n".join(f"<function_call> {text}" for text in _OBJECTS),
    "granite4": _TOOL_CALL,
    "hermes": _TOOL_CALL,
    "hf": "".join(f"<do>{text}</do>" for text in _OBJECTS),
    "hunyuan_a13b": f"<tool_calls>{_ARRAY}</tool_calls>",
    "hy_v3": "<tool_calls>\n" + "\n".join(_glm(name_end="<tool_sep>")) + "\n</tool_calls>",
    "hy_v4": "<tool_calls>\n" + "\n".join(_glm(name_end="<tool_sep>")) + "\n</tool_calls>",
    "inkling": _INKLING,
    "internlm": "\n".join(f"<|action_start|><|plugin|>\n{text}<|action_end|>" for text in _PARAMETERS),
    "jamba": f"<tool_calls>{_ARRAY}</tool_calls>",
    "k2_horizon": f"<ifm|tool_calls>{''.join(_glm('ifm|{}'))}</ifm|tool_calls>",
    "kimi_k2": f"<|tool_calls_section_begin|>{_kimi(0)}{_kimi(1)}<|tool_calls_section_end|>",
    "kimi_k3": _kimi_k3(),
    "lfm2": f"<|tool_call_start|>[{', '.join(_PYTHON)}]<|tool_call_end|>",
    "ling3": "\n".join(_glm()),
    "llama3_json": "; ".join(_PARAMETERS),
    "llama4_json": f"<|python_tag|>{'; '.join(_PARAMETERS)}",
    "llama4_pythonic": f"<|python_start|>[{', '.join(_PYTHON)}]<|python_end|>",
    "longcat": _TOOL_CALL.replace("tool_call>", "longcat_tool_call>"),
    "mimo": _qwen3("<tool_call>", "</tool_call>", lines=False),
    "minicpm5": "".join(_invokes(call="function", key="param")),
    "minimax_m2": "<minimax:tool_call>\n" + "\n".join(_invokes()) + "\n</minimax:tool_call>",
    "minimax_m3": _m3(),
    "mistral": "".join(f"[TOOL_CALLS]{v[0]}[ARGS]{text}" for v, text in zip(_VALUES, _ARGUMENTS, strict=True)),
    "muse": _muse(),
    "muse_glimmer": _muse(),
    "musespark1x": _muse(),
    "olmo3": "<function_calls>\n" + "\n".join(_PYTHON) + "\n</function_calls>",
    "openai": _harmony(),
    "phi4_mini_json": f"functools{_ARRAY}",
    "plamo3": _plamo(),
    "poolside_v1": "".join(_glm()),
    "pythonic": f"[{', '.join(_PYTHON)}]",
    "qwen3_coder": _XML,
    "qwen3_json": _TOOL_CALL,
    "qwen3_xml": _XML,
    "seed_oss": _qwen3("<seed:tool_call>", "</seed:tool_call>", lines=False),
    "step3": "<｜tool_calls_begin｜>"
    + "".join(f"<｜tool_call_begin｜>function<｜tool_sep｜>{x}<｜tool_call_end｜>" for x in _invokes("steptml:"))
    + "<｜tool_calls_end｜>",
    "step3p5": _XML,
    "step5": _XML,
    "xlam": f"```json\n{_ARRAY}\n```",
}

REASONING_EXAMPLES: dict[str, str] = {
    "beam": "<|thought|>\nHm.<|end|><|say|>Yes.<|end|>",
    "hf": "<plan>Hm.</plan>Yes.",
    "cohere_command3": "<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>",
    "cohere_command4": "<|START_THINKING|>Hm.<|END_THINKING|><|START_TEXT|>Yes.<|END_TEXT|>",
    "deepseek_r1": "<think>Hm.</think>Yes.",
    "deepseek_v3": "<think>Hm.</think>Yes.",
    "deepseek_v4": "Hm.</think>Yes.",
    "deepseek_v41": "Hm.</think>Yes.",
    "ernie45": "Hm.</think>\n<response>\nYes.</response>",
    "gemma4": "<|channel>thought\nHm.<channel|>Yes.",
    "glm45": "<think>Hm.</think>Yes.",
    "glm47": "<think>Hm.</think>Yes.",
    "granite": "Here is my thought process:\nHm.\nHere is my response:\nYes.",
    "granite_thinking_parser": "<think>Hm.</think>Yes.",
    "holo2": "<think>Hm.</think>Yes.",
    "hunyuan_a13b": "<think>\nHm.\n</think>\n<answer>\nYes.</answer>",
    "hy_v3": "<think>Hm.</think>Yes.",
    "hy_v4": "<think>Hm.</think>Yes.",
    "inkling": "<|message_model|><|content_thinking|>Hm.<|end_message|>"
    "<|message_model|><|content_text|>Yes.<|end_message|><|content_model_end_sampling|>",
    "k2_horizon": "<ifm|think_fast>Hm.</ifm|think_fast>Yes.",
    "kimi_k2": "<think>Hm.</think>Yes.",
    "kimi_k3": "Hm.<|close|>think<|sep|><|open|>response<|sep|>Yes.<|close|>response<|sep|><|close|>message<|sep|>",
    "ling3": "<think>Hm.</think>Yes.",
    "mimo": "<think>Hm.</think>Yes.",
    "minicpmv": "<think>Hm.</think>Yes.",
    "minimax_m2": "Hm.\n</think>Yes.",
    "minimax_m3": "<mm:think>Hm.</mm:think>Yes.",
    "mistral": "[THINK]Hm.[/THINK]Yes.",
    "muse": " to=self<|message|>Hm.<|eom|><|start|>assistant to=user<|message|>Yes.<|eot|>",
    "muse_glimmer": " to=self<|message|>Hm.<|eom|><|start|>assistant<|message|>Yes.<|eot|>",
    "musespark1x": "<|message|>Hm.<|eom|><|start|>assistant to=commentary<|message|>Yes.<|eot|>",
    "nemotron_v3": "Hm.</think>Yes.",
    "olmo3": "Hm.</think>Yes.",
    "openai_gptoss": "<|channel|>analysis<|message|>Hm.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>Yes.<|return|>",
    "plamo3": "<|plamo:begin_think:plamo|>Hm.<|plamo:end_think:plamo|>Yes.",
    "poolside_v1": "<think>Hm.</think>Yes.",
    "qwen3": "<think>Hm.</think>Yes.",
    "seed_oss": "<seed:think>Hm.</seed:think>Yes.",
    "step3": "Hm.</think>Yes.",
    "step3p5": "Hm.</think>Yes.",
    "step5": "Hm.</think>Yes.",
}
"""Answers that think "Hm." and say "Yes."."""
