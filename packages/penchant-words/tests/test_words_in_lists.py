"""Words of texts and the vocabulary of a source (interface, section 11)."""

from typing import Any

import pytest

from serving import Service
from web.test_similar import similar

ON: dict[str, Any] = {"words": {}}
KEPT = {"from": ["label", "extras.description"], "keep": 40, "language": "auto"}


def told(key: str, label: str, description: str, **categories: list[str]) -> dict[str, Any]:
    """Return a piece that describes itself."""
    return {"id": key, "label": label, "categories": categories, "extras": {"description": description}}


JAWS = told("jaws", "Jaws", "A shark hunts off Amity.")
SEQUEL = told("jaws-2", "Jaws 2", "The shark is back.")
HEAT = told("heat", "Heat", "A thief and a detective.")


def settings(service: Service, **members: Any) -> int:
    """Put settings in force, and return the version that they are at."""
    answer = service.put("/s/settings", json=members)
    assert answer.status_code == 200, answer.text
    return int(answer.headers["x-penchant-version"])


def previewed(service: Service, *pieces: dict[str, Any], **rule: Any) -> list[dict[str, Any]]:
    answer = service.post("/s/preview/words", json={"content": pieces, **rule})
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["content"]
    return found


def test_a_source_made_with_words_auto_has_neighbours_by_its_texts(service: Service) -> None:
    assert service.post("/s/content?words=auto", json=[JAWS, SEQUEL, HEAT]).status_code == 202

    assert [key for key, _ in similar(service, "jaws", "?fill=false")][:1] == ["jaws-2"]
    assert similar(service, "jaws")[0] == ("jaws-2", 0.6)  # jaws, shark of jaws, shark, hunts, amity, back
    assert service.get("/s/settings").json()["words"] == KEPT


def test_words_auto_says_nothing_to_a_source_that_there_is(service: Service) -> None:
    service.submit("s", JAWS)
    service.post("/s/content?words=auto", json=[SEQUEL, HEAT])

    assert "words" not in service.get("/s/settings").json()
    assert similar(service, "jaws") == []
    assert service.post("/s/content?words=on", json=[JAWS]).status_code == 422


def test_words_are_no_part_of_what_is_given_back(service: Service) -> None:
    service.post("/s/content?words=auto", json=[JAWS, SEQUEL])

    assert service.get("/s/content/jaws").json()["categories"] == {}
    assert "words" not in service.get("/s/content/jaws").json()


@pytest.mark.nodes
def test_a_changed_setting_changes_the_lists_of_the_version_that_it_is_answered_with(service: Service) -> None:
    service.submit("s", JAWS, SEQUEL, HEAT)
    before = similar(service, "jaws")
    version = settings(service, **ON)

    assert similar(service, "jaws", f"?min-version={version}")[0] == ("jaws-2", 0.6)
    assert similar(service, "jaws", f"?min-version={settings(service)}") == before
    only = settings(service, words={"from": ["extras.description"], "keep": 1})
    assert similar(service, "jaws", f"?min-version={only}")[0] == ("jaws-2", 0.0)  # shark alone


def test_a_submission_after_the_change_brings_its_words_along(service: Service) -> None:
    service.submit("s", JAWS, HEAT)
    settings(service, **ON)
    service.submit("s", SEQUEL)
    assert similar(service, "jaws")[0] == ("jaws-2", 0.6)

    service.submit("s", told("jaws-2", "A walk", "The thief."))
    assert similar(service, "jaws-2")[0][0] == "heat"


def test_words_weigh_half_of_what_tags_do_unless_weights_say_otherwise(service: Service) -> None:
    service.submit(
        "s",
        told("q", "shark", "", tag=["x"]),
        told("tagged", "heat", "", tag=["x"]),
        told("worded", "shark", "", tag=["y"]),
    )
    settings(service, **ON)
    assert similar(service, "q") == [("tagged", 0.5), ("worded", 0.8)]

    settings(service, **ON, categoryWeights={"words": 1})
    assert similar(service, "q") == [("tagged", 0.666666666667), ("worded", 0.666666666667)]
    assert service.get("/s/settings").json()["categoryWeights"] == {"words": 1}


def test_a_piece_with_a_category_of_words_keeps_its_own(service: Service) -> None:
    own = told("own", "Jaws", "A shark hunts off Amity.", words=["gull"])
    service.post("/s/content?words=auto", json=[JAWS, own, told("bird", "Gull", "")])

    assert similar(service, "own")[0] == ("bird", 0.0)
    assert service.get("/s/content/own").json()["categories"] == {"words": ["gull"]}


