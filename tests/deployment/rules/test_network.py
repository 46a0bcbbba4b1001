"""Functions in a network need to make interfaces in it, and only then; a private stack has no open way in.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-vpc.html#configuration-vpc-permissions
https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-private-apis.html
"""

from __future__ import annotations

import json
import re

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
    private = properties(template, "RestApi")
    assert private["EndpointConfiguration"] == {
        "Types": [{"Fn::If": ["IsPrivate", "PRIVATE", "REGIONAL"]}],
        "VpcEndpointIds": {"Fn::If": ["IsPrivate", [{"Ref": "PrivateVpcEndpointId"}], {"Ref": "AWS::NoValue"}]},
    }
    condition, policy, otherwise = private["Body"]["x-amazon-apigateway-policy"]["Fn::If"]
    assert (condition, otherwise) == ("IsPrivate", {"Ref": "AWS::NoValue"})
    allow, deny = policy["Statement"]
    assert (allow["Effect"], deny["Effect"]) == ("Allow", "Deny")
    assert allow["Resource"] == deny["Resource"] == "execute-api:/*"
    assert deny["Condition"]["StringNotEquals"]["aws:SourceVpce"] == {"Ref": "PrivateVpcEndpointId"}
    assert len(json.dumps(policy)) < 8192  # API Gateway's limit of a resource policy


def test_beside_a_rest_api_the_http_api_is_switched_off() -> None:
    template = transformed()
    assert template["Conditions"]["IsRest"] == {
        "Fn::Or": [{"Fn::Equals": [{"Ref": "Front"}, "RestApi"]}, {"Condition": "IsPrivate"}]
    }
    public = properties(template, "Api")["Body"]["servers"]
    switch = {"disableExecuteApiEndpoint": {"Fn::If": ["IsRest", True, False]}}
    assert [server["x-amazon-apigateway-endpoint-configuration"] for server in public] == [switch]


def test_both_apis_lead_every_path_to_the_same_function() -> None:
    template = transformed()

    def routes(api: str) -> dict[str, set[str]]:
        found = {}
        for path, methods in properties(template, api)["Body"]["paths"].items():
            uris = str([operation["x-amazon-apigateway-integration"]["uri"] for operation in methods.values()])
            found["/{proxy+}" if path == "$default" else path] = {
                name for name in of_type(template, "AWS::Lambda::Function") if f"{name}Alias" in uris
            }
        return found

    public, rest = routes("Api"), routes("RestApi")
    for path, functions in public.items():
        streams = {"StreamFunction"} if functions == {"CompleteFunction"} else set()
        assert rest.pop(path) == functions | streams, path
    assert rest == {path: {"RenderFunction"} for path in ("/", "/health", "/ping")}


def test_the_http_api_has_the_routes_for_which_its_functions_have_permissions() -> None:
    template = transformed()
    routes = {re.sub(r"{\w+}", "*", path) for path in properties(template, "Api")["Body"]["paths"]}
    sources = [row["Properties"].get("SourceArn", {}) for row in of_type(template, "AWS::Lambda::Permission").values()]
    texts = [source["Fn::Sub"][0] for source in sources if isinstance(source.get("Fn::Sub"), list)]
    assert {text.split("${__ApiId__}/${__Stage__}/*", 1)[1] or "$default" for text in texts} == routes
