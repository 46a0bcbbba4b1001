"""The one table of settings: environment variables, command-line flags and defaults.

Each row is a field of `Settings`. Its environment variable is `RENDERLAYER_` + the name in capitals; its flag, for
`renderlayer serve` and `python -m infra.local serve`, is `--` + the name with dashes, which is the reference's name
where the reference has one (wire.md section 8). Lists are separated by commas in the environment and by spaces on the
command line; objects are JSON. What is on by default is switched off with `--no-` and the name.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from datetime import date
from typing import Any
from urllib.parse import urlsplit

from renderlayer.errors import ConfigurationError

PREFIX = "RENDERLAYER_"
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Variable of prometheus_client: the folder in which the processes of one server keep their metrics."""
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"", "0", "false", "no", "off"}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def _row(default: Any, about: str, kind: str = "str", choices: tuple[str, ...] = (), least: float | None = None) -> Any:
    metadata = {"about": about, "kind": kind, "choices": choices, "least": least}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: type(default)(default), metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True)
class Settings:
    """Everything that can be configured, validated. Build it with `from_environment` or `from_arguments`."""

    model: str = _row("", "bundle, model folder or Hub id")
    revision: str = _row("", "revision of a Hub id")
    served_model_name: list[str] = _row([], "names that requests may use; the first is the default", "list")
    model_id_for_hash: str = _row("", "model string that enters mm_hash (default: the model as given)")
    max_model_len: int | None = _row(None, "context length in tokens (default: the model's)", "int", least=1)
    max_logprobs: int = _row(20, "largest number of logprobs a position; negative: no limit", "int")

    chat_template: str = _row("", "chat template: a file, or the template itself")
    chat_template_content_format: str = _row(
        "auto", "how messages reach the template", choices=("auto", "string", "openai")
    )
    trust_request_chat_template: bool = _row(False, "accept chat_template in requests", "flag")
    trust_request_mm_kwargs: bool = _row(False, "accept mm_processor_kwargs and media_io_kwargs in requests", "flag")
    default_chat_template_kwargs: dict[str, Any] = _row({}, "template kwargs that requests may override", "json")
    reasoning_effort_map: dict[str, str] = _row({}, "rewrites reasoning efforts before the template", "json")
    anthropic_disabled_thinking_effort: str = _row(
        "auto", "effort that stands for disabled thinking", choices=("auto", "none", "low")
    )
    cohere_format: str = _row("cmd4", "value of the cohere_format template kwarg", choices=("cmd3", "cmd4"))
    system_start_date: str = _row("", "date in harmony system messages, YYYY-MM-DD (default: today)")
    harmony_system_instructions: bool = _row(False, "put instructions into harmony's system message", "flag")

    tool_call_parser: str = _row("", "tool parser by name, or auto for the one found when packing")
    reasoning_parser: str = _row("", "reasoning parser by name, or auto for the one found when packing")
    enable_auto_tool_choice: bool = _row(False, "let the model choose tools", "flag")
    tool_strict_level: str = _row(
        "", "how far tool calls are constrained", choices=("", "auto", "function", "parameter")
    )
    beam_always_constrain_output: bool = _row(
        True, "parser beam: constrain every answer, not only demanded calls", "flag"
    )
    exclude_tools_when_tool_choice_none: bool = _row(False, "hide tools from the template for tool_choice none", "flag")

    generation_config: str = _row("auto", "auto, vllm (no defaults), or a folder with generation_config.json")
    override_generation_config: dict[str, Any] = _row({}, "merged over the generation config", "json")

    limit_mm_per_prompt: dict[str, Any] = _row({}, "most items a prompt, by modality", "json")
    media_io_kwargs: dict[str, Any] = _row({}, "decoding options, by modality", "json")
    mm_processor_kwargs: dict[str, Any] = _row({}, "processor options; they do not enter mm_hash", "json")
    mm_hasher_algorithm: str = _row("blake3", "algorithm of mm_hash", choices=("blake3", "sha256", "sha512"))
    mm_payload: str = _row(
        "tensors", "payload when a request names none", choices=("tensors", "none", "reference", "auto")
    )
    interleave_mm_strings: bool = _row(False, "put placeholders where the media stand (string format)", "flag")
    enable_mm_embeds: bool = _row(False, "accept image_embeds and audio_embeds", "flag")
    allowed_media_domains: list[str] = _row([], "hosts that media may come from, redirects included", "list")
    allowed_media_networks: list[str] = _row([], "private networks (CIDR) that media may come from", "list")
    allowed_media_buckets: list[str] = _row([], "buckets that s3:// media may come from", "list")
    allowed_local_media_path: str = _row("", "folder that file: URLs may read")
    max_media_item_bytes: int = _row(256 << 20, "largest medium in bytes, as it travels", "int", least=1)
    max_media_request_bytes: int = _row(
        256 << 20, "most bytes that a request downloads, failed attempts included; 0: no limit", "int", least=0
    )
    max_media_decoded_bytes: int = _row(
        715_827_880, "most bytes of a request's decoded media, 4 a pixel of an image; 0: no limit", "int", least=0
    )
    max_image_pixels: int = _row(178_956_970, "most pixels of an image or of a video's frame", "int", least=1)
    media_memory_bytes: int | None = _row(
        None, "bytes that media under way may take, all requests together (default: half of the memory)", "int", least=1
    )
    media_decode_seconds: float = _row(
        10.0, "processor time of decoding an image or a sound, in seconds", "float", least=0.01
    )
    video_decode_seconds: float = _row(60.0, "processor time of decoding a video, in seconds", "float", least=0.01)
    max_audio_bytes: int = _row(25 << 20, "largest audio file in bytes", "int", least=1)
    max_audio_seconds: float = _row(600.0, "longest audio in seconds", "float", least=0.1)
    image_fetch_seconds: float = _row(5.0, "longest fetch of an image, attempts included", "float", least=0.1)
    audio_fetch_seconds: float = _row(10.0, "longest fetch of audio, attempts included", "float", least=0.1)
    video_fetch_seconds: float = _row(30.0, "longest fetch of a video, attempts included", "float", least=0.1)
    media_fetch_attempts: int = _row(3, "most attempts to fetch a medium", "int", least=1)
    media_redirects: int = _row(5, "most redirects that a fetch follows; 0: none", "int", least=0)

    reference_bucket: str = _row("", "bucket that holds referenced payloads")
    reference_prefix: str = _row("references", "key prefix of referenced payloads")
    reference_above: int = _row(
        2 << 20, "auto: bytes of base64 that stay in a response, shared by its media; above: references", "int", least=0
    )
    reference_request_above: int = _row(
        0, "bytes from which a whole rendered request is stored and answered as a request_ref; 0: never", "int", least=0
    )
    reference_days: int = _row(2, "days after which the lifecycle rule removes a reference", "int", least=1)
    reference_allowed: list[str] = _row([], "bucket/prefix that the engine reads (default: the above)", "list")
    reference_model: str = _row("", "fingerprint of the packed model that the engine takes payloads of", "str")
    reference_cache_bytes: int = _row(1 << 30, "bytes of payloads that the engine holds in memory", "int", least=0)
    reference_seconds: float = _row(
        10.0, "longest time in which the engine resolves a request's references", "float", least=0.01
    )
    engine_url: str = _row("", "generate services that complete and batch call, separated by commas", "urls")
    encode_url: str = _row("", "services that encode media for the others, if these do not do so themselves", "urls")
    prefill_url: str = _row("", "services that compute prompts for the others, likewise", "urls")
    routing: str = _row(
        "",
        "how one of several engines is chosen (default: prefix-affinity in serve, else rendezvous)",
        choices=("", "prefix-affinity", "least-outstanding", "round-robin", "rendezvous"),
    )
    routing_cache_tokens: int = _row(
        500_000, "tokens that an engine's prefix cache is taken to hold, to choose by", "int", least=1_000
    )
    engine_api_key: str = _row("", "key that the generate service asks for")
    engine_api_key_secret: str = _row("", "ARN of the secret that holds this key")
    stream_url: str = _row("", "URL of the same front door without a limit of time, which 504s name")
    max_waiting_answers: int = _row(
        1_000, "most answers that wait for the engine at a time; more get 429; 0: no limit", "int", least=0
    )

    batch_bucket: str = _row("", "bucket of files and batches")
    batch_split_queue: str = _row("", "URL of the queue that starts and continues the splitting of files")
    batch_lost_queue: str = _row("", "URL of the queue in which messages are set aside that nobody can read")
    batch_work_queue: str = _row("", "URL of the queue of shards")
    batch_concurrency: int = _row(32, "lines of a shard that are with the engine at a time", "int", least=1)
    batch_shard_lines: int = _row(2000, "most lines a shard", "int", least=1)
    batch_shard_bytes: int = _row(4 << 20, "bytes after which a shard ends with its line", "int", least=1)
    batch_hours: float = _row(24.0, "hours after which a batch expires", "float", least=0.01)

    api_key: list[str] = _row([], "keys that callers must present; none: open", "list")
    api_key_secret: str = _row("", "ARN of the secret that holds such keys, read again every minute")
    allowed_origins: list[str] = _row([], "origins of pages that may call a server (CORS), or *; none: none", "list")
    root_path: str = _row("", "path prefix, such as an API Gateway stage")
    enable_request_id_headers: bool = _row(False, "answer with X-Request-Id", "flag")
    max_body_bytes: int = _row(32 << 20, "largest request body in bytes", "int", least=1)
    body_memory_bytes: int | None = _row(
        None, "memory for the bodies of all requests (default: a quarter of what there is)", "int", least=1 << 20
    )
    max_response_bytes: int = _row(
        6 << 20, "largest answer of a function, as Lambda counts it; 0: no limit", "int", least=0
    )
    log_level: str = _row("info", "least severe lines that are logged", choices=("debug", "info", "warning", "error"))
    log_format: str = _row("text", "form of the log's lines", choices=("text", "json"))
    max_n_sequences: int = _row(16_384, "largest n, and most choices a derender body", "int", least=1)
    max_completion_prompts: int = _row(1_024, "most prompts a completion request", "int", least=1)
    receive_timeout: float = _row(
        60.0,
        "seconds in which a request's headers and its body must have come to a server; the body gets a second more for "
        "every 32 KiB of it; 0: any time",
        "float",
        least=0,
    )
    send_timeout: float = _row(
        60.0, "seconds after which a client that takes nothing of its answer is cut off; 0: never", "float", least=0
    )
    template_seconds: float = _row(
        2.0, "processor time of a template that came in a request, in seconds", "float", least=0.01
    )
    template_memory_bytes: int = _row(256 << 20, "memory of a template that came in a request", "int", least=32 << 20)
    fast_tokenizer_after: int | None = _row(
        None,
        "characters from which fastokens tokenizes; 0: never (default: 2048 in serve, else never)",
        "int",
        least=0,
    )

    @property
    def engine_urls(self) -> list[str]:
        """The URLs of the engines, each once."""
        return list(dict.fromkeys(split(self.engine_url)))

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read every RENDERLAYER_ variable.

        Raises:
            ConfigurationError: a value does not parse or is not among the choices.
        """
        environ = os.environ if environ is None else environ
        given: dict[str, Any] = {}
        for row in fields(cls):
            text = environ.get(PREFIX + row.name.upper())
            if text is not None:
                given[row.name] = parsed(row.name, row.metadata["kind"], text)
        return cls(**given)._checked()

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace, base: Settings | None = None) -> Settings:
        """Lay the flags that were given over `base` (default: the environment)."""
        given = {row.name: getattr(arguments, row.name, None) for row in fields(cls)}
        base = base or cls.from_environment()
        return replace(base, **{name: value for name, value in given.items() if value is not None})._checked()

    def environment(self) -> dict[str, str]:
        """The same settings as environment variables; rows at their default are left out."""
        out: dict[str, str] = {}
        defaults = Settings()
        for row in fields(self):
            value = getattr(self, row.name)
            if value == getattr(defaults, row.name):
                continue
            kind = row.metadata["kind"]
            if kind == "json":
                text = json.dumps(value)
            elif kind == "list":
                text = ",".join(value)
            else:
                text = str(value)
            out[PREFIX + row.name.upper()] = text
        return out

    def _checked(self) -> Settings:
        for row in fields(self):
            value, choices, least = getattr(self, row.name), row.metadata["choices"], row.metadata["least"]
            if choices and value not in choices:
                raise ConfigurationError(f"{row.name}: {value!r} is none of {', '.join(map(repr, choices))}")
            if least is not None and value is not None and value < least:
                raise ConfigurationError(f"{row.name} must be at least {least}")
        row_kinds = {row.name: row.metadata["kind"] for row in fields(self)}
        for name, check in _FORMS.items():
            value = getattr(self, name)
            try:
                for text in split(value) if row_kinds[name] == "urls" else filter(None, _listed(value)):
                    check(text)
            except ValueError as error:
                raise ConfigurationError(f"{name}: {error}") from None
        unknown = set(self.reasoning_effort_map) - set(EFFORTS)
        if unknown:
            raise ConfigurationError(f"reasoning_effort_map: unknown effort {sorted(unknown)[0]!r}")
        if not all(isinstance(effort, str) for effort in self.reasoning_effort_map.values()):
            raise ConfigurationError("reasoning_effort_map: an effort stands for a string")
        if self.mm_payload == "reference" and not self.reference_bucket:
            raise ConfigurationError("mm_payload: references need a bucket (reference_bucket)")
        if not all(map(_is_item_limit, self.limit_mm_per_prompt.values())):
            raise ConfigurationError("limit_mm_per_prompt: a limit is a number, or an object with a count")
        if not all(isinstance(options, dict) for options in self.media_io_kwargs.values()):
            raise ConfigurationError("media_io_kwargs: the options of a modality are an object")
        return self


def table() -> Sequence[tuple[str, str, str, str]]:
    """Rows (variable, flag, default, meaning), as docs/settings.md and `renderlayer settings` show them."""
    defaults = Settings()
    return [
        (
            PREFIX + row.name.upper(),
            "MODEL" if row.name == "model" else flag_of(row),
            json.dumps(getattr(defaults, row.name)),
            row.metadata["about"],
        )
        for row in fields(Settings)
    ]


def split(text: str) -> list[str]:
    """What stands between commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def flag_of(row: Field[Any]) -> str:
    """The command-line flag of a row; what is on is switched off with `--no-`."""
    return ("--no-" if row.default is True else "--") + row.name.replace("_", "-")


