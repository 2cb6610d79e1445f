"""The dashboard's pages, without a browser: signing in, what they show, and what they refuse."""

import json
import re
import time
from contextlib import closing
from typing import Any

import pytest

from conftest import Service
from factories import piece
from penchant.bootstrap import storage_of
from penchant.web.dashboard.reasons import remedy_text
from visitors import HOME, Visitor, fields_of, found_neighbours, text_of

PAGES = ("", "pieces", "piece", "user", "try", "lists", "settings", "health")
ADMIN_PAGES = ("keys", "usage", "audit")


def test_who_is_not_signed_in_is_led_to_it_and_back(filled: Service) -> None:
    visitor = Visitor(filled)

    turned = visitor.get("piece", source="s", id="a/ü")
    form = visitor.ask("GET", turned.headers["location"])
    signed_in = visitor.fill(form, f"{HOME}/sign-in", key=filled.key)

    assert (turned.status_code, signed_in.status_code) == (303, 303)
    assert signed_in.headers["location"] == f"{HOME}/piece?source=s&id=a%2F%C3%BC"


@pytest.mark.parametrize("elsewhere", ("//evil.example", "https://evil.example", "\\evil", "../keys", "a\nb"))
def test_signing_in_leads_to_no_other_site(filled: Service, elsewhere: str) -> None:
    visitor = Visitor(filled)

    signed_in = visitor.fill(visitor.get("sign-in"), f"{HOME}/sign-in", key=filled.key, next=elsewhere)

    assert signed_in.headers["location"] == HOME


def test_the_cookie_holds_no_key_and_no_script_sees_it(filled: Service) -> None:
    set_cookie = Visitor(filled).sign_in(filled.key).headers["set-cookie"]

    assert "; HttpOnly" in set_cookie
    assert "; SameSite=Strict" in set_cookie
    assert f"; Path={HOME};" in set_cookie
    assert "Secure" not in set_cookie
    secret = filled.key.split("_")[2]
    assert secret not in set_cookie
    assert secret.encode().hex() not in set_cookie


def test_the_cookie_is_for_tls_only_where_the_browser_speaks_it(filled: Service) -> None:
    visitor = Visitor(filled)
    fields = list((dict(fields_of(visitor.get("sign-in").text, f"{HOME}/sign-in")) | {"key": filled.key}).items())
    host = visitor.origin.partition("://")[2]

    answer = visitor.send(f"{HOME}/sign-in", fields, origin=f"https://{host}")

    assert answer.status_code == 303
    assert answer.headers["set-cookie"].endswith("; Secure")


def test_a_token_that_is_changed_is_none(visitor: Visitor) -> None:
    token = visitor.cookies["penchant-session"]
    key_id, salt, until, hidden = token.split(".")
    changed = (
        f"{key_id}.{salt}.{int(until) + 1}.{hidden}",
        f"{key_id}.{salt[:-1]}x.{until}.{hidden}",
        f"{key_id}.{salt}.{until}.{'0' * len(hidden)}",
        f"{key_id}.{salt}.{until}.zz",
        f"{key_id}.{salt}.{until}.",
        f"{key_id}.{salt}.{until}.{'00' * 65}",
        f"nobody.{salt}.{until}.{hidden}",
        f"{key_id}.{salt}.1.{hidden}",
        "...",
        "x",
    )
    for each in changed:
        answer = visitor.ask("GET", HOME, cookies={"penchant-session": each})
        assert answer.status_code == 303, each


def test_a_revoked_key_ends_the_session_within_a_second(visitor: Visitor, filled: Service) -> None:
    assert visitor.get().status_code == 200
    with closing(storage_of(filled.settings)) as storage:
        storage.revoke_key(filled.key.split("_")[1], actor="test")
    time.sleep(1)

    assert visitor.get().status_code == 303


def test_signing_out_ends_the_session_in_the_browser(visitor: Visitor) -> None:
    answer = visitor.fill(visitor.get(), f"{HOME}/sign-out")
    fields = fields_of(visitor.get().text, f"{HOME}/sign-out")

    out = visitor.send(f"{HOME}/sign-out", fields)

    assert answer.status_code == 405
    assert (out.status_code, out.headers["location"]) == (303, f"{HOME}/sign-in")
    assert visitor.get().status_code == 303


def test_who_is_signed_in_needs_no_form(visitor: Visitor) -> None:
    answer = visitor.get("sign-in")

    assert (answer.status_code, answer.headers["location"]) == (303, HOME)


