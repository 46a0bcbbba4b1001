"""What is deployed: the template is clean and grants little, the image is pinned, documented settings exist."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from renderlayer.settings import PREFIX, table

GENERATE = Path(__file__).parents[2] / "infra/generate"
SERVICE, KUBERNETES, DOCKERFILE = (GENERATE / name for name in ("service.yaml", "kubernetes.yaml", "Dockerfile"))
# What has no resource to name (https://docs.aws.amazon.com/service-authorization/latest/reference/).
EVERYWHERE = {"ecr:GetAuthorizationToken", "ecs:DiscoverPollEndpoint"}


class _Template(yaml.SafeLoader):
    """CloudFormation's short forms as their operands."""


_Template.add_multi_constructor("!", lambda loader, suffix, node: _operand(loader, node))


def _operand(loader: yaml.SafeLoader, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    if isinstance(node, yaml.SequenceNode):
        return loader.construct_sequence(node, deep=True)
    assert isinstance(node, yaml.MappingNode)
    return loader.construct_mapping(node, deep=True)


def resources() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(SERVICE.read_text(), _Template)
    return dict(document["Resources"])


def test_the_template_is_clean() -> None:
    linter = Path(sys.executable).with_name("cfn-lint")
    done = subprocess.run([linter, SERVICE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def statements() -> Iterator[dict[str, Any]]:
    for resource in resources().values():
        for policy in resource["Properties"].get("Policies", []):
            document = policy["PolicyDocument"] if isinstance(policy, dict) else policy[1]["PolicyDocument"]
            yield from document["Statement"]


def test_roles_are_least_privilege() -> None:
    for statement in statements():
        actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        assert not any("*" in action for action in actions)
        if statement["Resource"] == "*":
            assert set(actions) <= EVERYWHERE or "Condition" in statement


def test_an_engine_may_only_read_payloads() -> None:
    actions = {
        action
        for statement in statements()
        for action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
        if action.startswith(("s3:", "kms:", "secretsmanager:"))
    }
    assert actions == {"s3:GetObject", "s3:ListBucket", "kms:Decrypt", "secretsmanager:GetSecretValue"}


def test_no_key_stands_in_the_template() -> None:
    engine, _ = resources()["Engine"]["Properties"]["ContainerDefinitions"]
    assert "VLLM_API_KEY" in [entry["Name"] for entry in engine["Secrets"] if isinstance(entry, dict)]
    assert not [entry for entry in engine["Environment"] if "KEY" in entry["Name"]]


def test_the_image_is_pinned_and_not_root() -> None:
    text = DOCKERFILE.read_text()
    assert re.search(r"^ARG VLLM=vllm/vllm-openai:v\d+\.\d+\.\d+$", text, re.MULTILINE)
    assert "USER engine" in text.splitlines()
    (pod,) = [entry for entry in yaml.safe_load_all(KUBERNETES.read_text()) if entry["kind"] == "Deployment"]
    assert pod["spec"]["template"]["spec"]["securityContext"]["runAsNonRoot"]
    for user in ("10001",):
        assert f"--uid {user}" in text


@pytest.mark.parametrize(
    "path",
    [SERVICE, KUBERNETES, DOCKERFILE, GENERATE / "README.md", GENERATE.parent / "README.md"],
    ids=lambda p: p.name,
)
def test_variables_that_are_named_exist(path: Path) -> None:
    known = {variable for variable, *_ in table()}
    assert set(re.findall(PREFIX + r"[A-Z_]+[A-Z]", path.read_text())) <= known
