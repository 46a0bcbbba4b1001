"""Request ids (wire.md 1.5)."""

from __future__ import annotations

import os


def random_id() -> str:
    """16 random hex digits; from the operating system, so that restored snapshots do not repeat each other."""
    return os.urandom(8).hex()


def chosen(header_id: str | None, given: str | None) -> str | None:
    """The X-Request-Id header, else the body's request_id, either of which may be empty; None: neither is there."""
    return given if header_id is None else header_id


def chat(base: str | None) -> str:
    """The id of a chat or messages request; `base` is what the client chose."""
    return f"chatcmpl-{random_id() if base is None else base}"


def completions(base: str | None, prompts: int) -> list[str]:
    """One id a prompt; a number is appended when there are several."""
    stem = f"cmpl-{random_id() if base is None else base}"
    return [stem] if prompts == 1 else [f"{stem}-{index}" for index in range(prompts)]


def responses(given: str | None) -> str:
    """The id of a responses request; the header plays no part."""
    return f"resp_{random_id()}" if given is None else given
