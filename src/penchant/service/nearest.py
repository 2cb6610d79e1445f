"""Nearest pieces: by what a list of similar pieces goes, and what the boosts and the whitelist make of it."""

from penchant import ranking
from penchant.index import DISTANCE_SCALE, Audience, Booster, Filter, Find, Neighbour, Scan, SimilarityQuery
from penchant.live.views import View
from penchant.model import MAX_TAKE, Basis
from penchant.service.requests import ListRequest, SimilarRequest


def scan_near(query: SimilarRequest, asked: SimilarityQuery, audience: Audience | None) -> Scan:
    """Return the measure of a request for similar content: content alone without an audience."""
    if audience is None:
        return asked.scan
    shared = audience.shared_with(query.piece_id)
    return shared.scan if query.by is Basis.AUDIENCE else shared.beside(asked.scan)


def nearest_first(view: View, query: ListRequest, shown: Filter, find: Find) -> list[Neighbour]:
    """Return the pieces of least distance under the boosts of a request, whitelisted ones first, in their order."""
    found = Booster(query.boosts, DISTANCE_SCALE).best(find, shown, MAX_TAKE)
    nearest = [Neighbour(piece_id, max(0, key) / DISTANCE_SCALE) for key, piece_id in found]
    if not view.whitelist:
        return nearest
    by_id = {neighbour.id: neighbour for neighbour in nearest}
    return [by_id[each] for each in ranking.promoted(list(by_id), view.whitelist)]
