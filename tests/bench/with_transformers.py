"""The render of a chat as it is done without renderlayer: FastAPI, Mangum and `transformers`."""

from __future__ import annotations

import os
from typing import Any

from fastapi import FastAPI
from mangum import Mangum
from transformers import AutoTokenizer

app = FastAPI()
tokenizer = AutoTokenizer.from_pretrained(os.environ["BENCH_MODEL_FOLDER"])


@app.post("/v1/chat/completions/render")
async def render(body: dict[str, Any]) -> dict[str, Any]:
    encoded = tokenizer.apply_chat_template(body["messages"], add_generation_prompt=True, tokenize=True)
    return {"token_ids": encoded["input_ids"]}


handler = Mangum(app, lifespan="off")
