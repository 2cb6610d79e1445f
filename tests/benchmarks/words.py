"""Words of texts: how good lists by them are, alone and beside other keywords, judged by what people like.

    python tests/benchmarks/words.py [--likes N] SET TEXTS.csv...

SET is a folder with ``pieces.ndjson.gz`` and ``interactions.ndjson.gz``. TEXTS are films with ``id`` (that of TMDB,
``extras.tmdbId`` in the set) or ``title`` and ``release_date``, and ``overview``, or books with ``isbn10``, ``title``,
``authors`` and ``description``. Pieces without a text are left out; where no TEXTS are given, all pieces have their
titles alone. docs/lab/quality.md names the files, and what was found.

Submitted are the pieces as an importer would submit them, with the description in ``extras.description``. The lists are
those of the service, over its own storage and index; beside them stands "more like this", the formula of Elasticsearch.

- *Similar*: NDCG@10 of the similar content of a piece, judged by the 20 pieces whose likes are most alike (cosine of
  who likes them). Asked for, and listed, are pieces that 15 or more people like (``--likes``).
- *New*: Recall@20. Of five parts of the pieces each is new once: people with 5 or more likes of the others get lists of
  the new ones by content alone. All likes are of one day.
"""

import argparse
import contextlib
import csv
import gzip
import heapq
import json
import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import stopwordsiso
from msgspec import structs

from penchant.enrichment import rule_of
from penchant.live.keyword_writer import KeywordWriter
from penchant.live.views import View
from penchant.model import MAX_PIECES_PER_SUBMISSION
from penchant.settings import NodeSettings
from penchant.storage import SourceHead, SubmitPieces, open_storage
from penchant.wire import decode_submission, encode_settings
from penchant_engine.index import Audience, FloatArray, IntArray, InteractionArrays
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.people.person import user_features
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.lists.similar import SimilarRanking
from penchant_engine.model import DAY_MS, WORDS_CATEGORY, Algorithm, InteractionType, StoredInteraction
from penchant_lab.commands.histories import kernels_for, read_source
from penchant_lab.histories import Knowledge, SourceHistory
from penchant_lab.metrics import NOTHING, RECALLED, compared, estimate, hits_of, ndcg, recall
from penchant_lab.served import snapshot_of
from penchant_words.settings import settings_by
from penchant_words.texts import WordRule, running_words

JUDGED_LIKES = 15
"""Likes of a piece that similar content is asked for."""
CO_LIKED = 20
PARTS = 5
LEAST_LIKES = 5
MOMENT = 20_000 * DAY_MS
"""When everybody likes what they like, and when lists are made."""
JUDGED, NEW = "judged", "part {}"
"""Catalogs that lists are restricted to."""
TERMS, LEAST_PIECES = 25, 5
"""How many terms "more like this" asks for, and of how many pieces each is at least."""
SATURATION, LENGTH = 1.2, 0.75
"""The constants of BM25."""
WEIGHTS = (0.0, 0.25, 0.5, 1.0)
"""Weights of the category of words."""
SEED = 0
Lists = Callable[[Sequence[str], str], Sequence[str]]
"""Makes a list of a catalog, from the pieces that it goes by."""


@dataclass(frozen=True, kw_only=True)
class JudgedSet:
    """Pieces with texts, in a fixed order, and which of them each person likes."""

    pieces: Sequence[Mapping[str, Any]]
    likes: Sequence[frozenset[int]]

    @property
    def ids(self) -> Sequence[str]:
        """The ids of the pieces."""
        return [piece["id"] for piece in self.pieces]


def read_set(folder: Path, texts: Sequence[Path], least_likes: int) -> JudgedSet:
    """Return the pieces of a set that have a text, with catalogs to list them by, and the likes among them."""
    text_of = TextsByPiece(texts)
    pieces = [
        {**piece, "extras": {**piece["extras"], "description": text}}
        for piece in _lines(folder / "pieces.ndjson.gz")
        if (text := text_of(piece)) or not texts
    ]
    pieces.sort(key=lambda piece: piece["id"])
    numbers = {piece["id"]: number for number, piece in enumerate(pieces)}
    likes: dict[str, set[int]] = defaultdict(set)
    for event in _lines(folder / "interactions.ndjson.gz"):
        if event["type"] == InteractionType.RATE_LIKE.value and event["contentId"] in numbers:
            likes[event["userId"]].add(numbers[event["contentId"]])
    counts = Counter(number for own in likes.values() for number in own)
    part_of = np.random.default_rng(SEED).permutation(len(pieces)) % PARTS
    for number, piece in enumerate(pieces):
        judged = [JUDGED] if counts[number] >= least_likes else []
        piece["filters"] = {"catalogs": [NEW.format(part_of[number]), *judged]}
    return JudgedSet(pieces=pieces, likes=[frozenset(likes[person]) for person in sorted(likes)])


