"""Handler of the page about a person: the taste, what the person did last, and what is recommended why."""

from typing import Any

from penchant.live.views import View
from penchant.model import Feature
from penchant.service.lists.requests import PersonalRequest
from penchant.service.people import InteractionSelection
from penchant.web.dashboard.pictures import BubbleGroup, bubble_groups
from penchant.web.dashboard.piece import chosen_algorithm, chosen_catalogs
from penchant.web.dashboard.reasons import ListEntry, PieceStanding, entries, ids_of, standing
from penchant.web.dashboard.site import PageAnswer, Visit, section

INTERACTIONS = 20
"""Interactions that are shown, the newest."""


async def user(visit: Visit) -> PageAnswer:
    """Show a person, or ask for whom."""
    view = await visit.view()
    if not visit.text("id"):
        return PageAnswer(template="user_search.html", values={"source": view.head.name})
    user_id = visit.id()
    algorithm, catalogs = visit.text("algo"), visit.text("catalogs")
    needed = [Feature.PERSONALIZED, *([Feature.FILTERS] if catalogs else [])]
    values = {
        "source": view.head.name,
        "id": user_id,
        "taste": await section(visit, lambda: _taste(visit, view, user_id), Feature.PROFILE),
        "interactions": await section(visit, lambda: _interactions(visit, view, user_id), Feature.INTERACTIONS_LISTING),
        "recommended": await section(visit, lambda: _recommended(visit, view, user_id), *needed, counted=1),
        "chosen": {"algo": algorithm, "catalogs": catalogs, "other": visit.text("other")},
        "why": await section(visit, lambda: _standing(visit, view, user_id), *needed) if visit.text("other") else None,
    }
    return PageAnswer(template="user.html", values=values)


async def _taste(visit: Visit, view: View, user_id: str) -> list[BubbleGroup]:
    profiles = await visit.services.lists.profile(view, user_id)
    return bubble_groups(profiles[0].categories) if profiles else []


async def _interactions(visit: Visit, view: View, user_id: str) -> list[Any]:
    interactions = await visit.services.people.listed(view, user_id, InteractionSelection(limit=INTERACTIONS))
    labels = await visit.services.browsing.labels(view, list({each.piece_id for each in interactions}))
    return [(each, labels.get(each.piece_id), each.piece_id in view.snapshot) for each in interactions]


async def _recommended(visit: Visit, view: View, user_id: str) -> list[ListEntry]:
    lists = visit.services.lists
    result = await lists.answer(await lists.personal(view, _query(visit, user_id)), explain=True)
    labels = await visit.services.browsing.labels(view, ids_of(result))
    return entries(result, labels, relative=True)


async def _standing(visit: Visit, view: View, user_id: str) -> PieceStanding:
    other = visit.id("other")
    lists = visit.services.lists
    place = await lists.place(visit.access, await lists.personal(view, _query(visit, user_id)), other)
    return standing(place, await visit.services.browsing.labels(view, [other, *ids_of(place)]))


def _query(visit: Visit, user_id: str) -> PersonalRequest:
    return PersonalRequest(
        user_id=user_id, algorithm=chosen_algorithm(visit), catalogs=chosen_catalogs(visit.text("catalogs"))
    )
