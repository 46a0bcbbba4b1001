"""Engine answers → OpenAI answers: chat and completions, whole, in single chunks, and as whole streams (wire.md 6).

    derender_chat(body, server)                    # a whole response, or one event of a stream with its state
    derender_completion(body, server)
"""

from renderlayer.derender.chat import derender_chat
from renderlayer.derender.completion import derender_completion

__all__ = ["derender_chat", "derender_completion"]
