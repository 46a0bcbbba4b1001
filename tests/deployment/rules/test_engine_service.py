"""The engine's stack: its URL is the certificate's name, it can be deleted, and it never scales to where it stays.

https://docs.aws.amazon.com/elasticloadbalancing/latest/application/create-https-listener.html
https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cluster-auto-scaling.html
"""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from infra.local.template import _Loader
from tests.deployment.transformed import ROOT


@pytest.fixture(scope="module")
def stack() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load((ROOT / "infra/generate/service.yaml").read_text(), _Loader)  # a SafeLoader
    return loaded


def test_with_a_certificate_the_url_has_its_name(stack: dict[str, Any]) -> None:
    condition, secure, plain = stack["Outputs"]["EngineUrl"]["Value"]
    assert (condition, secure) == ("HasCertificate", "https://${DomainName}")
    assert "LoadBalancer.DNSName" in plain
    assert "DomainName" in str(stack["Rules"]["CertificateNeedsItsName"]["Assertions"])


def test_instances_do_not_keep_the_stack_from_being_deleted(stack: dict[str, Any]) -> None:
    provider = stack["Resources"]["Capacity"]["Properties"]["AutoScalingGroupProvider"]
    assert provider["ManagedTerminationProtection"] == "DISABLED"
    assert provider["ManagedDraining"] == "ENABLED"
    assert not stack["Resources"]["Instances"]["Properties"].get("NewInstancesProtectedFromScaleIn")


def test_the_last_engine_is_kept(stack: dict[str, Any]) -> None:
    assert stack["Parameters"]["MinTasks"]["MinValue"] == 1
