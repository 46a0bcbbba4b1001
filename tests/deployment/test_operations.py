"""docs/operations.md against the template: every alarm is explained, and every name is one of the stack's."""

from __future__ import annotations

import re

from tests.deployment.transformed import ROOT, of_type, transformed

PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
ALARM = "AWS::CloudWatch::Alarm"


def test_every_alarm_is_explained() -> None:
    told = {name for line in PAGE.splitlines() if line.startswith("| `") for name in re.findall(r"`(\w+Alarm)`", line)}
    assert told >= set(of_type(transformed(), ALARM))
    named = set(re.findall(r"`(\w+Alarm)`", PAGE))
    assert named == set(of_type(transformed(), ALARM))


def test_names_are_those_of_the_stack() -> None:
    template = transformed()
    known = {*template["Resources"], *template["Parameters"], *template["Outputs"]}
    names = set(re.findall(r"`([A-Z][a-z]+[A-Za-z]*)`", PAGE))
    assert names - known == set()
