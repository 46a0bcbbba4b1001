"""A packed model: everything the functions need of a model, and nothing else.

model = open_model(settings)           # a bundle, a model folder or a Hub id
ids = model.tokenizer.encode("Hello")
text = model.templates.resolve(None, tools=False).render(conversation, None, None, {"add_generation_prompt": True})
"""

from renderlayer.bundle.cache import open_model
from renderlayer.bundle.facts import Facts
from renderlayer.bundle.model import MANIFEST, Model, open_bundle
from renderlayer.bundle.templates import ChatTemplate, Templates
from renderlayer.bundle.tokenizer import Tokenizer
from renderlayer.bundle.vocabulary import Vocabulary

__all__ = [
    "MANIFEST",
    "ChatTemplate",
    "Facts",
    "Model",
    "Templates",
    "Tokenizer",
    "Vocabulary",
    "open_bundle",
    "open_model",
]
