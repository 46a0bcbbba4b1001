"""A headless Chromium, and the page's server over an engine that sees."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("selenium")

from selenium.webdriver import Chrome, ChromeOptions, ChromeService

from tests.engine.vision import make_vision_folder
from tests.local.test_serve import running

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1360,900",
)


@pytest.fixture(scope="session")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The local gateway in front of the embedded engine, both on a tiny random Qwen3-VL."""
    model = str(make_vision_folder(tmp_path_factory.mktemp("page") / "tiny-vl"))
    named = [model, "--served-model-name", "tiny-vl"]
    python = [sys.executable, "-m"]
    with (
        running([*python, "infra.generate", "serve"], *named) as engine,
        running([*python, "infra.local", "serve"], *named, "--engine-url", engine.url) as gateway,
    ):
        yield gateway.url


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    if CHROMIUM is None or DRIVER is None:
        pytest.skip("needs chromium and chromedriver (Debian: apt-get install chromium chromium-driver)")
    options = ChromeOptions()
    options.binary_location = CHROMIUM
    profile: Path = tmp_path_factory.mktemp("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = Chrome(options, ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()
