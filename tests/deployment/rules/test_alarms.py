"""Alarms watch what can happen, of this stack alone.

https://docs.aws.amazon.com/lambda/latest/dg/monitoring-metrics-types.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html#Dimension
"""

from __future__ import annotations

import json

from tests.deployment.policies import names
from tests.deployment.transformed import Json, of_type, properties, transformed


def metrics(template: Json) -> list[Json]:
    """Every metric that an alarm looks at."""
    found = []
    for row in of_type(template, "AWS::CloudWatch::Alarm").values():
        given = row["Properties"]
        if "Metrics" in given:
            found += [entry["MetricStat"]["Metric"] for entry in given["Metrics"] if "MetricStat" in entry]
        else:
            found.append(given)
    return found


def test_throttles_of_every_function_are_seen() -> None:
    template = transformed()
    seen = {row["Dimensions"][0]["Value"]["Ref"] for row in metrics(template) if row["MetricName"] == "Throttles"}
    assert seen == set(of_type(template, "AWS::Lambda::Function"))


def test_no_two_stacks_share_a_metric() -> None:
    template = transformed()
    for row in metrics(template):
        own = (
            set(names(row.get("Dimensions", [])))
            | set(names(row["Namespace"]))
            | ({"AWS::StackName"} if "AWS::StackName" in json.dumps(row["Namespace"]) else set())
        )
        assert own & ({*template["Resources"], "AWS::StackName"}), row


def test_what_ends_badly_is_told() -> None:
    template = transformed()
    seen = {(row["MetricName"], tuple(names(row.get("Dimensions", [])))) for row in metrics(template)}
    for wanted in (
        ("Errors", ("StreamFunction",)),
        ("ServerErrors", ("StreamFunction",)),
        ("Duration", ("RenderFunction",)),
        ("Duration", ("DerenderFunction",)),
        ("EngineFailures", ()),
        ("Invocations", ("BatchDeadFunction",)),
        ("ApproximateNumberOfMessagesVisible", ("BatchLostMessages",)),
        ("5xx", ("Api",)),
    ):
        assert wanted in seen, wanted


def test_the_dashboard_is_json() -> None:
    body = properties(transformed(), "Dashboard")["DashboardBody"]["Fn::Sub"]
    titles = [widget["properties"]["title"] for widget in json.loads(body)["widgets"]]
    for signal in ("Latency", "Traffic", "Errors", "Saturation", "Tokens a second"):
        assert any(signal in title for title in titles)
