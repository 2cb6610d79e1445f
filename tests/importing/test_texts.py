"""Texts: what is left of HTML."""

import pytest

from penchant.importing.texts import plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    (
        ("<p>A <b>bold</b>er<br/>claim</p><p>Next</p>", "A bolder claim Next"),
        ("Tom &amp; Jerry  said\n1 < 2", "Tom & Jerry said 1 < 2"),
        ("<style>p{}</style>Read<script>x('<p>')</script> this<!-- not this -->", "Read this"),
        ("", ""),
    ),
)
def test_html_leaves_what_people_read(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_twenty_thousand_open_tags_are_read_in_one_pass() -> None:
    assert len(plain_text("<b" * 20_000)) <= 40_000
