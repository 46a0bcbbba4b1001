"""What an operator should be told at the start: settings that mean something else than they seem to."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields

from renderlayer.bundle import Model
from renderlayer.errors import ConfigurationError
from renderlayer.settings import PREFIX, Settings

logger = logging.getLogger(__name__)


def advise(settings: Settings, environ: Mapping[str, str]) -> None:
    """Log what is odd about settings that can be worked with.

    Raises:
        ConfigurationError: there is no parser of the name that is given.
    """
    for text in [*_unknown(environ), *_parsers(settings), *_engine(settings)]:
        logger.warning("%s", text)


def warn_of_media(model: Model) -> None:
    """Print a warning for each modality that the model takes and that is not rendered."""
    from renderlayer.multimodal import refusals

    for line in refusals(model):
        print(f"warning: {line}", file=sys.stderr, flush=True)


def _unknown(environ: Mapping[str, str]) -> Iterator[str]:
    known = {PREFIX + row.name.upper() for row in fields(Settings)}
    for name in sorted(environ):
        if name.startswith(PREFIX) and name not in known:
            from difflib import get_close_matches

            nearest = get_close_matches(name, known, 1, 0)
            yield f"{name} is no setting and has no effect; did you mean {nearest[0]}?"


def _parsers(settings: Settings) -> Iterator[str]:
    name = settings.tool_call_parser
    if not name or settings.enable_auto_tool_choice:
        return
    from renderlayer.parsers import TOOL_PARSERS

    if name != "auto" and name not in TOOL_PARSERS:
        raise ConfigurationError(f"no tool parser {name!r}; there are {', '.join(TOOL_PARSERS)}")
    yield f"tool_call_parser {name} has no effect without --enable-auto-tool-choice ({PREFIX}ENABLE_AUTO_TOOL_CHOICE)"


def _engine(settings: Settings) -> Iterator[str]:
    for url in settings.engine_urls:
        if url.rstrip("/").endswith("/v1"):
            yield f"engine_url ends with /v1; it is the engine's base URL, such as {url.rstrip('/')[:-3]}"
