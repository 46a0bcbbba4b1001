"""`return_token_spans`: which message each token of a prompt is of, and what of it a model would have sampled.

The idea: one text of the conversation is changed, and where the prompt changes, that text is (`parts`). What a model
would have sampled stands from the generation prompt of a turn to the token that closes it, or is what the template says
with `{% generation %}` (`sampled`). Characters become tokens by the tokenizer's offsets (`tokens`).
"""

from __future__ import annotations

from renderlayer.render.spans.spans import token_spans

__all__ = ["token_spans"]
