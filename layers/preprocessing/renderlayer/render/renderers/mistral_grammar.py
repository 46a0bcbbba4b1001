"""The grammar of a whole answer for newer Mistral tokenizers: thoughts, calls and JSON, in Lark (wire.md 2.7).

mistral-common writes it. Its factory wants llguidance, which only checks grammars that the engine checks anyway.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mistral_common.guidance.grammar_factory import GrammarFactory
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

_UNKNOWN = ("regex", "choice", "grammar", "structural_tag", "whitespace_pattern")
_ANYTHING = [{"role": "user", "content": ""}]


class PackedGrammar(GrammarFactory):  # type: ignore[misc]
    """mistral-common's factory over a packed tokenizer.

    Args:
        mistral: a tokenizer that `is_supported`.
        controls: texts of the control tokens, and their ids.
    """

    def __init__(self, mistral: MistralTokenizer, controls: Mapping[str, int]) -> None:
        self._tokenizer = mistral.instruct_tokenizer.tokenizer
        self._special_token_map = {text: f"<[{token_id}]>" for text, token_id in controls.items()}

    def written(
        self,
        tools: list[dict[str, Any]] | None,
        tool_choice: str | dict[str, Any] | None,
        parallel_tool_calls: bool | None,
        constraint: dict[str, Any] | None,
    ) -> str | None:
        """The grammar of a request's answer; None when it needs none, or has a constraint that none can express.

        Args:
            constraint: the request's own, all keys present.

        Raises:
            Exception: of mistral-common, when the request contradicts itself.
        """
        if constraint is not None and any(constraint[kind] is not None for kind in _UNKNOWN):
            return None
        request = ChatCompletionRequest.from_openai(
            _ANYTHING,
            tools,
            tool_choice="auto" if tool_choice is None else tool_choice,
            parallel_tool_calls=parallel_tool_calls,
            **({} if constraint is None else {"response_format": _response_format(constraint)}),
        )
        grammar: str | None = self.get_grammar_for_chat_request(request, self.select_jinja_template())
        return grammar


def _response_format(constraint: dict[str, Any]) -> dict[str, Any]:
    schema = constraint["json"]
    if schema is None:
        return {"type": "json_object"}
    parsed = json.loads(schema) if isinstance(schema, str) else schema
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": parsed, "strict": True}}
