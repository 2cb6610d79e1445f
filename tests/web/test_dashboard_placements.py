"""The dashboard's pages of placements."""

import msgspec

from serving import Service
from visitors import HOME, Visitor, fields_of, text_of, words


def test_a_placement_is_made_changed_and_led_back(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("placement", source="s")
    made = visitor.fill(page, f"{HOME}/placement", name="front page", draft='{"kind": "new"}', do="save")
    changed = visitor.ask("GET", made.headers["location"])
    visitor.fill(changed, f"{HOME}/placement", draft='{"kind": "popular"}', do="save")

    assert made.headers["location"] == f"{HOME}/placement?source=s&name=front%20page&said=saved"
    assert "The placement is saved" in text_of(changed.text)
    first, second = filled.get("/s/placements/front%20page/versions").json()["versions"]
    assert (first["placement"], second["placement"]) == ({"kind": "popular"}, {"kind": "new"})

    page = visitor.get("placement", source="s", name="front page")
    fields = {name: value for name, value in fields_of(page.text, f"{HOME}/placement") if name in {"proof", "seen"}}
    back = [*fields.items(), ("name", "front page"), ("back", str(second["version"]))]
    assert (
        "in force again"
        in visitor.ask("GET", visitor.send(f"{HOME}/placement?source=s", back).headers["location"]).text
    )
    assert filled.get("/s/placements/front%20page").json() == {"kind": "new"}
    assert "front page" in words(visitor.get("placements", source="s"), "main")


def test_a_preview_stores_nothing_and_shows_each_person(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "new"})
    page = visitor.get("placement", source="s", name="home")
    draft = msgspec.json.encode({"kind": "new", "blacklist": ["a"]}).decode()

    answer = visitor.fill(page, f"{HOME}/placement", draft=draft, users="kim\nrobin", do="preview")

    shown = words(answer, "preview")
    assert "List of kim, variant base" in shown
    assert "List of robin, variant base" in shown
    assert "gone" in shown
    assert filled.get("/s/placements/home").json() == {"kind": "new"}
    assert dict(fields_of(answer.text, f"{HOME}/placement"))["draft"] == draft


def test_a_variant_is_added_to_the_draft_and_stored_with_it(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "recommendations", "variants": [{"name": "a", "share": 0.1}]})
    page = visitor.get("placement", source="s", name="home")
    wish = {"variant-name": "mixed", "variant-share": "12.5", "variant-audience": "2", "variant-diversity": "0.4"}

    refused = visitor.fill(page, f"{HOME}/placement", do="add", **wish | {"variant-share": "many"})
    added = visitor.fill(page, f"{HOME}/placement", do="add", **wish)

    assert (refused.status_code, "/variants/1/share" in text_of(refused.text)) == (422, True)
    assert dict(fields_of(refused.text, f"{HOME}/placement"))["variant-name"] == "mixed"
    assert filled.get("/s/placements/home").json()["variants"] == [{"name": "a", "share": 0.1}]
    fields = dict(fields_of(added.text, f"{HOME}/placement"))
    assert (fields["variant"], fields["variant-name"]) == ("mixed", "")
    previewed = visitor.fill(added, f"{HOME}/placement", do="preview", users="kim")
    assert "List of kim, variant mixed" in words(previewed, "preview")
    assert visitor.fill(previewed, f"{HOME}/placement", do="save").status_code == 303
    assert filled.get("/s/placements/home").json()["variants"] == [
        {"name": "a", "share": 0.1},
        {"name": "mixed", "share": 0.125, "blend": {"audience": 2}, "diversity": 0.4},
    ]


def test_a_placement_that_cannot_be_is_shown_with_its_faults(visitor: Visitor, filled: Service) -> None:
    page = visitor.get("placement", source="s")

    for name, draft, told in (
        ("x", '{"kind": "best"}', "/kind"),
        ("x", "{", "not JSON"),
        ("..", '{"kind": "new"}', "'.'"),
    ):
        answer = visitor.fill(page, f"{HOME}/placement", name=name, draft=draft, do="save")
        assert (answer.status_code, told in text_of(answer.text)) == (422, True)
    assert filled.get("/s/placements").json() == {"placements": []}


def test_a_placement_that_somebody_else_changed_stays_theirs(visitor: Visitor, filled: Service) -> None:
    filled.put("/s/placements/home", json={"kind": "new"})
    page = visitor.get("placement", source="s", name="home")
    filled.put("/s/placements/home", json={"kind": "popular"})

    for step in ({"do": "save", "draft": '{"kind": "again"}'}, {"do": "delete"}):
        answer = visitor.fill(page, f"{HOME}/placement", **step)
        assert (answer.status_code, "changed by somebody else" in text_of(answer.text)) == (409, True)
    assert filled.get("/s/placements/home").json() == {"kind": "popular"}
