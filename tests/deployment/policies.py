"""Reading the policies of roles in a transformed template."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.deployment.transformed import Json, properties


def statements(template: Json, role: str) -> Iterator[Json]:
    """Statements of a role's policies, those under a condition included; actions as a list."""
    for policy in properties(template, role)["Policies"]:
        chosen = policy["Fn::If"][1] if "Fn::If" in policy else policy
        for statement in chosen["PolicyDocument"]["Statement"]:
            actions = statement["Action"]
            yield {**statement, "Action": actions if isinstance(actions, list) else [actions]}


def resources_of(statement: Json) -> set[str]:
    """Logical ids that a statement's resources name."""
    return set(names(statement["Resource"]))


def names(value: Any) -> Iterator[str]:
    """Logical ids and parameters in a value of intrinsic functions."""
    if isinstance(value, list):
        for entry in value:
            yield from names(entry)
    elif isinstance(value, dict):
        if "Ref" in value:
            yield value["Ref"]
        elif "Fn::GetAtt" in value:
            target = value["Fn::GetAtt"]
            yield target[0] if isinstance(target, list) else target.partition(".")[0]
        elif "Fn::Sub" in value:
            text = value["Fn::Sub"]
            yield from re.findall(r"\$\{([\w:]+)", text if isinstance(text, str) else text[0])
            yield from names(text[1] if isinstance(text, list) else [])
        else:
            yield from names(list(value.values()))
