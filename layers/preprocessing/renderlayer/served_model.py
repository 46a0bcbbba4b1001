"""A model with its settings: what every render and derender call stands on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from renderlayer.bundle import MANIFEST, Model, open_model
from renderlayer.errors import SHOWN_VALUE, BadRequest, ConfigurationError, NotFound
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from renderlayer.parsers import Parser

# Keys of generation_config.json that become sampling defaults, and their names there (wire.md 2.3).
_DEFAULT_KEYS = (
    "repetition_penalty",
    "presence_penalty",
    "frequency_penalty",
    "temperature",
    "top_k",
    "top_p",
    "min_p",
    "max_new_tokens",
    "skip_special_tokens",
)


Made = TypeVar("Made")

AUTO = "auto"
_HARMONY_REASONING = "openai_gptoss"


class ActiveParsers(NamedTuple):
    """Names of the parsers in use; "" is none."""

    tool: str
    reasoning: str


@dataclass(frozen=True)
class ServedModel:
    """One model as it is served. Immutable; safe to share between threads.

    Example:
        >>> server = Server.open(Settings(model="Qwen/Qwen3-0.6B"))
        >>> render_chat(parse(ChatCompletionRequest, body), server)["token_ids"]
    """

    model: Model
    settings: Settings
    is_front_door: bool = False
    _derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def open(cls, settings: Settings, encodes: bool = True) -> ServedModel:
        """Open the model that the settings name; `encodes` as in `open_bundle`.

        Raises:
            ConfigurationError: there is no such model, or the settings contradict it.
        """
        server = cls(open_model(settings, encodes), settings)
        server._check()
        return server

    @cached_property
    def front_door(self) -> ServedModel:
        """The same server as one that gives whole answers: calls that a request demands fit their tool's schema.

        What is rendered for others stays what the reference renders.
        """
        return self if self.is_front_door else replace(self, is_front_door=True)

    @cached_property
    def names(self) -> list[str]:
        """Served model names; the first is the default. A bundle is known by what was packed, not by its folder."""
        packed = (Path(self.settings.model) / MANIFEST).is_file()
        return self.settings.served_model_name or [self.model.facts.name if packed else self.settings.model]

    @cached_property
    def max_model_len(self) -> int:
        """Context length in tokens."""
        return self.settings.max_model_len or self.model.facts.max_model_len

    @cached_property
    def sampling_defaults(self) -> dict[str, Any]:
        """Sampling parameters that apply when a request names none (wire.md 2.3); max_new_tokens is max_tokens."""
        config = {**self._generation_config(), **self.settings.override_generation_config}
        found = {key: config[key] for key in _DEFAULT_KEYS if config.get(key) is not None}
        if "max_new_tokens" in found:
            found["max_tokens"] = found.pop("max_new_tokens")
        return found

    @cached_property
    def eos_token_ids(self) -> frozenset[int]:
        """EOS ids of the model's own generation config, or of the folder's that replaces it (wire.md 6.3)."""
        if self.settings.generation_config in ("auto", "vllm"):
            return frozenset(self.model.facts.eos_token_ids)
        given = self._generation_config().get("eos_token_id")
        return frozenset(given if isinstance(given, list) else [] if given is None else [given])

    @cached_property
    def max_tokens_cap(self) -> int | None:
        """The most output tokens that the operator allows a request (wire.md 2.3 step 4)."""
        settings = self.settings
        if settings.override_generation_config.get("max_new_tokens") is not None:
            return int(settings.override_generation_config["max_new_tokens"])
        if settings.generation_config not in ("auto", "vllm"):
            return self._generation_config().get("max_new_tokens")
        return None

    @cached_property
    def parsers(self) -> ActiveParsers:
        """The parsers that are configured (wire.md 7.1)."""
        settings, facts = self.settings, self.model.facts
        tool = settings.tool_call_parser if settings.enable_auto_tool_choice else ""
        reasoning = settings.reasoning_parser or (_HARMONY_REASONING if facts.harmony else "")
        return ActiveParsers(
            facts.tool_parser if tool == AUTO else tool,
            facts.reasoning_parser if reasoning == AUTO else reasoning,
        )

    @cached_property
    def parser(self) -> Parser | None:
        """The machine that reads this server's answers; None when no parser is configured.

        Raises:
            ConfigurationError: a parser's name is not known.
        """
        if not any(self.parsers):
            return None
        from renderlayer.parsers import ParserNames, open_parser

        return open_parser(ParserNames(self.parsers.tool or None, self.parsers.reasoning or None), self.model)

    def derived(self, make: Callable[[ServedModel], Made]) -> Made:
        """What `make` makes of this model, made once: rooms above keep here what they find out about a model."""
        if make not in self._derived:
            self._derived.setdefault(make, make(self))
        made: Made = self._derived[make]
        return made

    @property
    def native_tools(self) -> bool:
        """Whether the model's format carries tool calls without a parser (wire.md 3.1 step 2)."""
        return self.model.facts.renderer in ("harmony", "mistral")

    def check_name(self, name: str | None) -> None:
        """Refuse a model name that is not served; an absent or empty name is fine (wire.md 1.7)."""
        if name and name not in self.names:
            raise NotFound(
                f"The model `{name[:SHOWN_VALUE]}` does not exist. Valid aliases: {', '.join(self.names)}.", "model"
            )

    def check_media_kwargs(self, media_io_kwargs: Any, mm_processor_kwargs: Any) -> None:
        """Refuse media and processor options in requests unless the operator trusts them (wire.md 1.7)."""
        if media_io_kwargs or mm_processor_kwargs:
            from renderlayer import multimodal

            multimodal.check_trust(self.settings, media_io_kwargs, mm_processor_kwargs)

    def check_template_trust(self, chat_template: str | None, kwargs: dict[str, Any] | None) -> None:
        """Refuse chat templates in requests unless the operator trusts them (wire.md 1.7)."""
        inside = (kwargs or {}).get("chat_template") is not None
        if (chat_template is not None or inside) and not self.settings.trust_request_chat_template:
            raise BadRequest(
                "Chat template is passed with request, but --trust-request-chat-template is not set. "
                "Refused request with untrusted chat template."
            )
        if inside:
            raise BadRequest("Found unexpected chat template kwargs from request: chat_template")

    def _check(self) -> None:
        """Find at the start what would fail in every request that needs it."""
        for key, value in self.sampling_defaults.items():
            if not isinstance(value, (bool, int, float)):
                raise ConfigurationError(f"generation config: {key} must be a number or a boolean, not {value!r}")
        if any(self.parsers):
            assert self.parser is not None
        if "beam" in self.parsers:
            from renderlayer.constraints.structural_tags.by_template import check_spelled
            from renderlayer.parsers.response_template.template import read_template

            check_spelled(read_template(self.model.facts.response_template))

    def _generation_config(self) -> dict[str, Any]:
        choice = self.settings.generation_config
        if choice == "vllm":
            return {}
        if choice == "auto":
            return self.model.facts.generation_config
        try:
            config: dict[str, Any] = json.loads((Path(choice) / "generation_config.json").read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"generation_config: {choice} has no readable generation_config.json") from error
        return config
