"""Lists and settings of a source (interface, section 7)."""

from typing import Any

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
}  # fmt: skip


def test_lists_are_kept_in_order_and_emptied(service: Service) -> None:
    service.submit("s")
    for kind in ("whitelist", "blacklist"):
        assert service.get(f"/s/{kind}").json() == []
        assert service.put(f"/s/{kind}", json=["b", "a", "not-there"]).json() == ["b", "a", "not-there"]
        assert service.get(f"/s/{kind}").json() == ["b", "a", "not-there"]
        refused: list[Any] = [["a", "a"], [1], {}, [""], ["."]]
        for bad in refused:
            assert service.put(f"/s/{kind}", json=bad).status_code == 422
        assert service.put(f"/s/{kind}", json=[str(number) for number in range(10_001)]).status_code == 413
        assert service.delete(f"/s/{kind}").json() == []
        assert service.get(f"/s/{kind}").json() == []
    assert service.put("/no/whitelist", json=[]).status_code == 404


def test_settings_start_at_their_defaults_and_can_be_put_back(service: Service) -> None:
    service.submit("s")
    assert service.get("/s/settings").json() == DEFAULTS

    changed = service.put("/s/settings", json={"halfLifeDays": 0, "categoryWeights": {"a/b": 2.25}}).json()

    assert changed == DEFAULTS | {"halfLifeDays": 0, "categoryWeights": {"a/b": 2.25}}
    assert service.get("/s/settings").json() == changed
    assert service.put("/s/settings", json=changed).json() == changed
    assert service.put("/s/settings", json={}).json() == DEFAULTS


UNACCEPTABLE: tuple[tuple[Any, str], ...] = (
    ({"unknown": 1}, "/unknown"),
    ({"halfLifeDays": -1}, "/halfLifeDays"),
    ({"halfLifeDays": 36_501}, "/halfLifeDays"),
    ({"halfLifeDays": True}, "/halfLifeDays"),
    ({"retentionDays": 0}, "/retentionDays"),
    ({"retentionDays": 1.5}, "/retentionDays"),
    ({"excludeSeen": 1}, "/excludeSeen"),
    ({"blend": {"content": 0, "audience": 0, "popularity": 0}}, "/blend"),
    ({"blend": {"content": 101}}, "/blend/content"),
    ({"blend": {"other": 1}}, "/blend/other"),
    ({"categoryWeights": {"a": 100.5}}, "/categoryWeights/a"),
    ({"categoryWeights": {"a": 1.234}}, "/categoryWeights/a"),
    ({"categoryWeights": {"a": "1"}}, "/categoryWeights/a"),
    ({"categoryWeights": []}, "/categoryWeights"),
    ({"interactionWeights": {"Like": 1}}, "/interactionWeights/Like"),
    ({"interactionWeights": {"Click": -101}}, "/interactionWeights/Click"),
    ({"interactionWeights": {"Click": 0.001}}, "/interactionWeights/Click"),
    ({"newPieceHalfLifeDays": None}, "/newPieceHalfLifeDays"),
    ([], ""),
)


def test_unacceptable_settings_are_refused_with_their_place(service: Service) -> None:
    service.submit("s")

    for body, pointer in UNACCEPTABLE:
        answer = service.put("/s/settings", json=body)

        assert answer.status_code == 422
        assert [fault["pointer"] for fault in answer.json()["errors"]] == [pointer], body
    assert service.get("/s/settings").json() == DEFAULTS


def test_weights_of_interactions_change_profile_and_popularity(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "y"))
    interact(service, "u", "Click", "a")
    interact(service, "v", "Play", "b")
    assert recommended(service, "nobody", "?fill=false") == ["a", "b"]

    service.put("/s/settings", json={"interactionWeights": {"Click": -1}})

    assert service.get("/s/users/u/recommendation/profile").json()[0]["categories"] == {"genre": {"x": -1000}}
    assert recommended(service, "nobody", "?fill=false") == ["b"]
