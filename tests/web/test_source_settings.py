"""Lists and settings of a source (interface, section 7)."""

from factories import piece
from serving import Service
from web.test_people import interact, recommended

DEFAULTS = {
    "categoryWeights": {},
    "interactionWeights": {
        "Purchase": 5, "RateLike": 4, "Watch": 3, "Bookmark": 3, "Play": 2, "Click": 1, "Preview": 1,
        "RateDislike": -4,
    },
    "halfLifeDays": 90,
    "retentionDays": 396,
    "excludeSeen": True,
    "blend": {"content": 0.1, "audience": 0.8, "popularity": 0.1},
    "newPieceHalfLifeDays": 30,
    "order": "auto",
}  # fmt: skip


def test_lists_are_kept_in_order_and_emptied(service: Service) -> None:
    service.submit("s")
    for kind in ("whitelist", "blacklist"):
        assert service.get(f"/s/{kind}").json() == []
        assert service.put(f"/s/{kind}", json=["b", "a", "not-there"]).json() == ["b", "a", "not-there"]
        assert service.get(f"/s/{kind}").json() == ["b", "a", "not-there"]
        assert service.delete(f"/s/{kind}").json() == []
        assert service.get(f"/s/{kind}").json() == []


def test_settings_start_at_their_defaults_and_can_be_put_back(service: Service) -> None:
    service.submit("s")
    assert service.get("/s/settings").json() == DEFAULTS

    changed = service.put("/s/settings", json={"halfLifeDays": 0, "categoryWeights": {"a/b": 2.25}}).json()

    assert changed == DEFAULTS | {"halfLifeDays": 0, "categoryWeights": {"a/b": 2.25}}
    assert service.get("/s/settings").json() == changed
    assert service.put("/s/settings", json=changed).json() == changed
    assert service.put("/s/settings", json={}).json() == DEFAULTS


def test_weights_of_interactions_change_profile_and_popularity(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))
    interact(service, "u", "Click", "a")
    interact(service, "v", "Play", "b")
    assert recommended(service, "nobody", "?fill=false") == ["b", "a"], "a play says more than a click"

    service.put("/s/settings", json={"interactionWeights": {"Click": -1}})

    assert service.get("/s/users/u/recommendation/profile").json()[0]["categories"] == {"genre": {"x": -1000}}
    assert recommended(service, "nobody", "?fill=false") == ["b"]


def test_pointers_that_lead_outside_of_extras_are_refused(service: Service) -> None:
    service.submit("s", piece("a", "x", extras={"label": "Blue Note", "kind": "record"}))
    attributes = {
        "k/d": {"pointer": "/categories/kind", "type": "keyword"},
        "of": {"pointer": "/label", "type": "keyword"},
    }
    given = {"attributes": attributes, "imageAttribute": "/extras/poster"}

    refused = [
        service.put("/s/settings", json=given).json()["errors"],
        service.put("/s/drafts/d", json={"settings": given}).json()["errors"],
    ]

    assert [each["pointer"] for each in refused[0]] == ["/attributes/k~1d/pointer", "/imageAttribute"]
    assert [each["pointer"] for each in refused[1]] == ["/settings/attributes/k~1d/pointer", "/settings/imageAttribute"]
    assert refused[0][0]["detail"].startswith("/categories/kind leads to a piece's own categories")
    assert service.put("/s/settings", json={"attributes": {"of": attributes["of"]}}).status_code == 200


def test_a_pointer_that_is_stored_already_stays_whatever_it_leads_to(service: Service) -> None:
    service.submit("s", piece("a", "x", extras={"filters": {"age": 6}}))
    given = {"attributes": {"age": {"pointer": "/filters/age", "type": "integer"}}}
    assert service.put("/s/settings", json=given).status_code == 200
    service.delete("/s/content/a")

    kept = service.put("/s/settings", json=given | {"halfLifeDays": 7})

    assert (kept.status_code, kept.json()["attributes"]) == (200, given["attributes"])
    renamed = {"attributes": {"years": given["attributes"]["age"]}}
    assert service.put("/s/settings", json=renamed).status_code == 200
    assert service.put("/s/settings", json={}).status_code == 200
    assert service.put("/s/settings", json=given).status_code == 422
