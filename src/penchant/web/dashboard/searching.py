"""Handler of the search that finds pieces and people by anything, from every page of a source."""

from penchant.errors import invalid_parameter
from penchant.model import Feature
from penchant.service.searching import NEWEST_PEOPLE, HitPlace
from penchant.web.dashboard.sections import section
from penchant.web.dashboard.site import PageAnswer, Visit
from penchant.wire import id_problem

PLACES = {
    HitPlace.WHOLE_ID: "the id",
    HitPlace.ID: "beginning of the id",
    HitPlace.TITLE_WORDS: "label",
    HitPlace.TITLE: "label",
    HitPlace.KEYWORD: "keyword",
    HitPlace.TEXT: "text",
    HitPlace.SEVERAL: "several places",
}
"""Where a piece has what was looked for, in words."""


async def search(visit: Visit) -> PageAnswer:
    """Show the pieces and people that a text finds; ``after`` goes on with the texts of pieces past an id."""
    view = await visit.view()
    wanted, after = visit.text("q").strip(), visit.text("after") or None
    found = people = None
    if wanted:
        # Longer than an id, or with what no id may hold: neither is in any piece.
        problem = id_problem(wanted)
        if problem:
            raise invalid_parameter("q", problem)
        found = await visit.services.search.pieces(view, wanted, after=after)
    if wanted and after is None:
        people = await section(visit, lambda: visit.services.search.people(view, wanted), Feature.INTERACTIONS_LISTING)
    values = {
        "source": view.head.name,
        "pieces": view.head.piece_count,
        "wanted": wanted,
        "found": found,
        "people": people,
        "places": PLACES,
        "newest_people": NEWEST_PEOPLE,
    }
    return PageAnswer(template="search.html", values=values)
