"""Titles of a source: those that go on from what is typed, against a look at each of them."""

from hypothesis import given
from hypothesis import strategies as st

from penchant.service.browsing import MAX_COMPLETED, LabelledPiece, PieceTitles


@given(st.lists(st.text("ab Ä\0", max_size=6), unique=True), st.text("ab Ä\0", max_size=3))
def test_titles_go_on_from_a_text_as_a_look_at_each_of_them_says(titles: list[str], text: str) -> None:
    pieces = {title: LabelledPiece(id=title) for title in sorted(title.replace("\0", "") for title in titles)}
    joined = "\0".join(["", *pieces, ""])
    found = PieceTitles(offered=(), pieces=pieces, after=None, keys=list(pieces), joined=joined).like(text)

    begun = text.strip().casefold()
    first = [title for title in pieces if title.startswith(begun)]
    inside = [title for title in pieces if begun and f" {begun}" in title and title not in first]
    assert [each.id for each in found] == [*first, *inside][:MAX_COMPLETED]
