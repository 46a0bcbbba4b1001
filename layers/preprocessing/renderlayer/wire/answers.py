"""The answers' shapes, for readers and type checkers; nothing is checked or converted at run time (wire.md 2, 6).

Keys of the engine's own, whose values are handed on as they came, are `Any`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Json = dict[str, Any]


class SamplingParams(TypedDict, total=False):
    """How an engine samples (wire.md 2.2); keys at the engine's defaults are left out."""

    n: int
    presence_penalty: float
    frequency_penalty: float
    repetition_penalty: float
    temperature: float
    watermarking: Any
    top_p: float
    top_k: int
    min_p: float
    seed: int | None
    stop: list[str]
    stop_token_ids: list[int]
    ignore_eos: bool
    max_tokens: int
    min_tokens: int
    logprobs: int | None
    prompt_logprobs: int | None
    logprob_token_ids: list[int] | None
    skip_special_tokens: bool
    spaces_between_special_tokens: bool
    include_stop_str_in_output: bool
    output_kind: int
    stream_interval: Any
    skip_clone: bool
    output_text_buffer_length: int
    structured_outputs: Json | None
    logit_bias: dict[str, float] | None
    allowed_token_ids: list[int] | None
    extra_args: Json | None
    bad_words: list[str]
    skip_reading_prefix_cache: bool
    thinking_token_budget: int | None
    repetition_detection: Json | None
    routed_experts_prompt_start: int


class ParseContext(TypedDict):
    """What an engine that parses its own output must know of the request (wire.md 2.1)."""

    tools: list[Json] | None
    tool_choice: str | Json | None
    parallel_tool_calls: bool | None
    include_reasoning: bool
    chat_template_kwargs: Json
    history_tool_call_cnt: int


class ReasoningKwargs(TypedDict):
    """What the engine's reasoning parser is given."""

    chat_template_kwargs: Json


class Features(TypedDict, total=False):
    """Media of a prompt, by modality: what stands for them, and where (wire.md 4)."""

    mm_hashes: dict[str, list[str]]
    mm_placeholders: dict[str, list[Json]]
    kwargs_data: dict[str, list[Any]] | None


class Continuation(TypedDict):
    """How a prompt goes on from given ids (wire.md 2.10): tokens kept, tokens appended."""

    mode: Literal["extended", "rendered"]
    reason: str | None
    kept: int
    appended: int


class TokenSpans(TypedDict):
    """Whose each token of a prompt is, and which a model would have sampled (wire.md 2.11)."""

    token_spans: list[list[int | str]]
    assistant_mask: list[int]
    mixed_tokens: int


class Prefix(TypedDict, total=False):
    """The digest that stands for ids (wire.md 2.10)."""

    prefix: str


class _Wanted(Prefix, total=False):
    token_spans: list[list[int | str]]
    assistant_mask: list[int]
    mixed_tokens: int
    continuation: Continuation


class GenerateRequest(_Wanted):
    """What an engine takes at `/inference/v1/generate` (wire.md 2.1).

    All keys are there, but for the spans, the continuation and the prefix, which the request must want.
    """

    request_id: str
    token_ids: list[int]
    token_offsets: list[tuple[int, int]] | None
    features: Json | None
    content_parts: None
    sampling_params: SamplingParams
    model: str | None
    reasoning_ended: bool | None
    reasoning_parser_kwargs: ReasoningKwargs | None
    return_token_ids: bool | None
    output_mode: str
    parse_context: ParseContext | None
    stream: bool
    stream_options: Json | None
    cache_salt: str | None
    priority: int
    kv_transfer_params: Json | None
    ec_transfer_params: Json | None


class Tokenization(TypedDict):
    """The answer of `/tokenize` (wire.md 1.9)."""

    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None


class Detokenization(TypedDict):
    """The answer of `/detokenize` (wire.md 1.9)."""

    prompt: str


class Usage(TypedDict):
    """Token counts (wire.md 6.5)."""

    prompt_tokens: int
    total_tokens: int
    completion_tokens: int
    prompt_tokens_details: Json | None
    completion_tokens_details: Json | None


class TokenLogprob(TypedDict):
    """One token of the chat form of logprobs (wire.md 6.4)."""

    token: str
    logprob: float
    bytes: list[int] | None


