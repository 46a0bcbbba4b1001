"""From text to token ids: limits and truncation (wire.md 3.6)."""

from __future__ import annotations

from renderlayer.errors import BadRequest
from renderlayer.render.types import Offsets, TokenizeOptions
from renderlayer.served_model import ServedModel


def tokenize(text: str, server: ServedModel, options: TokenizeOptions) -> tuple[list[int], Offsets | None]:
    """Encode a prompt within the model's limits.

    Returns:
        The token ids, and their (start, end) offsets in code points when they were asked for.

    Raises:
        BadRequest: the text is too long, or cannot be encoded.
    """
    limit = token_limit(server, options)
    longest = server.max_model_len
    widest = server.model.facts.longest_token
    if limit is None and widest and len(text) > longest * widest:
        raise BadRequest(
            f"This model's maximum context length is {longest} tokens. However, your prompt contains {len(text)} "
            f"characters (more than {longest * widest} characters, which is the upper bound for {longest} input "
            "tokens). Please reduce the length of the input prompt.",
            "input_text",
            len(text),
        )
    tokenizer = server.model.tokenizer
    offsets: Offsets | None = None
    # The reference's Mistral tokenizers know no offsets.
    if options.offsets and server.model.facts.renderer != "mistral":
        ids, offsets = tokenizer.encode_with_offsets(text, options.add_special_tokens)
    else:
        ids = tokenizer.encode(text, options.add_special_tokens)
    if limit is None:
        if len(ids) > longest:
            raise too_long(longest, f"at least {longest + 1}", longest + 1)
        return ids, offsets
    keep = _kept(ids, limit, text, server, options)
    return [ids[at] for at in keep], None if offsets is None else [offsets[at] for at in keep]


def token_limit(server: ServedModel, options: TokenizeOptions) -> int | None:
    """Tokens that truncation leaves, or None without truncation.

    Raises:
        BadRequest: more than the context was asked for.
    """
    if options.truncate is None:
        return None
    longest = server.max_model_len
    if options.truncate == -1:
        return longest if options.keep_all else longest - 1
    if options.truncate > longest:
        raise BadRequest(
            f"truncate_prompt_tokens={options.truncate} cannot be greater than max_model_len = {longest}. "
            "Please request a smaller truncation size.",
            "truncate_prompt_tokens",
            options.truncate,
        )
    return options.truncate


def check_ids(ids: list[int], server: ServedModel, options: TokenizeOptions) -> list[int]:
    """Apply truncation and limits to a prompt that came as token ids; the vocabulary is not checked."""
    limit = token_limit(server, options)
    if limit is not None:
        return _cut(ids, limit, options.side)
    if len(ids) > server.max_model_len:
        raise too_long(server.max_model_len, str(len(ids)), len(ids))
    return ids


def too_long(longest: int, contains: str, value: int) -> BadRequest:
    """The error for a prompt of more tokens than the context."""
    return BadRequest(
        f"This model's maximum context length is {longest} tokens. However, your prompt contains {contains} input "
        "tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input "
        "prompt.",
        "input_tokens",
        value,
    )


def _cut(ids: list[int], limit: int, side: str | None) -> list[int]:
    if len(ids) <= limit:
        return ids
    if side == "right":
        return ids[:limit]
    return ids[len(ids) - limit :]


def _kept(ids: list[int], limit: int, text: str, server: ServedModel, options: TokenizeOptions) -> list[int]:
    """Positions that survive truncation.

    With an explicit side the ids are sliced as they are. Without one the tokenizer truncates by itself: on the left,
    and around the special tokens that it adds, which stay.
    """
    positions = list(range(len(ids)))
    if options.side is not None or not options.add_special_tokens or len(ids) <= limit:
        return _cut(positions, limit, options.side)
    bare = server.model.tokenizer.encode(text)
    added = len(ids) - len(bare)
    before = next(at for at in range(added + 1) if ids[at : at + len(bare)] == bare)
    behind = before + len(bare)
    inner = _cut(positions[before:behind], max(0, limit - added), None)
    return (positions[:before] + inner + positions[behind:])[:limit]
