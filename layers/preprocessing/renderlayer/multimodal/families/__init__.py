"""The model families, by the architecture in config.json."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from renderlayer.multimodal.families.architectures import TAKEN, architecture, taken
from renderlayer.multimodal.families.base import Facts, Family, image_token

__all__ = ["BY_TYPE", "FAMILIES", "build", "taken"]

# Architecture → module and class; a module is imported when its model is served.
FAMILIES = {
    "AriaForConditionalGeneration": ("aria", "Aria"),
    "BagelForConditionalGeneration": ("fixed_square", "Bagel"),
    "Blip2ForConditionalGeneration": ("prefixed", "Blip2"),
    "Cohere2VisionForConditionalGeneration": ("cohere2_vision", "Cohere2Vision"),
    "Cosmos3ForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "DeepseekOCR2ForCausalLM": ("deepseek_ocr", "DeepseekOCR2"),
    "DeepseekOCRForCausalLM": ("deepseek_ocr", "DeepseekOCR"),
    "DeepseekVLV2ForCausalLM": ("deepseek_vl2", "DeepseekVL2"),
    "DiffusionGemmaForBlockDiffusion": ("gemma4_kin", "DiffusionGemma"),
    "DotsOCRForCausalLM": ("dots_ocr", "DotsOCR"),
    "Eagle2_5_VLForConditionalGeneration": ("internvl_kin", "Eagle"),
    "Exaone4_5_ForConditionalGeneration": ("exaone4_5", "Exaone45"),
    "GLM4VForCausalLM": ("fixed_square", "GLM4V"),
    "Gemma3ForConditionalGeneration": ("gemma3", "Gemma3"),
    "Gemma3nForConditionalGeneration": ("gemma3n", "Gemma3n"),
    "Gemma4ForConditionalGeneration": ("gemma4", "Gemma4"),
    "Gemma4UnifiedForConditionalGeneration": ("gemma4_kin", "Gemma4Unified"),
    "Glm4vForConditionalGeneration": ("glm4v", "Glm4v"),
    "Glm4vMoeForConditionalGeneration": ("glm4v", "Glm4v"),
    "GlmOcrForConditionalGeneration": ("glm4v", "Glm4v"),
    "Granite4VisionForConditionalGeneration": ("granite4_vision", "Granite4Vision"),
    "GraniteSpeechForConditionalGeneration": ("granite_speech", "GraniteSpeech"),
    "GraniteSpeechPlusForConditionalGeneration": ("granite_speech", "GraniteSpeech"),
    "H2OVLChatModel": ("internvl_kin", "H2OVL"),
    "Idefics3ForConditionalGeneration": ("idefics3", "Idefics3"),
    "InternS1ForConditionalGeneration": ("internvl", "InternVL"),
    "InternS1ProForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "InternS2MobiusForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "InternS2PreviewForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "InternVLChatModel": ("internvl_chat", "InternVLChat"),
    "InternVLForConditionalGeneration": ("internvl", "InternVL"),
    "KimiVLForConditionalGeneration": ("kimi_vl", "KimiVL"),
    "Lfm2VlForConditionalGeneration": ("lfm2_vl", "Lfm2VL"),
    "LightOnOCRForConditionalGeneration": ("lightonocr", "LightOnOCR"),
    "Llama4ForConditionalGeneration": ("llama4", "Llama4"),
    "Llama_Nemotron_Nano_VL": ("internvl_kin", "NemotronNano"),
    "LlavaForConditionalGeneration": ("llava", "Llava"),
    "LlavaNextForConditionalGeneration": ("llava_next", "LlavaNext"),
    "LlavaNextVideoForConditionalGeneration": ("llava_next_video", "LlavaNextVideo"),
    "LlavaOnevisionForConditionalGeneration": ("llava_onevision", "LlavaOnevision"),
    "MiniCPMV4_6ForConditionalGeneration": ("minicpmv4_6", "MiniCPMV46"),
    "MiniCPMV4_7ForConditionalGeneration": ("minicpmv4_6", "MiniCPMV47"),
    "Mistral3ForConditionalGeneration": ("mistral3", "Mistral3"),
    "NVLM_D": ("internvl_kin", "NVLM"),
    "OpenCUAForConditionalGeneration": ("opencua", "OpenCUA"),
    "OpenVLAForActionPrediction": ("fixed_square", "OpenVLA"),
    "Ovis": ("ovis", "Ovis"),
    "Ovis2_5": ("ovis2_5", "Ovis25"),
    "Ovis2_6ForCausalLM": ("ovis2_5", "Ovis25"),
    "Ovis2_6_MoeForCausalLM": ("ovis2_5", "Ovis25"),
    "PaddleOCRVLForConditionalGeneration": ("paddleocr_vl", "PaddleOCRVL"),
    "PaliGemmaForConditionalGeneration": ("prefixed", "PaliGemma"),
    "Phi4MultimodalForCausalLM": ("phi4_multimodal", "Phi4Multimodal"),
    "QianfanOCRForConditionalGeneration": ("internvl_chat", "Tiled"),
    "Qwen2AudioForConditionalGeneration": ("qwen2_audio", "Qwen2Audio"),
    "Qwen2VLForConditionalGeneration": ("qwen_video", "Qwen2VL"),
    "Qwen2_5OmniForConditionalGeneration": ("qwen_omni", "Qwen25Omni"),
    "Qwen2_5OmniModel": ("qwen_omni", "Qwen25Omni"),
    "Qwen2_5_VLForConditionalGeneration": ("qwen_video", "Qwen25VL"),
    "Qwen3ASRForConditionalGeneration": ("qwen3_asr", "Qwen3ASR"),
    "Qwen3ASRRealtimeGeneration": ("qwen3_asr", "Qwen3ASR"),
    "Qwen3OmniMoeForConditionalGeneration": ("qwen_omni", "Qwen3Omni"),
    "Qwen3VLForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "Qwen3VLMoeForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "Qwen3_5ForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "Qwen3_5MoeForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "Qwen4ExpForConditionalGeneration": ("qwen_video", "Qwen3VL"),
    "SkyworkR1VChatModel": ("internvl_chat", "Tiled"),
    "SmolVLMForConditionalGeneration": ("idefics3", "Idefics3"),
    "Step3VLForConditionalGeneration": ("step3_vl", "Step3VL"),
    "Step3p7ForConditionalGeneration": ("step3_vl", "Step3VL"),
    "Step5ForConditionalGeneration": ("step3_vl", "Step3VL"),
    "StepVLForConditionalGeneration": ("step3_vl", "Step3VL"),
    "UltravoxModel": ("ultravox", "Ultravox"),
    "UnlimitedOCRForCausalLM": ("deepseek_ocr", "UnlimitedOCR"),
}
_LLAVA_PIXTRAL = ("mistral3", "LlavaPixtral")
_GENERAL = ("general", "General")
# Model type → architecture, for configurations that name none; their families are not promised to be exact.
BY_TYPE = {
    "deepseek_vl_v2": "DeepseekVLV2ForCausalLM",
    "gemma3": "Gemma3ForConditionalGeneration",
    "gemma4": "Gemma4ForConditionalGeneration",
    "glm46v": "Glm4vForConditionalGeneration",
    "glm4v": "Glm4vForConditionalGeneration",
    "glm4v_moe": "Glm4vMoeForConditionalGeneration",
    "idefics3": "Idefics3ForConditionalGeneration",
    "internvl": "InternVLForConditionalGeneration",
    "kimi_vl": "KimiVLForConditionalGeneration",
    "llama4": "Llama4ForConditionalGeneration",
    "llava": "LlavaForConditionalGeneration",
    "llava_next": "LlavaNextForConditionalGeneration",
    "llava_onevision": "LlavaOnevisionForConditionalGeneration",
    "mistral3": "Mistral3ForConditionalGeneration",
    "phi4_multimodal": "Phi4MultimodalForCausalLM",
    "qwen2_5_vl": "Qwen2_5_VLForConditionalGeneration",
    "qwen2_audio": "Qwen2AudioForConditionalGeneration",
    "qwen2_vl": "Qwen2VLForConditionalGeneration",
    "qwen3_5": "Qwen3_5ForConditionalGeneration",
    "qwen3_5_moe": "Qwen3_5MoeForConditionalGeneration",
    "qwen3_vl": "Qwen3VLForConditionalGeneration",
    "qwen3_vl_moe": "Qwen3VLMoeForConditionalGeneration",
    "smolvlm": "SmolVLMForConditionalGeneration",
    "ultravox": "UltravoxModel",
}
_BY_TYPE_GAP = "config.json names no architecture; the family is that of its model_type"


def build(facts: Facts) -> Family | None:
    """The family of a model; None for models without media, and for those whose media are not rendered here."""
    named = architecture(facts)
    row = _row(facts, named or BY_TYPE.get(str(facts.config.get("model_type")), ""))
    if row is None:
        return None
    module, name = row
    family: Any = getattr(import_module(f"{__name__}.{module}"), name)
    built: Family = family(facts)
    if not named:
        built.gaps = {**dict.fromkeys(built.modalities, _BY_TYPE_GAP), **built.gaps}
    return built


def _row(facts: Facts, named: str) -> tuple[str, str] | None:
    if named == "LlavaForConditionalGeneration" and _vision(facts).get("model_type") == "pixtral":
        return _LLAVA_PIXTRAL
    if named in FAMILIES or named in TAKEN:
        return FAMILIES.get(named)
    return _GENERAL if image_token(facts) is not None else None


def _vision(facts: Facts) -> dict[str, Any]:
    vision: dict[str, Any] = facts.config.get("vision_config") or {}
    return vision
