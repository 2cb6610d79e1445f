"""Bodies have limits by what they are for, and cost what they are worth."""

import asyncio
import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest
from starlette.datastructures import Headers
from starlette.types import Message

from acceptance.processes import wait_until
from factories import piece
from penchant.errors import RequestTimeout
from penchant.service.decoding import INLINE_BYTES, BodyDecoder
from penchant.settings import NodeSettings
from penchant.web import compression
from penchant.web.bodies import LIST_BODY, MAX_GZIP_MEMBERS, read_body
from serving import Service

JSON = {"content-type": "application/json"}
LIMITS = {"content": 9_000, "interactions": 7_000, "list": 5_000, "settings": 3_000}


@pytest.fixture
def settings(tmp_path: Path) -> NodeSettings:
    return NodeSettings(
        data=str(tmp_path / "data"),
        body_limit_bytes=LIMITS["content"],
        interactions_limit_bytes=LIMITS["interactions"],
        list_limit_bytes=LIMITS["list"],
        settings_limit_bytes=LIMITS["settings"],
        piece_keywords=3,
        piece_bytes=500,
    )


@pytest.mark.parametrize(
    ("kind", "method", "path"),
    (
        ("content", "POST", "/s/content"),
        ("interactions", "POST", "/s/interactions"),
        ("list", "DELETE", "/s/content"),
        ("list", "PUT", "/s/whitelist"),
        ("list", "PUT", "/s/blacklist"),
        ("list", "POST", "/s/similar"),
        ("list", "POST", "/s/preview/similar"),
        ("list", "POST", "/s/preview/recommendation"),
        ("list", "POST", "/s/preview/settings"),
        ("settings", "PUT", "/s/settings"),
    ),
)
def test_a_body_has_the_limit_of_its_route(service: Service, kind: str, method: str, path: str) -> None:
    service.submit("s", piece("a", "x"))
    limit = LIMITS[kind]

    for headers in (JSON, JSON | {"content-encoding": "gzip"}):
        fitting, larger = b"[]" + b" " * (limit - 2), b"[]" + b" " * (limit - 1)
        pack = gzip.compress if "content-encoding" in headers else bytes
        assert service.request(method, path, content=pack(fitting), headers=headers).status_code != 413
        refused = service.request(method, path, content=pack(larger), headers=headers)
        assert (refused.status_code, refused.json()["code"]) == (413, "body-too-large")
        assert str(limit) in refused.json()["detail"]


def test_what_comes_in_as_gzip_counts_as_well_as_what_comes_out(service: Service) -> None:
    service.submit("s")
    empty = gzip.compress(b"")
    packed = gzip.compress(b"[]") + empty * (MAX_GZIP_MEMBERS - 1)
    headers = JSON | {"content-encoding": "gzip"}

    assert service.post("/s/content", content=packed, headers=headers).status_code == 202
    assert service.post("/s/content", content=packed + empty, headers=headers).status_code == 400
    stored = gzip.compress(b"[]" + bytes(range(256)) * 40, compresslevel=0)
    assert service.post("/s/content", content=stored, headers=headers).status_code == 413


def test_a_piece_that_is_too_large_is_422_and_the_limit_is_named(service: Service) -> None:
    many = service.post("/s/content", json=[piece("a", "w", "x", "y", "z")])
    large = service.post("/s/content", json=[piece("a", extras={"text": "x" * 500})])
    service.submit("s", piece("b", "x"))
    draft = service.post("/s/preview/similar", json=piece("a", "w", "x", "y", "z"))

    for answer, pointer, limit in ((many, "/0/categories", "3"), (large, "/0", "500"), (draft, "/categories", "3")):
        assert answer.status_code == 422
        fault = answer.json()["errors"][0]
        assert fault["pointer"] == pointer
        assert f"up to {limit}" in fault["detail"]


def test_a_wrong_shape_comes_after_syntax_and_number(service: Service) -> None:
    service.submit("s", piece("a", "x"))

    def status(text: bytes) -> Any:
        return service.post("/s/content", content=text, headers=JSON).status_code

    assert status(b"[" + b"0," * 2_500 + b"nope]") == 400
    assert status(b"[" + b"0," * 2_500 + b"0]") == 413
    assert status(b"[" + b"0," * 100 + b"0]") == 422
    assert status(b'{"a":') == 400
    assert status(b'{"a":1}') == 422


class TestLargeBodies:
    """Bodies beyond what is decoded at once, on a service with the usual limits."""

    @pytest.fixture
    def settings(self, tmp_path: Path) -> NodeSettings:
        """The usual limits, and memory for the decoding of two lists."""
        return NodeSettings(data=str(tmp_path / "data"), body_memory_bytes=2 * LIST_BODY.growth * 200_000)

    @pytest.mark.slow
    def test_they_are_decoded_as_small_ones_are(self, service: Service) -> None:
        service.submit("s", piece("a", "x"))
        ids = [f"{number:020}" for number in range(5_000)]
        large: Any = {"content": msgspec.json.encode(ids), "headers": JSON}
        assert len(large["content"]) > INLINE_BYTES

        assert service.request("PUT", "/s/whitelist", **large).json() == ids
        assert service.request("PUT", "/s/settings", **large).status_code == 422
        assert service.request("DELETE", "/s/content", **large).status_code == 202
        assert service.post("/s/similar", **large).status_code == 413
        shares = service.client.app.services.of(BodyDecoder)._shares  # type: ignore[attr-defined]
        wait_until(lambda: shares.is_idle)

    @pytest.mark.slow
    def test_a_body_is_charged_with_what_it_becomes(self, service: Service) -> None:
        service.submit("s", piece("a", "x"))
        text = b"[" + b"[]," * 140_000 + b"0]"

        refused = service.request("PUT", "/s/whitelist", content=text, headers=JSON)
        assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
        fitting = service.request("PUT", "/s/whitelist", content=text[:300_000], headers=JSON)
        assert fitting.status_code == 400


@pytest.mark.slow
def test_long_headers_are_read_and_not_remembered() -> None:
    tracemalloc.start()
    try:
        for number in range(100):
            assert compression.preferred_coding(f"gzip, x{number}" + ", br" * 1_000) == "gzip"
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert kept < 100_000  # of 400,000 bytes of headers


async def test_a_body_that_pauses_is_refused_and_its_request_goes_on() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    for headers in ({}, {"content-encoding": "gzip"}):
        with pytest.raises(RequestTimeout, match=r"for 0\.01 seconds"):
            await read_body(receive, Headers(headers), limit_bytes=9, timeout_s=0.01, take=lambda _: None)
    task = asyncio.current_task()
    assert task is not None
    assert not task.cancelling()


async def test_a_request_that_is_cancelled_while_its_body_comes_is_cancelled() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    reading = asyncio.create_task(
        read_body(receive, Headers(), limit_bytes=9, timeout_s=60, take=lambda _: None),
    )
    await asyncio.sleep(0)
    reading.cancel()

    with pytest.raises(asyncio.CancelledError):
        await reading
