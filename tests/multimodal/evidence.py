"""What shows that an architecture's media equal the reference's: recordings of it, or its processor as an oracle."""

from __future__ import annotations

import json

from tests.multimodal.folders import ANSWERS

RECORDINGS = {
    "AriaForConditionalGeneration": "fam-aria",
    "Cohere2VisionForConditionalGeneration": "fam-cohere2-vision",
    "DeepseekOCRForCausalLM": "fam-deepseek-ocr",
    "DeepseekVLV2ForCausalLM": "fam-deepseek-vl2",
    "DotsOCRForCausalLM": "fam-dots-ocr",
    "Gemma3ForConditionalGeneration": "tiny-gemma3",
    "Gemma3nForConditionalGeneration": "fam-gemma3n",
    "Gemma4ForConditionalGeneration": "fam-gemma4",
    "Glm4vForConditionalGeneration": "fam-glm4.1v",
    "Glm4vMoeForConditionalGeneration": "fam-glm4.5v",
    "GlmOcrForConditionalGeneration": "fam-glm-ocr",
    "GraniteSpeechForConditionalGeneration": "fam-granite-speech",
    "Idefics3ForConditionalGeneration": "fam-idefics3",
    "InternVLChatModel": "fam-internvl-chat",
    "InternVLForConditionalGeneration": "fam-internvl-hf",
    "Lfm2VlForConditionalGeneration": "fam-lfm2-vl",
    "LightOnOCRForConditionalGeneration": "fam-lightonocr",
    "Llama4ForConditionalGeneration": "fam-llama4",
    "LlavaForConditionalGeneration": "fam-llava1.5",
    "LlavaNextForConditionalGeneration": "fam-llava-next",
    "LlavaNextVideoForConditionalGeneration": "fam-llava-next-video",
    "LlavaOnevisionForConditionalGeneration": "fam-llava-onevision",
    "MiniCPMV4_6ForConditionalGeneration": "fam-minicpmv4.6",
    "Mistral3ForConditionalGeneration": "fam-mistral3",
    "PaddleOCRVLForConditionalGeneration": "fam-paddleocr-vl",
    "Qwen2AudioForConditionalGeneration": "fam-qwen2-audio",
    "Qwen2VLForConditionalGeneration": "fam-qwen2-vl",
    "Qwen2_5OmniModel": "fam-qwen2.5-omni",
    "Qwen2_5_VLForConditionalGeneration": "tiny-qwen2.5-vl",
    "Qwen3OmniMoeForConditionalGeneration": "fam-qwen3-omni",
    "Qwen3VLForConditionalGeneration": "tiny-qwen3-vl",
    "Qwen3VLMoeForConditionalGeneration": "fam-qwen3-vl-moe",
    "Qwen3_5ForConditionalGeneration": "fam-qwen3.5",
    "SmolVLMForConditionalGeneration": "fam-smolvlm2",
    "Step3VLForConditionalGeneration": "fam-step3-vl",
}
"""Architecture → a set of recorded exchanges."""
MORE_RECORDINGS = ("fam-glm4.6v", "fam-pixtral-hf")
"""Of architectures that have a set already."""
ALIKE = {
    "DiffusionGemmaForBlockDiffusion": "Gemma4ForConditionalGeneration",
    "GraniteSpeechPlusForConditionalGeneration": "GraniteSpeechForConditionalGeneration",
    "InternS2MobiusForConditionalGeneration": "Qwen3VLForConditionalGeneration",
    "Qwen2_5OmniForConditionalGeneration": "Qwen2_5OmniModel",
    "Qwen3_5MoeForConditionalGeneration": "Qwen3_5ForConditionalGeneration",
    "Step5ForConditionalGeneration": "Step3VLForConditionalGeneration",
}
"""Architecture → another one, whose processor is the same in the reference."""
ORACLES = {"Phi4MultimodalForCausalLM": "phi4_multimodal"}
"""Architecture → a case of `processed.CASES`: Hugging Face's processor, to the last bit."""
KEPT = frozenset(name.partition("-")[0] for name in json.loads(ANSWERS.read_text(encoding="utf-8")))
"""Architectures of which answers of the real server are kept as digests (`tests.multimodal.folders`)."""
ANSWERED = {("Qwen2_5_VLForConditionalGeneration", "video"), ("Qwen3VLForConditionalGeneration", "video")}
"""Media of which the sets above hold none: answers of the real server kept as digests, and the class of another set."""
