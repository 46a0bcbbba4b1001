"""`/v1/responses` bodies (wire.md 2.8)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire.chat import Effort, ZeroWhenNull
from renderlayer.wire.common.base import Body, DictOf, Given, ListOf, check_cache_salt
from renderlayer.wire.common.sampling import MediaFields, MediaOptions, Stop
from renderlayer.wire.generate import ContinueFrom, Int64
from renderlayer.wire.responses_input import check_item
from renderlayer.wire.responses_tools import check_choice, check_tool

LOGPROBS = "message.output_text.logprobs"
NAMED = ("function", "custom")

Include = Literal[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
]
Penalty = Annotated[float, Field(ge=-2, le=2)]


class Reasoning(Body):
    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None
    generate_summary: Literal["auto", "concise", "detailed"] | None = None
    context: Literal["auto", "current_turn", "all_turns"] | None = None
    mode: str | None = None


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
    mode: Literal["implicit", "explicit"] = "implicit"
    ttl: Literal["30m"] = "30m"
    comparison_response_id: str | None = None
    prewarm: bool | None = None


def _retention(value: Any) -> Any:
    """As the API has it; older clients write a hyphen."""
    return "in_memory" if value == "in-memory" else value


class ResponsesRequest(MediaFields):
    """The body of a Responses request. Fields that have no effect are validated all the same."""

    input: str | ListOf[dict[str, Any]]
    instructions: str | None = None
    model: str | None = None
    request_id: Given[str] = None
    session_id: str | None = None

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    repetition_penalty: float | None = None
    seed: Int64 | None = None
    stop: Stop = None
    stop_token_ids: ListOf[int] | None = None
    ignore_eos: bool = False
    logit_bias: DictOf[str, float] | None = None
    skip_special_tokens: bool | None = None
    spaces_between_special_tokens: bool = True
    include_stop_str_in_output: bool = False
    watermarking: bool | None = None
    max_output_tokens: int | None = None
    top_logprobs: ZeroWhenNull = 0
    include: ListOf[Include] | None = None

    text: TextConfig | None = None
    structured_outputs: dict[str, Any] | None = None
    tools: ListOf[dict[str, Any]] = Field(default_factory=list)
    tool_choice: Literal["none", "auto", "required"] | dict[str, Any] = "auto"
    parallel_tool_calls: bool | None = True
    reasoning: Reasoning | None = None
    include_reasoning: bool = True
    chat_template_kwargs: dict[str, Any] | None = None
    truncation: Literal["auto", "disabled"] | None = "disabled"
    stream: bool | None = False

    media_io_kwargs: MediaOptions | None = None
    mm_processor_kwargs: dict[str, Any] | None = None
    cache_salt: str | None = None
    priority: Int64 = 0
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None
    continue_from: ContinueFrom | None = None
    return_prefix: bool = False
    vllm_xargs: DictOf[str, str | int | float | ListOf[str | int | float]] | None = None

    store: bool | None = True
    background: bool | None = False
    previous_response_id: str | None = None
    previous_input_messages: ListOf[dict[str, Any]] | None = None
    metadata: DictOf[str, str] | None = None
    service_tier: Literal["auto", "default", "flex", "scale", "priority"] = "auto"
    max_tool_calls: int | None = None
    user: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_options: PromptCacheOptions | None = None
    prompt_cache_retention: Annotated[Literal["in_memory", "24h"], BeforeValidator(_retention)] | None = None
    safety_identifier: str | None = None
    enable_response_messages: bool = False

    @field_validator("input", mode="after")
    @classmethod
    def _readable_input(cls, items: str | list[dict[str, Any]]) -> str | list[dict[str, Any]]:
        for index, item in enumerate(items if isinstance(items, list) else ()):
            check_item(item, ("input", index))
        return items

    @field_validator("tools", mode="after")
    @classmethod
    def _readable_tools(cls, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for index, tool in enumerate(tools):
            check_tool(tool, ("tools", index))
        return tools

    @field_validator("tool_choice", mode="after")
    @classmethod
    def _readable_choice(cls, choice: str | dict[str, Any]) -> str | dict[str, Any]:
        if isinstance(choice, dict):
            check_choice(choice)
        return choice

    @model_validator(mode="before")
    @classmethod
    def _cross_checks(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if data.get("prompt") is not None:
            raise BadRequest("prompt template is not supported", "prompt")
        if data.get("background") and not data.get("store", True):
            raise BadRequest("background can only be used when `store` is true", "background")
        check_cache_salt(data)
        if isinstance(data.get("tools"), (int, float)):
            raise BadRequest("`tools` must be a list.")
        if data.get("input") == {}:
            data = {**data, "input": []}
        if not data.get("tools") and _forced(data.get("tool_choice")):
            raise BadRequest("`tool_choice` names a tool, or requires one, but there are no `tools`.", "tool_choice")
        return data

    @model_validator(mode="after")
    def _one_form(self) -> ResponsesRequest:
        if self.structured_outputs is not None and self.text is not None and self.text.format is not None:
            raise BadRequest("Cannot specify both structured_outputs and text.format", "structured_outputs")
        return self

    @property
    def logprobs(self) -> int | None:
        """Candidates a token, if the answer shall include logprobs at all."""
        return self.top_logprobs if LOGPROBS in (self.include or ()) else None


def _forced(choice: Any) -> bool:
    return choice == "required" or (isinstance(choice, dict) and choice.get("type") in NAMED)
