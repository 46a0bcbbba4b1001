"""What a function imports is in its layers, which have 250 MB together; SAM renames layers with what is in them.

https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
"""

from __future__ import annotations

from tests.deployment.policies import names
from tests.deployment.transformed import of_type, properties, transformed


def test_every_function_has_all_layers_and_images_are_a_choice() -> None:
    template = transformed()
    layers = of_type(template, "AWS::Lambda::LayerVersion")
    conditional = {name for name, row in layers.items() if row.get("Condition")}
    assert [name[: len("MultimodalLayer")] for name in conditional] == ["MultimodalLayer"]
    for name in of_type(template, "AWS::Lambda::Function"):
        given = properties(template, name)["Layers"]
        assert set(names(given[:2])) == set(layers) - conditional, name
        assert given[2]["Fn::If"][0] == "HasMultimodal"
        assert {given[2]["Fn::If"][1]["Ref"]} == conditional, name
