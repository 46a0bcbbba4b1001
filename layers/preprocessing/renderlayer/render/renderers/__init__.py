"""Families whose prompts no chat template describes: each is written by a renderer of its own (wire.md 3.7, 3.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renderlayer.errors import ConfigurationError

if TYPE_CHECKING:
    from renderlayer.render.renderers.renderer import Renderer
    from renderlayer.render.server import Server


def open_renderer(server: Server) -> Renderer | None:
    """The renderer of the server's model; None for a model with a chat template.

    Raises:
        ConfigurationError: it needs a library that is not installed.
    """
    name = server.model.facts.renderer
    if name == "harmony":
        from renderlayer.render.renderers.harmony import HarmonyRenderer

        return HarmonyRenderer(server)
    if name == "mistral":
        try:
            from renderlayer.render.renderers.mistral import MistralRenderer
        except ImportError as error:
            raise ConfigurationError(
                "The prompts of this model are written by mistral-common, which is not installed: "
                "pip install 'renderlayer[dialects]'"
            ) from error
        return MistralRenderer(server)
    return None
