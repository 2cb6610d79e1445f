"""Handlers of the page about a person: the taste, what the person did last, and what is recommended why."""

from typing import Any

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import Feature, InteractionType, StoredInteraction
from penchant.service.lists.requests import PersonalRequest
from penchant.service.people import InteractionSelection, TakenBack
from penchant.web.dashboard.pictures import BubbleGroup, bubble_groups
from penchant.web.dashboard.reasons import list_values
from penchant.web.dashboard.site import DashboardSite, PageAnswer, RedirectAnswer, Visit, section

INTERACTIONS = 20
"""Interactions that are shown, the newest."""
_SAID = {"taken": "It is taken back.", "gone": "It was taken back already; nothing was changed."}


async def user(visit: Visit) -> PageAnswer:
    """Show a person, or ask for whom."""
    view = await visit.view()
    if not visit.text("id"):
        return PageAnswer(template="user_search.html", values={"source": view.head.name})
    user_id = visit.id()
    values = {
        "source": view.head.name,
        "id": user_id,
        "notice": _SAID.get(visit.text("said")),
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


async def take_back(visit: Visit, site: DashboardSite) -> RedirectAnswer:
    """Take back the interaction that a form names by its type, piece and moment, and by its event id if it has one.

    Raises:
        InvalidInput: the form names none.
    """
    view = await visit.view()
    try:
        kind, moment = InteractionType(visit.form.text("type")), int(visit.form.text("moment"))
    except ValueError:
        raise invalid_parameter("moment", "The form names no interaction; open the page anew.") from None
    chosen = TakenBack(
        user_id=visit.id(),
        type=kind,
        piece_id=visit.form.text("piece"),
        event_id=visit.form.text("event") or None,
        occurred_at=moment,
    )
    outcome = await visit.services.people.take_back(visit.access, view.head.name, chosen)
    said = "taken" if outcome.deleted else "gone"
    return RedirectAnswer(path=site.link("user", source=view.head.name, id=chosen.user_id, said=said))


async def _taste(visit: Visit, view: View, user_id: str) -> list[BubbleGroup]:
    profiles = await visit.services.lists.profile(view, user_id)
    return bubble_groups(profiles[0].categories) if profiles else []


async def _interactions(visit: Visit, view: View, user_id: str) -> list[Any]:
    interactions = await visit.services.people.listed(view, user_id, InteractionSelection(limit=INTERACTIONS))
    labels = await visit.services.browsing.labels(view, list({each.piece_id for each in interactions}))
    return [(each, labels.get(each.piece_id), each.piece_id in view.snapshot, _portion(each)) for each in interactions]


def _portion(interaction: StoredInteraction) -> str:
    """Return in words what part of the piece an interaction was of, empty where that is not told or says nothing."""
    if interaction.portion is None or interaction.type.is_rating:
        return ""
    if not interaction.portion:
        return "nothing of it: counts for nothing"
    is_watched = interaction.type in {InteractionType.WATCH, InteractionType.PLAY}
    return f"{interaction.portion} % {'watched' if is_watched else 'of it'}"
