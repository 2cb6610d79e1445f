"""Lines of many lists: the bytes of each list's own encoding."""

from hypothesis import given
from hypothesis import strategies as st

from penchant.ranking import SCORE_SCALE
from penchant.wire import ListLines, RecommendationResult, RecommendedPiece, encode

IDS = ("a", "p-000017", 'quote " and \\', "ü \u2028 \U0001f600", "</script>")
SCORES = st.integers(0, SCORE_SCALE) | st.sampled_from([0, 1, 10, 99_999, 100_000, SCORE_SCALE])
LIST = st.tuples(st.sampled_from(IDS), st.lists(st.tuples(st.integers(0, len(IDS) - 1), SCORES), max_size=5))


@given(st.lists(LIST, max_size=5))
def test_lines_of_many_lists_are_the_encoding_of_each(lists: list[tuple[str, list[tuple[int, int]]]]) -> None:
    lines = ListLines(IDS.__getitem__)
    entries = [entry for _, content in lists for entry in content]
    lengths = [len(content) for _, content in lists]
    pieces, scores = [piece for piece, _ in entries], [units / SCORE_SCALE for _, units in entries]

    found = list(lines.encode([each for each, _ in lists], lengths, pieces, scores))

    assert found == [
        encode(
            RecommendationResult(
                id=each,
                content=[RecommendedPiece(id=IDS[piece], score=units / SCORE_SCALE) for piece, units in content],
            )
        )
        + b"\n"
        for each, content in lists
    ]
