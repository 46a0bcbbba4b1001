"""Why a prompt is rendered anew."""

from __future__ import annotations


class NotExtended(Exception):
    """The given ids cannot be proved to begin the new prompt; the argument is the reason, for the caller."""


NOT_THE_HISTORY = (
    "the ids are not what the first messages render to: a message, the tools, the template or its kwargs have changed"
)
REWRITTEN = "the template writes earlier messages otherwise once these new ones follow"
DROPPED = "the template drops reasoning of earlier turns, which is in the ids"
