"""The dashboard's pages of versions: what changed in words, by whom, the way back, and the undo of what was saved."""

from typing import Any

import pytest

from serving import Service
from visitors import HOME, Visitor, fields_of, text_of, words

PAGE = f"{HOME}/versions"


def settings_of(service: Service) -> Any:
    return service.get("/s/settings").json()


def shown(answer: Any) -> str:
    return " ".join(text_of(answer.text).split())


def follow(visitor: Visitor, answer: Any) -> Any:
    assert answer.status_code == 303, text_of(answer.text)
    return visitor.ask("GET", answer.headers["location"])


def newest(service: Service, subject: str) -> list[int]:
    return [each["version"] for each in service.get(f"/s/{subject}/versions").json()["versions"]]


def test_yesterdays_settings_are_put_back_once_it_was_said_what_changes(visitor: Visitor, filled: Service) -> None:
    ida = filled.new_key(name="Ida Berg")
    blend = {"content": 1, "audience": 1, "popularity": 0.02}
    for body in ({"halfLifeDays": 30}, {"halfLifeDays": 30, "blend": blend, "categoryWeights": {"tag": 2}}):
        assert filled.put("/s/settings", json=body, key=ida).status_code == 200
    listed = visitor.get("versions", source="s", of="settings")
    _, yesterday = newest(filled, "settings")

    assert "Ida Berg: Parts of recommendations, " in shown(listed)
    assert "popularity: 0.1 → 0.02; Weights of categories, tag: 2" in shown(listed)
    assert "Ida Berg: Half-life of interactions, days: 90 → 30" in shown(listed)
    assert f"version={yesterday}" in listed.text
    asked = visitor.get("versions", source="s", of="settings", version=str(yesterday))
    assert "This changes: " in shown(asked)
    assert "popularity: 0.02 → 0.1" in shown(asked)
    back = follow(visitor, visitor.fill(asked, PAGE))

    assert "The earlier settings are in force again" in shown(back)
    assert (settings_of(filled)["halfLifeDays"], settings_of(filled)["blend"]["popularity"]) == (30, 0.1)
    assert len(newest(filled, "settings")) == 3


def test_what_was_before_the_first_change_can_be_put_back(visitor: Visitor, filled: Service) -> None:
    before = settings_of(filled)
    filled.put("/s/settings", json={"halfLifeDays": 30})
    asked = visitor.get("versions", source="s", of="settings", version="0")

    assert "what was before the first change This changes: Half-life of interactions, days: 30 → 90" in shown(asked)
    follow(visitor, visitor.fill(asked, PAGE))

    assert settings_of(filled) == before
    assert "there is nothing to change" in shown(visitor.get("versions", source="s", of="settings", version="0"))


@pytest.mark.parametrize("kind", ("blacklist", "whitelist"))
def test_a_saved_list_is_undone_from_its_notice(visitor: Visitor, filled: Service, kind: str) -> None:
    filled.put(f"/s/{kind}", json=["b", "gone"])
    page = visitor.get("lists", source="s", kind=kind)

    saved = follow(visitor, visitor.fill(page, f"{HOME}/lists", remove="0", add="a"))
    listed = visitor.get("versions", source="s", of=kind)
    undo = [each for each in fields_of(saved.text, PAGE) if each[0] != "proof"]
    undone = follow(visitor, visitor.send(f"{PAGE}?source=s&of={kind}", fields_of(saved.text, PAGE)))

    assert ": First of all added; Second removed" in shown(listed)
    assert [name for name, _ in undo] == ["version", "seen"]
    assert "The list is as it was before." in shown(undone)
    assert filled.get(f"/s/{kind}").json() == ["b", "gone"]


def test_a_return_says_what_comes_and_goes_by_titles(visitor: Visitor, filled: Service) -> None:
    for ids in (["a", "b", "c"], ["c", "b", *(f"n{number:02}" for number in range(30))]):
        filled.put("/s/whitelist", json=ids)

    page = visitor.get("versions", source="s", of="whitelist", version=str(newest(filled, "whitelist")[1]))
    asked = words(page, "return")

    assert "This changes: First of all added n00, n01, n02" in asked
    assert "n19 and 10 more removed another order" in asked
    assert ": n00, n01, n02, n03, n04 and 15 more added; 12 more changes" in shown(page)


def test_a_return_over_what_somebody_else_changed_is_refused(visitor: Visitor, filled: Service) -> None:
    for days in (30, 7):
        filled.put("/s/settings", json={"halfLifeDays": days})
    asked = visitor.get("versions", source="s", of="settings", version=str(newest(filled, "settings")[1]))
    filled.put("/s/settings", json={"halfLifeDays": 8})

    refused = visitor.fill(asked, PAGE)
    forged = visitor.fill(asked, PAGE, proof="x")
    strange = visitor.fill(asked, PAGE, version="many")

    assert (refused.status_code, forged.status_code, strange.status_code) == (409, 403, 422)
    assert "Somebody else changed this" in shown(refused)
    assert settings_of(filled)["halfLifeDays"] == 8


def test_where_two_pairs_of_eyes_are_asked_for_a_return_is_a_proposal(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/blacklist", json=["a"])
    filled.put("/s/settings", json={"fourEyes": True})
    asked = visitor.get("versions", source="s", of="blacklist", version="0")

    kept = follow(visitor, visitor.fill(asked, PAGE))

    assert "First of all goes" in shown(kept)
    assert filled.get("/s/blacklist").json() == ["a"]


def test_many_versions_are_shown_a_part_at_a_time(visitor: Visitor, filled: Service) -> None:
    for days in range(1, 31):
        filled.put("/s/settings", json={"halfLifeDays": days})

    first, second = (visitor.get("versions", source="s", of="settings", start=start) for start in ("", "25"))

    assert (first.text.count(">Return to it<"), second.text.count(">Return to it<")) == (24, 6)
    assert "Older ones" in first.text
    assert "Before the first change: the defaults" in shown(second)
    assert len(first.text) < 30_000


def test_the_audit_page_says_what_of_settings_was_changed(filled: Service) -> None:
    filled.put("/s/settings", json={"halfLifeDays": 30})
    filled.put("/s/blacklist", json=["a"])
    admin = Visitor(filled, filled.new_key(admin=True))

    told = shown(admin.get("audit", account=filled.account))

    assert "changed the settings of s: Half-life of interactions, days: 90 → 30" in told
    assert "changed the list of hidden pieces of s: a added" in told
