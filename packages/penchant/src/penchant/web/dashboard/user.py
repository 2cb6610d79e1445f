"""The page about a person: the taste in words, what was done and shown, the lists and why; and what may be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from penchant.errors import invalid_parameter
from penchant.live.views import View
from penchant.model import Feature
from penchant.service.browsing import PieceCard
from penchant.service.desk import title_of
from penchant.service.health_reports import HealthReports
from penchant.service.people import InteractionSelection, TakenBack
from penchant.service.rows import row_services
from penchant.web.dashboard.changing import done_notice
from penchant.web.dashboard.reasons import list_values
from penchant.web.dashboard.site import DashboardSite, PageAnswer, PageSection, RedirectAnswer, Visit, section
from penchant.wire.placements import MAX_ROWS
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import MAX_TAKE, InteractionType, Preferences, StoredInteraction

INTERACTIONS = 60
"""Interactions that are read, the newest; together they are shown by piece."""
MAX_DONE = 15
"""Pieces of which is shown what the person did."""
SHELF = 15
"""Recommended pieces in sight."""
MAX_LISTS = 8
"""Lists that the person was shown, the newest."""
MAX_TASTE, MAX_AGAINST = 16, 8
"""Keywords of a taste that are shown, and of what is turned away from."""
NAMED = 3
"""Keywords that the sentence names."""
_SAID = {
    "taken": "It is taken back.",
    "gone": "It was taken back already; nothing was changed.",
    "off": "Personal lists are off: this person sees what somebody unknown sees, and nothing new is stored.",
    "on": "Personal lists are on again.",
}
_DEEDS = {
    InteractionType.PURCHASE: "bought",
    InteractionType.RATE_LIKE: "liked",
    InteractionType.WATCH: "watched",
    InteractionType.BOOKMARK: "kept",
    InteractionType.PLAY: "played",
    InteractionType.CLICK: "opened",
    InteractionType.PREVIEW: "looked at",
    InteractionType.RATE_DISLIKE: "disliked",
}
"""What an interaction of a type is in a word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TasteKeyword:
    """A keyword of a taste with the size of its chip, 1 to 4."""

    text: str
    score: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownTaste:
    """What a person likes and turns away from, the strongest first, and how much more of both there is."""

    liked: Sequence[TasteKeyword] = ()
    against: Sequence[TasteKeyword] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAct:
    """An interaction as a page shows it: what was done, when, and what part of the piece it was of."""

    interaction: StoredInteraction
    word: str
    portion: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneWith:
    """What a person did with a piece, the newest first."""

    piece: PieceCard
    deeds: Sequence[PersonAct]

    @property
    def words(self) -> str:
        """Return it in words, each once."""
        return ", ".join(dict.fromkeys(each.word for each in self.deeds))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownList:
    """A list that a person was shown: of which row and variant, how many pieces, and which of them led to something."""

    placement: str
    title: str
    variant: str
    made_at: int
    count: int
    opened: Sequence[str]


async def user(visit: Visit, site: DashboardSite) -> PageAnswer:
    """Show a person, or ask for whom."""
    view = await visit.view()
    if not visit.text("id"):
        people = await section(visit, lambda: visit.services.search.people_to_try(view), Feature.INTERACTIONS_LISTING)
        notice = "All that was stored of this person is erased." if visit.text("said") == "erased" else None
        asked = {"source": view.head.name, "people": people.value, "faults": people.faults, "notice": notice}
        return PageAnswer(template="user_search.html", values=asked)
    user_id = visit.id()
    numbers = visit.text("view") == "numbers"
    taste = await section(visit, lambda: _taste(visit, view, user_id), Feature.PROFILE)
    acts: PageSection[Sequence[DoneWith]] = PageSection()
    if not numbers:
        acts = await section(visit, lambda: _acts(visit, view, user_id), Feature.INTERACTIONS_LISTING)
    values: dict[str, Any] = {
        "source": view.head.name,
        "id": user_id,
        "notice": _SAID.get(visit.text("said")),
        "done": await done_notice(visit, view, site),
        "taste": taste,
        "sentence": taste_sentence(user_id, taste.value),
        "like": await visit.services.of(HealthReports).what_a_like_is(view),
        "acts": acts,
        "shown": await section(visit, lambda: _shown(visit, view, user_id), Feature.INTERACTIONS_LISTING),
        "preferences": await section(visit, lambda: _preferences(visit, view, user_id), Feature.PERSONALIZED),
        "may_edit": visit.may_edit(Feature.LISTS),
        "numbers": numbers,
        "titles": await visit.titles(view),
    }
    values |= await list_values(
        visit,
        view,
        lambda algorithm, catalogs, take: visit.services.lists.personal(
            view, ListRequest(user_id=user_id, algorithm=algorithm, catalogs=catalogs, take=take)
        ),
        Feature.PERSONALIZED,
        shown=MAX_TAKE if numbers else SHELF,
        relative=True,
    )
    return PageAnswer(template="user.html", values=values)


