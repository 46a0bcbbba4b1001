"""Engine answers → OpenAI answers: chat and completions, whole, in single chunks, and as whole streams (wire.md 6).

    derender_chat(body, server)              # a whole response, or one event of a stream and its state
    stream_chat(events, server)              # a whole generate stream; before it the request and the prompt
    ChatStream(server, request, …).step(event)                      # the same, where events come one by one

and the same for completions. The Responses and the Messages API have modules of their own, `responses` and
`messages_answer`, which a chat call does not import. `sse` reads and writes server-sent events.
"""

from renderlayer.derender.openai.chat import derender_chat
from renderlayer.derender.openai.completion import derender_completion
from renderlayer.derender.openai.streams import ChatStream, CompletionStream, stream_chat, stream_completion

__all__ = [
    "ChatStream",
    "CompletionStream",
    "derender_chat",
    "derender_completion",
    "stream_chat",
    "stream_completion",
]
