"""The folders; each is named as its architecture, or as that and what is special about it."""

from __future__ import annotations

from typing import Any

from tests.multimodal.folders import TEMPLATE, TEXT, VISION, Folder

_QWEN_TOKENS = ("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
_QWEN_IDS = {
    "image_token_id": "@<|image_pad|>",
    "video_token_id": "@<|video_pad|>",
    "vision_start_token_id": "@<|vision_start|>",
    "vision_end_token_id": "@<|vision_end|>",
}
_TILES = {
    "downsample_ratio": 0.5,
    "dynamic_image_size": True,
    "force_image_size": 224,
    "min_dynamic_patch": 1,
    "max_dynamic_patch": 6,
    "ps_version": "v2",
    "select_layer": -1,
    "use_thumbnail": True,
    "text_config": TEXT,
    "vision_config": {**VISION, "image_size": 224, "patch_size": 14},
}
_INTERNVL_TOKENS = ("<img>", "</img>", "<IMG_CONTEXT>")
_INTERNVL = {
    "preprocessor_config": {
        "crop_to_patches": False,
        "min_patches": 1,
        "max_patches": 6,
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
        "image_processor_type": "GotOcr2ImageProcessorFast",
        "processor_class": "InternVLProcessor",
        "size": {"height": 224, "width": 224},
    },
    "processor_config": {"image_seq_length": 64, "processor_class": "InternVLProcessor"},
    "video_preprocessor_config": {
        "video_processor_type": "InternVLVideoProcessor",
        "size": {"height": 384, "width": 384},
        "image_mean": [0.485, 0.456, 0.406],
        "image_std": [0.229, 0.224, 0.225],
        "processor_class": "InternVLProcessor",
    },
}
_QWEN3_TEXT = {
    **TEXT,
    "model_type": "qwen3_vl_text",
    "rope_parameters": {
        "mrope_interleaved": True,
        "mrope_section": [6, 5, 5],
        "rope_theta": 1e6,
        "rope_type": "default",
    },
}
_QWEN3_VISION = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 2,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "out_hidden_size": 64,
    "num_position_embeddings": 2304,
    "deepstack_visual_indexes": [0],
}
_QWEN3_FILES = {
    "preprocessor_config": {
        "size": {"longest_edge": 16777216, "shortest_edge": 65536},
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor",
        "image_processor_type": "Qwen2VLImageProcessorFast",
    },
    "video_preprocessor_config": {
        "size": {"longest_edge": 25165824, "shortest_edge": 4096},
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor",
        "video_processor_type": "Qwen3VLVideoProcessor",
    },
}
_QWEN2_VISION = {
    "depth": 2,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_heads": 2,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "spatial_patch_size": 14,
    "temporal_patch_size": 2,
    "out_hidden_size": 64,
}
_QWEN2_IMAGES = {
    "min_pixels": 3136,
    "max_pixels": 12845056,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "image_processor_type": "Qwen2VLImageProcessor",
}
_STEP_TOKENS = ("<im_start>", "<im_end>", "<patch_start>", "<patch_end>", "<patch_newline>", "<im_patch>")
_STEP = {
    "image_token_id": "@<im_patch>",
    "image_token_len": 169,
    "patch_token_len": 81,
    "text_config": {
        "model_type": "step3_text",
        "architectures": ["Step3TextForCausalLM"],
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 2,
        "num_attention_groups": 1,
        "num_hidden_layers": 2,
        "max_seq_len": 65536,
        "vocab_size": 1024,
        "head_dim": 32,
        "moe_num_experts": 4,
        "moe_top_k": 2,
        "moe_intermediate_size": 32,
        "share_expert_dim": 32,
        "share_q_dim": 32,
        "moe_layers_enum": [1],
    },
    "vision_config": {
        **VISION,
        "model_type": "step3_vision_encoder",
        "output_hidden_size": 64,
        "image_size": 728,
        "patch_size": 14,
    },
}
_DEEPSEEK = {
    "model_type": "deepseek_vl_v2",
    "tile_tag": "2D",
    "global_view_pos": "head",
    "candidate_resolutions": [[1024, 1024]],
    "language_config": {
        **TEXT,
        "num_key_value_heads": 2,
        "head_dim": None,
        "model_type": "deepseek_v2",
        "first_k_dense_replace": 1,
        "kv_lora_rank": None,
        "q_lora_rank": None,
        "n_routed_experts": 4,
        "n_shared_experts": 1,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "qk_nope_head_dim": 0,
        "qk_rope_head_dim": 0,
        "v_head_dim": 0,
        "use_mla": False,
        "n_group": 1,
        "topk_group": 1,
        "topk_method": "greedy",
        "lm_head": True,
        "torch_dtype": "bfloat16",
    },
    "projector_config": {"model_type": "mlp_projector", "input_dim": 64, "n_embed": 64, "projector_type": "linear"},
    "vision_config": {"image_size": 1024, "mlp_ratio": 2, "model_name": "deeplip_b_l", "model_type": "vision"},
}
_DEEPSEEK_PROCESSOR = {
    "add_special_token": False,
    "candidate_resolutions": [[1024, 1024]],
    "downsample_ratio": 4,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "image_token": "<image>",
    "normalize": True,
    "pad_token": "<|endoftext|>",
    "patch_size": 16,
    "processor_class": "DeepseekVLV2Processor",
    "sft_format": "deepseek",
}
_PINPOINTS = [[384, 768], [768, 384], [768, 768], [1152, 384], [384, 1152], [1536, 384]]
_SIGLIP_IMAGES = {
    "image_processor_type": "SiglipImageProcessor",
    "size": {"height": 512, "width": 512},
    "resample": 3,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}
