"""Validators are compiled with the first body of their kind, by whichever thread has it."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from renderlayer.wire.common.base import Body, parse

THREADS = 8


def test_a_module_of_bodies_compiles_none_of_them() -> None:
    program = """
import renderlayer.wire.derender
from renderlayer.wire.common.base import Body
def models(base):
    for model in base.__subclasses__():
        yield model
        yield from models(model)
print(sum(model.__pydantic_complete__ for model in models(Body)), len(list(models(Body))) > 20)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "0 True\n"


def test_threads_that_begin_together_validate_alike() -> None:
    for number in range(20):
        begin = Barrier(THREADS)
        model = type(f"Model{number}", (Body,), {"__annotations__": {f"field{at}": list[int] for at in range(40)}})
        body = {f"field{at}": ["1"] for at in range(40)}

        def read(_: int, model: Any = model, body: Any = body, begin: Any = begin) -> Any:
            begin.wait()
            return parse(model, body).model_dump()

        with ThreadPoolExecutor(THREADS) as pool:
            for found in pool.map(read, range(THREADS)):
                assert found == {f"field{at}": [1] for at in range(40)}
