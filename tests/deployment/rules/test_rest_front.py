"""A REST API streams where its integration asks for it, counts the requests of each key, and has WAF before it.

https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-setup-api-key-with-console.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-api-usage-plans.html
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-resource-wafv2-webaclassociation.html
"""

from __future__ import annotations

import re

from tests.deployment.transformed import Json, properties, transformed

NOTHING = {"Ref": "AWS::NoValue"}
ANY = "x-amazon-apigateway-any-method"
FRONT_DOOR = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")
PLAN = [{"api_key": []}]
SIGNED = [{"signature": []}]
WHO = {
    "Fn::If": [
        "HasUsagePlan",
        {"Fn::If": ["SignsApi", [{"api_key": [], "signature": []}], PLAN]},
        {"Fn::If": ["SignsApi", SIGNED, []]},
    ]
}


def paths() -> Json:
    found: Json = properties(transformed(), "RestApi")["Body"]["paths"]
    return found


def test_the_front_door_streams_where_there_is_an_engine_and_the_rest_is_collected() -> None:
    for path, methods in paths().items():
        for operation in methods.values():
            integration = operation["x-amazon-apigateway-integration"]
            assert (integration["type"], integration["httpMethod"]) == ("aws_proxy", "POST")
            if path not in FRONT_DOOR:
                assert "responseTransferMode" not in integration
                continue
            assert integration["responseTransferMode"] == {"Fn::If": ["HasEngine", "STREAM", "BUFFERED"]}
            condition, streams, collects = integration["uri"]["Fn::If"]
            assert condition == "HasEngine"
            assert re.search(
                r":lambda:path/2021-11-15/functions/\$\{StreamFunctionAliaslive}/response-streaming-invocations$",
                streams["Fn::Sub"],
            )
            assert re.search(
                r":lambda:path/2015-03-31/functions/\$\{CompleteFunctionAliaslive}/invocations$", collects["Fn::Sub"]
            )


def test_every_call_needs_a_key_of_the_plan_but_health_and_what_browsers_ask_first() -> None:
    open_ones = set()
    for path, methods in paths().items():
        for method, operation in methods.items():
            if operation.get("security") is None:
                open_ones.add((path, method))
            else:
                assert operation["security"] == WHO
    assert open_ones == {("/health", "get"), ("/ping", "get")} | {
        (path, "options") for path, methods in paths().items() if ANY in methods
    }
    schemes = properties(transformed(), "RestApi")["Body"]["components"]["securitySchemes"]
    assert schemes["api_key"] == {"type": "apiKey", "name": "x-api-key", "in": "header"}
    assert schemes["signature"]["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_the_plan_bounds_each_key_on_the_deployed_stage() -> None:
    template = transformed()
    plan = properties(template, "UsagePlan")
    assert template["Resources"]["UsagePlan"]["Condition"] == "HasUsagePlan"
    assert plan["Quota"] == {"Limit": {"Ref": "UsagePlanQuota"}, "Period": {"Ref": "UsagePlanPeriod"}}
    assert plan["Throttle"] == {"RateLimit": {"Ref": "UsagePlanRate"}, "BurstLimit": {"Ref": "UsagePlanRate"}}
    assert plan["ApiStages"] == [{"ApiId": {"Ref": "RestApi"}, "Stage": {"Ref": "RestApiliveStage"}}]
    assert template["Outputs"]["UsagePlanId"] == {**template["Outputs"]["UsagePlanId"], "Condition": "HasUsagePlan"}


def test_a_web_acl_stands_before_the_stage() -> None:
    template = transformed()
    row = template["Resources"]["WebAclAssociation"]
    assert (row["Type"], row["Condition"]) == ("AWS::WAFv2::WebACLAssociation", "HasWebAcl")
    assert row["Properties"]["WebACLArn"] == {"Ref": "WebAclArn"}
    text, values = row["Properties"]["ResourceArn"]["Fn::Sub"]
    assert text == "arn:${AWS::Partition}:apigateway:${AWS::Region}::/restapis/${RestApi}/stages/${Stage}"
    assert values == {"Stage": {"Ref": "RestApiliveStage"}}


def test_nothing_of_it_is_there_by_default() -> None:
    template = transformed()
    defaults = {name: template["Parameters"][name]["Default"] for name in ("Front", "UsagePlanQuota", "WebAclArn")}
    assert defaults == {"Front": "HttpApi", "UsagePlanQuota": "", "WebAclArn": ""}
    for name in ("RestApi", "RestApiliveStage", "RestServerErrorsAlarm"):
        assert template["Resources"][name]["Condition"] == "IsRest"
    for name, row in template["Resources"].items():
        if row["Type"].startswith("AWS::ApiGateway::") or name.endswith("RestPermission"):
            assert row["Condition"] in ("IsRest", "IsRestStream", "HasUsagePlan")
    rules = [rule["Assert"] for rule in template["Rules"]["OnlyARestApiHasAPlan"]["Assertions"]]
    assert rules == [{"Fn::Equals": [{"Ref": name}, ""]} for name in ("UsagePlanQuota", "WebAclArn")]


def test_answers_that_are_no_text_reach_callers_as_they_are() -> None:
    """https://docs.aws.amazon.com/apigateway/latest/developerguide/api-gateway-payload-encodings-workflow.html"""
    assert properties(transformed(), "RestApi")["BinaryMediaTypes"] == ["*/*"]
