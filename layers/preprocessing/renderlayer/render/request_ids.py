"""Request ids (wire.md 1.5)."""

from __future__ import annotations

import os


def random_id() -> str:
    """16 random hex digits; from the operating system, so that restored snapshots do not repeat each other."""
    return os.urandom(8).hex()


def chat(base: str | None) -> str:
    """The id of a chat or messages request; `base` is the X-Request-Id header or the body's request_id."""
    return f"chatcmpl-{base or random_id()}"


def completions(base: str | None, prompts: int) -> list[str]:
    """One id a prompt; a number is appended when there are several."""
    stem = f"cmpl-{base or random_id()}"
    return [stem] if prompts == 1 else [f"{stem}-{index}" for index in range(prompts)]


def responses(given: str | None) -> str:
    """The id of a responses request; the header plays no part."""
    return given or f"resp_{random_id()}"
