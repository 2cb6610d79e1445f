"""The address of drawn covers: open, kept by caches, and harmless."""

import httpx

from serving import Service


def asked(service: Service, **query: str) -> httpx.Response:
    return service.client.get("/-/cover.svg", params=query)


def test_a_title_has_its_cover_without_a_key(service: Service) -> None:
    answer = asked(service, title="Blade Runner")

    assert (answer.status_code, answer.headers["content-type"]) == (200, "image/svg+xml")
    assert ">BR</text>" in answer.text
    assert "max-age" in answer.headers["cache-control"]


def test_a_cover_is_asked_for_again_by_its_tag(service: Service) -> None:
    tag = asked(service, title="Dune").headers["etag"]

    again = service.client.get("/-/cover.svg", params={"title": "Dune"}, headers={"if-none-match": tag})

    assert again.status_code == 304


def test_a_cover_runs_and_loads_nothing_and_is_shown_by_pages_of_any_origin(service: Service) -> None:
    answer = asked(service, title="<script>alert(1)</script>")

    assert "<script" not in answer.text
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["cross-origin-resource-policy"] == "cross-origin"


def test_without_a_title_there_is_a_picture_all_the_same(service: Service) -> None:
    assert asked(service).text.startswith("<svg")
