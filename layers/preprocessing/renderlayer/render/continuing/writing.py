"""What writes the prompts of a request: its template or its family's renderer, under its tools and kwargs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from renderlayer.errors import RenderLayerError
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.stand_ins import without_marks
from renderlayer.render.conversation import conversation
from renderlayer.render.dialect import Dialect
from renderlayer.render.renderers import open_prompt_encoder, open_renderer
from renderlayer.render.types import ChatParams, MediaOptions, TokenizeOptions
from renderlayer.served_model import ServedModel

if TYPE_CHECKING:
    from renderlayer.bundle import ChatTemplate
    from renderlayer.render.renderers.prompt_encoder import PromptEncoder

Json = dict[str, Any]


@dataclass(frozen=True)
class Writing:
    """A conversation written down.

    Attributes:
        text: with the texts of special tokens.
        ids: its token ids, with media, and of families whose prompts are no text; None elsewhere.
        features: the wire's features object, of conversations with media.
    """

    text: str
    ids: list[int] | None = None
    features: Json | None = None


@dataclass(frozen=True)
class Writer:
    """Writes conversations as the request's prompt is written.

    Args:
        kwargs: the effective template kwargs.
        chat_template: a template of the request, already trusted.
        effort: the request's reasoning effort, after the server's map.
        stop_token_ids: tokens at which the request lets answers end, beside the model's.
    """

    server: ServedModel
    kwargs: Json
    tools: list[Json] | None
    chat_template: str | None
    effort: str | None
    dialect: Dialect
    add_special_tokens: bool = False
    stop_token_ids: tuple[int, ...] = ()
    media: MediaOptions = field(default_factory=MediaOptions)

    @cached_property
    def template(self) -> ChatTemplate | PromptEncoder:
        """The template, or the program that stands for it."""
        server = self.server
        return server.derived(open_prompt_encoder) or server.model.templates.resolve(
            self.chat_template, bool(self.tools)
        )

    @cached_property
    def template_key(self) -> tuple[Any, ...]:
        """What decides how a turn is written, whatever is said in it."""
        kwargs = tuple(sorted((name, repr(value)) for name, value in self.kwargs.items()))
        return (self.chat_template, bool(self.tools), kwargs, self.effort, self.dialect, self.stop_token_ids)

    def with_template(self, template: ChatTemplate) -> Writer:
        """The same writer with another template."""
        other = replace(self)
        other.__dict__["template"] = template
        return other

    @property
    def generates(self) -> bool:
        """Whether the prompt ends with what begins the assistant's next turn."""
        return bool(self.kwargs.get("add_generation_prompt", True))

    def write(self, messages: Sequence[Json], generate: bool, known: int | None = None) -> Writing:
        """The conversation's text; `generate`: with what begins the assistant's next turn.

        Args:
            known: how many of the messages the ids hold, whose media are named by hash; None: all.

        Raises:
            NotExtended: the template refuses it.
        """
        kwargs = {**self.kwargs, "add_generation_prompt": generate}
        try:
            renderer = self.server.derived(open_renderer)
            if renderer is not None:
                options = TokenizeOptions(False)
                params = ChatParams(
                    messages, self.tools, kwargs, options, MediaOptions("none"), self.effort, False, self.dialect
                )
                ids = list(renderer.prompt(params).token_ids)
                return Writing(self.text(ids), ids)
            seen = conversation(messages, self.server, self.template, self.dialect)
            text = self.template.render(seen.messages, self.tools, kwargs.get("documents"), kwargs)
            if not seen.media:
                return Writing(text)
        except RenderLayerError as error:
            said = without_marks(error.message.splitlines()[0])[:120]
            raise NotExtended(f"the template refuses a stand-in: {said}") from error
        from renderlayer.render.continuing.media import laid_out

        count = len(seen.media)
        if known is not None:
            count = len(conversation(messages[:known], self.server, self.template, self.dialect).media)
        found = laid_out(text, seen.media, count, self.server, self.media)
        return Writing(self.text(found.token_ids), found.token_ids, found.features)

    def text(self, token_ids: Sequence[int]) -> str:
        """Text of ids, special tokens included."""
        return self.server.model.tokenizer.decode(token_ids, skip_special_tokens=False)

    def normal(self, text: str) -> str:
        """The text as it comes back from its ids: normalisers of the tokenizer applied."""
        return self.text(self.server.model.tokenizer.encode(text))

    def id_of(self, text: str) -> int | None:
        """The id of a token's text."""
        return self.server.model.vocabulary.id_of(text)

    @cached_property
    def stops(self) -> dict[str, int]:
        """The tokens that end an answer: text to id."""
        model = self.server.model
        ids = {*self.server.eos_token_ids, *model.facts.eos_token_ids, *self.stop_token_ids}
        if model.facts.eos_token_id is not None:
            ids.add(model.facts.eos_token_id)
        return {text: token_id for token_id in ids if (text := self.text([token_id]))}
