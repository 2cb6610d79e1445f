"""Data sets for programs of other libraries: made pieces as a matrix, likes as arrays, without any import of ours."""

import gzip
import json
import os
from array import array
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(os.environ.get("PENCHANT_PEERS", "/tmp/penchant-peers"))  # noqa: S108  # a machine's own, to begin again


def made_pieces(count: int) -> tuple[Any, list[str], list[str]]:
    """Return so many of `penchant_lab.bench.catalogue.made` as a matrix of scipy, with ids and keywords; kept."""
    from scipy import sparse  # noqa: PLC0415  # of the libraries that are measured

    path = FOLDER / f"pieces-{count}.npz"
    if not path.exists():
        _write_pieces(path, count)
    with np.load(path) as arrays:
        table = tuple(arrays[name] for name in ("data", "indices", "indptr"))
        keywords = arrays["keywords"].tolist()
    matrix = sparse.csr_matrix(table, shape=(count, len(keywords)))
    return matrix, [f"piece-{row:08}" for row in range(count)], keywords


def _write_pieces(path: Path, count: int) -> None:
    from penchant_lab.bench.catalogue import made  # noqa: PLC0415  # the lab is where pieces are made alone

    numbers: dict[str, int] = {}
    terms, weights, starts = array("i"), array("H"), array("q", [0])
    for batch in made(count):
        for piece in batch:
            for keywords in json.loads(piece)["categories"].values():
                terms.extend([numbers.setdefault(each["key"], len(numbers)) for each in keywords])
                weights.extend([each["weight"] for each in keywords])
            starts.append(len(terms))
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(
        path,
        data=np.asarray(weights),
        indices=np.asarray(terms),
        indptr=np.asarray(starts),
        keywords=np.asarray([*numbers]),
    )


class Events(NamedTuple):
    """Interactions of a data set as columns: ids, kinds and moments (ms), each of shape (n,)."""

    people: NDArray[Any]
    pieces: NDArray[Any]
    kinds: NDArray[Any]
    moments: NDArray[Any]


def read_set(name: str) -> tuple[list[dict[str, Any]], Events]:
    """Return the pieces of a set of ``PENCHANT_DATASETS``, as `Catalogue` takes them, and its interactions."""
    folder = Path(os.environ["PENCHANT_DATASETS"]) / name
    pieces, lines = (
        [*map(json.loads, gzip.decompress((folder / f"{kind}.ndjson.gz").read_bytes()).splitlines())]
        for kind in ("pieces", "interactions")
    )
    columns = [np.asarray([line[key] for line in lines]) for key in ("userId", "contentId", "type", "timestamp")]
    moments = np.asarray([each.removesuffix("Z") for each in columns[3].tolist()], dtype="datetime64[ms]")
    return [*map(_piece_of, pieces)], Events(columns[0], columns[1], columns[2], moments.astype(np.int64))


def grow(events: Events, times: int, other: float = 0.25) -> Events:
    """Return interactions with so many times as many people, as `test_everybodys_lists.grown` makes them.

    Copies of everybody, in which a share of the interactions is with other pieces, each as likely as anybody meets it.
    """
    random, count = np.random.default_rng(times), len(events.pieces)
    others = [random.permutation(events.pieces) for _ in range(times)]
    pieces = [
        np.where(random.random(count) < (other if copy else 0), each, events.pieces) for copy, each in enumerate(others)
    ]
    people = [np.char.add(events.people, f"-{copy}") for copy in range(times)]
    kinds, moments = np.tile(events.kinds, times), np.tile(events.moments, times)
    return Events(np.concatenate(people), np.concatenate(pieces), kinds, moments)


def _piece_of(line: dict[str, Any]) -> dict[str, Any]:
    categories = {
        name: [(each["key"], each["weight"]) if isinstance(each, dict) else each for each in keywords]
        for name, keywords in line["categories"].items()
    }
    return {"id": line["id"], "categories": categories}
