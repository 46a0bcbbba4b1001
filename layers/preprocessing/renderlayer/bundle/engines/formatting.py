"""printf-style and `str.format` formatting, where a few characters can ask for any width."""

from __future__ import annotations

import re
from string import Formatter
from typing import Any

from renderlayer.bundle.engines.budget import MAX_WIDTH, current, limit_text, limit_width

_NUMBER = re.compile(r"\d+|\*")


def guard_percent(template: str, values: Any) -> None:
    """Judge printf-style formatting: every field may take all of the values, and a width."""
    _, characters = current().weigh(values)
    for number in _NUMBER.findall(template):
        limit_width(MAX_WIDTH + 1 if number == "*" else int(number[:12]))
    limit_text(len(template) + template.count("%") * (characters * 10 + MAX_WIDTH // 10))


class GuardedFormatter(Formatter):
    """`str.format` whose widths are limited and whose fields are counted."""

    def format_field(self, value: Any, format_spec: str) -> str:
        budget = current()
        budget.weigh(value)
        for number in _NUMBER.findall(format_spec):
            limit_width(int(number[:12]))
        return str(budget.charge(super().format_field(value, format_spec)))
