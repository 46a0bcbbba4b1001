"""Images through the engine: the same tokens as transformers gives for the same pixels (wire.md 4.6, 4.9)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from infra.generate.options import Options
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.engine import vision
from tests.engine.serving import Service, served
from tests.engine.tiny import load_model
from tests.models import open_server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return vision.make_vision_folder(tmp_path_factory.mktemp("vision") / "eyes")


@pytest.fixture(scope="module")
def seeing(folder: Path) -> ServedModel:
    return open_server(folder, Settings(served_model_name=["eyes"]))


@pytest.fixture(scope="module")
def eyes(seeing: ServedModel, folder: Path) -> Iterator[Service]:
    with served(seeing, load_model(folder), Options()) as service:
        yield service


def prompt(server: ServedModel, sizes: list[int]) -> tuple[list[int], list[int]]:
    """Token ids with a run of placeholders for each image, and where the runs start."""
    added = server.model.vocabulary.added
    ids, offsets = [40, 41], []
    for size in sizes:
        ids.append(added["<|vision_start|>"])
        offsets.append(len(ids))
        ids += [added["<|image_pad|>"]] * size
        ids += [added["<|vision_end|>"], 50, 51]
    return ids, offsets


def images() -> list[tuple[torch.Tensor, list[int]]]:
    return [vision.picture(1, 4, 6), vision.picture(2, 8, 4)]


def request(server: ServedModel, **changed: Any) -> dict[str, Any]:
    pictures = images()
    sizes = [len(pixels) // vision.MERGE**2 for pixels, _ in pictures]
    ids, offsets = prompt(server, sizes)
    items: list[str | None] = [vision.item(*one) for one in pictures]
    return {
        "token_ids": ids,
        "features": {**vision.features(offsets, sizes, items), **changed},
        "sampling_params": {"temperature": 0, "max_tokens": 10, "ignore_eos": True},
    }


def expected(folder: Path, server: ServedModel) -> list[int]:
    model = load_model(folder)
    model.generation_config.eos_token_id = None
    ids = torch.tensor([request(server)["token_ids"]])
    output = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=torch.cat([vision.normalised(pixels) for pixels, _ in images()]),
        image_grid_thw=torch.tensor([grid for _, grid in images()]),
        mm_token_type_ids=(ids == model.config.image_token_id).int(),
        max_new_tokens=10,
        do_sample=False,
    )
    tokens: list[int] = output[0, ids.shape[1] :].tolist()
    return tokens


def test_tokens_are_those_of_transformers(eyes: Service, folder: Path, seeing: ServedModel) -> None:
    tokens = eyes.post(**request(seeing)).json()["choices"][0]["token_ids"]
    assert tokens == expected(folder, seeing)
    text_only = eyes.tokens(request(seeing)["token_ids"], max_tokens=10, ignore_eos=True)
    assert tokens != text_only


def test_text_beside_images_keeps_its_positions(eyes: Service, folder: Path, seeing: ServedModel) -> None:
    """A text request gives the same before and after the model has seen images."""
    ids = list(range(3, 60))
    model = load_model(folder)
    model.generation_config.eos_token_id = None
    row = torch.tensor([ids])
    wanted = model.generate(row, attention_mask=torch.ones_like(row), max_new_tokens=8, do_sample=False)
    eyes.post(**request(seeing))
    assert eyes.tokens(ids, max_tokens=8, ignore_eos=True) == wanted[0, len(ids) :].tolist()


def test_placeholders_are_told_on_request(eyes: Service, seeing: ServedModel) -> None:
    body = request(seeing)
    answer = eyes.post(**body, return_token_ids=True).json()
    assert answer["mm_placeholders"] == body["features"]["mm_placeholders"]
    assert answer["prompt_token_ids"] == body["token_ids"]


def test_an_item_seen_lately_may_come_without_its_tensors(eyes: Service, folder: Path, seeing: ServedModel) -> None:
    eyes.post(**request(seeing))
    again = eyes.post(**request(seeing, kwargs_data={"image": [None, None]}))
    assert again.json()["choices"][0]["token_ids"] == expected(folder, seeing)
    unknown = eyes.post(**request(seeing, kwargs_data=None, mm_hashes={"image": ["new", "newer"]}))
    assert unknown.status_code == 503


@pytest.mark.parametrize("damaged", ["!", "gqxw", "AAAA", "gaFhgg=="])
def test_items_that_cannot_be_read(eyes: Service, seeing: ServedModel, damaged: str) -> None:
    response = eyes.post(**request(seeing, kwargs_data={"image": [damaged, damaged]}))
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "BadRequestError"


def test_items_that_do_not_fit_the_placeholders(eyes: Service, seeing: ServedModel) -> None:
    small = vision.item(*vision.picture(1, 2, 2))
    response = eyes.post(**request(seeing, kwargs_data={"image": [small, small]}))
    assert (response.status_code, response.json()["error"]["param"]) == (400, "features")


def test_a_text_model_takes_no_features(service: Service) -> None:
    item = vision.item(*vision.picture(1, 2, 2))
    response = service.post(token_ids=[5, 6], sampling_params={}, features=vision.features([0], [1], [item]))
    assert (response.status_code, response.json()["error"]["param"]) == (400, "features")


def test_gemma_sees_its_images_in_both_directions(tmp_path: Path) -> None:
    folder = vision.make_gemma_folder(tmp_path / "gemma")
    server = open_server(folder, Settings(served_model_name=["gemma"]))
    model = load_model(folder)
    model.generation_config.eos_token_id = None
    added = server.model.vocabulary.added
    run = [added["<start_of_image>"], *[added["<image_soft_token>"]] * 4, added["<end_of_image>"]]
    ids = torch.tensor([[40, 41, *run, 50, 51, *range(60, 75)]])
    pixels, item = vision.gemma_item(1)
    wanted = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        pixel_values=pixels,
        token_type_ids=(ids == model.config.image_token_id).int(),
        max_new_tokens=12,
        do_sample=False,
    )
    with served(server, model, Options()) as service:
        response = service.post(
            token_ids=ids[0].tolist(),
            features=vision.features([2], [6], [item]),
            sampling_params={"temperature": 0, "max_tokens": 12, "ignore_eos": True},
        )
    assert response.json()["choices"][0]["token_ids"] == wanted[0, ids.shape[1] :].tolist()