def test_a_form_to_sign_in_works_in_two_tabs_and_from_no_other_site(filled: Service) -> None:
    visitor = Visitor(filled)
    first, second = visitor.get("sign-in"), visitor.get("sign-in")
    fields = list((dict(fields_of(first.text, f"{HOME}/sign-in")) | {"key": filled.key}).items())

    refused = visitor.send(f"{HOME}/sign-in", fields, origin="https://evil.example")
    unproved = Visitor(filled).send(f"{HOME}/sign-in", fields)

    assert (refused.status_code, unproved.status_code) == (403, 403)
    assert visitor.fill(second, f"{HOME}/sign-in", key=filled.key).status_code == 303
    assert visitor.send(f"{HOME}/sign-in", fields).status_code == 303


@pytest.mark.parametrize("key", ("", "pk_no_such", "nothing", "pk_" + "x" * 290))
def test_a_wrong_key_is_told(filled: Service, key: str) -> None:
    answer = Visitor(filled).sign_in(key)

    assert answer.status_code == 401
    assert "The API key" in text_of(answer.text)


def test_a_form_from_elsewhere_is_refused(visitor: Visitor) -> None:
    path = f"{HOME}/lists?source=s"
    fields = [*fields_of(visitor.get("lists", source="s").text, f"{HOME}/lists"), ("add", "a")]
    forged = [(name, "0" * 32 if name == "proof" else value) for name, value in fields]
    unproved = [(name, value) for name, value in fields if name != "proof"]

    refused = (
        visitor.send(path, fields, origin=None),
        visitor.send(path, fields, origin="null"),
        visitor.send(path, fields, origin="https://evil.example"),
        visitor.send(path, fields, origin="null", **{"sec-fetch-site": "same-origin"}),
        visitor.send(path, forged),
        visitor.send(path, unproved),
    )

    assert [answer.status_code for answer in refused] == [403] * 6
    assert "Not a form of this dashboard" in refused[0].text
    behind_a_proxy = visitor.send(path, fields, origin="https://front", **{"sec-fetch-site": "same-origin"})
    assert behind_a_proxy.status_code == 303


def test_a_proof_is_of_one_session(filled: Service) -> None:
    visitor = Visitor(filled, filled.key)
    fields = fields_of(visitor.get("lists", source="s").text, f"{HOME}/lists")
    visitor = Visitor(filled, filled.key)

    assert visitor.send(f"{HOME}/lists?source=s", fields).status_code == 403


def test_a_form_that_is_none_is_refused(visitor: Visitor) -> None:
    headers = {"origin": visitor.origin}
    form = headers | {"content-type": "application/x-www-form-urlencoded"}

    assert visitor.ask("POST", f"{HOME}/lists?source=s", json={}, headers=headers).status_code == 415
    assert visitor.ask("POST", f"{HOME}/lists?source=s", content=b"a=%ff", headers=form).status_code == 400
    assert visitor.ask("POST", f"{HOME}/lists?source=s", content=b"\xff", headers=form).status_code == 400
    assert visitor.ask("POST", f"{HOME}/lists?source=s", content=b"a" * 2_100_000, headers=form).status_code == 413


@pytest.mark.parametrize("page", PAGES)
def test_pages_are_kept_nowhere_and_may_load_nothing_from_elsewhere(visitor: Visitor, page: str) -> None:
    answer = visitor.get(page, source="s", id="a")
    head = visitor.ask("HEAD", f"{HOME}/{page}".rstrip("/"), params={"source": "s", "id": "a"})

    assert (answer.status_code, head.status_code, head.content) == (200, 200, b"")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://(?!www.w3.org)", answer.text)
    assert re.findall(r"<script[^>]*>", answer.text) == re.findall(
        r'<script src="/-/dashboard/static/[^>]*>', answer.text
    )


