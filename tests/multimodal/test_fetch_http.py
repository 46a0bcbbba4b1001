"""http(s) media: what is followed, what is refused, and that nothing leads into the private network."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from renderlayer.errors import BadRequest, RenderLayerError, Unprocessable
from renderlayer.multimodal import fetch
from renderlayer.multimodal.fetch.budget import Deadline, FetchBudget
from renderlayer.multimodal.fetch.http import fetch as fetch_http
from renderlayer.settings import Settings
from tests.multimodal import servers
from tests.multimodal.servers import content, redirect, serving

OPEN = Settings(allowed_media_networks=["127.0.0.0/8"], image_fetch_seconds=60)
ONCE = replace(OPEN, media_fetch_attempts=1)
CLOSED = Settings()


def get(url: str, settings: Settings = OPEN, seconds: float = 60, budget: FetchBudget | None = None) -> bytes:
    return fetch_http(url, settings, Deadline(seconds), budget or FetchBudget(settings))


def test_a_body_with_and_without_length() -> None:
    with serving(a=content(b"first"), b=servers.unframed(b"second")) as server:
        assert get(server.url("/a")) == b"first"
        assert get(server.url("/b")) == b"second"


def test_redirects_are_followed_relative_and_absolute() -> None:
    with serving(a=redirect("/b"), b=redirect("c?x=1", 307), end=content(b"here")) as server:
        server.replies["/c?x=1"] = redirect(server.url("/end"), 308)
        assert get(server.url("/a")) == b"here"
        assert server.seen == ["/a", "/b", "/c?x=1", "/end"]


def test_redirects_end() -> None:
    with serving(loop=redirect("/loop")) as server:
        with pytest.raises(Unprocessable, match="too many redirects"):
            get(server.url("/loop"))
        assert len(server.seen) == 6


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451, 204, 304])
def test_permanent_failures_are_not_repeated(status: int) -> None:
    with serving(a=content(b"", status)) as server:
        with pytest.raises(Unprocessable, match=f"Failed to fetch media from URL: HTTP {status} error") as caught:
            get(server.url("/a"))
        assert (caught.value.status, caught.value.param) == (422, "image_url")
        assert len(server.seen) == 1


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_passing_failures_are_repeated(status: int) -> None:
    with serving(a=servers.after(2, content(b"", status), content(b"third time"))) as server:
        assert get(server.url("/a")) == b"third time"
        assert len(server.seen) == 3


def test_failures_that_stay_are_the_clients_to_know() -> None:
    with serving(a=content(b"", 503)) as server, pytest.raises(Unprocessable, match="HTTP 503 error"):
        get(server.url("/a"))


def test_refused_connections_and_unknown_names() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(Unprocessable, match="the host refuses the connection"):
            get(f"http://127.0.0.1:{unused.getsockname()[1]}/a", ONCE)
    with pytest.raises(Unprocessable, match="the name of the host does not resolve"):
        get("http://no-such-host.invalid/a", ONCE)


def test_cut_bodies_are_failures() -> None:
    with serving(a=servers.cut_short(b"half")) as server, pytest.raises(Unprocessable, match="the answer is cut short"):
        get(server.url("/a"), ONCE)


def test_a_peer_that_stalls_meets_the_deadline() -> None:
    release = threading.Event()
    with serving(a=servers.stuck(release)) as server:
        try:
            with pytest.raises(Unprocessable, match="timed out"):
                get(server.url("/a"), seconds=0.3)  # a peer that is waited for breaks off, which is another failure
        finally:
            release.set()


def test_items_have_a_largest_size() -> None:
    with serving(told=content(bytes(101)), untold=servers.unframed(bytes(101))) as server:
        for path in ("/told", "/untold"):
            with pytest.raises(Unprocessable, match="exceed the limit of 100 bytes an item"):
                get(server.url(path), budget=FetchBudget(Settings(max_media_item_bytes=100)))


def test_downloads_of_a_request_have_a_largest_sum() -> None:
    budget = FetchBudget(Settings(max_media_request_bytes=150))
    with serving(a=content(bytes(100))) as server:
        get(server.url("/a"), budget=budget)
        with pytest.raises(Unprocessable, match="Request media downloads exceed"):
            get(server.url("/a"), budget=budget)
        unlimited = FetchBudget(Settings(max_media_request_bytes=0))
        assert get(server.url("/a"), budget=unlimited) == bytes(100)


def test_limits_are_settings() -> None:
    release = threading.Event()
    near, failing = redirect("/end"), servers.after(1, content(b"", 503), content(b"second time"))
    with serving(a=near, end=content(b"here"), failing=failing, stuck=servers.stuck(release)) as server:
        for path, limit, message in (
            ("/a", {"media_redirects": 0}, "too many redirects"),
            ("/failing", {"media_fetch_attempts": 1}, "HTTP 503 error"),
            ("/stuck", {"video_fetch_seconds": 0.1}, "timed out"),
            ("/end", {"max_media_item_bytes": 3}, "limit of 3 bytes"),
        ):
            with pytest.raises(Unprocessable, match=message):
                fetch.fetch_all([("video", server.url(path))], replace(OPEN, **limit))
        release.set()
    with pytest.raises(BadRequest, match="at most 3 bytes"):
        fetch.fetch_all([("image", "data:;base64,QUJDREVG")], Settings(max_media_item_bytes=3))


def test_compressed_answers_are_refused() -> None:
    with serving(a=content(b"x", Content_Encoding="gzip")) as server, pytest.raises(Unprocessable, match="compressed"):
        get(server.url("/a"))


PRIVATE = [
    "http://127.0.0.1:{port}/secret",
    "http://localhost:{port}/secret",
    "http://[::1]:{port}/secret",
    "http://[::ffff:127.0.0.1]:{port}/secret",
    "http://[::ffff:7f00:1]:{port}/secret",
    "http://2130706433:{port}/secret",
    "http://0x7f000001:{port}/secret",
    "http://0177.0.0.1:{port}/secret",
    "http://127.1:{port}/secret",
    "http://0.0.0.0:{port}/secret",
    "http://0:{port}/secret",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[fe80::1]/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://192.0.2.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::1]/",
    "http://[2001:0:a9fe:a9fe::1]/",
    "http://[::]/",
]


@pytest.mark.parametrize("template", PRIVATE)
def test_the_private_network_is_out_of_reach(template: str) -> None:
    """Directly, and behind a redirect of a host that may be fetched from."""
    with serving(secret=content(b"secret")) as server:
        url = template.format(port=server.port)
        with pytest.raises((BadRequest, Unprocessable)):
            get(url, CLOSED)
        assert server.seen == []
        only_this = Settings(allowed_media_networks=["127.0.0.2/32"])
        with pytest.raises((BadRequest, Unprocessable)):
            get(url, only_this)
        assert server.seen == []


@pytest.mark.parametrize("target", [url for url in PRIVATE if "{port}" not in url] + ["http://[::1]:{port}/secret"])
def test_redirects_do_not_lead_there(target: str) -> None:
    with serving(a=redirect(target), secret=content(b"secret")) as server:
        server.replies["/a"] = redirect(target.format(port=server.port))
        with pytest.raises(BadRequest):
            get(server.url("/a"))
        assert server.seen == ["/a"]


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:image/png;base64,AAAA", "gopher://x"]
)
def test_redirects_stay_with_http(target: str) -> None:
    with serving(a=redirect(target)) as server, pytest.raises(BadRequest, match="must be either"):
        get(server.url("/a"))


def test_the_allow_list_holds_for_redirects() -> None:
    """An address that is listed by itself is allowed without its network."""
    settings = Settings(allowed_media_domains=["127.0.0.1"])
    with serving(a=redirect("/b"), b=content(b"b"), away=redirect("http://localhost:1/x")) as server:
        assert get(server.url("/a"), settings) == b"b"
        with pytest.raises(BadRequest, match="allowed domains"):
            get(server.url("/away"), settings)


def test_a_listed_name_is_not_a_listed_address() -> None:
    settings = Settings(allowed_media_domains=["localhost"])
    with serving(a=content(b"a")) as server:
        with pytest.raises(BadRequest, match="no public address"):
            get(server.url("/a", "localhost"), settings)
        assert server.seen == []


@pytest.mark.parametrize("url", ["http://user:secret@127.0.0.1/a", "http://user@127.0.0.1/a", "http://@127.0.0.1/a"])
def test_credentials_are_refused(url: str) -> None:
    with pytest.raises(BadRequest, match="credentials") as caught:
        get(url)
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "url",
    [
        "http://",
        "http:///x",
        "http://127.0.0.1:port/",
        "http://127.0.0.1\\@evil/",
        "http://a b/",
        "http://x\r\nHost: y/",
        f"http://{'a' * 64}.example/",
        "http://a..example/",
    ],
)
def test_malformed_urls(url: str) -> None:
    with pytest.raises(Unprocessable, match="Invalid URL"):
        get(url)


def test_a_name_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name server that gives another address the second time changes nothing: the first one was checked and used."""
    lookups: list[str] = []
    real = socket.getaddrinfo

    def resolver(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        if host == "rebinding.example":
            lookups.append(host)
            host = "127.0.0.1" if len(lookups) == 1 else "169.254.169.254"
        return real(host, port, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with serving(a=content(b"checked")) as server:
        assert get(server.url("/a", "rebinding.example")) == b"checked"
    assert lookups == ["rebinding.example"]


def test_allowed_addresses_among_others_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def resolver(host: Any, port: Any, *arguments: Any, **options: Any) -> Any:
        if host != "mixed.example":
            return real(host, port, *arguments, **options)
        return [answer for address in ("10.0.0.1", "127.0.0.1") for answer in real(address, port)]

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    with serving(a=content(b"ok")) as server:
        assert get(server.url("/a", "mixed.example")) == b"ok"


def test_items_are_fetched_at_the_same_time_and_once() -> None:
    together = threading.Barrier(4, timeout=60)

    def meet(handler: Any) -> None:
        together.wait()
        content(handler.path.encode())(handler)

    with serving(a=meet, b=meet, c=meet, d=meet) as server:
        wanted = [("image", server.url(f"/{name}")) for name in "abcda"]
        assert [content.data for content in fetch.fetch_all(wanted, OPEN)] == [b"/a", b"/b", b"/c", b"/d", b"/a"]
        assert sorted(server.seen) == ["/a", "/b", "/c", "/d"]


def test_the_first_failure_in_order_is_told() -> None:
    with serving(a=content(b"", 404), b=content(b"", 403)) as server, pytest.raises(Unprocessable, match="404"):
        fetch.fetch_all([("image", server.url("/a")), ("image", server.url("/b"))], OPEN)


@pytest.mark.parametrize("url", ["ftp://x/y.png", "javascript:alert(1)", "/etc/passwd", "C:\\x.png", "blob:http://x/1"])
def test_other_schemes(url: str) -> None:
    with pytest.raises(RenderLayerError, match=r"must be either a HTTP, data or file URL") as caught:
        fetch.fetch_all([("image", url)], OPEN)
    assert (caught.value.status, caught.value.param) == (400, None)