class ContentLogprob(TokenLogprob):
    """A sampled token, and its candidates."""

    top_logprobs: list[TokenLogprob]


class ChatLogprobs(TypedDict):
    """Logprobs of a chat choice (wire.md 6.4)."""

    content: list[ContentLogprob] | None


class CompletionLogprobs(TypedDict):
    """Logprobs of a text choice: lists of equal length; offsets in code points (wire.md 6.8)."""

    text_offset: list[int]
    token_logprobs: list[float]
    tokens: list[str]
    top_logprobs: list[dict[str, float] | None]


class Message(TypedDict, total=False):
    """An assistant's message (wire.md 6.5); `tool_calls` only when there are some."""

    role: Literal["assistant"]
    content: str | None
    refusal: None
    annotations: None
    audio: None
    function_call: None
    tool_calls: list[Json]
    reasoning: str | None


class Delta(TypedDict, total=False):
    """What a chunk adds to a message (wire.md 6.6); `tool_calls` only when there are some."""

    role: Literal["assistant"] | None
    content: str | None
    reasoning: str | None
    tool_calls: list[Json]


class _Choice(TypedDict):
    index: int
    finish_reason: str | None
    stop_reason: int | str | None
    token_ids: list[int] | None
    weight_versions: None


class ChatChoice(_Choice):
    """A choice of a chat completion (wire.md 6.5)."""

    message: Message
    logprobs: ChatLogprobs | None
    routed_experts: None


class ChatChunkChoice(_Choice):
    """A choice of a chat completion chunk (wire.md 6.6)."""

    delta: Delta
    logprobs: ChatLogprobs | None


class _Answer(TypedDict):
    id: str
    object: str
    created: int
    model: str
    system_fingerprint: None
    kv_transfer_params: Json | None
    metrics: Json | None


class ChatCompletion(_Answer):
    """A whole answer of `/v1/chat/completions` (wire.md 6.5)."""

    choices: list[ChatChoice]
    service_tier: None
    usage: Usage
    prompt_logprobs: list[Json | None] | None
    prompt_token_ids: list[int] | None
    prompt_text: None
    ec_transfer_params: Json | None
    continuation: NotRequired[Continuation]
    prefix: NotRequired[str | None]


class ChatChunk(_Answer):
    """One event of a streamed chat answer (wire.md 6.6)."""

    choices: list[ChatChunkChoice]
    usage: Usage | None
    prompt_token_ids: list[int] | None
    prompt_text: None
    continuation: NotRequired[Continuation]
    prefix: NotRequired[str | None]


class CompletionChoice(_Choice, total=False):
    """A choice of a text completion or of a chunk of one (wire.md 6.8); whole ones have what the prompt brought."""

    text: str
    logprobs: CompletionLogprobs | None
    prompt_logprobs: list[Json | None] | None
    prompt_token_ids: list[int] | None
    routed_experts: None


class Completion(_Answer):
    """A whole answer of `/v1/completions` (wire.md 6.8)."""

    choices: list[CompletionChoice]
    service_tier: None
    usage: Usage
    ec_transfer_params: Json | None


class CompletionChunk(_Answer):
    """One event of a streamed text answer (wire.md 6.8)."""

    choices: list[CompletionChoice]
    usage: Usage | None


Chunk = ChatChunk | CompletionChunk
"""One event of a streamed answer."""


class StreamState(TypedDict, total=False):
    """What goes from one derender call of a stream to the next (wire.md 6.7); `resume` is ours alone."""

    role_sent: bool
    tools_streamed: bool
    logprob_context_token_ids: list[int]
    resume: str | None
    output_token_ids: list[int]
    output_chunk_lens: list[int]
    last_tool_call_ids: list[str]
    prev_tokens: list[str] | None
    prefix_offset: int
    read_offset: int
    logprob_text_offset: int


class DerenderedChatChunk(TypedDict):
    """A chunk, and the state for the next call (wire.md 6.6)."""

    chunk: ChatChunk
    stream_state: StreamState


class DerenderedCompletionChunk(TypedDict):
    """The same of a text completion (wire.md 6.8)."""

    chunk: CompletionChunk
    stream_state: StreamState
