"""A function URL with AuthType NONE answers 403 unless its resource policy lets everybody in, by two permissions.

https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html#urls-auth-none
"""

from __future__ import annotations

import pytest

from tests.deployment.transformed import Json, of_type, transformed

OPEN = "HasOpenStream"


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