def test_explanations_name_five_words_at_most_the_rarest_first(service: Service) -> None:
    text = "shark island sheriff boat summer beach"
    service.post(
        "/s/content?words=auto",
        json=[
            told("a", text, ""),
            told("b", text, ""),
            *(told(f"c{n}", " ".join(text.split()[:n]), "") for n in range(1, 6)),
        ],
    )

    why = service.get("/s/content/a/similar?explain=true").json()["content"][0]["why"]
    assert [each["keyword"] for each in why["terms"]] == ["beach", "summer", "boat", "sheriff", "island"]
    assert why["rest"]["count"] == 1
    assert sum(each["share"] for each in why["terms"]) + why["rest"]["share"] == pytest.approx(1)


def test_people_have_words_in_their_profile(service: Service) -> None:
    service.post("/s/content?words=auto", json=[JAWS, SEQUEL, HEAT])
    service.post("/s/users/u/interactions/RateLike/content/jaws")

    profile = service.get("/s/users/u/recommendation/profile").json()[0]["categories"]
    assert set(profile["words"]) == {"jaws", "shark", "hunts", "off", "amity"}
    assert service.get("/s/users/u/recommendation").json()["content"][0]["id"] == "jaws-2"


def test_drafts_have_words_by_the_rule_in_force(service: Service) -> None:
    service.post("/s/content?words=auto", json=[JAWS, HEAT])
    draft = {key: value for key, value in SEQUEL.items() if key != "id"}

    near = service.post("/s/preview/similar", json=draft).json()["content"]
    assert (near[0]["id"], near[0]["score"]) == ("jaws", 0.6)


def test_a_preview_tells_words_and_language(service: Service) -> None:
    service.submit("s", JAWS)
    german = told("de", "Die Suppe", "Das ist eine Suppe, und sie ist nicht kalt.")
    german.pop("id")

    assert previewed(service, JAWS, german) == [
        {"id": "jaws", "language": "none", "words": ["jaws", "shark", "hunts", "off", "amity"]},
        {"id": None, "language": "de", "words": ["suppe", "kalt"]},
    ]
    assert previewed(service, german, words={"keep": 1})[0]["words"] == ["suppe"]
    assert previewed(service, german, words={"language": "none", "keep": 3})[0]["words"] == ["suppe", "die", "ist"]
    assert service.post("/s/preview/words", json=[JAWS]).json()["words"] == KEPT
    assert service.post("/s/preview/words", json=[JAWS] * 101).status_code == 413


def test_null_turns_words_off(service: Service) -> None:
    service.post("/s/content?words=auto", json=[JAWS, SEQUEL])
    settings(service, words=None)

    assert "words" not in service.get("/s/settings").json()
    assert similar(service, "jaws") == []


def test_lists_under_other_words_are_not_previewed(service: Service) -> None:
    service.submit("s", JAWS, SEQUEL)
    answer = service.post("/s/preview/settings", json={"settings": ON, "pieces": ["jaws"]})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/settings/words")


ALIASES = [{"from": ["genre/film noir", "genre/Noir"], "to": "genre/noir"}]


def test_aliases_join_keywords_and_give_pieces_back_as_they_came(service: Service) -> None:
    pieces = [
        {"id": key, "categories": {"genre": [name]}}
        for key, name in zip("abc", ("noir", "film noir", "war"), strict=True)
    ]
    service.submit("s", *pieces)
    settings(service, vocabulary={"aliases": ALIASES})

    assert similar(service, "a") == [("b", 0.0)]
    assert [service.get(f"/s/content/{each['id']}").json()["categories"] for each in pieces] == [
        each["categories"] for each in pieces
    ]
    assert service.get("/s/settings").json()["vocabulary"] == {"aliases": ALIASES}
    service.submit("s", {"id": "d", "categories": {"genre": ["Noir"]}})
    assert similar(service, "a")[:2] == [("b", 0.0), ("d", 0.0)]


def test_what_is_ignored_counts_for_nothing(service: Service) -> None:
    service.submit("s", *({"id": key, "categories": {"tag": ["all", key]}} for key in "ab"))
    assert similar(service, "a")[0][1] < 1
    settings(service, vocabulary={"ignore": ["tag/all"]})

    assert similar(service, "a") == []
    settings(service)
    assert similar(service, "a")[0][1] < 1
