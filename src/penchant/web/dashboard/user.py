"""Handler of the page about a person: the taste, what the person did last, and what is recommended why."""

from typing import Any

from penchant.live.views import View
from penchant.model import Feature
from penchant.service.lists.requests import PersonalRequest
from penchant.service.people import InteractionSelection
from penchant.web.dashboard.pictures import BubbleGroup, bubble_groups
from penchant.web.dashboard.reasons import list_values
from penchant.web.dashboard.site import PageAnswer, Visit, section

INTERACTIONS = 20
"""Interactions that are shown, the newest."""


async def user(visit: Visit) -> PageAnswer:
    """Show a person, or ask for whom."""
    view = await visit.view()
    if not visit.text("id"):
        return PageAnswer(template="user_search.html", values={"source": view.head.name})
    user_id = visit.id()
    values = {
        "source": view.head.name,
        "id": user_id,
        "taste": await section(visit, lambda: _taste(visit, view, user_id), Feature.PROFILE),
        "interactions": await section(visit, lambda: _interactions(visit, view, user_id), Feature.INTERACTIONS_LISTING),
    }
    values |= await list_values(
        visit,
        view,
        lambda algorithm, catalogs: visit.services.lists.personal(
            view, PersonalRequest(user_id=user_id, algorithm=algorithm, catalogs=catalogs)
        ),
        Feature.PERSONALIZED,
        relative=True,
    )
    return PageAnswer(template="user.html", values=values)


async def _taste(visit: Visit, view: View, user_id: str) -> list[BubbleGroup]:
    profiles = await visit.services.lists.profile(view, user_id)
    return bubble_groups(profiles[0].categories) if profiles else []


async def _interactions(visit: Visit, view: View, user_id: str) -> list[Any]:
    interactions = await visit.services.people.listed(view, user_id, InteractionSelection(limit=INTERACTIONS))
    labels = await visit.services.browsing.labels(view, list({each.piece_id for each in interactions}))
    return [(each, labels.get(each.piece_id), each.piece_id in view.snapshot) for each in interactions]