def _listed(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _is_item_limit(limit: Any) -> bool:
    count = limit.get("count", 0) if isinstance(limit, dict) else limit
    return isinstance(count, int) and count >= 0


def _check_network(text: str) -> None:
    from ipaddress import ip_network

    ip_network(text, strict=False)


def _check_url(text: str) -> None:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or (parts.port is not None and parts.port < 1):
        raise ValueError(f"{text!r} is no URL of the form http://HOST or https://HOST")


def _check_path(text: str) -> None:
    if not text.startswith("/"):
        raise ValueError(f"{text!r} does not begin with a slash")


_FORMS: dict[str, Callable[[str], object]] = {
    "allowed_media_networks": _check_network,
    **dict.fromkeys(("engine_url", "encode_url", "prefill_url"), _check_url),
    "root_path": _check_path,
    "system_start_date": date.fromisoformat,
}
"""Checks of texts, which raise ValueError."""


def parsed(name: str, kind: str, text: str) -> Any:
    try:
        if kind == "int":
            return int(text)
        if kind == "float":
            number = float(text)
            if not math.isfinite(number):
                raise ValueError("not a finite number")
            return number
        if kind == "list":
            return split(text)
        if kind == "json":
            value = json.loads(text) if text.strip() else {}
            if not isinstance(value, dict):
                raise ValueError("not a JSON object")
            return value
        if kind == "flag":
            lowered = text.strip().lower()
            if lowered not in _TRUE | _FALSE:
                raise ValueError("not a boolean")
            return lowered in _TRUE
    except ValueError as error:
        raise ConfigurationError(f"{PREFIX}{name.upper()}={text!r}: {error}") from error
    return text
