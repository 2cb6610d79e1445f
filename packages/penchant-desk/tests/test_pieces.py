"""The dashboard's pages of pieces and people: found, explained, tried out."""

import json
import re
from typing import Any

import pytest

from factories import piece
from penchant_desk.reasons import remedy_text
from serving import Service
from visitors import HOME, Visitor, fields_of, found_neighbours, text_of, words


def found(answer: Any) -> list[str]:
    listed = answer.text.partition("<main")[2].partition('<ul class="wall">')[2].partition("</ul>")[0]
    return re.findall(r"[?&]id=([^&\"]+)", listed.replace("&amp;", "&"))


def test_pieces_are_found_by_id_label_and_keyword(visitor: Visitor, filled: Service) -> None:
    filled.submit("s", piece("ab", "x", label="first again"))

    assert found(visitor.get("pieces", source="s")) == ["a", "ab", "b", "c", "d", "e"]
    assert found(visitor.get("pieces", source="s", q="a", by="id")) == ["a", "ab"]
    assert found(visitor.get("pieces", source="s", q="FIRST", by="label")) == ["a", "ab"]
    assert found(visitor.get("pieces", source="s", q="nowhere", by="label")) == []
    words = text_of(visitor.get("pieces", source="s", q="x", by="keyword").text)
    assert re.search(r"x\s+genre, 3 pieces\s+X\s+genre, 1 piece\b", words)
    assert found(visitor.get("pieces", source="s", by="keyword", category="genre", keyword="x")) == ["a", "ab", "b"]
    assert "No keyword begins so" in visitor.get("pieces", source="s", q="qq", by="keyword").text


SPELT = {
    "Straße": "STRASSE",
    "\ufb01sh": "FI",
    'a "quoted" one': '"Quoted"',
    "back\\slash": "k\\s",
    "a/b": "A/B",
    "Ünder": "ünd",
    "plain": "LAI",
}


@pytest.mark.parametrize("ascii_only", (True, False))
def test_labels_are_found_however_they_are_spelt(visitor: Visitor, filled: Service, *, ascii_only: bool) -> None:
    pieces = [{"id": f"p{number}", "label": label, "categories": {}} for number, label in enumerate(SPELT)]
    body = json.dumps(pieces, ensure_ascii=ascii_only)
    filled.post("/l/content", content=body.encode(), headers={"content-type": "application/json"})

    for number, text in enumerate(SPELT.values()):
        assert found(visitor.get("pieces", source="l", q=text, by="label")) == [f"p{number}"]
    assert found(visitor.get("pieces", source="l", q="categories", by="label")) == []


@pytest.mark.parametrize("way", ("id", "label", "keyword"))
def test_pieces_are_paged_to_the_last_one(visitor: Visitor, filled: Service, way: str) -> None:
    ids = [f"n{number:03}" for number in range(120)]
    filled.submit("n", *(piece(each, "same", label="same") for each in ids))
    query = {"id": {"q": "n"}, "label": {"q": "same"}, "keyword": {"category": "genre", "keyword": "same"}}[way]

    pages = [visitor.get("pieces", source="n", by=way, **query)]
    while next_page := re.search(r'rel="next" href="([^"]+)"', pages[-1].text):
        pages.append(visitor.ask("GET", next_page[1].replace("&amp;", "&")))

    assert [each for page in pages for each in found(page)] == ids
    assert len(pages) == 3


def test_a_hostile_label_is_text(visitor: Visitor) -> None:
    for answer in (visitor.get("pieces", source="s"), visitor.get("piece", source="s", id="c")):
        assert "<script>alert" not in answer.text
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &#34;&#39;&amp;amp; \u202eabc" in answer.text
    assert visitor.get("piece", source="s", id="c").text.count("😀") >= 1000


def test_a_piece_shows_words_of_its_texts_apart_from_its_keywords(visitor: Visitor, filled: Service) -> None:
    story = {"description": "Off it is not the."}
    tale = {"id": "tale", "label": "Jaws", "categories": {"genre": ["x"]}, "extras": story}
    bare = {"id": "bare", "label": "1975", "categories": {}}
    own = {"id": "own", "label": "Own", "categories": {"words": ["gull"]}}
    filled.post("/t/content?words=auto", json=[tale, bare, own])

    shown = visitor.get("piece", source="t", id="tale")

    assert "genre x" in words(shown, "keywords").partition("Words of its texts")[0]
    assert "jaws" not in words(shown, "keywords").partition("Words of its texts")[0]
    assert "the stop words of English are left out. jaws" in words(shown, "words")
    assert "Its texts have none." in words(visitor.get("piece", source="t", id="bare"), "words")
    owned = visitor.get("piece", source="t", id="own")
    assert "gull" in words(owned, "keywords")
    assert "Words of its texts" not in owned.text
    assert "Words of its texts" not in visitor.get("piece", source="s", id="a").text


