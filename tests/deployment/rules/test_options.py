"""Options of the stack that cost nothing where they are left out, and exclude each other where AWS says so.

https://docs.aws.amazon.com/lambda/latest/dg/snapstart.html#snapstart-runtimes
https://docs.aws.amazon.com/lambda/latest/dg/services-xray.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-custom-domain-names.html
"""

from __future__ import annotations

import pytest

from renderlayer.settings import Settings
from tests.deployment.transformed import of_type, properties, transformed

NOTHING = {"Ref": "AWS::NoValue"}
WARM = {"RenderFunction", "DerenderFunction", "CompleteFunction"}


def test_environments_that_are_kept_warm_are_those_of_the_alias() -> None:
    template = transformed()
    given = {"ProvisionedConcurrentExecutions": {"Ref": "ProvisionedConcurrency"}}
    for alias in of_type(template, "AWS::Lambda::Alias").values():
        wanted = {"Fn::If": ["HasProvisioned", given, NOTHING]}
        found = alias["Properties"].get("ProvisionedConcurrencyConfig")
        assert found == (wanted if alias["Properties"]["FunctionName"]["Ref"] in WARM else None)
    (rule,) = template["Rules"]["WarmOrFromASnapshot"]["Assertions"]
    assert rule["Assert"] == {"Fn::Equals": [{"Ref": "ProvisionedConcurrency"}, ""]}


def test_functions_that_wait_have_a_memory_of_their_own() -> None:
    for name, row in of_type(transformed(), "AWS::Lambda::Function").items():
        waits = name in ("CompleteFunction", "StreamFunction")
        own = {"Fn::If": ["HasFrontDoorMemory", {"Ref": "FrontDoorMemorySize"}, {"Ref": "MemorySize"}]}
        assert row["Properties"]["MemorySize"] == (own if waits else {"Ref": "MemorySize"})


def test_traced_functions_may_write_traces_and_others_may_not() -> None:
    template = transformed()
    for row in of_type(template, "AWS::Lambda::Function").values():
        assert row["Properties"]["TracingConfig"] == {"Mode": {"Ref": "Tracing"}}
    for row in of_type(template, "AWS::IAM::Role").values():
        condition, policy, otherwise = row["Properties"]["ManagedPolicyArns"][1]["Fn::If"]
        assert (condition, otherwise) == ("IsTraced", NOTHING)
        assert policy["Fn::Sub"].endswith(":iam::aws:policy/AWSXRayDaemonWriteAccess")
    assert template["Parameters"]["Tracing"]["Default"] == "PassThrough"


def test_a_domain_leads_to_the_stage_of_the_api() -> None:
    template = transformed(DomainName="llm.example.com", CertificateArn="arn:aws:acm:eu-central-1:1:certificate/x")
    (stage,) = of_type(template, "AWS::ApiGatewayV2::Stage")
    (rest_stage,) = of_type(template, "AWS::ApiGateway::Stage")
    mapping = properties(template, "DomainMapping")
    assert (mapping["ApiId"], mapping["DomainName"], mapping["Stage"]) == (
        {"Fn::If": ["IsRest", {"Ref": "RestApi"}, {"Ref": "Api"}]},
        {"Ref": "Domain"},
        {"Fn::If": ["IsRest", {"Ref": rest_stage}, {"Ref": stage}]},
    )
    (configuration,) = properties(template, "Domain")["DomainNameConfigurations"]
    assert configuration["SecurityPolicy"] == "TLS_1_2"
    for name in ("Domain", "DomainMapping"):
        assert template["Resources"][name]["Condition"] == "HasDomain"
    assert len(template["Rules"]["DomainHasACertificate"]["Assertions"]) == 3


@pytest.mark.parametrize(
    ("variable", "parameter", "value"),
    [
        ("RENDERLAYER_ALLOWED_MEDIA_DOMAINS", "AllowedMediaDomains", "a.example,b.example"),
        ("RENDERLAYER_LIMIT_MM_PER_PROMPT", "LimitMmPerPrompt", '{"image": 4, "video": 0}'),
        ("RENDERLAYER_TOOL_STRICT_LEVEL", "ToolStrictLevel", "function"),
    ],
)
def test_settings_reach_every_function_and_empty_ones_change_nothing(variable: str, parameter: str, value: str) -> None:
    template = transformed()
    for row in of_type(template, "AWS::Lambda::Function").values():
        assert row["Properties"]["Environment"]["Variables"][variable] == {"Ref": parameter}
    default = template["Parameters"][parameter]["Default"]
    assert Settings.from_environment({variable: default}) == Settings()
    assert Settings.from_environment({variable: value}) != Settings()
