"""A canary: CodeDeploy leads a part of the callers to the new version, and all of them back where an alarm goes off.

https://docs.aws.amazon.com/serverless-application-model/latest/developerguide/automating-updates-to-serverless-apps.html
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-attribute-updatepolicy.html
https://docs.aws.amazon.com/codedeploy/latest/userguide/deployment-groups-configure-advanced-options.html
"""

from __future__ import annotations

import re
from typing import Any

from tests.deployment.policies import names
from tests.deployment.transformed import Json, of_type, properties, transformed

GROUP, ALIAS = "AWS::CodeDeploy::DeploymentGroup", "AWS::Lambda::Alias"
MOVED = ("Render", "Derender", "Complete", "Stream")


def condition(name: str) -> str:
    return "IsStreamCanary" if name == "Stream" else "IsCanary"


def test_by_default_there_is_none_and_an_alias_moves_at_once() -> None:
    template = transformed()
    assert not [row for row in template["Resources"].values() if "CodeDeploy" in row["Type"]]
    assert not [row for row in of_type(template, ALIAS).values() if "UpdatePolicy" in row]
    for name in MOVED:
        assert template["Resources"][f"{name}CanaryAlarm"]["Condition"] == condition(name)


def test_the_functions_that_answer_move_by_degrees() -> None:
    template = transformed(Canary="true", CanaryType="Linear10PercentEvery1Minute")
    moved = {
        row["Properties"]["FunctionName"]["Ref"]: row["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
        for row in of_type(template, ALIAS).values()
        if "UpdatePolicy" in row
    }
    assert set(moved) == {f"{name}Function" for name in MOVED}
    for name, policy in moved.items():
        assert policy["DeploymentGroupName"] == {"Ref": f"{name}DeploymentGroup"}
        group = properties(template, f"{name}DeploymentGroup")
        assert "Linear10PercentEvery1Minute" in str(group["DeploymentConfigName"])
        assert group["DeploymentStyle"] == {
            "DeploymentType": "BLUE_GREEN",
            "DeploymentOption": "WITH_TRAFFIC_CONTROL",
        }
    assert template["Resources"]["StreamFunctionDeploymentGroup"]["Condition"] == "HasEngine"


def test_an_alarm_that_goes_off_meanwhile_leads_all_back() -> None:
    template = transformed(Canary="true")
    for name in MOVED:
        group = properties(template, f"{name}FunctionDeploymentGroup")
        rollback = group["AutoRollbackConfiguration"]
        assert rollback["Enabled"] is True
        assert "DEPLOYMENT_STOP_ON_ALARM" in rollback["Events"]
        watched = group["AlarmConfiguration"]
        assert watched["Enabled"] is True
        (alarm,) = (entry["Name"]["Fn::If"] for entry in watched["Alarms"])
        assert alarm == [condition(name), {"Ref": f"{name}CanaryAlarm"}, {"Ref": "AWS::NoValue"}]


def test_its_alarm_sees_what_its_function_does_within_the_shortest_canary() -> None:
    template = transformed(Canary="true")
    for name in MOVED:
        alarm = properties(template, f"{name}CanaryAlarm")
        stats = [entry["MetricStat"] for entry in alarm["Metrics"] if "MetricStat" in entry]
        assert {stat["Metric"]["MetricName"] for stat in stats} == {"Errors", "ServerErrors"}
        for stat in stats:
            assert set(names(stat["Metric"]["Dimensions"])) == {f"{name}Function"}
            assert stat["Period"] * alarm["EvaluationPeriods"] == 60  # CodeDeploy's shortest step is a minute
        (told,) = (entry for entry in alarm["Metrics"] if entry.get("ReturnData", True))
        assert {entry["Id"] for entry in alarm["Metrics"] if entry is not told} <= set(
            re.findall(r"\w+", told["Expression"])
        )


def test_nothing_waits_for_itself() -> None:
    """An alias waits for its group, and that for its alarm: CloudFormation refuses a circle."""
    template = transformed(Canary="true", Front="RestApi")
    for name in template["Resources"]:
        for other in needs(template, name):
            assert name not in reached(template, other, set()), (name, other)


def needs(template: Json, name: str) -> set[str]:
    row: Any = template["Resources"][name]
    given = {*names(row.get("Properties", {})), *names(row.get("UpdatePolicy", {})), *listed(row.get("DependsOn", []))}
    return given & set(template["Resources"])


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def reached(template: Json, name: str, seen: set[str]) -> set[str]:
    """A resource and all that it waits for."""
    if name not in seen:
        seen.add(name)
        for other in needs(template, name):
            reached(template, other, seen)
    return seen
