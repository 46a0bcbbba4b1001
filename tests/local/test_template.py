from __future__ import annotations

import ast
import re
from pathlib import Path

from infra.local.template import TEMPLATE, read
from renderlayer.http.routes import ROUTES
from renderlayer.settings import PREFIX, table

ROOT = TEMPLATE.parent


def test_every_route_of_the_application_leads_to_the_function_that_serves_it() -> None:
    template = read()
    parts = {name: Path(function.module.replace(".", "/")).parent.name for name, function in template.functions.items()}
    for route in ROUTES:
        assert parts[template.function_for("POST", route.path) or ""] == route.part, route.path


def test_other_methods_and_unknown_paths_reach_a_function_that_says_so() -> None:
    template = read()
    assert template.function_for("GET", "/v1/chat/completions/derender") == "DerenderFunction"
    for path in ("/health", "/v1/models", "/nope"):
        assert template.function_for("GET", path) == "RenderFunction"


def test_without_a_catch_all_an_unknown_path_has_no_function(tmp_path: Path) -> None:
    file = tmp_path / "template.yaml"
    file.write_text(
        "Globals: {Function: {Handler: app.handler}}\n"
        "Resources:\n"
        "  A:\n"
        "    Type: AWS::Serverless::Function\n"
        "    Properties:\n"
        "      CodeUri: functions/a\n"
        "      Role: !GetAtt Role.Arn\n"
        "      Layers: [!Ref Layer, !If [X, !Ref Y, !Ref Z]]\n"
        "      Events:\n"
        "        Get: {Type: HttpApi, Properties: {Path: /a, Method: get}}\n"
        "        Timer: {Type: Schedule, Properties: {Schedule: rate(1 day)}}\n"
        "  B: {Type: 'AWS::Serverless::Function', Properties: {CodeUri: functions/b, Handler: main.run}}\n"
        "  Role: {Type: 'AWS::IAM::Role', Properties: {Path: !Sub '/${X}/'}}\n"
    )
    template = read(file)
    assert template.functions["A"].module == "functions.a.app"
    assert (template.functions["B"].module, template.functions["B"].attribute) == ("functions.b.main", "run")
    assert template.function_for("GET", "/a") == "A"
    assert template.function_for("POST", "/a") is None
    assert template.function_for("GET", "/b") is None


def test_handlers_exist_where_the_template_says() -> None:
    for function in read().functions.values():
        tree = ast.parse((ROOT / (function.module.replace(".", "/") + ".py")).read_text())
        names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        for node in tree.body:
            if isinstance(node, ast.Assign):
                names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        assert function.attribute in names


def test_the_variables_of_the_template_are_settings() -> None:
    known = {variable for variable, *_ in table()}
    used = set(re.findall(rf"\b{PREFIX}\w+", TEMPLATE.read_text()))
    assert used
    assert used <= known


def test_functions_and_layer_agree_on_the_version_of_python() -> None:
    makefile = (ROOT / "layers/install.mk").read_text()
    match = re.search(r"^RUNTIME := (.+)$", makefile, re.M)
    assert match is not None
    assert set(re.findall(r"python3\.\d+", TEMPLATE.read_text())) == {f"python{match.group(1)}"}
