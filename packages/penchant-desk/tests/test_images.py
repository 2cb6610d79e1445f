"""Pictures of pieces on the dashboard's pages: only from hosts that the operator allows, whatever a catalogue says."""

import re

import pytest

from factories import piece
from penchant.settings import NodeSettings
from penchant_desk.images import image_host, image_sources
from serving import Service
from visitors import HOME, Visitor, fields_of, text_of

HOSTS = ("img.example", "img.example:8443", "localhost:9000")
GOOD = (
    "https://img.example/a.jpg",
    "HTTPS://IMG.EXAMPLE/A%20b.jpg?w=1&h=2#x",
    "https://img.example:8443/ü.jpg",
    "http://localhost:9000/a.jpg",
    "https://img.example",
)
BAD = (
    "http://img.example/a.jpg",
    "//img.example/a.jpg",
    "/a.jpg",
    "javascript:alert(1)//https://img.example/",
    "data:image/png;base64,AAAA",
    "https://other.example/a.jpg",
    "https://img.example.other.example/a.jpg",
    "https://img.example@other.example/a.jpg",
    "https://other.example#@img.example/a.jpg",
    "https://img.example\\@other.example/a.jpg",
    "https://img.example/\\a.jpg",
    "https://img.example:444/a.jpg",
    "https://img.example:/a.jpg",
    "https://img.example./a.jpg",
    " https://img.example/a.jpg",
    "https://img.example/a b.jpg",
    "https://img.example/a\n.jpg",
    "https://img.example/\u202ea.jpg",
    "https://[::1]/a.jpg",
    "https://img.example/" + "a" * 2_000,
    "",
)


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    return NodeSettings(data=settings.data, image_hosts=HOSTS)


@pytest.mark.parametrize("address", (*GOOD, *BAD))
def test_an_address_is_shown_if_it_is_plainly_of_an_allowed_host(address: str) -> None:
    assert (image_host(address) in HOSTS) is (address in GOOD)


def test_a_policy_names_the_allowed_hosts_alone() -> None:
    assert image_sources(()) == "'self'"
    assert image_sources(("img.example", "localhost:9000")) == (
        "'self' https://img.example https://localhost:9000 http://localhost:9000"
    )


@pytest.mark.slow
def test_a_hostile_catalogue_gets_nothing_loaded_and_nothing_run(service: Service) -> None:
    quoted = 'https://img.example/"onerror="alert(1)'
    given = [GOOD[0], quoted, 7, [GOOD[0]], *BAD]
    pieces = [piece(f"p{number}", "x", extras={"poster": address}) for number, address in enumerate(given)]
    service.submit("s", *pieces, piece("none", "x"))
    assert service.put("/s/settings", json={"imageAttribute": "/poster"}).status_code == 200
    service.put("/s/placements/row", json={"kind": "new"})
    visitor = Visitor(service, service.key)

    pages = [visitor.get("piece", source="s", id=f"p{number}") for number in range(len(given))]
    pages.append(visitor.get("front", source="s", placement=["row", "row", "row"]))

    images = [each for page in pages for each in re.findall(r"<img[^>]*>", page.text)]
    addresses = {re.search(r'src="([^"]*)"', each)[1] for each in images}  # type: ignore[index]
    drawn = {each for each in addresses if each.startswith("/-/cover.svg?title=")}
    assert addresses - drawn == {GOOD[0], quoted.replace('"', "&#34;")}
    assert all('alt="" loading="lazy"' in each and 'referrerpolicy="no-referrer"' in each for each in images)
    assert {page.status_code for page in pages} == {200}
    policy = "img-src 'self' https://img.example https://img.example:8443 https://localhost:9000 http://localhost:9000;"
    assert all(policy in page.headers["content-security-policy"] for page in pages)
    assert "img.example" not in str(service.get("/s").headers)


@pytest.mark.slow
def test_a_pointer_is_checked_kept_and_given_up(service: Service) -> None:
    service.submit("s", piece("a", "x", extras={"images": [GOOD[0]]}))
    visitor = Visitor(service, service.key)

    page = visitor.get("settings", source="s")
    refused = visitor.fill(page, f"{HOME}/settings", imageAttribute="images", do="save")
    saved = visitor.fill(page, f"{HOME}/settings", imageAttribute="/images/0", do="save")

    assert (refused.status_code, "/imageAttribute: A JSON pointer" in text_of(refused.text)) == (422, True)
    assert saved.status_code == 303
    assert service.get("/s/settings").json()["imageAttribute"] == "/images/0"
    assert f'<img class="cover" src="{GOOD[0]}"' in visitor.get("piece", source="s", id="a").text
    page = visitor.get("settings", source="s")
    assert dict(fields_of(page.text, f"{HOME}/settings"))["imageAttribute"] == "/images/0"
    assert visitor.fill(page, f"{HOME}/settings", imageAttribute="", do="save").status_code == 303
    assert "imageAttribute" not in service.get("/s/settings").json()
    assert f'src="{GOOD[0]}"' not in visitor.get("piece", source="s", id="a").text


@pytest.mark.slow
def test_hosts_that_are_not_allowed_yet_are_offered_with_the_setting_that_does_it(service: Service) -> None:
    given = ["https://cdn.example/a.jpg", "https://cdn.example/b.jpg", "http://plain.example/a.jpg", GOOD[0]]
    pieces = [piece(f"p{number}", "x", extras={"image": address}) for number, address in enumerate(given)]
    service.submit("s", *pieces)
    service.put("/s/placements/row", json={"kind": "new"})
    visitor = Visitor(service, service.key)

    before = visitor.get("pieces", source="s").text
    service.put("/s/settings", json={"imageAttribute": "/image"})

    assert "image-hosts" not in before
    pages = visitor.get("pieces", source="s"), visitor.get("front", source="s", placement=["row"])
    offer = 'once the operator allows their host: image-hosts = ["cdn.example"] in penchant.toml'
    assert [offer in text_of(page.text) for page in pages] == [True, True]