def test_a_piece_shows_its_keywords_and_neighbours(visitor: Visitor) -> None:
    shown = visitor.get("piece", source="s", id="a").text
    numbers = visitor.get("piece", source="s", id="a", view="numbers").text
    heavy = text_of(visitor.get("piece", source="s", id="d").text)

    assert found_neighbours(shown) == found_neighbours(numbers) == ["b"]
    assert "score 0.6667" in numbers
    assert re.search(r"heavy\s*(genre|\S+)\s*80\s*light\s*\S+\s*20", heavy)
    assert visitor.get("piece", source="s", id="nobody").status_code == 404
    assert visitor.get("piece", source="s").status_code == 422


def test_neighbours_have_the_reasons_of_the_interface(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/whitelist", json=["x", "b"])
    told = filled.get("/s/content/a/similar?explain=true").json()["content"][0]["why"]
    shown = visitor.get("piece", source="s", id="a", view="numbers").text

    assert told["terms"] == [{"category": "genre", "keyword": "x", "share": pytest.approx(1 / 3)}]
    assert 'aria-label="similarity 33%: genre: x 33%"' in shown
    assert "Moved by: whitelist, number 2" in shown


def test_reasons_past_some_are_one(visitor: Visitor, filled: Service) -> None:
    filled.submit("r", piece("a", *"abcdef"), piece("b", *"abcdef"), piece("c", *"abcde", "z"))
    shown = visitor.get("piece", source="r", id="a", view="numbers").text

    assert "2 more keywords 33%" in shown
    assert "another keyword 14%" in shown


@pytest.mark.slow
def test_why_and_why_not_are_told_with_the_remedy(visitor: Visitor, filled: Service) -> None:
    filled.submit("s", piece("f", "x", filters={"catalogs": ["books", "films"]}))
    filled.put("/s/blacklist", json=["b"])
    asked = {"source": "s", "id": "a"}

    assert "It is number 1 of the list" in words(visitor.get("piece", **asked, other="f"), "why")
    hidden = words(visitor.get("piece", **asked, other="b"), "why")
    assert re.search(
        "It is not in the list.*blacklisted.*To bring it in: take it off the blacklist.*score 0.66", hidden
    )
    catalogs = words(visitor.get("piece", **asked, other="f", catalogs="none"), "why")
    assert "To bring it in: ask in the catalogs books, films." in catalogs
    assert "unknown-piece" in words(visitor.get("piece", **asked, other="nobody"), "why")
    assert "other: Found 501" in words(visitor.get("piece", **asked, other="x" * 501), "why")
    person = {"source": "s", "id": "kim"}
    assert "show what the person knows already" in words(visitor.get("user", **person, other="a"), "why")
    assert "content" in words(visitor.get("user", **person, other="f"), "why")


@pytest.mark.parametrize(
    ("remedy", "text"),
    (
        (None, ""),
        ({"limit": 12}, "show at least 12."),
        ({"remove": "at"}, "ask for now."),
        ({"remove": "something"}, "leave out something."),
        ({"new": [1, 2]}, "new: 1, 2."),
    ),
)
def test_remedies_are_told_in_words(remedy: dict[str, Any] | None, text: str) -> None:
    assert remedy_text(remedy) == text


def test_a_draft_shows_its_neighbours_and_is_not_stored(visitor: Visitor, filled: Service) -> None:
    example = visitor.get("try", source="s")
    draft = visitor.get("try", source="s", id="a")
    changed = dict(fields_of(draft.text, f"{HOME}/try"))["draft"].replace('"y"', '"book"')

    answer = visitor.fill(draft, f"{HOME}/try", draft=changed)

    assert "friendship" in example.text
    assert found_neighbours(answer.text) == ["b"]
    assert "genre: book 50%" in answer.text
    assert "book" not in filled.get("/s/content/a").text
    assert visitor.get("try", source="s", id="nobody").status_code == 404


def test_a_draft_that_cannot_be_is_told(visitor: Visitor) -> None:
    page = visitor.get("try", source="s")

    for draft, told in (
        ("{", "line 1"),
        ('{"categories":{"c":[1,2]}}', "/categories/c/1: Found a number"),
        ("[]", "Found an array"),
        ('{"categories":{}}', "Nothing is like it"),
    ):
        answer = visitor.fill(page, f"{HOME}/try", draft=draft)
        assert (answer.status_code, told in text_of(answer.text)) == (200, True), draft


def test_neighbours_are_by_the_algorithm_and_catalogs_asked_for(visitor: Visitor, filled: Service) -> None:
    filled.submit("s", piece("f", "x", filters={"catalogs": ["books"]}))

    assert found_neighbours(visitor.get("piece", source="s", id="a", catalogs="books, films").text) == ["f"]
    assert found_neighbours(visitor.get("piece", source="s", id="d", algo="cosine").text) == ["e"]
    assert "score 0.5000" in visitor.get("piece", source="s", id="d", algo="jaccard", view="numbers").text


def test_a_person_shows_taste_interactions_and_recommendations(visitor: Visitor) -> None:
    answer = visitor.get("user", source="s", id="kim")
    shown = text_of(answer.text)

    assert re.search(r"kim likes x and y", shown)
    assert "disliked, -" in shown
    assert re.search(r"First of all\s.*\sliked, \d{4}", words(answer, "interactions"))
    assert re.search(r"gone\s.*not in the source now", words(answer, "interactions"))
    assert set(found_neighbours(answer.text)) == {"b", "c", "e"}
    unknown = text_of(visitor.get("user", source="s", id="nobody").text)
    assert "No interaction counts" in unknown
    assert "There is nothing." in unknown
    assert "Id of a person" in visitor.get("user", source="s").text


def test_what_a_plan_lacks_is_told_where_it_would_be(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(plan="basic"))

    person = text_of(visitor.get("user", source="s", id="kim").text)
    filtered = visitor.get("piece", source="s", id="a", catalogs="x")
    lists = visitor.get("lists", source="s")

    for feature in ("profile", "interactionsListing", "personalized"):
        assert f"does not include the feature '{feature}'" in person
    assert (filtered.status_code, "feature 'filters'" in text_of(filtered.text)) == (200, True)
    assert (lists.status_code, "feature 'lists'" in text_of(lists.text)) == (403, True)
    assert "without filters, personalized" in text_of(visitor.get("sources").text)
    for page in ("front", "placements", "placement", "results"):
        assert visitor.get(page, source="s", name="home").status_code == 403, page


def test_what_a_stand_in_lends_is_told_as_such(visitor: Visitor, filled: Service) -> None:
    filled.submit("t", piece("a", "x", label="One"), piece("b", "y", label="Other"), piece("new", "y"))
    rows = [{"userId": user, "type": "RateLike", "contentId": liked} for user in ("1", "2", "3", "u") for liked in "ab"]
    filled.post("/t/interactions", json=rows)

    told = text_of(visitor.get("user", source="t", id="u", view="numbers").text)

    assert "who liked One and Other, its nearest" in told
    assert "Other, its nearest, is liked" in told


@pytest.mark.slow
@pytest.mark.usefixtures("fresh")
def test_a_piece_tells_what_rows_showed_of_it_and_health_what_nobody_saw(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "popular"})
    listed = filled.get("/s/placements/home/list", params={"user": "lee", "take": "1"})
    list_id, shown = listed.headers["x-penchant-list"], listed.json()["content"][0]["id"]
    reported = filled.post(
        "/s/impressions", json=[{"listId": list_id, "userId": "lee", "content": [{"id": shown, "position": 1}]}]
    )
    filled.post(f"/s/users/lee/interactions/Click/content/{shown}?list={list_id}")

    told = words(visitor.get("piece", source="s", id=shown), "figures")

    assert reported.status_code == 202, reported.text
    assert "rows showed it 1 time; 1 of these led to something" in told.replace(" ;", ";")
    assert "Pieces that no row showed: 4" in words(visitor.get("health", source="s"), "unseen")
    assert "4 pieces that nobody saw" in words(visitor.get("desk", source="s"), "look")


