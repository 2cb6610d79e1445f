"""Covers: what a title draws, and whether it can be read."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant.covers import MOTIFS, PALETTES, cover, initials

AA_LARGE_AND_SMALL = 7.0
"""The contrast that WCAG asks of text of any size for its higher level."""


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours by the formula of WCAG 2."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    darker, lighter = sorted(luminance(each) for each in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("palette", PALETTES)
def test_initials_are_easy_to_read(palette: tuple[str, ...]) -> None:
    ground, ink = palette[:2]

    assert contrast(ground, ink) >= AA_LARGE_AND_SMALL


@pytest.mark.parametrize(
    ("title", "letters"),
    (
        ("Blade Runner", "BR"),
        ("The Shining", "S"),
        ("The God of Small Things", "GO"),
        ("2001: A Space Odyssey", "20"),
        ("L'Étranger", "É"),
        ("Der Freischütz", "F"),
        ("The", "T"),
        ("ßtraße", "S"),
        ("<script>", "S"),
        ("…", ""),
        ("", ""),
    ),
)
def test_initials_are_of_the_first_two_words_that_are_no_articles(title: str, letters: str) -> None:
    assert initials(title) == letters


@given(st.text())
def test_every_title_has_a_small_cover_that_is_well_formed(title: str) -> None:
    drawn = cover(title)

    assert len(drawn.encode()) < 700
    assert re.fullmatch(r"(<[a-z/][^<>]*>)+([^<>]{0,2}|&[a-z]+;)</text></svg>", drawn)
    assert drawn == cover(title)


def test_titles_come_by_every_palette_and_motif() -> None:
    drawn = {cover(str(number)).partition("<text")[0] for number in range(1_000)}

    assert len(drawn) > len(PALETTES) * len(MOTIFS)
