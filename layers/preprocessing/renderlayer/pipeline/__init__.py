"""render → generate → derender against an engine: the whole of an OpenAI endpoint.

engine = Engine("http://engine:8000")
await complete_chat({"messages": [{"role": "user", "content": "Hello"}]}, server, engine)
"""

from renderlayer.pipeline.chat import complete_chat
from renderlayer.pipeline.completion import complete_completion
from renderlayer.pipeline.engine import Engine, EngineError

__all__ = ["Engine", "EngineError", "complete_chat", "complete_completion"]
