"""What a function may import is in its layers or in Lambda's runtime, which has boto3 and nothing else of ours.

https://docs.aws.amazon.com/lambda/latest/dg/python-package.html#python-package-dependencies
"""

from __future__ import annotations

import ast
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

from tests.deployment.transformed import ROOT

PACKAGE = ROOT / "layers/preprocessing/renderlayer"
LOCAL = (
    "bundle/pack",
    "cli",
    "cli.py",
    "http/server/serve.py",
    "http/server/ready_log.py",
    "http/server/connection.py",
    "http/server/workers.py",
    "http/page",
    "http/page/docs.py",
    "http/openapi/build.py",
    "http/openapi/management.py",
    "http/server/metrics.py",
)
"""Parts that only servers and people's machines run."""
RUNTIME = {"boto3", "botocore"}
OPTIONAL = {
    "prometheus_client",
    "rich",
    "tqdm",
    "av",
    "fastokens",
    "torch",
    "transformers",
    "huggingface_hub",
    "mistral_common",
    "soundfile",
    "scipy",
}
"""Looked for, and done without where they are not there."""


def held() -> set[str]:
    """Distributions in the layers."""
    lines = [
        line
        for name in ("preprocessing", "multimodal")
        for line in (ROOT / f"layers/{name}/requirements.txt").read_text().splitlines()
    ]
    return {_normal(line) for line in lines if line and not line.startswith("#")}


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.partition(".")[0])
    return found - sys.stdlib_module_names - {"renderlayer"}


def _normal(name: str) -> str:
    return name.lower().replace("_", "-")


def test_everything_that_functions_import_is_in_a_layer() -> None:
    distributions = packages_distributions()
    allowed = held()
    for path in PACKAGE.rglob("*.py"):
        inside = path.relative_to(PACKAGE).as_posix()
        if any(inside == name or inside.startswith(f"{name}/") for name in LOCAL):
            continue
        for module in imported(path) - RUNTIME - OPTIONAL:
            assert {_normal(name) for name in distributions.get(module, [module])} & allowed, f"{inside}: {module}"
