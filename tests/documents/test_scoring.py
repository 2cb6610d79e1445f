"""The numbers in ``docs/explanation/scoring.md`` follow from the pieces and interactions that it submits.

That the service answers the same is held by the page's own requests (``test_every_block``).
"""

import json
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from documents.blocks import Block, blocks_of
from documents.worked import Worked, vector_norm

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "scoring.md"
KNOWN = {"chili"}
"""What the person has rated, which is left out of recommendations."""


def body(block: Block) -> Any:
    return json.loads(block.text.split("\n\n", 1)[1])


def said() -> Mapping[str, Mapping[str, float]]:
    """Return the keywords that the person says something of."""
    blocks = blocks_of(PAGE)
    preferences = next(body(each) for each in blocks if each.text.startswith("PUT /recipes/users/ana/preferences"))
    return dict(preferences["keywords"])


@pytest.fixture(scope="module")
def worked() -> Worked:
    requests = [block for block in blocks_of(PAGE) if block.language == "http"]
    pieces = next(body(block) for block in requests if block.text.startswith("POST /recipes/content"))
    interactions = next(body(block) for block in requests if block.text.startswith("POST /recipes/interactions"))
    return Worked(pieces, interactions, asked="minestrone", person="ana", new="carrot-cake")


def answers() -> Iterator[tuple[str, Mapping[str, Any], list[dict[str, Any]]]]:
    """Yield the path of each list that is asked for, the settings by then, and the answer's entries."""
    blocks = blocks_of(PAGE)
    settings: Mapping[str, Any] = {}
    for request, answer in pairwise(blocks):
        if request.text.startswith("PUT /recipes/settings"):
            settings = body(request)
        elif request.language == "http" and answer.language == "json" and '"content": [{"id"' in answer.text:
            yield request.text.split()[1], settings, json.loads(answer.text)["content"]


def by_distance(distances: Mapping[str, float], decimals: int) -> list[dict[str, Any]]:
    rounded = {piece: round(distance, decimals) for piece, distance in distances.items()}
    return [{"id": piece, "score": rounded[piece]} for piece in sorted(rounded, key=lambda each: (rounded[each], each))]


def row(*cells: object) -> str:
    texts = [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in cells]
    return "| " + " | ".join(texts) + " |"


def rows(worked: Worked) -> Iterator[str]:
    """Yield every row of every table, in the page's order."""
    for piece, shared, whole, distance in worked.jaccard():
        yield row(piece, f"{shared:g}", f"{whole:g}", distance)
    for piece, product, norm, distance in worked.cosine():
        yield row(piece, f"{product:g}", norm, distance)
    for term, total in worked.sums.items():
        yield row("/".join(term), total, worked.profile[term])
    stated = worked.stated(said())
    for term, total in worked.sums.items():
        yield row("/".join(term), total, stated[term], worked.scaled(stated)[term])
    for term, value in worked.rare.items():
        yield row("/".join(term), worked.frequency(term), value / worked.profile[term], worked.profile[term], value)
    for piece, content in worked.content.items():
        yield row(piece, worked.catalogue.norms[piece], content)
    yield from audience_rows(worked)
    blended = worked.blended(0.1, 0.8, 0.1)
    for entry in by_distance({piece: -s for piece, s in blended.items() if piece not in KNOWN}, 9):
        piece = entry["id"]
        a, p = worked.audience[piece], worked.with_credit(piece)
        yield row(piece, worked.content[piece], a, p, blended[piece], 1 - blended[piece])


def audience_rows(worked: Worked) -> Iterator[str]:
    """Yield the rows of the tables on what people like."""
    for person in worked.people:
        yield row(person, ", ".join(f"{piece} {grade}" for piece, grade in worked.likes(person).items()))
    for piece, count in worked.liking.items():
        yield row(piece, float(count), worked.popularity[piece])
    liked = [piece for piece, count in worked.liking.items() if count]
    for piece in liked:
        yield row(piece, *(worked.reference.overlap[piece][other] for other in liked))
    for piece in worked.weights:
        column = worked.reference.columns.get(piece, {})
        yield row(piece, *(column.get(other, 0) for other in worked.likes("ana")), f"{worked.direct(piece):.5f}")
    for piece, a in worked.audience.items():
        stand_ins = worked.reference.stand_ins(piece)
        named = ", ".join(f"{other} {float(share):.3f}" for other, share in stand_ins.items())
        yield row(piece, named, float(worked.reference.evidence(piece)), f"{a:.5f}")


def test_every_row_follows_from_the_definitions(worked: Worked) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    printed = [line for line, after in pairwise(lines) if line.startswith("| ") and not after.startswith("|--")]

    assert printed == list(rows(worked))


def test_every_printed_list_follows_from_the_definitions(worked: Worked) -> None:
    seen = []
    for path, settings, printed in answers():
        if "similar" in path and "jaccard" in path:
            expected = by_distance({each[0]: each[3] for each in worked.jaccard(settings.get("categoryWeights"))}, 12)
        elif "similar" in path:
            expected = by_distance({each[0]: each[3] for each in worked.cosine()}, 12)
        else:
            blend = settings.get("blend", {"content": 0.1, "audience": 0.8, "popularity": 0.1})
            s = worked.blended(**blend)
            expected = by_distance({piece: 1 - max(0, s[piece]) for piece in s if piece not in KNOWN}, 9)
        assert printed == expected, path
        seen.append(path)

    assert len(seen) == 7


def test_numbers_in_the_text_follow_from_the_definitions(worked: Worked) -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    figures = worked.reference.figures
    for number in (
        f"‖minestrone‖ is {vector_norm(worked.weights['minestrone']):.3f}",
        f"its length ‖f P‖ is {vector_norm(worked.rare):.1f}",
        f"mean length m is {worked.catalogue.mean:.3f}",
        f"{figures.likes} likes of T = {figures.pieces} pieces, worth N = {figures.worth} full ones",
        f" / (5.6 + 1) = {float(figures.evenness):.4f}",
        f"λ is {float(figures.telling):.3f}",
        f"κ = {float(figures.kappa):.2f}",
        f" = {worked.content_factor:.3f}. As likes arrive",
        f"L = {float(figures.loan):.5f}",
        f"the median is {worked.median:.4f}",
        f"so r is {worked.credit['carrot-cake']:g}",
        f"p of at least {worked.with_credit('carrot-cake'):.4f}",
        f"a = {worked.audience['ribollita']:.5f}",
    ):
        assert number in text, number


def test_the_printed_person_has_the_score_of_the_own_list() -> None:
    blocks = blocks_of(PAGE)
    places = [place for place, block in enumerate(blocks) if "/audience" in block.text.partition("\n")[0]]
    lists = [
        json.loads(answer.text)["content"]
        for request, answer in pairwise(blocks[: places[0]])
        if request.text.strip() == "GET /recipes/users/ana/recommendation"
    ]

    (person, _others) = json.loads(blocks[places[0] + 1].text)["people"]

    assert {"id": "carrot-cake", "score": person["score"]} in lists[-1]