class TextsByPiece:
    """Finds the text of a film by its number, or title and year, of a book by its ISBN, or title and first author."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._texts: dict[object, str] = {}
        csv.field_size_limit(1 << 24)
        for file in files:
            with file.open(encoding="utf-8", newline="") as lines:
                for row in csv.DictReader(lines):
                    for key in self._keys_of_row(row):
                        self._texts.setdefault(key, row.get("overview") or row.get("description") or "")

    def __call__(self, piece: Mapping[str, Any]) -> str:
        """Return the text, empty for none."""
        extras, title, authors = piece["extras"], _plain(piece["label"]), piece["categories"].get("author", [""])
        film = extras.get("tmdbId") or (title, str(extras.get("year")))
        keys = (film, extras.get("isbn", "").zfill(10), (title, _plain(authors[0])))
        return next((self._texts[key] for key in keys if self._texts.get(key)), "")

    @staticmethod
    def _keys_of_row(row: Mapping[str, str]) -> tuple[object, ...]:
        if "isbn10" not in row:
            return row["id"], (_plain(row["title"]), row["release_date"][:4])
        return row["isbn10"].zfill(10), (_plain(row["title"]), _plain(row["authors"].split(";")[0]))


class Service:
    """Lists of the service over a source of its own, under settings that change from measurement to measurement."""

    def __init__(self, history: SourceHistory) -> None:
        self._history = history
        every = np.ones(len(history.events), dtype=np.bool_)
        self._snapshot = snapshot_of(Knowledge.of(history, every, history.settings))
        self._audience = Audience(None, ItemItemModel.none())

    def similar(self, algorithm: Algorithm, weights: Mapping[str, float]) -> Lists:
        """Return what makes similar content, by weights of categories."""
        view = self._view(weights)

        def ids(seeds: Sequence[str], catalog: str) -> Sequence[str]:
            request = ListRequest(piece_id=seeds[0], algorithm=algorithm, catalogs=frozenset({catalog}))
            return [each.id for each in SimilarRanking(view, request, MOMENT).arrangement.pieces]

        return ids

    def content(self, weights: Mapping[str, float]) -> Lists:
        """Return what makes recommendations from the content alone, by weights of categories."""
        view = self._view(weights)
        request = ListRequest(user_id="", algorithm=Algorithm.COSINE, include_seen=False)

        def ids(seeds: Sequence[str], catalog: str) -> Sequence[str]:
            liked = [
                StoredInteraction(user_id="", piece_id=each, type=InteractionType.RATE_LIKE, occurred_at=MOMENT)
                for each in seeds
            ]
            person = user_features(InteractionArrays.of(liked), view.snapshot, view.settings, MOMENT // DAY_MS)
            restricted = structs.replace(request, catalogs=frozenset({catalog}))
            ranking = PersonalRanking(view, restricted, MOMENT, person, self._audience)
            return [each.id for each in ranking.arrangement.pieces]

        return ids

    def _view(self, weights: Mapping[str, float]) -> View:
        settings = replace(self._history.settings, category_weights=dict(weights))
        self._snapshot.prepare(settings.category_factors)
        return View(
            head=SourceHead(0, 0, self._history.name, 0, 0, 0, 0, self._history.piece_count, 0, 0),
            snapshot=self._snapshot,
            settings=settings,
            whitelist=(),
            blacklist=(),
            blacklisted=frozenset(),
        )


@contextlib.contextmanager
def service_of(pieces: Sequence[Mapping[str, Any]]) -> Iterator[Service]:
    """Submit pieces to a source with words, and give the lists of the service from it."""
    settings = settings_by(WordRule())
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        storage = stack.enter_context(contextlib.closing(open_storage(folder=Path(folder))))
        account, writer = storage.accounts.ensure("default"), KeywordWriter(storage)
        for begin in range(0, len(pieces), MAX_PIECES_PER_SUBMISSION):
            body = json.dumps(pieces[begin : begin + MAX_PIECES_PER_SUBMISSION]).encode()
            command = SubmitPieces(
                account_id=account,
                source="texts",
                pieces=decode_submission(body).pieces,
                settings=encode_settings(settings),
                words=rule_of(settings),
            )
            writer.submit(command)
        history = read_source(storage, "default", "texts")
        stack.enter_context(kernels_for(history, NodeSettings(data=folder))).use()
        yield Service(history)


class MoreLikeThis:
    """Lists by the formula of Elasticsearch's and Lucene's "more like this": the terms that tell most, scored by BM25.

    What it asks for are the 25 terms of some texts of the greatest TF-IDF that five pieces or more have, without
    English stop words.
    """

    def __init__(self, pieces: Sequence[Mapping[str, Any]]) -> None:
        stop_words = stopwordsiso.stopwords("en")
        self._ids = [piece["id"] for piece in pieces]
        self._catalogs = [frozenset(piece["filters"]["catalogs"]) for piece in pieces]
        self._counts = [
            Counter(
                word
                for text in (piece.get("label", ""), piece["extras"]["description"])
                for word in running_words(text)
                if word not in stop_words
            )
            for piece in pieces
        ]
        self._numbers = {piece_id: number for number, piece_id in enumerate(self._ids)}
        self._of_word: dict[str, list[int]] = defaultdict(list)
        for number, counts in enumerate(self._counts):
            for word in counts:
                self._of_word[word].append(number)
        lengths = np.array([counts.total() for counts in self._counts])
        self._damping = SATURATION * (1 - LENGTH + LENGTH * lengths / lengths.mean())

    def __call__(self, seeds: Sequence[str], catalog: str) -> Sequence[str]:
        """Return the list of a catalog, from some pieces."""
        asked = sum((self._counts[self._numbers[seed]] for seed in seeds), start=Counter[str]())
        common = [word for word in asked if len(self._of_word[word]) >= LEAST_PIECES]
        total = len(self._ids)
        telling = {w: asked[w] * (1 + math.log((total + 1) / (len(self._of_word[w]) + 1))) for w in common}
        scores: Counter[int] = Counter()
        for word in heapq.nsmallest(TERMS, common, key=lambda word: (-telling[word], word)):
            own = self._of_word[word]
            rarity = math.log(1 + (total - len(own) + 0.5) / (len(own) + 0.5))
            for number in own:
                count = self._counts[number][word]
                scores[number] += rarity * count / (count + self._damping[number])
        listed = [n for n in scores if catalog in self._catalogs[n] and self._ids[n] not in seeds]
        listed.sort(key=lambda number: (-scores[number], self._ids[number]))
        return [self._ids[number] for number in listed[:RECALLED]]


class Judge:
    """Judges lists of both kinds by the likes of a set."""

    def __init__(self, judged: JudgedSet) -> None:
        self._ids = judged.ids
        self._numbers = {piece_id: number for number, piece_id in enumerate(self._ids)}
        self._queries, self._co_liked = _co_liked(judged)
        self._persons, self._tasks = _new_tasks(judged)

    def counts(self) -> str:
        """Return how much is judged, in words."""
        people = len(set(self._persons))
        return f"{len(self._ids):,} pieces, {len(self._queries):,} of them asked for, {people:,} people"

    def similar(self, lists: Lists) -> FloatArray:
        """Return NDCG@10 of each piece's list."""
        made = self._made([([self._ids[query]], JUDGED) for query in self._queries], lists)
        return ndcg(hits_of(made, self._co_liked), _lengths(self._co_liked))

    def new(self, lists: Lists) -> FloatArray:
        """Return Recall@20 of each person, a mean over the parts that the person is asked for in."""
        tasks = [([self._ids[each] for each in known], catalog) for known, catalog, _ in self._tasks]
        relevant = [wanted for _, _, wanted in self._tasks]
        shares = recall(hits_of(self._made(tasks, lists), relevant), _lengths(relevant))
        _, rows, times = np.unique(self._persons, return_inverse=True, return_counts=True)
        means: FloatArray = np.bincount(rows, shares) / times
        return means

    def _made(self, tasks: Sequence[tuple[Sequence[str], str]], lists: Lists) -> IntArray:
        made = np.full((len(tasks), RECALLED), NOTHING, dtype=np.int64)
        for row, (seeds, catalog) in enumerate(tasks):
            ids = lists(seeds, catalog)[:RECALLED]
            made[row, : len(ids)] = [self._numbers[piece_id] for piece_id in ids]
        return made


