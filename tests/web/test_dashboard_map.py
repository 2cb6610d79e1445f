"""The dashboard's map: the catalogue as a picture, with a table of its areas beside it."""

import re
import threading
import time
from typing import Any

import pytest

from factories import piece
from penchant.likeness import likeness_map
from penchant.service import maps as service_maps
from penchant.web.dashboard import mapping as map_picture
from serving import Service
from visitors import Visitor, text_of, words

KINDS = ("war", "love", "sea")
PIECES = tuple(
    piece(f"{kind}-{number}", kind, f"{kind}{number % 3}", label=f"Of {kind} <{number}>")
    for kind in KINDS
    for number in range(12)
)


def shown(visitor: Visitor, **query: Any) -> Any:
    """Return the page once it has the map, and knows what no list leads to."""
    deadline = time.monotonic() + 60
    while True:
        answer = visitor.get("map", source="m", **query)
        if "being made" not in answer.text and "still being found out" not in answer.text:
            return answer
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def mapped(filled: Service, visitor: Visitor) -> Visitor:
    filled.submit("m", *PIECES, piece("alone", "nothing else"))
    return visitor


def test_each_piece_is_a_dot_that_leads_to_it(mapped: Visitor) -> None:
    page = shown(mapped).text
    picture = page.partition('<svg class="map"')[2].partition("</svg>")[0]

    assert sorted(re.findall(r"[?&]id=([^&\"]+)", picture.replace("&amp;", "&"))) == sorted(
        ["alone", *(each["id"] for each in PIECES)]
    )
    assert "<title>Of war &lt;3&gt;</title>" in picture
    assert picture.count('tabindex="-1"') == picture.count("<a ")
    assert "1 pieces share no keyword" in text_of(page)


def test_the_same_version_is_the_same_picture(mapped: Visitor, filled: Service) -> None:
    first = shown(mapped, category="genre").text
    filled.submit("m", piece("war-0", "love", "love0"))
    other = shown(mapped, category="genre").text
    filled.submit("m", PIECES[0])

    assert shown(mapped, category="genre").text == first != other


def test_colours_are_by_keyword_or_popularity(mapped: Visitor, filled: Service) -> None:
    for user in range(3):
        filled.post(f"/m/users/{user}/interactions/RateLike/content/war-1")
    by_keyword = re.search("<figcaption>(.+?)</figcaption>", shown(mapped, category="genre").text, re.DOTALL)
    by_popularity = re.search("<figcaption>(.+?)</figcaption>", shown(mapped).text, re.DOTALL)

    assert by_keyword is not None
    assert by_popularity is not None
    assert re.findall(r"<bdi>(.+?)</bdi> (\d+)", by_keyword[1]) == [
        ("love", "8"),
        ("sea", "12"),
        ("war", "12"),
        ("love0", "4"),
        ("in no other piece&#39;s 30 nearest", "1"),
    ]
    assert re.findall(r"<bdi>(.+?)</bdi> (\d+)", by_popularity[1]) == [
        ("the most liked quarter", "1"),
        ("liked by nobody", "35"),
        ("in no other piece&#39;s 30 nearest", "1"),
    ]


def test_areas_are_told_in_a_table_and_shown_by_themselves(mapped: Visitor) -> None:
    told = words(shown(mapped), "areas")
    area = shown(mapped, area=1).text

    assert all(kind in told for kind in KINDS)
    assert "Area 1:" in area
    assert "The whole map" in area
    assert len(re.findall("<circle", area)) < len(PIECES)
    assert text_of(shown(mapped, area=99).text) == text_of(shown(mapped).text)


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_of_many_pieces_the_areas_hold_the_links(mapped: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(map_picture, "MAX_LINKS", 2)

    assert "<title>" not in shown(mapped).text.partition("<main")[2]
    assert shown(mapped, area=1).text.partition("<main")[2].count("<title>") <= 2


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_who_comes_early_is_told(mapped: Visitor, filled: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(service_maps, "WAIT_S", 0)
    monkeypatch.setattr(service_maps, "likeness_map", lambda *given: likeness_map(*given) if gate.wait(60) else None)
    filled.submit("m", piece("war-0", "love"))

    first = mapped.get("map", source="m", looks="8")
    assert "The map is being made" in first.text
    assert first.headers["refresh"].endswith("looks=9")
    gate.set()
    assert "Area 1" in shown(mapped).text
    gate.clear()
    filled.submit("m", piece("war-0", "sea"))
    former = mapped.get("map", source="m")
    gate.set()
    assert "The source has changed since" in former.text
    assert "Area 1" in former.text
    assert "refresh" not in former.headers
    assert "The source has changed since" not in shown(mapped).text
    filled.submit("none")
    filled.delete("/m/content/alone")
    assert "Area 1" in shown(mapped).text


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_a_browser_asks_no_more_in_the_end(mapped: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_maps, "WAIT_S", 0)
    last = mapped.get("map", source="m", looks="9")

    assert "refresh" not in last.headers
    assert "by itself" not in last.text


def test_a_source_without_pieces_has_no_map(mapped: Visitor, filled: Service) -> None:
    filled.put("/m/blacklist", json=["war-1"])
    filled.delete("/m/content")
    assert "The source has no pieces" in shown(mapped).text
