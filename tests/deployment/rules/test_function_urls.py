"""A function URL with AuthType NONE answers 403 unless its resource policy lets everybody in, by two permissions.

https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html#urls-auth-none
"""

from __future__ import annotations

import pytest

from tests.deployment.transformed import Json, of_type, transformed

OPEN, STREAM = "HasOpenStream", "HasStream"


def permissions(template: Json) -> list[Json]:
    return [
        row["Properties"]
        for row in of_type(template, "AWS::Lambda::Permission").values()
        if row["Properties"]["Principal"] == "*"
    ]


@pytest.mark.parametrize("auth", ["NONE", "AWS_IAM"])
def test_everybody_gets_both_permissions_on_the_url_and_only_for_none(auth: str) -> None:
    template = transformed(StreamAuth=auth)
    (url,) = of_type(template, "AWS::Lambda::Url").values()
    given = permissions(template)
    assert {row["FunctionName"]["Ref"] for row in given} == {url["Properties"]["TargetFunctionArn"]["Ref"]}
    assert {(row["Action"], row.get("FunctionUrlAuthType"), row.get("InvokedViaFunctionUrl")) for row in given} == {
        ("lambda:InvokeFunctionUrl", "NONE", None),
        ("lambda:InvokeFunction", None, True),
    }
    for row in of_type(template, "AWS::Lambda::Permission").values():
        if row["Properties"]["Principal"] == "*":
            assert row["Condition"] == OPEN
    assert {"Fn::Not": [{"Condition": "SignsStream"}]} in template["Conditions"][OPEN]["Fn::And"]


def test_no_url_passes_by_what_stands_before_the_api() -> None:
    """A public URL beside a REST API would know neither its plan, nor its web ACL, nor an authorizer."""
    template = transformed()
    engine, reached = template["Conditions"][STREAM]["Fn::And"]
    assert engine == {"Condition": "HasEngine"}
    unguarded = {"Fn::And": [{"Fn::Not": [{"Condition": "IsRest"}]}, {"Fn::Equals": [{"Ref": "Authorizer"}, ""]}]}
    assert reached == {"Fn::Or": [unguarded, {"Condition": "SignsStream"}]}
    (url,) = of_type(template, "AWS::Lambda::Url").values()
    assert url["Condition"] == STREAM
    assert url["Properties"]["InvokeMode"] == "RESPONSE_STREAM"