def _co_liked(judged: JudgedSet) -> tuple[Sequence[int], Sequence[IntArray]]:
    """Return the pieces that are asked for, and for each the 20 of them whose likes are most alike."""
    queries = [number for number, piece in enumerate(judged.pieces) if JUDGED in piece["filters"]["catalogs"]]
    places = {number: place for place, number in enumerate(queries)}
    liking = np.zeros((len(judged.likes), len(queries)), dtype=np.float64)
    for person, own in enumerate(judged.likes):
        liking[person, [places[number] for number in own if number in places]] = 1
    together = liking.T @ liking
    lengths = np.sqrt(np.diag(together))
    likeness = together / np.outer(lengths, lengths)
    np.fill_diagonal(likeness, -1)
    nearest = np.argsort(-likeness, axis=1, kind="stable")[:, :CO_LIKED]
    return queries, list(np.array(queries)[nearest])


def _new_tasks(judged: JudgedSet) -> tuple[list[int], list[tuple[list[int], str, IntArray]]]:
    """Return who is asked for, and from which likes, of which new pieces, of which some are liked."""
    part_of = [piece["filters"]["catalogs"][0] for piece in judged.pieces]
    persons, tasks = list[int](), list[tuple[list[int], str, IntArray]]()
    for person, own in enumerate(judged.likes):
        for part in map(NEW.format, range(PARTS)):
            known = sorted(number for number in own if part_of[number] != part)
            wanted = sorted(own.difference(known))
            if len(known) >= LEAST_LIKES and wanted:
                persons.append(person)
                tasks.append((known, part, np.array(wanted)))
    return persons, tasks