_OVIS_TOKENS = (
    "<image>",
    "<video>",
    "<ovis_visual_atom>",
    "<ovis_image_start>",
    "<ovis_image_end>",
    "<ovis_video_start>",
    "<ovis_video_end>",
)
_LARGE = ((500, 333), (333, 777), (900, 120), (37, 41), (1024, 768), (1100, 20), (728, 728), (3100, 500))


_NEMOTRON_IMAGES = """\
from transformers import BaseImageProcessor


class Images(BaseImageProcessor):
    def __init__(self, image_size=512, max_num_tiles=12, use_thumbnail=True, **kwargs):
        super().__init__(**kwargs)
        self.image_size, self.max_num_tiles, self.use_thumbnail = image_size, max_num_tiles, use_thumbnail
"""
_MINICPM_TOKENS = ("<image>", "</image>", "<slice>", "</slice>", "<image_id>", "</image_id>")
_MINICPM_NAMES = ("image_start", "image_end", "slice_start", "slice_end", "image_id_start", "image_id_end")


_GEMMA4_TOKENS = ("<bos>", "<|image|>", "<|video|>", "<|image>", "<image|>", "<|audio|>", "<|audio>", "<audio|>")
_GEMMA4_NAMES = ("bos", "image", "video", "boi", "eoi", "audio", "boa", "eoa")


def _gemma4(architecture: str, kind: str, part: str, processor: str, hears: bool) -> Folder:
    tokens = dict(zip(_GEMMA4_NAMES, _GEMMA4_TOKENS, strict=True))
    image = {"image_processor_type": f"{processor}ImageProcessor", "image_seq_length": 280, "do_normalize": False}
    sizes = {"max_soft_tokens": 280, "patch_size": 16, "pooling_kernel_size": 3}
    sound = {"feature_extractor_type": f"{processor}AudioFeatureExtractor", "sampling_rate": 16000}
    ids = {f"{name}_token_id": f"@{text}" for name, text in tokens.items() if name != "bos"}
    vision = {**VISION, "patch_size": 16, "pooling_kernel_size": 3, "default_output_length": 280}
    return Folder(
        {
            "architectures": [architecture],
            "model_type": kind,
            **ids,
            "eoa_token_index": "@<audio|>",
            "text_config": {**TEXT, "model_type": f"{part}_text", "architectures": ["Gemma4ForCausalLM"]},
            "vision_config": {**vision, "num_soft_tokens": 280, "model_type": "gemma4_vision"},
            **({"audio_config": {"hidden_size": 64}} if hears else {}),
        },
        {
            "processor_config": {
                "processor_class": f"{processor}Processor",
                "audio_ms_per_token": 40,
                "audio_seq_length": 750,
                "image_seq_length": 280,
                "feature_extractor": sound,
                "image_processor": {**image, **sizes, "resample": 3},
                "video_processor": {
                    **sizes,
                    "video_processor_type": f"{processor}VideoProcessor",
                    "max_soft_tokens": 70,
                },
            }
        },
        _GEMMA4_TOKENS,
        ("image", "video", "audio") if hears else ("image", "video"),
        {"bos_token": "<bos>", "extra_special_tokens": {f"{name}_token": text for name, text in tokens.items()}},
        options=({"max_soft_tokens": 140},),
    )


