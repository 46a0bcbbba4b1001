"""`continue_from`: a prompt that begins with the ids of the last turn, none of them changed (docs/continue.md).

The idea: the conversation is written with a stand-in for every turn of the assistant that the ids hold already
(`stand_ins`). What stands before and between the stand-ins must be in the ids (`history`: the proof that they are of
this conversation, and that the template would not write it otherwise now). What stands behind the last stand-in, from
the token that closes its turn (`turn_end`), is the suffix; its tokens are put behind the sampled ones (`join`).
Whatever cannot be proved is rendered anew, with a reason.
"""

from __future__ import annotations

from renderlayer.render.continuing.extend import continued
from renderlayer.render.continuing.writing import Writer

__all__ = ["Writer", "continued"]
