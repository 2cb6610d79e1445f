"""``penchant replay``: what a draft would have done, by what people were shown."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penchant.errors import PenchantError
from penchant_rows.command import replay_draft
from serving import Service
from shown import lists_of

pytestmark = pytest.mark.slow

FRESH = {"name": "fresh", "share": 0.25, "kind": "new"}
PLACEMENT = {"kind": "popular", "variants": [FRESH]}
Replaying = Callable[..., str]


@pytest.fixture
def replayed(service: Service, tmp_path: Path) -> Replaying:
    """A function that replays a draft and returns what is told; errors come through."""

    def run(draft: Any, placement: str = "home") -> str:
        path = tmp_path / "draft.json"
        path.write_text(json.dumps(draft))
        words = ["--data", service.settings.data, "--source", "s", "--placement", placement, "--draft", str(path)]
        ran = CliRunner().invoke(replay_draft, words)
        if isinstance(ran.exception, PenchantError):
            raise ran.exception
        assert ran.exit_code == 0, ran.output
        return ran.output

    return run


@pytest.fixture
def source(service: Service) -> Service:
    service.submit("s", *[{"id": f"p{number}", "categories": {}} for number in range(10)])
    assert service.put("/s/placements/home", json=PLACEMENT).status_code == 200
    return service


def show(service: Service, people: int) -> None:
    """Show ten pieces each to people, every fourth of them fresh ones, who like more of them."""
    reports, clicks = [], []
    lists, pieces = lists_of(service), [f"p{place}" for place in range(10)]
    for number in range(people):
        user, variant = f"u{number}", "base" if number % 4 else "fresh"
        listed = lists.make(variant=variant, user=user, pieces=pieces)
        reports.append({"listId": listed, "content": pieces})
        liked = range(number % 3 + 1 if variant == "base" else number % 5 + 2)
        clicks += [{"userId": user, "type": "Click", "contentId": f"p{n}", "listId": listed} for n in liked]
    for path, rows in (("impressions", reports), ("interactions", clicks)):
        answer = service.post(f"/s/{path}", json=rows)
        assert answer.status_code in {200, 202}, answer.text


def test_a_draft_of_one_variant_alone_has_the_rate_that_its_people_had(source: Service, replayed: Replaying) -> None:
    show(source, 480)

    told = replayed({"kind": "new"})

    # 120 people of the variant like 2 to 6 of ten; 360 of the base 1 to 3.
    assert "4800 pieces to 480 people, 1200 led to something, 25.00%" in told
    assert "Under the draft: 40.00% (95 %" in told
    assert "by as much as 120 people tell" in told
    assert "Difference: 15.00%" in told
    assert "better, by what was shown" in told


def test_other_shares_weigh_what_was_shown(source: Service, replayed: Replaying) -> None:
    show(source, 480)

    halves = replayed({"kind": "popular", "variants": [{**FRESH, "share": 0.5}]})
    same = replayed({"kind": "new", "variants": [{"name": "old", "share": 0.75, "kind": "popular"}]})

    assert "Under the draft: 30.00%" in halves
    assert "Difference: 0.00% (95 %: 0.00% to 0.00%); undecided" in same


def test_what_the_log_cannot_tell_is_refused(source: Service, replayed: Replaying) -> None:
    def refusal(draft: Any, placement: str = "home") -> str:
        with pytest.raises(PenchantError) as refused:
            replayed(draft, placement)
        return refused.value.detail

    assert "No known person was shown" in refusal(PLACEMENT)
    show(source, 80)
    assert "nothing is concluded" in refusal({"kind": "new"})
    assert "no placement 'other'" in refusal(PLACEMENT, "other")
    assert "'base' of the draft is made as none" in refusal({"kind": "new", "halfLifeDays": 3})
    assert "'more' of the draft" in refusal(
        {**PLACEMENT, "variants": [{"name": "more", "share": 0.1, "kind": "again"}]}
    )
    assert "kind" in refusal({"kind": "none"})
