"""Write the reference's models as a table, `fields.json`.

Run in the reference's environment, at every release of it:

    PYTHONPATH=DIR/o33 DIR/venv/bin/python tests/reference/dump.py
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path

from schema import rows  # type: ignore[import-not-found]

ENTRYPOINTS = "vllm.entrypoints."
MODELS = {
    "openai.chat_completion.protocol": ("ChatCompletionRequest",),
    "openai.completion.protocol": ("CompletionRequest",),
    "openai.responses.protocol": ("ResponsesRequest",),
    "anthropic.protocol": ("AnthropicMessagesRequest", "AnthropicCountTokensRequest"),
    "serve.tokenize.protocol": ("TokenizeCompletionRequest", "TokenizeChatRequest", "DetokenizeRequest"),
    "scale_out.token_in_token_out.protocol": (
        *("PlaceholderRangeInfo", "MultiModalFeatures", "GenerateRequest", "GenerateTokensChoice"),
        *("GenerateTokensStreamChoice", "GenerateTokensStreamResponse", "GenerateTokensResponse"),
        *("DerenderChatRequest", "DerenderCompletionRequest", "DerenderStreamState"),
        *("DerenderChatStreamRequest", "DerenderCompletionStreamRequest"),
    ),
}


def main() -> None:
    table = {}
    for module, names in MODELS.items():
        for name in names:
            model = getattr(importlib.import_module(ENTRYPOINTS + module), name)
            try:
                table[name] = rows(model.model_json_schema())
            except Exception as error:  # a field that has no JSON schema
                print(f"{name}: {type(error).__name__}: {str(error)[:200]}")
                table[name] = {}
                for field in model.model_fields:
                    table[name][field] = {"types": ["any"]}
    release = importlib.import_module("vllm").__version__
    lines = [json.dumps("release") + ": " + json.dumps(release)]
    for name, fields in table.items():
        inner = ",\n".join(f"  {json.dumps(field)}: {json.dumps(row, sort_keys=True)}" for field, row in fields.items())
        lines.append(f"{json.dumps(name)}: {{\n{inner}\n}}")
    Path(__file__).with_name("fields.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
