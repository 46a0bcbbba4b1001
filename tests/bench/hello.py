"""The yardstick: the least function that FastAPI and Mangum make."""

from __future__ import annotations

from fastapi import FastAPI
from mangum import Mangum

app = FastAPI()


@app.post("/hello")
async def hello() -> dict[str, str]:
    return {"message": "hello"}


handler = Mangum(app, lifespan="off")
