"""The dashboard's pages of lists, settings and health."""

import re
from typing import Any

import pytest

from acceptance.processes import waited_for
from factories import piece
from penchant.wire.samples import SAMPLES
from penchant.wire.schemas import components
from penchant_desk.filters import LANGUAGE_NAMES, language
from penchant_words.texts import LANGUAGES
from serving import Service
from visitors import HOME, Visitor, fields_of, text_of, words

ATTRIBUTES = f"{HOME}/attributes"


def whitelist(service: Service) -> Any:
    return service.get("/s/whitelist").json()


@pytest.mark.slow
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


def test_a_piece_is_put_on_a_list_by_its_title(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("lists", source="s", kind="blacklist")

    answer = visitor.fill(page, f"{HOME}/lists", add="second")

    assert answer.status_code == 303
    assert filled.get("/s/blacklist").json() == ["b"]


def test_a_title_that_is_not_there_is_asked_about_and_hides_nothing(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("lists", source="s", kind="blacklist")

    asked = visitor.fill(page, f"{HOME}/lists", add="Second\nFirst", one="later")
    before = filled.get("/s/blacklist").json()
    chosen = visitor.fill(asked, f"{HOME}/lists", choose="a")
    kept = visitor.fill(visitor.get("lists", source="s", kind="blacklist"), f"{HOME}/lists", choose="later")

    assert (asked.status_code, before) == (422, [])
    assert "No piece is called “First”. Is it one of these? First of all" in " ".join(text_of(asked.text).split())
    assert (chosen.status_code, kept.status_code) == (303, 303)
    assert filled.get("/s/blacklist").json() == ["a", "b", "later"]


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


def test_whatever_has_no_field_stays_as_it_is(visitor: Visitor, filled: Service) -> None:
    given = SAMPLES["Settings"] | {"maxPerValue": {"genre": 2}, "attributionWindowHours": 3, "fourEyes": True}
    before = filled.put("/s/settings", json=given).json()
    assert before.keys() == components()["Settings"]["properties"].keys()

    saved = visitor.fill(visitor.get("settings", source="s"), f"{HOME}/settings", do="save")

    assert (saved.status_code, filled.get("/s/settings").json()) == (303, before)


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


STORIES = (
    {"id": "jaws", "label": "Jaws", "extras": {"story": "A shark hunts off Amity, and it is not the last."}},
    {"id": "soup", "label": "Suppe", "extras": {"story": "Die Suppe ist kalt, und das ist gut so."}},
)
OWN = {"id": "own", "label": "Own", "categories": {"words": ["gull"]}}


@pytest.fixture
def stories(filled: Service) -> Service:
    filled.submit("t", *({**each, "categories": {"genre": ["x"]}} for each in STORIES), OWN)
    return filled


def test_words_are_set_in_words_and_what_would_change_is_shown_before(visitor: Visitor, stories: Service) -> None:
    page = visitor.get("settings", source="t")
    before = stories.get("/t/settings").json()
    wish = {"words": "1", "words-from": "label\nextras.story\n", "words-keep": "3", "words-language": "auto"}

    shown = words(visitor.fill(page, f"{HOME}/settings", **wish, do="words"), "word-changes")

    assert "Jaws jaws : English; new: jaws, shark, hunts ; as before: 0" in shown
    assert "Suppe soup : German; new: suppe, kalt ; as before: 0" in shown
    assert "Own own : no language; as before: 0" in shown
    assert stories.get("/t/settings").json() == before
    named = visitor.fill(page, f"{HOME}/settings", **wish, pieces="soup", do="words")
    assert "jaws" not in words(named, "word-changes").lower()
    assert dict(fields_of(named.text, f"{HOME}/settings"))["words-keep"] == "3"
    saved = visitor.fill(named, f"{HOME}/settings", do="save")
    rule = {"from": ["label", "extras.story"], "keep": 3, "language": "auto"}
    assert (saved.status_code, stories.get("/t/settings").json()) == (303, {**before, "words": rule})


def test_words_are_changed_and_turned_off(visitor: Visitor, stories: Service) -> None:
    stories.put("/t/settings", json={"words": {"from": ["extras.story"], "keep": 2}})
    page = visitor.get("settings", source="t")

    other = visitor.fill(page, f"{HOME}/settings", **{"words-keep": "1", "words-language": "de", "do": "words"})
    same = visitor.fill(page, f"{HOME}/settings", do="words")
    tried = visitor.fill(page, f"{HOME}/settings", without=["words"], pieces="jaws", do="preview")
    off = visitor.fill(page, f"{HOME}/settings", without=["words"], do="save")

    assert "Suppe soup : German; gone: kalt ; as before: 1" in words(other, "word-changes")
    assert "nothing would change" in text_of(same.text)
    assert "gone: shark, hunts ; as before: 0" in words(tried, "word-changes")
    assert "Piece Jaws" in words(tried, "preview")
    assert (off.status_code, "words" in stories.get("/t/settings").json()) == (303, False)


@pytest.mark.parametrize(
    ("field", "pointer"),
    (("words-from", "/words/from/0"), ("words-keep", "/words/keep"), ("words-language", "/words/language")),
)
def test_words_that_cannot_be_are_told_and_kept_in_the_form(
    visitor: Visitor, stories: Service, field: str, pointer: str
) -> None:
    given = {"words": "1", field: "wrong"}

    answer = visitor.fill(visitor.get("settings", source="t"), f"{HOME}/settings", **given, do="save")

    assert (answer.status_code, pointer in answer.text) == (422, True)
    assert "words" not in stories.get("/t/settings").json()
    if field != "words-language":
        assert dict(fields_of(answer.text, f"{HOME}/settings"))[field].strip() == "wrong"


def test_every_language_has_a_name() -> None:
    assert tuple(LANGUAGE_NAMES) == LANGUAGES
    assert language("de") == "German"


@pytest.mark.parametrize(
    ("pieces", "told"), (("\n".join(f"p{n}" for n in range(11)), "Found 11 ids"), ("nobody", "/pieces/0: The source"))
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
    shown = re.sub(r"\s+", " ", text_of(visitor.get("health", source="s").text))

    assert "Pieces without a neighbour: 1" in shown
    assert "Keywords written in several ways: 2" in shown
    assert "x genre (2), X genre (1)" in shown
    assert "Bóoks genre (1), book genre (1)" in shown
    assert "Keywords used once: 5 of 7" in shown
    assert "Pieces in no list of 30: 1" in shown


def buttons_of(answer: Any, do: str) -> list[list[tuple[str, str]]]:
    """Return the fields of each form of a page that a button of this value sends."""
    forms = [each.partition("</form>")[0] for each in answer.text.split("<form")[1:]]
    chosen = [f"<form{form}" for form in forms if f'name="do" value="{do}"' in form]
    return [[*fields_of(form, f"{HOME}/health"), ("do", do)] for form in chosen]


def press(visitor: Visitor, fields: list[tuple[str, str]]) -> Any:
    return visitor.send(f"{HOME}/health?source=s", fields)


def vocabulary_of(service: Service) -> Any:
    return service.get("/s/settings").json().get("vocabulary")


@pytest.mark.slow
def test_one_click_makes_variants_one_keyword_and_another_takes_exactly_that_back(
    visitor: Visitor, filled: Service
) -> None:
    vocabulary = {"aliases": [{"from": ["genre/ex"], "to": "genre/X"}], "ignore": ["tag/q"]}
    before = filled.put("/s/settings", json={"halfLifeDays": 7, "vocabulary": vocabulary}).json()
    (first, second) = buttons_of(visitor.get("health", source="s"), "join")

    done = press(visitor, first)
    joined = [{"from": ["genre/ex", "genre/X"], "to": "genre/x"}]
    assert vocabulary_of(filled) == {"aliases": joined, "ignore": ["tag/q"]}
    assert "genre/ex, genre/X count as genre/x from now on." in text_of(done.text)
    # What a form is answered with may still have the findings of before.
    (left,) = buttons_of(visitor.get("health", source="s"), "join")
    assert len(filled.get("/s/content/c/similar").json()["content"]) == 2
    undo, *_ = buttons_of(done, "undo")
    assert press(visitor, left).status_code == 200
    back = press(visitor, undo)

    assert "They count as they did before." in text_of(back.text)
    assert vocabulary_of(filled)["aliases"][0] == before["vocabulary"]["aliases"][0]
    assert press(visitor, undo).status_code == 409
    assert press(visitor, second).status_code == 409
    (latest, _) = buttons_of(visitor.get("health", source="s"), "undo")
    press(visitor, latest)
    assert filled.get("/s/settings").json() == before


def test_variants_are_joined_by_forms_of_this_page_alone(visitor: Visitor, filled: Service) -> None:
    fields, _ = buttons_of(visitor.get("health", source="s"), "join")

    assert press(visitor, [each for each in fields if each[0] != "proof"]).status_code == 403
    filled.put("/s/settings", json={"vocabulary": {"ignore": ["genre/y"]}})
    stale = press(visitor, fields)
    assert (stale.status_code, vocabulary_of(filled)) == (409, {"ignore": ["genre/y"]})
    assert "changed since this page was made" in text_of(stale.text)
    for wrong in ([("do", "undo"), ("undo", "[")], [("do", "join"), ("to", "x"), ("from", "genre/y")]):
        now = visitor.get("health", source="s")
        sent = [each for each in buttons_of(now, "join")[0] if each[0] in {"proof", "seen"}]
        assert press(visitor, [*sent, *wrong]).status_code in {400, 422}
    assert vocabulary_of(filled) == {"ignore": ["genre/y"]}


def test_changes_of_the_vocabulary_stand_in_the_audit_log(visitor: Visitor, filled: Service) -> None:
    admin = filled.new_key(account="operators", admin=True)

    press(visitor, buttons_of(visitor.get("health", source="s"), "join")[0])

    latest = filled.get("/-/admin/audit?limit=100", key=admin).json()["entries"]
    own = [each["action"] for each in latest if each["actor"] == filled.key.split("_")[1]]
    assert own == ["settings.replace", "source.create"]


def health_of(visitor: Visitor, source: str) -> str:
    """Return what the page of health tells once likes are weighed, or nothing is liked."""
    page = waited_for(
        lambda: visitor.get("health", source=source).text,
        lambda text: "By category" in text or "Nobody has liked" in text,
    )
    return re.sub(r"\s+", " ", text_of(page))


@pytest.mark.parametrize(
    ("step", "told"),
    (
        (4, "tell much. New pieces and new people get lists that fit."),
        (5, "tell little. Whoever likes a piece does not like others with its keywords much more"),
    ),
)
def test_health_tells_in_words_what_keywords_say_of_likes(
    visitor: Visitor, filled: Service, step: int, told: str
) -> None:
    """Pieces are of four themes; people like every fourth piece, and so one theme, or every fifth."""
    filled.submit(
        "t",
        *(
            {"id": f"p{number:02d}", "categories": {"theme": [f"t{number % 4}"], "noise": [f"n{number * 7 % 3}"]}}
            for number in range(40)
        ),
    )
    rows = [
        {"userId": f"u{person}", "type": "RateLike", "contentId": f"p{number:02d}"}
        for person in range(40)
        for number in range(person % step, 40, step)
    ]
    filled.post("/t/interactions", json=rows)

    shown = health_of(visitor, "t")

    assert f"your keywords {told}" in shown
    assert "What people like is weighed up to now." in shown
    assert "By category alone, the most telling first" in shown
    judged = dict(re.findall(r"(theme|noise): (\d\.\d) \S, (?:much|something|little)", shown))
    assert (float(judged["theme"]) > 2.0) == (step == 4)
    assert float(judged["noise"]) < 1.3


def test_health_of_a_source_without_likes_says_so(visitor: Visitor, filled: Service) -> None:
    filled.submit("t", piece("a", "x"), piece("b", "x"))

    shown = health_of(visitor, "t")

    assert "Nobody has liked a piece yet" in shown
    assert "What people like has not been weighed yet." in shown


def test_saved_settings_are_undone_from_their_notice(visitor: Visitor, filled: Service) -> None:
    before = filled.get("/s/settings").json()
    page = visitor.get("settings", source="s")

    saved = visitor.fill(page, f"{HOME}/settings", halfLifeDays="30", do="save")
    notice = visitor.ask("GET", saved.headers["location"])
    assert filled.get("/s/settings").json()["halfLifeDays"] == 30
    undone = visitor.send(f"{HOME}/versions?source=s&of=settings", fields_of(notice.text, f"{HOME}/versions"))

    assert undone.status_code == 303
    assert filled.get("/s/settings").json() == before
    assert "The earlier settings are in force again" in visitor.ask("GET", undone.headers["location"]).text


def test_settings_are_kept_as_a_draft_and_found_again(visitor: Visitor, filled: Service) -> None:
    before = filled.get("/s/settings").json()
    page = visitor.get("settings", source="s")

    kept = visitor.ask("GET", visitor.fill(page, f"{HOME}/settings", halfLifeDays="30", do="draft").headers["location"])
    name = filled.get("/s/drafts").json()["drafts"][0]["name"]
    opened = visitor.get("settings", source="s", draft=name)

    assert "Settings : Half-life of interactions, days: 90 → 30" in words(kept, "edits")
    assert dict(fields_of(opened.text, f"{HOME}/settings"))["halfLifeDays"] == "30"
    assert filled.get("/s/settings").json() == before


def test_settings_say_what_they_come_to(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/settings", json={"halfLifeDays": 0, "categoryWeights": {"genre": 2, "tag": 0}})
    page = text_of(visitor.get("settings", source="s").text)

    assert "Mostly what people with a like taste like; a little what has keywords in common" in page
    assert "Nothing fades: all counts as if done today." in page
    assert "What people did more than 396 days ago counts no more, and is deleted." in page
    assert "counts 2 times as much" in page
    assert "does not count" in page
    assert "for it, as 5 clicks" in page
    assert "against it, as 4 clicks" in page


def test_settings_are_tried_on_those_who_did_most_where_nobody_is_named(visitor: Visitor) -> None:
    page = visitor.get("settings", source="s")

    given = {"blend-audience": "0", "blend-popularity": "1"}
    tried = visitor.fill(page, f"{HOME}/settings", do="preview", **given)
    as_it_is = visitor.fill(page, f"{HOME}/settings", do="show")
    as_typed = visitor.fill(page, f"{HOME}/settings", do="show", **given)

    assert "Mostly what is popular; a little what has keywords in common" in text_of(tried.text)
    assert "Person kim" in words(tried, "preview")
    assert 'id="preview"' not in as_it_is.text
    assert "Person kim" in words(as_typed, "preview")


def change(visitor: Visitor, page: Any, **given: str) -> Any:
    """Send the form of attributes as it stands, with some fields given anew."""
    fields = [each for each in fields_of(page.text, ATTRIBUTES) if each[0] not in given]
    return visitor.send(f"{ATTRIBUTES}?source=s", [*fields, *given.items()])


def attributes_of(service: Service) -> Any:
    return service.get("/s/settings").json().get("attributes")


def test_what_extras_have_becomes_an_attribute_by_one_click(visitor: Visitor, filled: Service) -> None:
    extras = {"year": 1999, "shelf": {"year": "top"}, "tags": ["a, b"], "free": True}
    filled.submit("s", piece("e", "x", extras=extras))
    page = visitor.get("settings", source="s")
    assert "shelf / year , a text in 1 of" in words(page, "attributes")
    assert "free , yes or no in 1 of" in words(page, "attributes")
    for where in ("/year", "/shelf/year", "/tags"):
        answer = change(visitor, page, add=where)
        assert answer.status_code == 303
        page = visitor.ask("GET", answer.headers["location"])

    assert attributes_of(filled) == {
        "year": {"pointer": "/year", "type": "integer"},
        "shelf year": {"pointer": "/shelf/year", "type": "keyword"},
        "tags": {"pointer": "/tags", "type": "keywords"},
    }
    assert "tags" not in words(page, "attributes").partition("Found in")[2]
    undo = fields_of(page.text, f"{HOME}/versions")
    assert visitor.send(f"{HOME}/versions?source=s&of=settings", undo).status_code == 303
    assert list(attributes_of(filled)) == ["year", "shelf year"]


def test_attributes_are_renamed_and_removed_and_all_else_stays(visitor: Visitor, filled: Service) -> None:
    attributes = {name: {"pointer": f"/{name}", "type": "keyword"} for name in ("a", "b")}
    filled.put("/s/settings", json={"attributes": attributes, "halfLifeDays": 7})
    page = visitor.get("settings", source="s")

    renamed = {"attribute-name": "first", "attribute-pointer": "/a", "attribute-type": "integer"}
    assert change(visitor, page, do="attributes", **renamed).status_code == 303
    assert attributes_of(filled) == {"first": {"pointer": "/a", "type": "integer"}}
    assert filled.get("/s/settings").json()["halfLifeDays"] == 7

    assert change(visitor, page, remove="0").status_code == 409
    assert change(visitor, visitor.get("settings", source="s"), remove="0").status_code == 303
    assert attributes_of(filled) is None


@pytest.mark.usefixtures("filled")
def test_what_is_wrong_with_an_attribute_is_told(visitor: Visitor) -> None:
    page = visitor.get("settings", source="s")
    wrong = {"attribute-name": "k", "attribute-pointer": "/categories/x", "attribute-type": "keyword"}

    refused = change(visitor, page, do="attributes", **wrong)

    assert refused.status_code == 422
    assert "/attributes/k/pointer : /categories/x leads to a piece's own categories" in words(refused, "main")
