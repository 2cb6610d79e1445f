"""Building catalogues: of pieces, and of matrices, which go around dictionaries and end as the same arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from penchant_engine import Catalogue, InvalidInput


class Rows:
    """A matrix as `scipy.sparse.csr_array` has it, which is no dependency."""

    has_canonical_format = True

    def __init__(self, rows: list[dict[int, int]], width: int) -> None:
        self.shape = (len(rows), width)
        self.indptr = np.cumsum([0, *map(len, rows)])
        self.indices = np.asarray([column for row in rows for column in row])
        self.data = np.asarray([weight for row in rows for weight in row.values()])

    def tocsr(self) -> "Rows":
        return self


def assert_same(one: Catalogue, other: Catalogue) -> None:
    ours, theirs = (each.view.snapshot.merged().arrays() for each in (one, other))
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name], name)
        assert array.dtype == theirs[name].dtype


def pieces_of(rows: list[dict[int, int]], *, weighted: bool) -> list[Mapping[str, Any]]:
    keywords = [row if weighted else list(row) for row in rows]
    return [{"id": each, "categories": {"tag": own}} for each, own in zip("dbca", keywords, strict=True)]


@pytest.mark.parametrize("weighted", (True, False))
def test_a_matrix_makes_the_same_arrays_as_pieces(weighted: bool) -> None:  # noqa: FBT001  # a parameter
    rows = [{0: 3, 2: 1}, {}, {2: 7}, {0: 1, 3: 2}] if weighted else [{0: 1, 2: 1}, {}, {2: 1}, {0: 1, 3: 1}]

    of_matrix = Catalogue.from_matrix(Rows(rows, 5), [*"dbca"], category="tag")

    assert_same(of_matrix, Catalogue(pieces_of(rows, weighted=weighted)))


def test_of_one_id_the_last_row_counts() -> None:
    rows = [{0: 3}, {1: 2, 2: 4}, {1: 5}]

    of_matrix = Catalogue.from_matrix(Rows(rows, 3), ["a", "b", "a"], [*"xyz"])

    assert_same(of_matrix, Catalogue.from_matrix(Rows(rows[1:], 3), ["b", "a"], [*"xyz"]))
    assert of_matrix.categories("a") == {"keywords": {"y": 5}}


def test_of_one_id_the_last_piece_counts() -> None:
    first, other, last = ({"id": each, "categories": {"genre": [word]}} for each, word in ("ax", "by", "az"))

    assert_same(Catalogue([first, other, last]), Catalogue([other, last]))


def test_a_matrix_without_rows_is_an_empty_catalogue() -> None:
    assert Catalogue.from_matrix(Rows([], 2), []).ids == []


def test_a_keyword_that_is_named_twice_is_refused() -> None:
    with pytest.raises(InvalidInput, match="named twice"):
        Catalogue.from_matrix(Rows([{0: 1}], 2), ["a"], ["x", "x"])


def test_what_is_no_id_names_no_row_of_a_matrix() -> None:
    with pytest.raises(InvalidInput, match="None is no id"):
        Catalogue.from_matrix(Rows([{0: 1}], 1), [None])  # type: ignore[list-item]


def test_a_changed_catalogue_has_a_moment_of_its_own() -> None:
    before = Catalogue([{"id": "a", "available_from": 1}])
    assert before.moment == 1_000

    after = before.changed([{"id": "b", "available_from": 2}])

    assert (before.moment, after.moment) == (1_000, 2_000)
