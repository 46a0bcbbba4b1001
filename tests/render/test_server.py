from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from renderlayer.errors import ConfigurationError
from renderlayer.served_model import ServedModel


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"reasoning_parser": "nope"}, "nope"),
        ({"tool_call_parser": "nope", "enable_auto_tool_choice": True}, "nope"),
        ({"generation_config": "/nowhere"}, "generation_config"),
        ({"override_generation_config": {"temperature": "hot"}}, "temperature"),
    ],
    ids=str,
)
def test_settings_that_no_request_survives_are_found_when_the_model_is_opened(
    server: ServedModel, changes: dict[str, Any], named: str
) -> None:
    ServedModel.open(server.settings)
    with pytest.raises(ConfigurationError, match=named):
        ServedModel.open(replace(server.settings, **changes))