def _interns(architecture: str) -> Folder:
    return Folder(
        {"architectures": [architecture], **_QWEN_IDS, "text_config": _QWEN3_TEXT, "vision_config": _QWEN3_VISION},
        _QWEN3_FILES,
        _QWEN_TOKENS,
        ("image", "video"),
        code=True,
    )


def _minicpm(version: str) -> Folder:
    pads = ("<|image_pad|>", "<|video_pad|>")
    linear = {f"linear_{name}": 32 for name in ("key_head_dim", "value_head_dim")}
    heads = {f"linear_{name}": 2 for name in ("num_key_heads", "num_value_heads")}
    rope = {"mrope_interleaved": True, "mrope_section": [2, 1, 1], "rope_theta": 5e6, "rope_type": "default"}
    text = {**TEXT, "model_type": "qwen3_5_text", "num_hidden_layers": 4, **linear, **heads}
    processor = f"MiniCPMV{version}Processor"
    options = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "processor_class": processor}
    return Folder(
        {
            "architectures": [f"MiniCPMV{version}ForConditionalGeneration"],
            "model_type": f"minicpmv{version}",
            "image_token_id": f"@{pads[0]}",
            "video_token_id": f"@{pads[1]}",
            "insert_layer_id": 0,
            "text_config": {**text, "rope_parameters": {**rope, "partial_rotary_factor": 0.25}},
            "vision_config": {**VISION, "image_size": 980, "patch_size": 14},
        },
        {
            "preprocessor_config": {**options, "image_processor_type": "MiniCPMV4_6ImageProcessor"},
            "video_preprocessor_config": {**options, "video_processor_type": "MiniCPMV4_6VideoProcessor"},
        },
        (*pads, *_MINICPM_TOKENS),
        ("image", "video"),
        {
            "extra_special_tokens": {
                "image_token": pads[0],
                "video_token": pads[1],
                **{f"{name}_token": text for name, text in zip(_MINICPM_NAMES, _MINICPM_TOKENS, strict=True)},
            }
        },
        options=(
            {"max_slice_nums": 4},
            {"downsample_mode": "4x"},
            {"images_kwargs": {"max_slice_nums": 2}, "videos_kwargs": {"downsample_mode": "4x"}},
        ),
        images=((500, 333), (900, 700), (333, 777), (900, 120), (37, 41), (1024, 768)),
    )


def _qwen3_asr(architecture: str) -> Folder:
    return Folder(
        {
            "architectures": [architecture],
            "model_type": "qwen3_asr",
            "thinker_config": {
                "audio_token_id": "@<|audio_pad|>",
                "audio_config": {"d_model": 64, "num_mel_bins": 128, "encoder_layers": 2, "encoder_attention_heads": 2},
                "text_config": {
                    **TEXT,
                    "model_type": "qwen3",
                    "rope_scaling": {"mrope_section": [6, 5, 5], "rope_type": "default", "type": "default"},
                },
            },
        },
        {
            "preprocessor_config": {
                "feature_extractor_type": "Qwen3ASRFeatureExtractor",
                "processor_class": "Qwen3ASRProcessor",
                "feature_size": 128,
            }
        },
        ("<|audio_start|>", "<|audio_pad|>", "<|audio_end|>"),
        ("audio",),
        {
            "extra_special_tokens": {
                "audio_token": "<|audio_pad|>",
                "audio_bos_token": "<|audio_start|>",
                "audio_eos_token": "<|audio_end|>",
            }
        },
    )


_MSAC = ({"use_msac": True}, {"use_msac": False}, {"use_msac": True, "dynamic_image_size": False})


def _tiled(
    architecture: str, tokens: tuple[str, ...] = _INTERNVL_TOKENS, more: tuple[Any, ...] = (), **config: Any
) -> Folder:
    options = ({"max_dynamic_patch": 3}, {"dynamic_image_size": False}, *more)
    whole = {"architectures": [architecture], **_TILES, **config}
    return Folder(whole, {}, tokens, options=options, code=True)


