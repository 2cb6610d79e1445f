"""How findings about catalogues are made at leisure, kept, and given up."""

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from answers import snapshot_of
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.service import health as service_health
from penchant.service.health import (
    KEPT_OF_ACCOUNT,
    MAX_KEPT,
    CatalogueHealth,
    Findings,
    JudgedLikes,
    KnownLikes,
    LikesStamp,
)
from penchant.service.health_reports import FindingsFiles, LastFindings
from penchant.storage import SourceHead
from penchant.telemetry import Metrics
from penchant.wire.catalogue_answers import (
    KeywordFindings,
    LonelyFinding,
    OnceFinding,
    UnreachedFinding,
    VariantFinding,
)
from penchant_engine.index import Tally
from penchant_engine.model import DAY_MS, InteractionType


def view_of(pieces: list[dict[str, Any]], *, source: int = 1, version: int = 1, account: int = 1) -> View:
    head = SourceHead(source, account, "s", 1, 1, version, 0, len(pieces), 0, 0)
    return View(
        head=head,
        snapshot=snapshot_of(pieces),
        settings=SourceSettings(),
        whitelist=(),
        blacklist=(),
        blacklisted=frozenset(),
    )


PIECES = [{"id": name, "categories": {"c": [word]}} for name, word in (("a", "x"), ("b", "x"), ("c", "y"))]
KEYWORDS = KeywordFindings(
    count=0,
    complete=True,
    used_once=OnceFinding(count=0, examples=[]),
    written_alike=VariantFinding(count=0, examples=[]),
    one_weight=[],
    lonely=LonelyFinding(count=0, examples=[], words_only=0),
)
MANY = [{"id": f"p{number:05}", "categories": {"c": ["x", f"k{number % 50}"]}} for number in range(3000)]


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def health(metrics: Metrics) -> Iterator[CatalogueHealth]:
    with closing(CatalogueHealth(metrics)) as made:
        yield made


def done(health: CatalogueHealth, view: View) -> Findings:
    deadline = time.monotonic() + 30
    while not (found := health.findings(view)).done:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_findings_are_of_the_version_asked_for(health: CatalogueHealth) -> None:
    first = done(health, view_of(PIECES))
    second = done(health, view_of(PIECES[:2], version=2))

    assert first.unreached is not None
    assert first.vocabulary is not None
    assert (first.version, first.unreached.pieces, first.vocabulary.lonely) == (1, ["c"], ["c"])
    assert first.unreached.complete
    assert second.unreached is not None
    assert (second.version, second.unreached.count) == (2, 0)
    assert not health.findings(view_of(PIECES)).done


def likes_of(*pairs: tuple[str, str], version: int, erased_at: int = 0) -> KnownLikes:
    """Return likes of people, given by letter and piece."""
    tally = Tally.empty(0)
    for number, (person, piece_id) in enumerate(pairs, start=1):
        tally.record(person.encode().rjust(16), piece_id, InteractionType.RATE_LIKE, DAY_MS, number)
    stamp = LikesStamp(count=len(pairs), kappa=125, version=version, erased_at=erased_at, today=1)
    return KnownLikes(likes=tally.compacted(), stamp=stamp)


def judged_at(health: CatalogueHealth, view: View, likes: KnownLikes, version: int) -> JudgedLikes:
    deadline = time.monotonic() + 30
    while (found := health.findings(view, likes).judged) is None or found.stamp.version != version:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def test_categories_are_judged_anew_once_likes_are_others(health: CatalogueHealth) -> None:
    view = view_of(PIECES)
    pairs = [(letter, piece) for letter in "abcdefghij" for piece in ("a", "b", "c")]

    first = judged_at(health, view, likes_of(*pairs[:-4], version=26), 26)
    # One like more changes hardly anything; four do.
    few, more = likes_of(*pairs[:-3], version=27), likes_of(*pairs, version=30)

    assert [each.name for each in first.categories.categories] == ["c"]
    assert (first.categories.likes, first.stamp.count) == (26, 26)
    assert first.stamp.serves(few.stamp)
    assert judged_at(health, view, more, 30).categories.likes == 30
    # An erased person is in no figure, however few likes there were.
    assert judged_at(health, view, likes_of(*pairs[1:], version=31, erased_at=31), 31).categories.likes == 29
    assert done(health, view).unreached is not None


def test_categories_of_a_very_large_source_are_not_judged(
    health: CatalogueHealth, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_health, "MAX_JUDGED_PIECES", 2)
    view = view_of(PIECES)
    health.findings(view, likes_of(("a", "a"), ("a", "b"), version=2))

    assert done(health, view).judged is None


@pytest.mark.parametrize(("accounts", "most"), ((1, KEPT_OF_ACCOUNT), (MAX_KEPT + 1, MAX_KEPT)))
def test_the_latest_findings_are_kept_of_an_account_and_of_all(
    health: CatalogueHealth, accounts: int, most: int
) -> None:
    views = [view_of(PIECES, source=number, account=number % accounts) for number in range(most + 1)]
    for view in views:
        done(health, view)

    assert len(health._kept) == most
    assert all(health.findings(view).done for view in views[1:])
    assert not health.findings(views[0]).done


def test_a_catalogue_that_cannot_be_looked_at_is_told_as_failed(health: CatalogueHealth, metrics: Metrics) -> None:
    broken = replace(view_of(PIECES), snapshot=None)

    assert done(health, broken).failed
    assert metrics.registry.get_sample_value("penchant_failures_total", {"where": "health"}) == 1
    assert not done(health, view_of(PIECES, source=2)).failed


@pytest.mark.slow
def test_looking_ends_when_the_service_does_and_when_nobody_wants_it(metrics: Metrics) -> None:
    health = CatalogueHealth(metrics)
    old, new = view_of(MANY), view_of(MANY, version=2)
    deadline = time.monotonic() + 30
    while health.findings(old).unreached is None:
        assert time.monotonic() < deadline
    assert not health.findings(new).done

    health.close()

    assert not health.findings(new).done


def test_an_account_with_many_sources_displaces_its_own_findings_alone(health: CatalogueHealth) -> None:
    other = view_of(PIECES, source=1_000, account=2)
    done(health, other)
    for number in range(2 * KEPT_OF_ACCOUNT):
        done(health, view_of(PIECES, source=number))

    assert health.findings(other).done


@pytest.mark.slow
def test_accounts_take_turns(health: CatalogueHealth, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_health, "LEAST_S", 0.0)
    large = [view_of(MANY, source=number) for number in range(3)]
    small = view_of(PIECES, source=9, account=2)
    for view in large:
        health.findings(view)

    done(health, small)

    assert sum(health.findings(view).done for view in large) <= 1


def test_last_findings_of_sources_that_are_gone_or_damaged_are_none(tmp_path: Path) -> None:
    files, heads = FindingsFiles(tmp_path / "findings"), [view_of([], source=source).head for source in (1, 2, 3)]
    unreached = UnreachedFinding(count=0, examples=[], lists=1, of=1, done=True)
    last = LastFindings(version=7, made_at="2026-01-01T00:00:00Z", keywords=KEYWORDS, unreached=unreached)
    for head in heads:
        files.write(head, last)
    files.keep_only(heads[:2])
    next((tmp_path / "findings").glob("2-*")).write_bytes(b"{")

    assert [files.read(head) for head in heads] == [last, None, None]
    assert files.read(heads[0]._replace(incarnation=2)) is None
