"""Conversations of several turns by their tokens, for agents and for trainers (docs/continue.md).

rollout = Rollout(model, {"messages": [...], "tools": [...]})
message = rollout.sampled(token_ids, logprobs)      # what an engine answered to rollout.request
rollout.answer({"role": "tool", ...})               # the next prompt begins with all tokens so far
"""

from __future__ import annotations

from renderlayer.rollout.rollout import Rollout

__all__ = ["Rollout"]
