"""What differs between the APIs whose requests are rendered as chat requests (wire.md 2.8, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """One API's habits.

    Attributes:
        arguments_first: a history call's function shows `arguments` before `name` to the template, not after it.
        part_param: the parameter that an unknown content part is blamed on.
        limit_param: the field that limits the output, for errors; None: whichever of chat's two was given.
        typed_media: media parts must have exactly the form of the chat API.
        empty_extra_args: an empty object stands for no engine extensions at all (wire.md 2.2).
        engine_parses: whether the engine is told how to parse the answer and whether reasoning is over (wire.md 2.1).
    """

    arguments_first: bool = True
    part_param: str | None = None
    limit_param: str | None = None
    typed_media: bool = True
    empty_extra_args: bool = False
    engine_parses: bool = True


CHAT = Dialect()
RESPONSES = Dialect(
    arguments_first=False,
    part_param="type",
    limit_param="max_output_tokens",
    typed_media=False,
    empty_extra_args=True,
    engine_parses=False,
)
