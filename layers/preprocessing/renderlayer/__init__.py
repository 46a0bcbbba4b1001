"""The CPU half of LLM serving: requests to token ids, token ids to answers (vLLM's scale-out wire, 0.33.0).

    import renderlayer

    model = renderlayer.load("qwen3-8b")
    rendered = model.render_chat({"messages": [{"role": "user", "content": "Hello"}]})

What is public is loaded when it is first asked for: a function that never asks does without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from renderlayer.errors import RenderLayerError
    from renderlayer.library import ChatCompletion, Chunk, Completion, GenerateRequest, LoadedModel, load

__version__ = "0.2.0"
__all__ = [
    "ChatCompletion",
    "Chunk",
    "Completion",
    "GenerateRequest",
    "LoadedModel",
    "RenderLayerError",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = "renderlayer.errors" if name == "RenderLayerError" else "renderlayer.library"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
