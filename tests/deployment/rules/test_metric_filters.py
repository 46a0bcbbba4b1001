"""Filters and alarms look for what functions log: the same lines, metrics and dimensions.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any

import pytest

from infra.local.template import read
from renderlayer.served_model import ServedModel
from tests.deployment.rules.test_alarms import metrics
from tests.deployment.transformed import Json, of_type, properties, transformed
from tests.events import function_url, http_api
from tests.runtime import Function

TERM = re.compile(r'\$\.(\w+) (=|>=) (?:"(\w+)"|(\d+))')
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"=": operator.eq, ">=": operator.ge}
CHAT = '{"messages": [{"role": "user", "content": "Hello"}]}'


def matches(pattern: str, line: Json) -> bool:
    """Whether CloudWatch counts a log line; patterns of comparisons that are joined by &&."""
    terms = [TERM.fullmatch(term) for term in pattern.strip("{ }").split(" && ")]
    assert all(terms), pattern
    return all(
        term[1] in line and OPERATORS[term[2]](line[term[1]], term[3] if term[3] is not None else int(term[4]))
        for term in terms
        if term is not None
    )


def patterns(group: str) -> list[str]:
    """Filter patterns of a log group."""
    filters = of_type(transformed(), "AWS::Logs::MetricFilter").values()
    return [
        row["Properties"]["FilterPattern"] for row in filters if row["Properties"]["LogGroupName"] == {"Ref": group}
    ]


def logged(server: ServedModel, handler: str, event: Json, **named: Any) -> list[Json]:
    """What a function logs that finds no engine."""
    environment = {
        "RENDERLAYER_MODEL": server.settings.model,
        "RENDERLAYER_ENGINE_URL": "http://127.0.0.1:9",
        "AWS_LAMBDA_FUNCTION_NAME": "stack-StreamFunction-1",
    }
    with Function(handler, environment, **named) as function:
        function.invoke(event)
        return [json.loads(line) for line in function.output().splitlines() if line.startswith("{")]


@pytest.mark.parametrize(
    ("group", "handler", "event", "runtime"),
    [
        ("CompleteLogs", "functions.complete.app.handler", http_api, "awslambdaric"),
        ("StreamLogs", "functions.stream.app.handler", function_url, "renderlayer.http.aws.runtime"),
    ],
)
def test_an_engine_that_is_out_of_reach_is_counted(
    server: ServedModel, group: str, handler: str, event: Any, runtime: str
) -> None:
    (pattern,) = patterns(group)
    said = logged(server, handler, event("/v1/chat/completions", CHAT), runtime=runtime)
    assert [matches(pattern, line) for line in said if line.get("message") == "request"] == [True]
    assert not matches(pattern, {"message": "request", "status": 400})


def test_the_filters_count_what_the_alarm_watches() -> None:
    template = transformed()
    alarm = properties(template, "EngineDownAlarm")
    told = [
        (row["MetricNamespace"], row["MetricName"])
        for filtered in of_type(template, "AWS::Logs::MetricFilter").values()
        for row in filtered["Properties"]["MetricTransformations"]
    ]
    assert set(map(str, told)) == {str((alarm["Namespace"], alarm["MetricName"]))}
    assert len(told) == 3
    assert "Dimensions" not in alarm


@pytest.mark.parametrize("name", ["render", "derender", "complete", "stream"])
def test_alarms_on_our_own_metrics_name_dimensions_that_are_written(server: ServedModel, name: str) -> None:
    template = transformed()
    (function,) = (row.name for row in read().functions.values() if row.module == f"functions.{name}.app")
    rows = [row for row in metrics(template) if row["Namespace"] == "renderlayer"]
    own = [row for row in rows if {"Ref": function} in [each["Value"] for each in row["Dimensions"]]]
    assert own
    named = {"runtime": "renderlayer.http.aws.runtime"} if function == read().streaming else {}
    event = function_url("/v1/chat/completions", CHAT)
    lines = logged(server, f"functions.{name}.app.handler", event, **named)
    (line,) = (row for row in lines if row.get("message") == "request")
    (directive,) = line["_aws"]["CloudWatchMetrics"]
    for alarm in own:
        values = {row["Name"]: row["Value"] for row in alarm["Dimensions"]}
        assert directive["Namespace"] == alarm["Namespace"]
        assert alarm["MetricName"] in {metric["Name"] for metric in directive["Metrics"]}
        assert sorted(values) in [sorted(names) for names in directive["Dimensions"]]
        assert values["service"] == line["service"]
        assert values["function_name"] == {"Ref": function}
