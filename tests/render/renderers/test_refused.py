"""Families that no renderer knows are refused when they are packed, by name (wire.md 3.7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from renderlayer.bundle.pack import pack
from renderlayer.errors import ConfigurationError
from tests.models import make_model_folder


@pytest.mark.parametrize(
    ("architecture", "family"),
    [
        ("Alpamayo2SuperForCausalLM", "alpamayo2_super"),
        ("DeepseekV41ForCausalLM", "deepseek_v41"),
        ("InklingForConditionalGeneration", "inkling"),
        ("KimiK3ForConditionalGeneration", "kimi_k3"),
        ("MoonshotKimiaForCausalLM", "kimi_audio"),
        ("Terratorch", "terratorch"),
    ],
)
def test_refused_by_name(tmp_path: Path, architecture: str, family: str) -> None:
    folder = make_model_folder(tmp_path / "model", config={"architectures": [architecture]})

    with pytest.raises(ConfigurationError, match=f"model cannot be packed: it belongs to the family {family},"):
        pack(folder, tmp_path / "bundle")

    assert not (tmp_path / "bundle").exists()
