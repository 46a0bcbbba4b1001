"""`/v1/responses` bodies (wire.md 2.8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire._base import Body, DictOf, ListOf, parse_at, refused
from renderlayer.wire._sampling import MmPayload, Stop
from renderlayer.wire.chat import Effort, FunctionDefinition
from renderlayer.wire.generate import Int64, check_cache_salt

LOGPROBS = "message.output_text.logprobs"

TOOL_TYPES = frozenset(
    (
        "function",
        "namespace",
        "custom",
        "web_search",
        "web_search_2025_08_26",
        "web_search_preview",
        "web_search_preview_2025_03_11",
        "file_search",
        "code_interpreter",
        "computer",
        "computer_use_preview",
        "mcp",
        "image_generation",
        "local_shell",
        "shell",
        "apply_patch",
        "tool_search",
        "programmatic_tool_calling",
    )
)
"""What a tool may be; only the first three can be rendered for a model, the others run at a provider."""


class Reasoning(Body):
    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None


class TextFormat(Body):
    """`text.format`; the schema of a json_schema stands beside its name, not in an object of its own as in chat."""

    type: Literal["text", "json_object", "json_schema"]
    name: str | None = None
    schema_: dict[str, Any] | None = Field(default=None, alias="schema")
    description: str | None = None
    strict: bool | None = None

    @model_validator(mode="after")
    def _schema_given(self) -> TextFormat:
        if self.type == "json_schema" and (self.schema_ is None or self.name is None):
            raise ValueError("a json_schema format needs a name and a schema")
        return self


class TextConfig(Body):
    format: TextFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class PromptCacheOptions(Body):
    mode: Literal["implicit", "explicit"] | None = None
    ttl: str | None = None
    comparison_response_id: str | None = None
    prewarm: bool | None = None


class ResponsesRequest(Body):
    """The body of a Responses request. Fields that have no effect are validated all the same."""

    input: str | ListOf[dict[str, Any]]
    instructions: str | None = None
    model: str | None = None
    request_id: str | None = None

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    repetition_penalty: float | None = None
    seed: Int64 | None = None
    stop: Stop = None
    stop_token_ids: ListOf[int] | None = None
    ignore_eos: bool = False
    logit_bias: DictOf[str, float] | None = None
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False
    watermarking: dict[str, Any] | None = None
    max_output_tokens: int | None = None
    top_logprobs: int | None = 0
    include: ListOf[str] | None = None

    text: TextConfig | None = None
    structured_outputs: dict[str, Any] | None = None
    tools: ListOf[dict[str, Any]] = Field(default_factory=list)
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] = "auto"
    parallel_tool_calls: bool | None = True
    reasoning: Reasoning | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    truncation: Literal["auto", "disabled"] | None = "disabled"
    stream: bool | None = False

    media_io_kwargs: dict[str, Any] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    mm_payload: MmPayload | None = None
    cache_salt: str | None = None
    priority: Int64 = 0
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    vllm_xargs: DictOf[str, str | int | float | ListOf[str | int | float]] | None = None

    store: bool | None = True
    background: bool | None = False
    previous_response_id: str | None = None
    previous_input_messages: ListOf[dict[str, Any]] | None = None
    metadata: DictOf[str, str] | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority"] | None = "auto"
    max_tool_calls: int | None = None
    user: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: Literal["in_memory", "in-memory", "24h"] | None = None
    safety_identifier: Annotated[str, Field(max_length=512)] | None = None
    enable_response_messages: bool = False

    @field_validator("tools", mode="before")
    @classmethod
    def _none_when_null(cls, value: Any) -> Any:
        return [] if value is None else value

    @field_validator("tools", mode="after")
    @classmethod
    def _readable_tools(cls, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for index, tool in enumerate(tools):
            check_tool(tool, ("tools", index))
        return tools

    @model_validator(mode="before")
    @classmethod
    def _cross_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("prompt") is not None:
            raise BadRequest("prompt template is not supported", "prompt")
        if data.get("background") and data.get("store", True) is False:
            raise BadRequest("background can only be used when `store` is true", "background")
        text = data.get("text")
        if data.get("structured_outputs") is not None and isinstance(text, dict) and text.get("format") is not None:
            raise BadRequest("Cannot specify both structured_outputs and text.format", "structured_outputs")
        check_cache_salt(data)
        return data

    @property
    def logprobs(self) -> int | None:
        """Candidates a token, if the answer shall include logprobs at all."""
        return self.top_logprobs if LOGPROBS in (self.include or ()) else None


def check_tool(tool: dict[str, Any], place: tuple[str | int, ...]) -> None:
    """Refuse a tool that is none.

    Raises:
        ValidationFailed: of no known type, or a function, custom tool or namespace without a name.
        BadRequest: a custom tool whose input follows a grammar.
    """
    kind = tool.get("type")
    if not isinstance(kind, str) or kind not in TOOL_TYPES:
        raise refused((*place, "type"), "literal_error", "Input should be a known tool type", kind)
    if kind not in ("function", "namespace", "custom"):
        return
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        raise refused((*place, "name"), "string_type", "Input should be a valid string", tool.get("name"))
    if kind != "namespace":
        parse_at(FunctionDefinition, tool, *place)
    form = tool.get("format")
    if form is not None and not isinstance(form, dict):
        raise refused((*place, "format"), "dict_type", "Input should be a valid dictionary", form)
    if kind == "custom" and (form or {}).get("type", "text") != "text":
        raise BadRequest("Custom tools with a grammar are not supported; use the text format.", "tools")
    if kind == "namespace":
        members = tool.get("tools")
        if not isinstance(members, list):
            raise refused((*place, "tools"), "list_type", "Input should be a valid list", members)
        for index, member in enumerate(members):
            if not isinstance(member, dict) or member.get("type") == "namespace":
                raise refused(
                    (*place, "tools", index), "dict_type", "Input should be a function or custom tool", member
                )
            check_tool(member, (*place, "tools", index))