async def change_user(visit: Visit, site: DashboardSite) -> RedirectAnswer:
    """Take back what a form names, switch personal lists off or on, or erase all that is stored of a person.

    Raises:
        InvalidInput: the form names no interaction, or erasing was not confirmed.
    """
    view, user_id, do = await visit.view(), visit.id(), visit.form.text("do")
    if do == "erase":
        if not visit.form.text("sure"):
            raise invalid_parameter("sure", "Say that you are sure: nothing brings it back.")
        await visit.services.people.erase(visit.access, view.head.name, user_id)
        return RedirectAnswer(path=site.link("user", source=view.head.name, said="erased"))
    if do in {"off", "on"}:
        visit.services.access.require(visit.access, Feature.PERSONALIZED)
        stated = await visit.services.people.preferences(view, user_id)
        changed = replace(stated, personal=do == "on")
        await visit.services.people.replace_preferences(visit.access, view.head.name, user_id, changed)
        return RedirectAnswer(path=site.link("user", source=view.head.name, id=user_id, said=do))
    return await _take_back(visit, view, site)


async def _take_back(visit: Visit, view: View, site: DashboardSite) -> RedirectAnswer:
    """Take back the interaction that a form names by its type, piece and moment, and by its event id if it has one."""
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


async def _taste(visit: Visit, view: View, user_id: str) -> ShownTaste:
    profiles = await visit.services.lists.profile(view, user_id, visit.services.lists.now(view))
    return taste_of(profiles[0].categories) if profiles else ShownTaste()


def taste_of(categories: Mapping[str, Mapping[str, int]]) -> ShownTaste:
    """Return the strongest keywords of a profile, whatever their category."""
    scores = [(keyword, score) for found in categories.values() for keyword, score in found.items() if score]
    scores.sort(key=lambda each: (-abs(each[1]), each[0]))
    greatest = max((abs(score) for _, score in scores), default=1)
    sized = [
        TasteKeyword(
            text=keyword, score=score, size=1 + sum(abs(score) >= share * greatest for share in (0.25, 0.5, 0.8))
        )
        for keyword, score in scores
    ]
    liked = [each for each in sized if each.score > 0]
    against = [each for each in sized if each.score < 0]
    more = max(0, len(liked) - MAX_TASTE) + max(0, len(against) - MAX_AGAINST)
    return ShownTaste(liked=liked[:MAX_TASTE], against=against[:MAX_AGAINST], more=more)


def taste_sentence(user_id: str, taste: ShownTaste | None) -> str:
    """Return in a sentence what a person likes; nobody's gender is guessed."""
    if taste is None:
        return user_id
    if not taste.liked:
        return f"Nothing is known yet of what {user_id} likes."
    return f"{user_id} likes {listed_words(each.text for each in taste.liked[:NAMED])}."


def listed_words(words: Any) -> str:
    """Return words as a list in a sentence."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else str(last)


async def _acts(visit: Visit, view: View, user_id: str) -> list[DoneWith]:
    """Return what a person did, by piece, the piece of the newest interaction first."""
    interactions = await visit.services.people.listed(view, user_id, InteractionSelection(limit=INTERACTIONS))
    by_piece: dict[str, list[PersonAct]] = {}
    for each in interactions:
        deed = PersonAct(interaction=each, word=_DEEDS[each.type], portion=_portion(each))
        by_piece.setdefault(each.piece_id, []).append(deed)
    chosen = dict(list(by_piece.items())[:MAX_DONE])
    cards = await visit.cards(view, chosen)
    return [DoneWith(piece=cards[piece_id], deeds=deeds) for piece_id, deeds in chosen.items()]


async def _shown(visit: Visit, view: View, user_id: str) -> list[ShownList]:
    """Return the lists that a person was shown, the newest first."""
    # The lists that a placement gives in rows stand here as one.
    impressions = await row_services(visit).impressions.of_person(view, user_id, MAX_LISTS * MAX_ROWS)
    found = []
    for (placement, variant, made_at), group in groupby(
        impressions, key=lambda each: (each.placement, each.variant, each.made_at)
    ):
        pieces = list(group)
        opened = [each.piece_id for each in pieces if each.led_to]
        found.append((placement, variant, made_at, len(pieces), opened))
        if len(found) == MAX_LISTS:
            break
    titles = {each.name: title_of(each) for each in (await row_services(visit).placements.listing(view)).placements}
    cards = await visit.cards(view, [piece_id for *_, opened in found for piece_id in opened])
    return [
        ShownList(
            placement=placement,
            title=titles.get(placement, placement),
            variant=variant,
            made_at=made_at,
            count=count,
            opened=[cards[each].title for each in opened],
        )
        for placement, variant, made_at, count, opened in found
    ]


async def _preferences(visit: Visit, view: View, user_id: str) -> tuple[Preferences, Mapping[str, PieceCard]]:
    """Return what a person has said, with the pieces that are hidden by that."""
    stated = await visit.services.people.preferences(view, user_id)
    return stated, await visit.cards(view, stated.hidden[:MAX_DONE])


def _portion(interaction: StoredInteraction) -> str:
    """Return in words what part of the piece an interaction was of, empty where that is not told or says nothing."""
    if interaction.portion is None or interaction.type.is_rating:
        return ""
    if not interaction.portion:
        return "nothing of it: counts for nothing"
    is_watched = interaction.type in {InteractionType.WATCH, InteractionType.PLAY}
    return f"{interaction.portion} % {'watched' if is_watched else 'of it'}"