FOLDERS = {
    **{
        f"InternS{version}ForConditionalGeneration": _interns(f"InternS{version}ForConditionalGeneration")
        for version in ("1Pro", "2Preview")
    },
    "Gemma4UnifiedForConditionalGeneration": _gemma4(
        "Gemma4UnifiedForConditionalGeneration", "gemma4_unified", "gemma4_unified", "Gemma4Unified", True
    ),
    **{f"MiniCPMV{version}ForConditionalGeneration": _minicpm(version) for version in ("4_6", "4_7")},
    "Eagle2_5_VLForConditionalGeneration": _tiled("Eagle2_5_VLForConditionalGeneration", force_image_size=448),
    "H2OVLChatModel": _tiled("H2OVLChatModel", more=_MSAC, use_msac=True),
    "H2OVLChatModel-single": _tiled("H2OVLChatModel", more=_MSAC, use_msac=False),
    "NVLM_D": _tiled("NVLM_D", ("<Image>", "</Image>", "<|vision_pad|>")),
    "SkyworkR1VChatModel": _tiled("SkyworkR1VChatModel"),
    "InternS1ForConditionalGeneration": Folder(
        {
            "architectures": ["InternS1ForConditionalGeneration"],
            "model_type": "internvl",
            "image_token_id": "@<IMG_CONTEXT>",
            "image_seq_length": 64,
            "downsample_ratio": 0.5,
            "text_config": TEXT,
            "vision_config": {
                **VISION,
                "model_type": "internvl_vision",
                "image_size": [224, 224],
                "patch_size": [14, 14],
            },
        },
        _INTERNVL,
        (*_INTERNVL_TOKENS, "<video>"),
        ("image", "video"),
        {
            "extra_special_tokens": {
                "start_image_token": "<img>",
                "end_image_token": "</img>",
                "context_image_token": "<IMG_CONTEXT>",
                "video_token": "<video>",
            }
        },
    ),
    **{name: _qwen3_asr(name) for name in ("Qwen3ASRForConditionalGeneration", "Qwen3ASRRealtimeGeneration")},
    "Llama_Nemotron_Nano_VL": Folder(
        {
            "architectures": ["Llama_Nemotron_Nano_VL"],
            "downsample_ratio": 0.5,
            "force_image_size": 224,
            "ps_version": "v2",
            "llm_config": TEXT,
            "vision_config": {**VISION, "image_size": 224, "patch_size": 14},
        },
        {
            "preprocessor_config": {
                "image_processor_type": "Images",
                "auto_map": {"AutoImageProcessor": "image_processing_made.Images"},
                "image_size": 224,
                "max_num_tiles": 6,
                "use_thumbnail": True,
            }
        },
        ("<img>", "</img>", "<image>"),
        code=True,
        modules={"image_processing_made": _NEMOTRON_IMAGES},
    ),
    "BagelForConditionalGeneration": Folder(
        {
            "architectures": ["BagelForConditionalGeneration"],
            "model_type": "bagel",
            "vit_max_num_patch_per_side": 8,
            "llm_config": TEXT,
            "vit_config": {**VISION, "image_size": 112, "patch_size": 14},
        },
        {
            "preprocessor_config": {
                "image_processor_type": "SiglipImageProcessor",
                "size": {"height": 112, "width": 112},
                "image_mean": [0.5, 0.5, 0.5],
                "image_std": [0.5, 0.5, 0.5],
            }
        },
        ("<|image_pad|>",),
    ),
    "GLM4VForCausalLM": Folder(
        {
            "architectures": ["GLM4VForCausalLM"],
            "model_type": "chatglm",
            "boi_token_id": "@<|begin_of_image|>",
            "eoi_token_id": "@<|end_of_image|>",
            "pad_token_id": "@<|endoftext|>",
            "num_layers": 2,
            "hidden_size": 64,
            "num_attention_heads": 2,
            "padded_vocab_size": 1024,
            "seq_length": 131072,
            "vision_config": {**VISION, "image_size": 112, "patch_size": 14},
        },
        {},
        ("<|begin_of_image|>", "<|end_of_image|>"),
        options=({"size": {"height": 100, "width": 60}},),
    ),
    "OpenVLAForActionPrediction": Folder(
        {
            "architectures": ["OpenVLAForActionPrediction"],
            "model_type": "openvla",
            "image_sizes": [112, 112],
            "image_token_index": 1000,
            "text_config": {**TEXT, "model_type": "llama"},
        },
        {},
        ("<s>",),
        tokenizer={"bos_token": "<s>", "chat_template": "{{ bos_token }}" + TEMPLATE},
    ),
    "Blip2ForConditionalGeneration": Folder(
        {
            "architectures": ["Blip2ForConditionalGeneration"],
            "model_type": "blip-2",
            "num_query_tokens": 8,
            "image_token_index": "@<image>",
            "text_config": TEXT,
            "vision_config": {**VISION, "model_type": "blip_2_vision_model", "image_size": 224, "patch_size": 14},
            "qformer_config": {"model_type": "blip_2_qformer", "hidden_size": 64, "num_attention_heads": 2},
        },
        {
            "preprocessor_config": {
                "image_processor_type": "BlipImageProcessor",
                "processor_class": "Blip2Processor",
                "size": {"height": 224, "width": 224},
            },
            "processor_config": {"processor_class": "Blip2Processor", "num_query_tokens": 8},
        },
        ("<image>",),
        options=({"size": {"height": 100, "width": 60}},),
    ),
    "PaliGemmaForConditionalGeneration": Folder(
        {
            "architectures": ["PaliGemmaForConditionalGeneration"],
            "model_type": "paligemma",
            "image_token_index": "@<image>",
            "projection_dim": 64,
            "text_config": {**TEXT, "model_type": "gemma"},
            "vision_config": {
                **VISION,
                "model_type": "siglip_vision_model",
                "image_size": 112,
                "patch_size": 14,
                "projection_dim": 64,
                "num_image_tokens": 64,
            },
        },
        {
            "preprocessor_config": {
                "image_processor_type": "SiglipImageProcessor",
                "processor_class": "PaliGemmaProcessor",
                "image_seq_length": 64,
                "size": {"height": 112, "width": 112},
                "image_mean": [0.5, 0.5, 0.5],
                "image_std": [0.5, 0.5, 0.5],
                "resample": 3,
            }
        },
        ("<bos>", "<image>", "\n"),
        tokenizer={"bos_token": "<bos>", "add_bos_token": True},
    ),
    "QianfanOCRForConditionalGeneration": Folder(
        {
            "architectures": ["QianfanOCRForConditionalGeneration"],
            "model_type": "qianfan_ocr",
            "image_token_id": "@<IMG_CONTEXT>",
            **{key: value for key, value in _TILES.items() if key != "force_image_size"},
        },
        {},
        _INTERNVL_TOKENS,
        options=({"max_dynamic_patch": 3},),
    ),
    "Cosmos3ForConditionalGeneration": Folder(
        {
            "architectures": ["Cosmos3ForConditionalGeneration"],
            "model_type": "cosmos3_omni",
            **_QWEN_IDS,
            "text_config": _QWEN3_TEXT,
            "vision_config": _QWEN3_VISION,
        },
        _QWEN3_FILES,
        _QWEN_TOKENS,
        ("image", "video"),
        options=({"max_pixels": 40000}, {"size": {"shortest_edge": 4096, "longest_edge": 50000}}),
    ),
    "Qwen4ExpForConditionalGeneration": Folder(
        {
            "architectures": ["Qwen4ExpForConditionalGeneration"],
            "model_type": "qwen4_exp",
            **_QWEN_IDS,
            "text_config": {**_QWEN3_TEXT, "model_type": "qwen4_exp_text"},
            "vision_config": {**_QWEN3_VISION, "model_type": "qwen4_exp_vision"},
        },
        _QWEN3_FILES,
        _QWEN_TOKENS,
        ("image", "video"),
    ),
    "Exaone4_5_ForConditionalGeneration": Folder(
        {
            "architectures": ["Exaone4_5_ForConditionalGeneration"],
            "model_type": "exaone4_5",
            **_QWEN_IDS,
            "text_config": {**TEXT, "model_type": "exaone4", "architectures": ["Exaone4ForCausalLM"]},
            "vision_config": _QWEN2_VISION,
        },
        {"preprocessor_config": {**_QWEN2_IMAGES, "processor_class": "Exaone4_5_Processor"}},
        (*_QWEN_TOKENS[2:], "<vision>", "</vision>", *_QWEN_TOKENS[:2]),
        ("image", "video"),
        options=({"max_pixels": 40000},),
    ),
    "OpenCUAForConditionalGeneration": Folder(
        {
            "architectures": ["OpenCUAForConditionalGeneration"],
            "media_placeholder_token_id": "@<|media_placeholder|>",
            "text_config": TEXT,
            "vision_config": _QWEN2_VISION,
        },
        {"preprocessor_config": _QWEN2_IMAGES},
        ("<|media_begin|>", "<|media_placeholder|>", "<|media_end|>"),
        code=True,
        options=({"max_pixels": 40000},),
    ),
    **{
        name: Folder({"architectures": [name], "model_type": "step3_vl", **_STEP}, {}, _STEP_TOKENS, images=_LARGE)
        for name in ("Step3VLForConditionalGeneration", "StepVLForConditionalGeneration")
    },
    "Step3p7ForConditionalGeneration": Folder(
        {"architectures": ["Step3p7ForConditionalGeneration"], **_STEP, "model_type": "step3_vl"},
        {},
        _STEP_TOKENS,
        images=_LARGE,
    ),
    "DeepseekOCR2ForCausalLM": Folder(
        {**_DEEPSEEK, "architectures": ["DeepseekOCR2ForCausalLM"]},
        {"processor_config": _DEEPSEEK_PROCESSOR},
        ("<image>",),
        tokenizer={"bos_token": "<|endoftext|>"},
        images=((500, 333), (700, 760), (333, 777), (900, 120), (37, 41), (1024, 768)),
    ),
    "UnlimitedOCRForCausalLM": Folder(
        {**_DEEPSEEK, "architectures": ["UnlimitedOCRForCausalLM"], "model_type": "unlimited-ocr"},
        {"processor_config": _DEEPSEEK_PROCESSOR},
        ("<image>",),
        tokenizer={"bos_token": "<|endoftext|>"},
        images=((500, 333), (333, 777), (700, 760), (2600, 120), (37, 41), (1024, 768)),
    ),
    "Granite4VisionForConditionalGeneration": Folder(
        {
            "architectures": ["Granite4VisionForConditionalGeneration"],
            "model_type": "granite4_vision",
            "image_token_index": "@<image>",
            "image_grid_pinpoints": _PINPOINTS,
            "downsample_rate": "4/8",
            "vision_feature_select_strategy": "full",
            "text_config": {**TEXT, "model_type": "granite4_vision_text", "architectures": ["GraniteForCausalLM"]},
            "vision_config": {**VISION, "model_type": "siglip_vision_model", "image_size": 384, "patch_size": 16},
            "qformer_config": {"num_attention_heads": 2, "hidden_size": 64},
        },
        {
            "preprocessor_config": {
                "image_processor_type": "LlavaNextImageProcessor",
                "processor_class": "Granite4VisionProcessor",
                "image_grid_pinpoints": _PINPOINTS,
                "size": {"height": 384, "width": 384},
                "crop_size": {"height": 384, "width": 384},
                "do_center_crop": False,
                "do_pad": True,
                "resample": 3,
                "image_mean": [0.5, 0.5, 0.5],
                "image_std": [0.5, 0.5, 0.5],
            },
            "processor_config": {
                "processor_class": "Granite4VisionProcessor",
                "patch_size": 16,
                "vision_feature_select_strategy": "full",
                "downsample_rate": "4/8",
            },
        },
        ("<image>",),
    ),
    **{
        name: Folder(
            {
                "architectures": [name],
                "visual_vocab_size": 65536,
                "hidden_size": 64,
                "vit_config": {
                    **VISION,
                    "model_type": "siglip2_navit",
                    "patch_size": 16,
                    "hidden_stride": 2,
                    "temporal_patch_size": 1,
                },
                "text_config": TEXT,
            },
            {"preprocessor_config": _SIGLIP_IMAGES},
            ("<|image_pad|>", *_OVIS_TOKENS),
            ("image", "video"),
            code=True,
            options=({"max_pixels": 300000}, {"min_pixels": 1000}),
            ids={"<|image_pad|>": 151655, **dict(zip(_OVIS_TOKENS, range(151669, 151676), strict=True))},
        )
        for name in ("Ovis2_5", "Ovis2_6ForCausalLM", "Ovis2_6_MoeForCausalLM")
    },
    "Ovis": Folder(
        {
            "architectures": ["Ovis"],
            "model_type": "ovis",
            "hidden_size": 64,
            "conversation_formatter_class": "QwenConversationFormatter",
            "llm_config": TEXT,
            "visual_tokenizer_config": {
                "model_type": "siglip_visual_tokenizer",
                "vocab_size": 65536,
                "hidden_stride": 2,
                "backbone_config": {
                    **VISION,
                    "model_type": "siglip_vision_model",
                    "image_size": 112,
                    "patch_size": 14,
                },
            },
        },
        {"preprocessor_config": {**_SIGLIP_IMAGES, "size": {"height": 112, "width": 112}}},
        ("<|image_pad|>",),
        options=({"max_partition": 4}, {"covering_threshold": 0.5}),
    ),
}
