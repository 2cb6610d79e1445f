"""A closed loop: people with true tastes, by whom lists are judged that they themselves have taught."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from penchant.errors import InvalidInput
from penchant.model import SourceSettings
from penchant_engine.model import DAY_MS, WHOLE, Algorithm, IndexedPiece, InteractionType, Term
from penchant_lab import closed_loop
from penchant_lab.closed_loop import CONDITIONS, Crowd, LoopFigures, LoopRequest, LoopSource, overlap, simulate
from penchant_lab.histories import SourceHistory, history_of
from penchant_lab.line_plots import LinePanel, draw_panels
from penchant_lab.true_tastes import draw_tastes, most_met

PIECES, GENRES = 60, 6
REQUEST = LoopRequest(condition=CONDITIONS["cold30"], people=48, days=4, probes=12)
LIKE = InteractionType.RATE_LIKE


@pytest.fixture(scope="module")
def history() -> SourceHistory:
    """Thirty people who each like ten pieces, most of one genre; the first pieces are liked most."""
    random = np.random.default_rng(0)
    pieces = [
        IndexedPiece(id=f"p{number:02}", weights={Term("genre", f"g{number % GENRES}"): 1, Term("tag", str(number)): 1})
        for number in range(PIECES)
    ]
    rows = []
    for person in range(30):
        chances = np.where(np.arange(PIECES) % GENRES == person % GENRES, 8.0, 1.0) / np.sqrt(1 + np.arange(PIECES))
        chosen = random.choice(PIECES, 10, replace=False, p=chances / chances.sum())
        rows += [(person, f"p{number:02}", LIKE, day * DAY_MS, WHOLE) for day, number in enumerate(chosen.tolist())]
    return history_of("made", pieces, rows, SourceSettings())


@pytest.fixture(scope="module")
def figures(history: SourceHistory) -> dict[str, LoopFigures]:
    return figures_of(history, REQUEST)


def figures_of(history: SourceHistory, request: LoopRequest) -> dict[str, LoopFigures]:
    return {each.name: each for each in simulate(history, request, lambda _what, _done, _total: None).methods}


def test_nobody_is_above_who_knows_tastes(figures: dict[str, LoopFigures]) -> None:
    best = figures.pop("oracle")

    assert set(figures) == {"penchant", "content", "popular"}
    for each in figures.values():
        assert each.shown < best.shown
        for day, ideal in zip(each.days, best.days, strict=True):
            assert day.two_likes < ideal.two_likes
            assert day.niche < ideal.niche
    figures["oracle"] = best


def test_lists_that_learn_are_above_popularity_and_chance(
    history: SourceHistory, figures: dict[str, LoopFigures]
) -> None:
    chance = float(Crowd.draw(history, REQUEST).chances.mean())

    assert figures["penchant"].two_likes > figures["popular"].two_likes
    assert figures["content"].two_likes > 1.5 * chance
    assert figures["penchant"].days[-1].coverage > figures["popular"].days[-1].coverage
    assert figures["penchant"].days[-1].overlap < figures["popular"].days[-1].overlap


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(history: SourceHistory) -> None:
    few = replace(REQUEST, days=2, methods=("penchant",))

    first, again, other = (
        msgspec.json.encode(simulate(history, replace(few, seed=seed), lambda *_: None)) for seed in (3, 3, 4)
    )

    assert first == again != other


def test_noise_lowers_what_people_are_shown(history: SourceHistory) -> None:
    request = replace(REQUEST, days=6, methods=("penchant",))
    loud = CONDITIONS["real"]._replace(noise=0.8)

    quiet, noisy = (
        figures_of(history, replace(request, condition=each))["penchant"] for each in (CONDITIONS["real"], loud)
    )

    assert noisy.two_likes < quiet.two_likes
    assert noisy.liked < quiet.liked / 2


def test_lists_of_content_alone_go_by_no_audience(history: SourceHistory) -> None:
    alone, crowded = (LoopSource(history, SourceSettings()) for _ in range(2))
    now = closed_loop.START_MS + DAY_MS
    for source in (alone, crowded):
        source.record(0, 0, LIKE, now - 1_000, is_shared=False)
    for person in range(1, 40):
        for piece in (0, 7, 8):
            crowded.record(person, piece, LIKE, now - 2_000)
    for source in (alone, crowded):
        source.follow(now)

    def lists(algorithm: Algorithm | None) -> list[list[str]]:
        rankings = (source.ranking(0, now, algorithm) for source in (alone, crowded))
        return [[each.id for each in ranking.arrangement.pieces] for ranking in rankings]

    content, blended = lists(Algorithm.COSINE), lists(None)
    assert content[0] == content[1]
    assert blended[0] != blended[1]
    assert set(blended[1][:2]) == {"p07", "p08"}


def test_a_probe_teaches_nobody(history: SourceHistory) -> None:
    source = LoopSource(history, SourceSettings())
    source.record(0, 0, LIKE, closed_loop.START_MS, is_shared=False)

    source.follow(closed_loop.START_MS + 1)

    assert source.audience.figures.likes == 0


def test_people_come_half_at_once_and_all_by_three_fifths_of_the_days(history: SourceHistory) -> None:
    crowd = Crowd.draw(history, replace(REQUEST, days=40, people=300))

    assert np.count_nonzero(crowd.arrivals == 0) == pytest.approx(155, abs=10)
    assert crowd.arrivals.max() == 23
    assert np.count_nonzero(crowd.noise) == 90
    assert np.count_nonzero(crowd.knows) == pytest.approx(210 / 4, abs=20)
    assert not (crowd.knows & crowd.noise).any()
    # Everybody every second day: on two days all who are there.
    counts = [sum(len(crowd.visitors(day, number)) for number in range(closed_loop.ROUNDS)) for day in (38, 39)]
    assert sum(counts) == 300


def test_chances_are_those_that_are_documented() -> None:
    tastes = np.array([-10.0, 1.2, 1.7, 10.0])

    assert closed_loop.open_chances(tastes) == pytest.approx([0.01, 0.01 + 0.55 / (1 + np.exp(1.5)), 0.285, 0.56])
    assert closed_loop.like_chances(tastes) == pytest.approx([0, 0.5, 1 / (1 + np.exp(-1.5)), 1], abs=1e-9)


def test_where_opens_are_all_that_is_reported_only_clicks_are_recorded(history: SourceHistory) -> None:
    request = replace(REQUEST, condition=CONDITIONS["clicks30"], days=2)
    crowd = Crowd.draw(history, request)
    loop = closed_loop.Loop(history, request, crowd, "penchant")
    loop.run(lambda *_: None)

    kinds = {each.type for own in loop.source._histories.values() for each in own}  # what is reported

    assert kinds == {InteractionType.CLICK}


@pytest.mark.parametrize(("rotation", "kept"), ((0.0, 10), (0.9, 0)))
def test_what_was_shown_and_not_opened_sinks_by_rotation(history: SourceHistory, rotation: float, kept: int) -> None:
    request = replace(REQUEST, rotation=rotation)
    loop = closed_loop.Loop(history, request, Crowd.draw(history, request), "penchant")
    # What nothing speaks for fills lists up, and has nothing to lose.
    for piece in range(30):
        loop.source.record(1 + piece % 3, piece, LIKE, closed_loop.START_MS)
    loop.source.follow(closed_loop.START_MS)
    first = loop._list(0, closed_loop.START_MS)  # one visit

    # A place is looked at where the draw is below 1 and less.
    loop._visit(0, first, closed_loop.START_MS, np.ones((10, 4)))  # as above

    assert len(set(first) & set(loop._list(0, closed_loop.START_MS))) == kept  # as above


def test_tastes_are_scaled_and_follow_keywords_and_popularity(history: SourceHistory) -> None:
    tastes = draw_tastes(history, 200, 1)

    assert tastes.mean(axis=1) == pytest.approx(np.zeros(200), abs=1e-5)
    assert tastes.std(axis=1) == pytest.approx(np.ones(200), abs=1e-5)
    by_genre = tastes.reshape(200, -1, GENRES).mean(axis=1)
    assert by_genre.std(axis=1).mean() > 1.5 * tastes.std(axis=1).mean() / np.sqrt(PIECES / GENRES)


def test_pieces_that_most_people_have_met_are_kept_with_what_was_done(history: SourceHistory) -> None:
    kept = most_met(history, 20)

    assert kept.piece_count == 20
    assert list(kept.ids) == [piece.id for piece in kept.pieces] == sorted(kept.ids)
    counts = {name: int(np.count_nonzero(history.events.pieces == history.ids.index(name))) for name in history.ids}
    assert {counts[name] for name in kept.ids} >= {max(counts.values())}
    assert len(kept.events) == sum(counts[name] for name in kept.ids)


def test_a_history_that_is_too_small_is_told_so(history: SourceHistory) -> None:
    nobody = history_of("bare", history.pieces, [], SourceSettings())
    small = history_of("small", history.pieces[:5], [], SourceSettings())

    with pytest.raises(InvalidInput, match="0 people with 5 liked pieces; tastes are made from 5 at least"):
        simulate(nobody, REQUEST, lambda *_: None)
    with pytest.raises(InvalidInput, match="5 pieces"):
        simulate(small, REQUEST, lambda *_: None)


def test_overlap_is_what_two_lists_have_in_common() -> None:
    assert overlap(np.array([[1, 2], [1, 2]])) == 1
    assert overlap(np.array([[1, 2], [3, 4]])) == 0
    assert overlap(np.array([[1, 2], [1, 4], [1, 5]])) == pytest.approx(0.5)


def test_a_plot_has_a_line_for_each_method_and_escapes_text() -> None:
    panels = [LinePanel("a & b", {"<x>": [0.0, 1.0], "y": [None, 0.5]}), LinePanel("none", {"y": [None, None]})]

    drawn = draw_panels("t<", panels).decode()

    assert drawn.count("<polyline") == 2
    assert 'points="56.0,236.0 776.0,76.0"' in drawn
    assert "a &amp; b" in drawn
    assert "&lt;x&gt;" in drawn
    assert "none</text>" not in drawn
