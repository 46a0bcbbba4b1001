"""A published version never changes, and CloudFormation publishes another only under another logical id.

https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/automating-updates-to-serverless-apps.html
"""

from __future__ import annotations

import re

import yaml

from infra.local.template import TEMPLATE, _Loader
from tests.deployment.transformed import of_type, transformed


def test_every_function_has_a_version_that_the_release_names() -> None:
    for release in ("1700000000", "1700000001"):
        template = transformed(Release=release)
        functions, aliases = of_type(template, "AWS::Lambda::Function"), of_type(template, "AWS::Lambda::Alias")
        assert len(aliases) == len(functions) > 0
        for alias in aliases.values():
            function = alias["Properties"]["FunctionName"]["Ref"]
            version = f"{function}Version{release}"
            assert template["Resources"][version]["Type"] == "AWS::Lambda::Version"
            assert alias["Properties"]["FunctionVersion"] == {"Fn::GetAtt": [version, "Version"]}
            # Lambda publishes no version of a function that is as it was: the release is in its configuration, too
            assert release in functions[function]["Properties"]["Description"]


def test_two_releases_differ_in_what_the_version_is_named_by() -> None:
    """SAM takes ten characters of it into the logical id, where only letters and digits may stand."""
    document = yaml.load(TEMPLATE.read_text(), _Loader)  # a SafeLoader
    allowed = document["Parameters"]["Release"]["AllowedPattern"]
    assert re.fullmatch(allowed, "1796085366")
    assert not re.fullmatch(allowed, "17960853661")
    assert not re.fullmatch(allowed, "2026-12-01")


def test_nothing_calls_past_the_alias() -> None:
    template = transformed()
    functions = of_type(template, "AWS::Lambda::Function")
    called = [
        *(row["Properties"]["FunctionName"] for row in of_type(template, "AWS::Lambda::Permission").values()),
        *(row["Properties"]["FunctionName"] for row in of_type(template, "AWS::Lambda::EventSourceMapping").values()),
        *(row["Properties"]["TargetFunctionArn"] for row in of_type(template, "AWS::Lambda::Url").values()),
    ]
    assert called
    for target in called:
        assert target["Ref"] not in functions
