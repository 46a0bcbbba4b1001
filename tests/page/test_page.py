"""The page as a person uses it: type, send, see the stream and its tokens, attach an image."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from PIL import Image
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.long  # an engine, a gateway and a browser are started

PATIENCE = 120
"""Seconds until a test gives up; a machine under load is slow."""


def find(browser: Chrome, selector: str) -> WebElement:
    return browser.find_element(By.CSS_SELECTOR, selector)


def texts(browser: Chrome, selector: str) -> list[str]:
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, selector)]


def opened(browser: Chrome, url: str) -> None:
    browser.get(url)
    WebDriverWait(browser, PATIENCE).until(lambda driver: texts(driver, "#model option") == ["tiny-vl"])
    browser.execute_script("document.getElementById('max-tokens').value = 8")


def ask(browser: Chrome, text: str) -> None:
    find(browser, "#question").send_keys(text)
    find(browser, "#send").click()
    WebDriverWait(browser, PATIENCE).until(lambda driver: "ms for" in find(driver, "#derender-time").text)


def test_a_chat_shows_its_tokens_and_the_three_steps(browser: Chrome, page_url: str) -> None:
    opened(browser, page_url)
    ask(browser, "Hello world")
    assert texts(browser, ".message.user") == ["Hello world"]
    assert not texts(browser, ".message.error")
    prompt = browser.find_elements(By.CSS_SELECTOR, "#prompt .token")
    rendered = httpx.post(
        f"{page_url}/v1/chat/completions/render", json={"messages": [{"role": "user", "content": "Hello world"}]}
    ).json()
    assert [int(token.get_attribute("title") or "") for token in prompt] == rendered["token_ids"]
    assert texts(browser, "#prompt .special") == ["<|im_start|>", "<|im_end|>", "<|im_start|>"]
    assert 1 <= len(texts(browser, "#output .token")) <= 8
    assert re.fullmatch(r"finish_reason: (length|stop)", find(browser, "#finish").text)
    assert all("ms" in find(browser, f"#{step}-time").text for step in ("render", "generate", "derender"))


def test_an_image_is_sent_and_what_travels_is_shown(browser: Chrome, page_url: str, tmp_path: Path) -> None:
    opened(browser, page_url)
    picture = tmp_path / "picture.png"
    Image.new("RGB", (32, 32), "teal").save(picture)
    find(browser, "#image").send_keys(str(picture))
    WebDriverWait(browser, PATIENCE).until(lambda driver: texts(driver, "#attached img"))
    ask(browser, "What is this?")
    assert re.search(r"<\|image_pad\|> × \d+", find(browser, "#prompt .media").text)
    rows = [row.split() for row in texts(browser, "#media tbody tr")]
    assert [row[0] for row in rows] == ["tensors", "reference", "none"]
    assert int(rows[0][1].replace(",", "")) > int(rows[2][1].replace(",", ""))


def test_an_error_is_shown_and_the_chat_goes_on(browser: Chrome, page_url: str) -> None:
    opened(browser, page_url)
    browser.execute_script("document.getElementById('tools').value = '{'")
    find(browser, "#question").send_keys("Hello")
    find(browser, "#send").click()
    WebDriverWait(browser, PATIENCE).until(lambda driver: texts(driver, ".message.error"))
    assert "tools is not JSON" in texts(browser, ".message.error")[0]
    browser.execute_script("document.getElementById('tools').value = ''")
    ask(browser, "Hello again")


def test_markup_is_shown_as_text(browser: Chrome, page_url: str) -> None:
    opened(browser, page_url)
    ask(browser, "<img src=x onerror=document.title='fooled'>")
    assert browser.title == "renderlayer"
    assert texts(browser, ".message.user") == ["<img src=x onerror=document.title='fooled'>"]


def test_the_description_of_the_api_is_shown_offline(browser: Chrome, page_url: str) -> None:
    browser.get(f"{page_url}/docs")
    WebDriverWait(browser, PATIENCE).until(lambda driver: texts(driver, ".opblock-summary-path"))
    sources = browser.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert sources
    assert all(source.startswith((page_url, "data:")) for source in sources)
