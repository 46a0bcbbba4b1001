"""The model's weights, for transformers; everything else about a model comes from its bundle."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
from transformers.utils import logging

from infra.generate.model import smollm2
from infra.generate.options import Options
from renderlayer.errors import ConfigurationError

_DTYPES = {"auto": torch.float32, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def locate(model: str) -> str:
    """The folder or Hub id of a model as it was named; "" and the default model's name mean its folder in the cache."""
    return str(smollm2.ensure()) if model in ("", smollm2.NAME) else model


def load(model: str, revision: str, options: Options) -> PreTrainedModel:
    """Load weights, ready to run.

    Args:
        model: folder or Hub id.
        revision: of the Hub id; "" for its default.

    Raises:
        ConfigurationError: there are none that transformers can load.
    """
    if Path(model).is_dir():
        logging.disable_progress_bar()
    kept = {"revision": revision} if revision else {}
    try:
        config = AutoConfig.from_pretrained(model, **kept)
        seen = type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        auto = AutoModelForImageTextToText if seen else AutoModelForCausalLM
        dtype = _DTYPES[options.dtype]
        if options.load_format == "dummy":
            torch.manual_seed(0)
            loaded = auto.from_config(config, dtype=dtype)
        else:
            loaded = auto.from_pretrained(model, dtype=dtype, **kept)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{model}: transformers cannot load it: {error}") from error
    evaluated: PreTrainedModel = loaded.eval()
    return evaluated


def vocabulary_size(model: PreTrainedModel) -> int:
    """Rows of the embedding: every id below is accepted."""
    return int(model.get_input_embeddings().weight.shape[0])
