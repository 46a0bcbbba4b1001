"""The template after SAM's real transform, as CloudFormation gets it."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from cfnlint.decode import cfn_yaml
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

ROOT = Path(__file__).parents[2]
REGION = "eu-central-1"
ENGINE = "http://engine.internal:8000"
PARAMETERS = {"Release": "1700000000", "EngineUrl": ENGINE}

Json = dict[str, Any]


def transformed(**parameters: str) -> Json:
    """The template with these parameters over its defaults; conditions and references stay as they are."""
    return copy.deepcopy(_transformed(tuple(sorted({**PARAMETERS, **parameters}.items()))))


@cache
def _transformed(parameters: tuple[tuple[str, str], ...]) -> Json:
    template: Json = json.loads(json.dumps(cfn_yaml.load(str(ROOT / "template.yaml"))))
    for resource in template["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource["Properties"]:
                resource["Properties"][name] = f"s3://packaged/{resource['Properties'][name]}"
    translator = Translator({}, Parser(), boto_session=boto3.Session(region_name=REGION))
    result: Json = translator.translate(template, dict(parameters))
    return result


def of_type(template: Json, kind: str) -> Json:
    """Resources of a type by logical id."""
    return {name: resource for name, resource in template["Resources"].items() if resource["Type"] == kind}


def properties(template: Json, name: str) -> Json:
    """A resource's properties."""
    found: Json = template["Resources"][name]["Properties"]
    return found
