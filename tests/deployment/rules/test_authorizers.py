"""Who is let in before a function is called: signatures, or tokens, which HTTP APIs alone know.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-access-control-iam.html
https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-cors.html
"""

from __future__ import annotations

from renderlayer.settings import Settings
from tests.deployment.transformed import of_type, properties, transformed

NOTHING = {"Ref": "AWS::NoValue"}


def test_every_route_of_the_http_api_asks_for_what_is_wanted() -> None:
    for methods in properties(transformed(), "Api")["Body"]["paths"].values():
        (operation,) = methods.values()
        assert operation["security"] == {"Fn::If": ["HasTokens", [{"tokens": []}], NOTHING]}
        assert operation["x-amazon-apigateway-auth"] == {"Fn::If": ["SignsApi", {"type": "AWS_IAM"}, NOTHING]}


def test_tokens_are_those_of_the_issuer_for_the_audiences() -> None:
    template = transformed()
    condition, components, otherwise = properties(template, "Api")["Body"]["components"]["Fn::If"]
    assert (condition, otherwise) == ("HasTokens", NOTHING)  # API Gateway takes no authorizer with an empty issuer
    authorizer = components["securitySchemes"]["tokens"]["x-amazon-apigateway-authorizer"]
    assert authorizer["type"] == "jwt"
    assert authorizer["jwtConfiguration"] == {"issuer": {"Ref": "JwtIssuer"}, "audience": {"Ref": "JwtAudience"}}
    assert authorizer["identitySource"] == "$request.header.Authorization"
    assert template["Parameters"]["JwtAudience"]["Type"] == "CommaDelimitedList"
    assert len(template["Rules"]["TokensHaveAnIssuer"]["Assertions"]) == 2


def test_pages_of_other_origins_call_where_they_are_allowed_to() -> None:
    template = transformed()
    condition, cors, otherwise = properties(template, "Api")["Body"]["x-amazon-apigateway-cors"]["Fn::If"]
    assert (condition, otherwise) == ("HasCors", NOTHING)
    assert cors["allowOrigins"] == {"Fn::Split": [",", {"Ref": "CorsOrigins"}]}
    for row in of_type(template, "AWS::Lambda::Function").values():  # for REST APIs and function URLs
        assert row["Properties"]["Environment"]["Variables"]["RENDERLAYER_ALLOWED_ORIGINS"] == {"Ref": "CorsOrigins"}
    assert Settings.from_environment({"RENDERLAYER_ALLOWED_ORIGINS": ""}) == Settings()
    given = Settings.from_environment({"RENDERLAYER_ALLOWED_ORIGINS": "https://a.example,https://b.example"})
    assert given.allowed_origins == ["https://a.example", "https://b.example"]