def test_pages_weigh_little_however_much_there_is(filled: Service, visitor: Visitor) -> None:
    long = "A label of some length, as titles are, with a subtitle and more than can be shown "
    terms = {f"category {number:03}": [f"keyword {number}", f"another one {number}"] for number in range(150)}
    ids = [f"{long}{number}" for number in range(120)]
    pieces = [{"id": each, "label": f"{number} {long}", "categories": terms} for number, each in enumerate(ids)]
    filled.submit("large", *pieces)
    filled.put("/large/whitelist", json=ids)
    likes = [{"userId": "kim", "type": "Watch", "contentId": each} for each in ids[:40]]
    assert filled.post("/large/interactions", json=likes).status_code == 200
    for _ in range(60):
        filled.new_key(account=f"{filled.account}-{long}")
    files = set(re.findall(r'(?:href|src)="([^"]+/static/[^"]+)"', visitor.get().text))
    shared = sum(len(visitor.ask("GET", path).content) for path in files)

    query = {"source": "large", "id": ids[0], "other": ids[1]}
    weights = {page: len(visitor.get(page, **query).content) for page in PAGES if page != "user"}
    weights["user"] = len(visitor.get("user", **query | {"id": "kim"}).content)
    visitor = Visitor(filled, filled.new_key(account=f"{filled.account}-operators", admin=True))
    weights |= {page: len(visitor.get(page).content) for page in ADMIN_PAGES}

    assert not {page: weight for page, weight in weights.items() if weight + shared > 100_000}


def test_other_methods_and_addresses_are_answered_as_everywhere(visitor: Visitor) -> None:
    wrong = visitor.ask("PUT", HOME)

    assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET, HEAD")
    assert visitor.ask("GET", f"{HOME}/").status_code == 404
    assert visitor.ask("GET", f"{HOME}/nothing").status_code == 404
    assert visitor.ask("GET", f"{HOME}/static/nothing.css").status_code == 404


def test_files_have_a_version_and_a_tag(visitor: Visitor) -> None:
    page = visitor.get().text
    for path in re.findall(r'(?:href|src)="(/-/dashboard/static/[^"]+)"', page):
        answer = visitor.ask("GET", path)
        plain = visitor.ask("GET", path.partition("?")[0])
        again = visitor.ask("GET", path, headers={"if-none-match": answer.headers["etag"]})

        assert "immutable" in answer.headers["cache-control"]
        assert plain.headers["cache-control"] == "no-cache"
        assert again.status_code == 304


@pytest.mark.parametrize("source", ("", "none", "-", "x" * 201))
def test_a_source_that_is_none_is_told(visitor: Visitor, source: str) -> None:
    answer = visitor.get("pieces", source=source)

    assert answer.status_code == (404 if source == "none" else 422)
    assert 'role="alert"' in answer.text


def test_the_overview_tells_of_each_source(visitor: Visitor, filled: Service) -> None:
    filled.submit("empty")
    shown = text_of(visitor.get().text)

    assert "Pieces\n5" in shown or "Pieces5" in re.sub(r"\s+", "", shown)
    assert "3 interactions in 30 days, at most 3 on" in shown
    assert "0 interactions in 30 days" in shown
    assert "Refused (4xx)" in shown
    assert "not read yet" in shown


def test_interactions_are_counted_anew_when_there_are_new_ones(visitor: Visitor, filled: Service) -> None:
    assert "3 interactions" in text_of(visitor.get().text)
    filled.post("/s/users/kim/interactions/Click/content/b")

    assert "3 interactions" in text_of(visitor.get().text)


def test_an_account_without_sources_is_told_how_to_begin(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account=f"{filled.account}-other"))

    assert "has no source yet" in text_of(visitor.get().text)


def test_sources_are_paged(filled: Service) -> None:
    for number in range(21):
        filled.submit(f"s{number:02}")
    visitor = Visitor(filled, filled.key)

    first, second = visitor.get(), visitor.get(skip="20")

    assert "Further sources" in first.text
    assert "Earlier sources" in second.text
    assert "s20" in second.text


def found(answer: Any) -> list[str]:
    listed = answer.text.partition("<main")[2].partition('<ul class="lines">')[2].partition("</ul>")[0]
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


@pytest.mark.parametrize(
    ("label", "text"),
    (
        ("Straße", "STRASSE"),
        ("\ufb01sh", "FI"),
        ('a "quoted" one', '"Quoted"'),
        ("back\\slash", "k\\s"),
        ("a/b", "A/B"),
        ("Ünder", "ünd"),
        ("plain", "LAI"),
    ),
)
@pytest.mark.parametrize("ascii_only", (True, False))
def test_labels_are_found_however_they_are_spelt(
    visitor: Visitor, filled: Service, label: str, text: str, *, ascii_only: bool
) -> None:
    body = json.dumps([{"id": "x", "label": label, "categories": {}}], ensure_ascii=ascii_only)
    filled.post("/l/content", content=body.encode(), headers={"content-type": "application/json"})

    assert found(visitor.get("pieces", source="l", q=text, by="label")) == ["x"]
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