def _lengths(relevant: Sequence[IntArray]) -> IntArray:
    return np.array([len(each) for each in relevant])


def _plain(text: Any) -> str:
    """Return a title or a name without brackets, punctuation and capitals."""
    return " ".join(re.findall(r"[a-z0-9]+", re.sub(r"\(.*\)", "", str(text).lower())))


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


class Table:
    """Prints rows of figures; those beside tags with what they are more than the ones of tags alone."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._alone: dict[str, FloatArray] = {}

    def alone(self, title: str, similar: Lists, new: Lists) -> None:
        """Print the figures of lists by words alone."""
        self._row(f"{title}: similar", self._judge.similar(similar))
        self._row(f"{title}: new", self._judge.new(new))

    def beside(self, service: Service) -> None:
        """Print the figures of lists by tags and by words of several weights, the first of which is none."""
        for weight in WEIGHTS:
            weights = {WORDS_CATEGORY: weight}
            found = {
                algorithm.value: self._judge.similar(service.similar(algorithm, weights)) for algorithm in Algorithm
            }
            found["new"] = self._judge.new(service.content(weights))
            for kind, values in found.items():
                self._row(f"tags, words {weight:g}: {kind}", values, self._alone.setdefault(kind, values))

    @staticmethod
    def _row(title: str, values: FloatArray, base: FloatArray | None = None) -> None:
        own = estimate(values, SEED)
        more = "" if base is None or base is values else f"  tags alone {compared(values, base, SEED)[0]}"
        if own is not None:
            print(f"{title:30} {own.value:.3f} [{own.low:.3f}, {own.high:.3f}]{more}", flush=True)


def main() -> None:
    """Print the figures of a set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--likes", type=int, default=JUDGED_LIKES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path, nargs="*")
    given = parser.parse_args()
    judged = read_set(given.folder, given.texts, given.likes)
    judge = Judge(judged)
    table = Table(judge)
    print(f"{given.folder.name}: {judge.counts()}")
    with service_of([{**piece, "categories": {}} for piece in judged.pieces]) as service:
        table.alone("words alone", service.similar(Algorithm.JACCARD, {}), service.content({}))
    more = MoreLikeThis(judged.pieces)
    table.alone("more like this", more, more)
    with service_of(judged.pieces) as service:
        table.beside(service)


if __name__ == "__main__":
    main()
