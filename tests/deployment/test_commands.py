"""The commands of docs/deploying.md: what they pass fits the template, and nothing is left to be asked."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.deployment.transformed import ROOT, Json, transformed

PAGE = (ROOT / "docs/deploying.md").read_text()
SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:keys-AbCdEf"
CASES = ("text model", "images", "engine", "private", "REST API")


def commands() -> list[list[str]]:
    """Words of each `sam deploy`, with what stands for a value filled in."""
    found = re.findall(r"^\.cache/sam/bin/sam deploy .*?(?=^```)", PAGE, re.MULTILINE | re.DOTALL)
    texts = (text.replace("\\\n", " ").replace("$(date +%s)", "1700000000") for text in found)
    return [shlex.split(re.sub(r"arn:…|arn:aws:secretsmanager:REGION\S+", SECRET, text)) for text in texts]


def overrides(command: list[str]) -> dict[str, str]:
    given = command[command.index("--parameter-overrides") + 1 :]
    return dict(word.split("=", 1) for word in given)


@pytest.mark.parametrize("at", range(len(CASES)), ids=CASES)
def test_a_command_passes_what_the_template_takes(at: int) -> None:
    command = commands()[at]
    assert len(commands()) == len(CASES)
    assert {"--resolve-s3", "--no-confirm-changeset", "--stack-name"} <= set(command)
    assert command[command.index("--capabilities") + 1] == "CAPABILITY_IAM"
    given = overrides(command)
    template = transformed(**given)
    assert "Release" in given
    for name, row in template["Parameters"].items():
        value = given.get(name, row.get("Default"))
        assert value is not None, f"{name} would be asked for"
        assert fits(str(value), row), (name, value)
    assert set(given) <= set(template["Parameters"])


def fits(value: str, parameter: Json) -> bool:
    """Whether CloudFormation takes a value for a parameter."""
    if "AllowedPattern" in parameter and not re.fullmatch(parameter["AllowedPattern"], value):
        return False
    return "AllowedValues" not in parameter or value in map(str, parameter["AllowedValues"])


def test_no_named_resource_needs_another_capability() -> None:
    """CAPABILITY_NAMED_IAM and CAPABILITY_AUTO_EXPAND are for what the template does not have."""
    for row in transformed()["Resources"].values():
        assert not {"RoleName", "PolicyName", "ManagedPolicyName"} & set(row["Properties"])
        assert row["Type"] not in ("AWS::CloudFormation::Macro", "AWS::CloudFormation::Stack")