def test_a_piece_shows_its_keywords_and_neighbours(visitor: Visitor) -> None:
    shown = visitor.get("piece", source="s", id="a").text
    heavy = text_of(visitor.get("piece", source="s", id="d").text)

    assert found_neighbours(shown) == ["b"]
    assert "score 0.6667" in shown
    assert re.search(r"heavy\s+80\s+light\s+20", heavy)
    assert visitor.get("piece", source="s", id="nobody").status_code == 404
    assert visitor.get("piece", source="s").status_code == 422


def test_neighbours_have_the_reasons_of_the_interface(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/whitelist", json=["x", "b"])
    told = filled.get("/s/content/a/similar?explain=true").json()["content"][0]["why"]
    shown = visitor.get("piece", source="s", id="a").text

    assert told["terms"] == [{"category": "genre", "keyword": "x", "share": pytest.approx(1 / 3)}]
    assert 'aria-label="similarity 33%: genre: x 33%"' in shown
    assert "Moved by: whitelist, number 2" in shown


def test_reasons_past_some_are_one(visitor: Visitor, filled: Service) -> None:
    filled.submit("r", piece("a", *"abcdef"), piece("b", *"abcdef"), piece("c", *"abcde", "z"))
    shown = visitor.get("piece", source="r", id="a").text

    assert "2 more keywords 33%" in shown
    assert "another keyword 14%" in shown


def words(answer: Any, section: str) -> str:
    """Return the text of a section of a page, one space between all words."""
    part = answer.text.partition(f'id="{section}"')[2].partition("</main>")[0]
    return " ".join(text_of("<main>" + re.sub("<", " <", part)).split())


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


@pytest.mark.parametrize(
    ("draft", "told"),
    (
        ("{", "line 1"),
        ('{"categories":{"c":[1,2]}}', "/categories/c/1: Found a number"),
        ("[]", "Found an array"),
        ('{"categories":{}}', "Nothing is like it"),
    ),
)
def test_a_draft_that_cannot_be_is_told(visitor: Visitor, draft: str, told: str) -> None:
    answer = visitor.fill(visitor.get("try", source="s"), f"{HOME}/try", draft=draft)

    assert answer.status_code == 200
    assert told in text_of(answer.text)


def test_neighbours_are_by_the_algorithm_and_catalogs_asked_for(visitor: Visitor, filled: Service) -> None:
    filled.submit("s", piece("f", "x", filters={"catalogs": ["books"]}))

    assert found_neighbours(visitor.get("piece", source="s", id="a", catalogs="books, films").text) == ["f"]
    assert found_neighbours(visitor.get("piece", source="s", id="d", algo="cosine").text) == ["e"]
    assert "score 0.5000" in visitor.get("piece", source="s", id="d", algo="jaccard").text


def test_a_person_shows_taste_interactions_and_recommendations(visitor: Visitor) -> None:
    answer = visitor.get("user", source="s", id="kim")
    shown = text_of(answer.text)

    assert 'aria-label="disliked, -' in answer.text
    assert 'aria-label="liked, ' in answer.text
    assert "RateLike First of all" in re.sub(r"\s+", " ", shown)
    assert "gone not in the source now" in re.sub(r"\s+", " ", shown)
    assert set(found_neighbours(answer.text)) == {"b", "c", "e"}
    unknown = text_of(visitor.get("user", source="s", id="nobody").text)
    assert "No interaction counts" in unknown
    assert "There are none." in unknown
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
    assert "without filters, personalized" in text_of(visitor.get().text)


def whitelist(service: Service) -> Any:
    return service.get("/s/whitelist").json()


def test_a_list_is_ordered_shortened_and_added_to(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/whitelist", json=["a", "b", "c"])
    for step, expected in (
        ({"up": "1"}, ["b", "a", "c"]),
        ({"down": "0"}, ["a", "b", "c"]),
        ({"first": "2"}, ["c", "a", "b"]),
        ({"remove": "1"}, ["c", "b"]),
        ({"add": "e\n\n d \nc", "save": "1"}, ["c", "b", "e", "d"]),
        ({"up": "0"}, ["c", "b", "e", "d"]),
        ({"up": "99"}, ["c", "b", "e", "d"]),
    ):
        answer = visitor.fill(visitor.get("lists", source="s"), f"{HOME}/lists", **step)
        assert answer.status_code == 303
        assert whitelist(filled) == expected
    assert "Nothing was changed" in visitor.ask("GET", answer.headers["location"]).text


def test_a_list_is_stored_in_the_order_of_its_form(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/blacklist", json=["a", "b", "gone"])
    page = visitor.get("lists", source="s", kind="blacklist")
    fields = fields_of(page.text, f"{HOME}/lists")
    ids = [field for field in fields if field[0] == "id"]
    others = [field for field in fields if field[0] != "id"]

    answer = visitor.send(f"{HOME}/lists?source=s&kind=blacklist", [*others, *reversed(ids)])

    assert answer.status_code == 303
    assert filled.get("/s/blacklist").json() == ["gone", "b", "a"]
    assert "gone" in page.text
    for wrong in ([*others, *ids[:-1]], [*others, *ids, ("id", "more")]):
        assert visitor.send(f"{HOME}/lists?source=s&kind=blacklist", wrong).status_code == 409


def test_a_list_that_somebody_else_changed_stays_theirs(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("lists", source="s")
    filled.put("/s/whitelist", json=["b"])

    answer = visitor.fill(page, f"{HOME}/lists", add="a")

    assert (answer.status_code, whitelist(filled)) == (409, ["b"])
    assert "changed by somebody else" in text_of(answer.text)


def test_an_id_that_cannot_be_is_refused(visitor: Visitor, filled: Service) -> None:
    answer = visitor.fill(visitor.get("lists", source="s"), f"{HOME}/lists", add="x" * 501)

    assert (answer.status_code, whitelist(filled)) == (422, [])
    assert "501 characters" in text_of(answer.text)


def test_a_long_list_is_ordered_a_part_at_a_time(visitor: Visitor, filled: Service) -> None:
    ids = [f"n{number:03}" for number in range(250)]
    filled.put("/s/whitelist", json=ids)

    page = visitor.get("lists", source="s", start="100")
    answer = visitor.fill(page, f"{HOME}/lists", up="0")

    assert answer.headers["location"].endswith("start=100&said=saved")
    assert whitelist(filled) == [*ids[:99], "n100", "n099", *ids[101:]]
    assert "start=150" in page.text
    assert visitor.get("lists", source="s", start="9999").status_code == 200


def test_settings_are_stored_as_the_form_has_them(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("settings", source="s")
    before = filled.get("/s/settings").json()
    unchanged = visitor.fill(page, f"{HOME}/settings", do="save")
    assert (unchanged.status_code, filled.get("/s/settings").json()) == (303, before)

    fields = fields_of(visitor.get("settings", source="s").text, f"{HOME}/settings")
    place = fields.index(("category", "tag"))
    fields[place + 1] = ("weight", "2.5")
    given = [(name, {"halfLifeDays": "0", "interaction-Click": "-1.5"}.get(name, value)) for name, value in fields]
    given = [field for field in given if field[0] != "excludeSeen"]
    answer = visitor.send(f"{HOME}/settings?source=s", [*given, ("do", "save")])

    stored = filled.get("/s/settings").json()
    assert "are saved" in visitor.ask("GET", answer.headers["location"]).text
    assert stored["categoryWeights"] == {"tag": 2.5}
    assert (stored["halfLifeDays"], stored["excludeSeen"], stored["interactionWeights"]["Click"]) == (0, False, -1.5)
    assert stored["blend"] == before["blend"]


def test_settings_are_tried_on_lists_and_not_stored(visitor: Visitor, filled: Service) -> None:
    before = filled.get("/s/settings").json()
    filled.submit("s", {"id": "g", "categories": {"genre": ["x"], "tag": ["heavy"]}})
    page = visitor.get("settings", source="s")

    fields = fields_of(page.text, f"{HOME}/settings")
    place = fields.index(("category", "tag"))
    fields[place + 1] = ("weight", "0")
    fields = [field for field in fields if field[0] not in {"pieces", "users"}]
    fields += [("pieces", "g\na\n"), ("users", "kim"), ("do", "preview")]
    answer = visitor.send(f"{HOME}/settings?source=s", fields)

    shown = words(answer, "preview")
    assert "Piece g" in shown
    assert "First of all 2 1 ↑ 1 Second 3 2 ↑ 1 e 1 \u2013 gone" in shown
    assert "Person kim" in answer.text.replace("<bdi>", "")
    assert "<option" not in shown
    assert filled.get("/s/settings").json() == before
    assert dict(fields_of(answer.text, f"{HOME}/settings"))["users"] == "kim"


@pytest.mark.parametrize(
    ("pieces", "told"),
    (("", "Found 0 ids"), ("\n".join(f"p{n}" for n in range(11)), "Found 11 ids"), ("nobody", "/pieces/0: The source")),
)
def test_lists_that_cannot_be_compared_are_told(visitor: Visitor, pieces: str, told: str) -> None:
    page = visitor.get("settings", source="s")

    answer = visitor.fill(page, f"{HOME}/settings", pieces=pieces, do="preview")

    assert told in text_of(answer.text)


def test_settings_that_cannot_be_are_told_and_kept_in_the_form(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("settings", source="s")

    answer = visitor.fill(page, f"{HOME}/settings", halfLifeDays="many", retentionDays="0", do="save")

    assert answer.status_code == 422
    assert "/halfLifeDays" in answer.text
    assert "/retentionDays" in answer.text
    assert 'value="many"' in answer.text
    assert filled.get("/s/settings").json()["halfLifeDays"] == 90


def test_settings_that_somebody_else_changed_stay_theirs(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("settings", source="s")
    filled.put("/s/settings", json={"halfLifeDays": 7})

    answer = visitor.fill(page, f"{HOME}/settings", do="save")

    assert (answer.status_code, filled.get("/s/settings").json()["halfLifeDays"]) == (409, 7)


def test_health_tells_what_keeps_pieces_apart(visitor: Visitor) -> None:
    for _ in range(50):
        page = visitor.get("health", source="s")
        if "Look again" not in page.text:
            break
    shown = re.sub(r"\s+", " ", text_of(page.text))

    assert "Pieces without a neighbour: 1" in shown
    assert "Keywords written in several ways: 2" in shown
    assert "x genre (2), X genre (1)" in shown
    assert "Bóoks genre (1), book genre (1)" in shown
    assert "Keywords used once: 5 of 7" in shown
    assert "Pieces in no list of 30: 1" in shown


def test_an_admin_sees_keys_and_no_source(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))

    turned = visitor.get()
    shown = [text_of(visitor.get(page).text) for page in ADMIN_PAGES]

    assert (turned.status_code, turned.headers["location"]) == (303, f"{HOME}/keys")
    assert filled.key.split("_")[1] in shown[0]
    assert "100,000" in shown[0]
    assert filled.account in shown[1]
    assert "source.create" in shown[2]
    assert visitor.get("pieces", source="s").status_code == 403
    assert "2020-01" in visitor.get("usage", month="2020-01").text
    assert visitor.get("usage", month="never").status_code == 200


@pytest.mark.parametrize("page", ADMIN_PAGES)
def test_only_admins_see_the_pages_of_accounts(visitor: Visitor, page: str) -> None:
    answer = visitor.get(page)

    assert answer.status_code == 403
    assert "--admin" in text_of(answer.text)


def test_an_admin_makes_and_revokes_keys(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))
    form = f"{HOME}/keys"

    made = visitor.fill(visitor.get("keys"), form, account=filled.account, plan="basic", days="3", admin="1")
    key = re.search(r'<code class="key">([^<]+)<', made.text)
    assert key is not None
    assert filled.get("/-/admin/usage", key=key[1]).status_code == 200
    assert key[1] not in visitor.get("keys").text
    proof = dict(fields_of(made.text, form))["proof"]
    revoked = visitor.send(form, [("proof", proof), ("revoke", key[1].split("_")[1])])
    time.sleep(1)

    assert "is revoked" in text_of(revoked.text)
    assert filled.get("/-/admin/usage", key=key[1]).status_code == 401
    assert visitor.send(form, [("proof", proof), ("revoke", "nobody")]).status_code == 422


@pytest.mark.parametrize(
    "wish", ({"account": "a\x01"}, {"account": "a", "days": "soon"}, {"account": "a", "days": "0"})
)
def test_a_key_that_cannot_be_made_is_told(filled: Service, wish: dict[str, str]) -> None:
    visitor = Visitor(filled, filled.new_key(account="operators", admin=True))

    answer = visitor.fill(visitor.get("keys"), f"{HOME}/keys", **wish)

    assert (answer.status_code, 'role="alert"' in answer.text) == (422, True)
