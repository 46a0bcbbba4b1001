"""Families whose prompts no chat template describes: each is written by a renderer or a program (wire.md 3.7, 3.8)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from renderlayer.errors import ConfigurationError

if TYPE_CHECKING:
    from renderlayer.render.renderers.prompt_encoder import PromptEncoder
    from renderlayer.render.renderers.renderer import Renderer
    from renderlayer.served_model import ServedModel


def open_renderer(server: ServedModel) -> Renderer | None:
    """The renderer of the server's model; None for a model with a chat template or a program.

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


def open_prompt_encoder(server: ServedModel) -> PromptEncoder | None:
    """What stands for the chat template in families whose prompts a program writes, or None."""
    name = server.model.facts.renderer
    if name == "deepseek_v32":
        from renderlayer.render.renderers.deepseek_v32 import DeepSeekV32

        return DeepSeekV32()
    if name == "deepseek_v4":
        from renderlayer.render.renderers.deepseek_v4 import DeepSeekV4

        return DeepSeekV4()
    return None
