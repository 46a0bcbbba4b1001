"""The architectures with media that the reference serves (release 0.33), and what each of them takes.

Those that have no family here are refused by name, where they would otherwise pass for text models.
"""

from __future__ import annotations

from renderlayer.multimodal.families.base import Facts

_BY_MODALITIES = {
    ("image",): (
        "Alpamayo2Super AriaForConditionalGeneration BagelForConditionalGeneration "
        "BailingMoeV3VLForConditionalGeneration BeeForConditionalGeneration Blip2ForConditionalGeneration "
        "Cohere2VisionForConditionalGeneration CohereCompassForConditionalGeneration DeepseekOCR2ForCausalLM "
        "DeepseekOCRForCausalLM DeepseekV41ForCausalLM DeepseekV4ForConditionalGeneration "
        "DeepseekVLV2ForCausalLM Dots3NoteForCausalLM DotsOCRForCausalLM Eagle2_5_VLForConditionalGeneration "
        "GLM4VForCausalLM Gemma3ForConditionalGeneration Granite4VisionForConditionalGeneration "
        "H2OVLChatModel HfMoondream Idefics3ForConditionalGeneration IsaacForConditionalGeneration "
        "KananaVForConditionalGeneration KimiK3ForConditionalGeneration KimiVLForConditionalGeneration "
        "Lfm2VlForConditionalGeneration LightOnOCRForConditionalGeneration Llama4ForConditionalGeneration "
        "Llama_Nemotron_Nano_VL LlavaForConditionalGeneration LlavaNextForConditionalGeneration "
        "Mistral3ForConditionalGeneration MolmoForCausalLM Moondream3ForCausalLM NVLM_D "
        "NemotronParseForConditionalGeneration OpenCUAForConditionalGeneration OpenVLAForActionPrediction "
        "Ovis PaddleOCRVLForConditionalGeneration PaliGemmaForConditionalGeneration Phi3VForCausalLM "
        "Phi4ForCausalLMV PixtralForConditionalGeneration QianfanOCRForConditionalGeneration "
        "RForConditionalGeneration RadioMBartPrefixForCausalLM SkyworkR1VChatModel "
        "SmolVLMForConditionalGeneration Step3VLForConditionalGeneration Step3p7ForConditionalGeneration "
        "Step5ForConditionalGeneration StepVLForConditionalGeneration UnlimitedOCRForCausalLM"
    ),
    ("video",): ("LlavaNextVideoForConditionalGeneration"),
    ("audio",): (
        "AudioFlamingo3ForConditionalGeneration CohereAsrForConditionalGeneration "
        "FireRedASR2ForConditionalGeneration FunASRForConditionalGeneration "
        "FunAudioChatForConditionalGeneration GlmAsrForConditionalGeneration "
        "GraniteSpeechForConditionalGeneration GraniteSpeechPlusForConditionalGeneration MiDashengLMModel "
        "MoonshotKimiaForCausalLM MossAudioModel MossTranscribeDiarizeForConditionalGeneration "
        "Qwen2AudioForConditionalGeneration Qwen3ASRForConditionalGeneration Qwen3ASRRealtimeGeneration "
        "UltravoxModel VoxtralForConditionalGeneration VoxtralRealtimeGeneration "
        "WhisperForConditionalGeneration"
    ),
    ("image", "video"): (
        "Cosmos3EdgeForConditionalGeneration Cosmos3ForConditionalGeneration "
        "DiffusionGemmaForBlockDiffusion Ernie4_5_VLMoeForConditionalGeneration "
        "Exaone4_5_ForConditionalGeneration "
        "Glm4vForConditionalGeneration Glm4vMoeForConditionalGeneration Glm5NextForConditionalGeneration "
        "GlmOcrForConditionalGeneration InternS1ForConditionalGeneration InternS1ProForConditionalGeneration "
        "InternS2MobiusForConditionalGeneration InternS2PreviewForConditionalGeneration InternVLChatModel "
        "InternVLForConditionalGeneration KeyeForConditionalGeneration KeyeVL1_5ForConditionalGeneration "
        "KimiK25ForConditionalGeneration LlavaOnevision2ForConditionalGeneration "
        "LlavaOnevisionForConditionalGeneration MiniCPMOcrForConditionalGeneration MiniCPMV "
        "MiniCPMV4_6ForConditionalGeneration MiniCPMV4_7ForConditionalGeneration "
        "MiniMaxM3SparseForConditionalGeneration Molmo2ForConditionalGeneration "
        "MuseGlimmerForConditionalGeneration OpenPanguVLForConditionalGeneration Ovis2_5 Ovis2_6ForCausalLM "
        "Ovis2_6_MoeForCausalLM Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration "
        "Qwen3VLForConditionalGeneration Qwen3VLMoeForConditionalGeneration Qwen3_5ForConditionalGeneration "
        "Qwen3_5MoeForConditionalGeneration Qwen4ExpForConditionalGeneration"
    ),
    ("image", "audio"): ("Gemma3nForConditionalGeneration Phi4MMForCausalLM"),
    ("image", "video", "audio"): (
        "Gemma4ForConditionalGeneration Gemma4UnifiedForConditionalGeneration "
        "MiMoV2OmniForCausalLM MiniCPMO MuseSparkForConditionalGeneration NemotronH_Nano_Omni_Reasoning_V3 "
        "NemotronH_Nano_VL_V2 NemotronH_Omni_Reasoning_V3 NemotronH_Super_Omni_Reasoning_V3 "
        "Qwen2_5OmniForConditionalGeneration Qwen2_5OmniModel Qwen3OmniMoeForConditionalGeneration"
    ),
}
TAKEN = {name: modalities for modalities, names in _BY_MODALITIES.items() for name in names.split()}
"""Architecture → modalities."""
_SIGNS = {
    "image": ("vision_config", "vision_tower", "image_token_id", "image_token_index", "img_processor"),
    "video": ("video_token_id", "video_token_index"),
    "audio": ("audio_config", "audio_encoder_config", "audio_token_id", "audio_token_index", "audio_processor"),
}
"""Keys of config.json by which a model of an unheard-of architecture shows what it takes."""


def architecture(facts: Facts) -> str:
    """The model's architecture; "" where config.json names none."""
    return str(next(iter(facts.config.get("architectures") or []), ""))


def taken(facts: Facts) -> tuple[str, ...]:
    """The modalities that the model takes: by its architecture, else by the signs of its configuration."""
    known = TAKEN.get(architecture(facts))
    if known is not None:
        return known
    return tuple(modality for modality, keys in _SIGNS.items() if any(facts.config.get(key) for key in keys))
