"""What the clients ask for: one short question, and a small typed answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, Field

QUESTION = "What is the capital of France? Answer in one sentence."
CITY_QUESTION = "Name the capital of France and its continent."


class City(BaseModel):
    """A city."""

    name: str = Field(max_length=20)
    continent: Literal["Africa", "America", "Asia", "Europe", "Oceania"]


CITY_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "city", "description": "Report a city.", "parameters": City.model_json_schema()},
}


def is_city(arguments: str) -> bool:
    """Whether a call's arguments are JSON that fits `City`; raises where they are not."""
    return bool(City.model_validate_json(arguments).name is not None)
