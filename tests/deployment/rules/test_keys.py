"""Keys reach only the functions that check them or present them; secrets are read by those alone.

https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html#configuration-envvars-encryption
"""

from __future__ import annotations

from tests.deployment.policies import resources_of, statements
from tests.deployment.transformed import of_type, transformed

CHECKS = {"RenderFunction", "DerenderFunction", "CompleteFunction", "StreamFunction", "BatchApiFunction"}
PRESENTS = {"CompleteFunction", "StreamFunction", "BatchWorkFunction"}


def test_who_has_which_keys() -> None:
    template = transformed()
    for holders, variable, parameter in (
        (CHECKS, "RENDERLAYER_API_KEY", "ApiKeysSecret"),
        (PRESENTS, "RENDERLAYER_ENGINE_API_KEY", "EngineApiKeySecret"),
    ):
        for name, row in of_type(template, "AWS::Lambda::Function").items():
            variables = row["Properties"]["Environment"]["Variables"]
            role = row["Properties"]["Role"]["Fn::GetAtt"][0]
            reads = any(
                statement["Action"] == ["secretsmanager:GetSecretValue"] and resources_of(statement) == {parameter}
                for statement in statements(template, role)
            )
            held = {variable in variables, f"{variable}_SECRET" in variables, reads}
            assert held == {name in holders}, (name, variable)


def test_keys_given_as_parameters_are_not_echoed() -> None:
    parameters = transformed()["Parameters"]
    assert parameters["ApiKeys"]["NoEcho"] is parameters["EngineApiKey"]["NoEcho"] is True
    assert parameters["ApiKeys"]["Default"] == parameters["EngineApiKey"]["Default"] == ""
