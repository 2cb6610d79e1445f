"""Covers: a picture for a piece that has none, drawn from its title, alike wherever it is shown.

The title's SHA-256 picks a palette, a motif, which of the two colours comes first, and how far the motif is shifted. On
it stand the initials of the first two words that are no articles.
"""

import hashlib
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 200, 300
MAX_TITLE = 1_000
"""Characters of a title that count."""


class Palette(NamedTuple):
    """The colours of a cover; the ink has a contrast of 7 and more with the ground (a test works it out)."""

    ground: str
    ink: str
    first: str
    second: str


PALETTES = (
    Palette("#1f3a4d", "#f7f1e3", "#7fa7b8", "#e8b04a"),
    Palette("#e9dcc3", "#2b2d42", "#c8553d", "#2b4a5e"),
    Palette("#3a2f5b", "#f4eefc", "#e7a4b5", "#8d7cc9"),
    Palette("#0f4b57", "#eef7f3", "#5fb0ac", "#f2c14e"),
    Palette("#264a3a", "#f3f0df", "#6fa58c", "#c9d48b"),
    Palette("#74411c", "#fff3df", "#c97b3c", "#f0b25a"),
    Palette("#5b2333", "#f7f1e3", "#c25b6b", "#e2936b"),
    Palette("#e4d4e1", "#4b1d47", "#d98a5b", "#9b3f7d"),
    Palette("#d5e0dc", "#173b3a", "#e08a3c", "#2c6e69"),
    Palette("#20242c", "#f2efe8", "#d94f3a", "#8b919c"),
    Palette("#c9d3e6", "#1e2f55", "#3d5ba9", "#e3b23c"),
    Palette("#efc9a9", "#4a1f1a", "#6e2b3c", "#b3432b"),
)
_ARTICLES = """
a an the der die das des dem den ein eine einer le la les un une el los las lo il i gli uno una o os as um uma
de het een en ett et
"""
ARTICLES = frozenset(_ARTICLES.split())
"""Words at the beginning of titles that say nothing, of the languages whose articles are words of their own."""
_SHIFTS = 20
"""How many units a motif may be shifted by."""
_FAMILY = "Iowan Old Style,Palatino Linotype,Palatino,P052,Georgia,serif"
_WORD = re.compile(r"[^\W_]+")
_ELISION = re.compile(r"\b[ldLD][’'](?=\w)")  # noqa: RUF001  # as in «L'Étranger»
_DOT_RADII = (7, 12, 17, 10, 19)


def _rings(colours: Sequence[str], ground: str, shift: int) -> str:
    radii = ((160 + shift, colours[0]), (124, ground), (92, colours[1]), (46, ground))
    return "".join(f'<circle cx="200" cy="300" r="{radius}" fill="{fill}"/>' for radius, fill in radii)


def _peaks(colours: Sequence[str], _ground: str, shift: int) -> str:
    return (
        f'<path d="M0 {130 + 2 * shift}L200 300H0z" fill="{colours[0]}"/>'
        f'<path d="M200 {120 + shift}V300H60z" fill="{colours[1]}" opacity=".9"/>'
    )


def _horizon(colours: Sequence[str], _ground: str, shift: int) -> str:
    return (
        f'<circle cx="{75 + 2 * shift}" cy="205" r="64" fill="{colours[0]}"/>'
        f'<path d="M0 232h200v14H0zM0 258h200v42H0z" fill="{colours[1]}"/>'
    )


def _leaves(colours: Sequence[str], _ground: str, shift: int) -> str:
    first = f'<ellipse cx="78" cy="214" rx="44" ry="72" fill="{colours[0]}" transform="rotate({shift} 78 214)"/>'
    turned = f'transform="rotate({-shift} 128 214)"'
    return first + f'<ellipse cx="128" cy="214" rx="44" ry="72" fill="{colours[1]}" opacity=".85" {turned}/>'


def _stairs(colours: Sequence[str], _ground: str, shift: int) -> str:
    return (
        f'<path d="M0 250h50v50H0zM50 210h50v90H50z" fill="{colours[0]}"/>'
        f'<path d="M100 {150 + 2 * shift}h50V300h-50zM150 120h50v180h-50z" fill="{colours[1]}"/>'
    )


def _waves(colours: Sequence[str], ground: str, shift: int) -> str:
    height = 40 + shift // 2
    return "".join(
        f'<path d="M0 {top}c50-{height} 50 {height} 100 0s50 {height} 100 0V300H0z" fill="{fill}"/>'
        for top, fill in ((170, colours[0]), (212, colours[1]), (254, ground))
    )


def _beams(colours: Sequence[str], _ground: str, shift: int) -> str:
    return (
        f'<path d="M0 300L200 {100 + 2 * shift}v44L66 300z" fill="{colours[0]}"/>'
        f'<path d="M110 300l90-105v44l-52 61z" fill="{colours[1]}"/>'
    )


def _dots(colours: Sequence[str], _ground: str, shift: int) -> str:
    """Return four columns of dots, each of one size and colour: a dashed line whose dashes are round ends alone."""
    columns = (
        f'<path d="M{30 + 46 * column} 142v133" stroke="{colours[column % 2]}" '
        f'stroke-width="{2 * _DOT_RADII[(3 * column + shift) % len(_DOT_RADII)]}"/>'
        for column in range(4)
    )
    return f'<g stroke-linecap="round" stroke-dasharray="0 44">{"".join(columns)}</g>'


MOTIFS: tuple[Callable[[Sequence[str], str, int], str], ...] = (
    _rings,
    _peaks,
    _horizon,
    _leaves,
    _stairs,
    _waves,
    _beams,
    _dots,
)


def initials(title: str) -> str:
    """Return the initials of the first two words of a title that are no articles, "" for one without words.

    Of one word it is one letter, of a number at the beginning two digits.
    """
    every: list[str] = _WORD.findall(_ELISION.sub("", title[:MAX_TITLE]))
    words = [word for word in every if word.casefold() not in ARTICLES] or every
    if not words:
        return ""
    if words[0].isdecimal():
        return words[0][:2]
    # What becomes two letters as a capital, such as ß, is its first.
    return "".join(word[0].upper()[0] for word in words[:2])


def cover(title: str) -> str:
    """Return the cover of a title as an SVG document of half a kilobyte."""
    picked = hashlib.sha256(title[:MAX_TITLE].encode(errors="replace")).digest()
    palette = PALETTES[picked[0] % len(PALETTES)]
    colours = (palette.first, palette.second) if picked[2] % 2 else (palette.second, palette.first)
    motif = MOTIFS[picked[1] % len(MOTIFS)](colours, palette.ground, picked[3] % _SHIFTS)
    text = escape(initials(title))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="{palette.ground}"/>{motif}'
        f'<text x="16" y="72" fill="{palette.ink}" font-family="{_FAMILY}" font-size="62" font-weight="600" '
        f'letter-spacing="-2">{text}</text></svg>'
    )
