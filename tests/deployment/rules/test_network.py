"""Functions in a network need to make interfaces in it, and only then; a private stack has no open way in.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-private-apis.html
"""

from __future__ import annotations

import json

from tests.deployment.transformed import of_type, properties, transformed

ENI = "policy/service-role/AWSLambdaENIManagementAccess"


def test_every_function_is_in_the_network_when_there_is_one() -> None:
    template = transformed()
    for name, row in of_type(template, "AWS::Lambda::Function").items():
        condition, inside, outside = row["Properties"]["VpcConfig"]["Fn::If"]
        assert (condition, outside) == ("HasVpc", {"Ref": "AWS::NoValue"}), name
        assert inside == {"SubnetIds": {"Ref": "SubnetIds"}, "SecurityGroupIds": {"Ref": "SecurityGroupIds"}}
    for name in of_type(template, "AWS::IAM::Role"):
        condition, inside, outside = properties(template, name)["ManagedPolicyArns"][0]["Fn::If"]
        assert (condition, outside) == ("HasVpc", {"Ref": "AWS::NoValue"})
        assert inside["Fn::Sub"].endswith(ENI)


def test_a_private_stack_answers_through_its_endpoint_alone() -> None:
    template = transformed(PrivateVpcEndpointId="vpce-0123456789abcdef0")
    private = properties(template, "PrivateApi")
    assert private["EndpointConfiguration"]["Types"] == ["PRIVATE"]
    policy = private["Body"]["x-amazon-apigateway-policy"]["Statement"]
    allow, deny = policy
    assert (allow["Effect"], deny["Effect"]) == ("Allow", "Deny")
    assert allow["Resource"] == deny["Resource"] == "execute-api:/*"
    assert deny["Condition"]["StringNotEquals"]["aws:SourceVpce"] == "vpce-0123456789abcdef0"
    assert len(json.dumps(policy)) < 8192  # API Gateway's limit of a resource policy
    public = properties(template, "Api")["Body"]["servers"]
    switch = {"disableExecuteApiEndpoint": {"Fn::If": ["IsPrivate", True, False]}}
    assert [server["x-amazon-apigateway-endpoint-configuration"] for server in public] == [switch]


def test_both_apis_lead_every_path_to_the_same_function() -> None:
    template = transformed()

    def routes(api: str) -> dict[str, str]:
        found = {}
        for path, methods in properties(template, api)["Body"]["paths"].items():
            (operation,) = methods.values()
            uri = str(operation["x-amazon-apigateway-integration"]["uri"])
            found[path.replace("/$default", "/{proxy+}").replace("$default", "/{proxy+}")] = next(
                name for name in of_type(template, "AWS::Lambda::Function") if f"{name}Alias" in uri
            )
        return found

    public = routes("Api")
    assert routes("PrivateApi") == {**public, "/": public["/{proxy+}"]}