@pytest.mark.usefixtures("filled")
def test_without_a_report_of_what_was_seen_health_says_what_is_missing(visitor: Visitor) -> None:
    told = words(visitor.get("health", source="s"), "unseen")

    assert "once your pages report what people see: POST /s/impressions" in told


@pytest.mark.usefixtures("filled")
def test_a_piece_leads_to_a_first_row_to_pin_it_in(visitor: Visitor) -> None:
    page = visitor.get("piece", source="s", id="a")

    assert "There is no row yet, so none to pin it in: New row" in words(page, "stands")


def test_a_piece_is_pinned_by_the_form_that_hides_it_and_the_notice_names_the_row(
    visitor: Visitor, filled: Service
) -> None:
    assert filled.put("/s/placements/home", json={"kind": "popular", "title": "Tonight"}).status_code == 200
    page = visitor.get("piece", source="s", id="a")

    pinned = visitor.fill(page, f"{HOME}/piece", do="pin", row="home", position="2")
    notice = visitor.ask("GET", pinned.headers["location"])

    assert [name for name, _ in fields_of(page.text, f"{HOME}/piece")] == ["proof", "position", "zone", "from", "until"]
    assert page.text.count('name="into"') == 1
    assert "First of all is pinned in Tonight." in text_of(notice.text)
    assert filled.get("/s/placements/home").json()["pins"] == [{"id": "a", "position": 2}]
    strange = visitor.get("piece", source="s", id="a", said="pin", of="a", row="x" * 300)
    assert strange.status_code == 200
