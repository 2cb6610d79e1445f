"""The page about a person: the taste in words, what was done and shown, the lists and why; and what may be changed."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from penchant_client import flows, operations
from penchant_client.records import (
    ExportedImpression,
    ExportedInteraction,
    InteractionType,
    PersonPreferences,
    Settings,
    UserExport,
)
from penchant_client.requests import encode, request_of
from penchant_desk.changing import done_notice
from penchant_desk.drafts import JSON
from penchant_desk.likes import what_a_like_is
from penchant_desk.people import suggested_people
from penchant_desk.pieces import PieceTile, offered_titles, piece_tiles
from penchant_desk.problems import invalid
from penchant_desk.reasons import ReasonedList, list_values
from penchant_desk.rows.stored import titles_of_rows
from penchant_desk.site import OF_PEOPLE, DeskPage, PageVisit, Redirect, Section, missing_feature, section

MAX_TAKE = 30
"""The most entries of a list."""
INTERACTIONS = 60
"""Interactions that are read, the newest; together they are shown by piece."""
MAX_DONE = 15
"""Pieces of which is shown what the person did."""
SHELF = 15
"""Recommended pieces in sight."""
MAX_LISTS, MAX_ROWS = 8, 8
"""Lists that the person was shown, the newest, and how many rows one may be of."""
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
_DEEDS: Mapping[str, str] = {
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
_RATINGS = {InteractionType.RATE_LIKE, InteractionType.RATE_DISLIKE}
_ERASED = "All that was stored of this person is erased."


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedKeyword:
    """A keyword of a taste with the size of its chip, 1 to 4."""

    text: str
    score: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonTaste:
    """What a person likes and turns away from, the strongest first, and how much more of both there is."""

    liked: Sequence[SizedKeyword] = ()
    against: Sequence[SizedKeyword] = ()
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonDeed:
    """An interaction as a page shows it: what was done, when (in ms, too), and what part of the piece it was of."""

    interaction: ExportedInteraction
    word: str
    portion: str

    @property
    def occurred_at(self) -> int:
        """The moment in ms since 1970 UTC, as the form that takes it back has it."""
        return round(self.interaction.timestamp.timestamp() * 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceDeeds:
    """What a person did with a piece, the newest first."""

    piece: PieceTile
    deeds: Sequence[PersonDeed]

    @property
    def words(self) -> str:
        """Return it in words, each once."""
        return ", ".join(dict.fromkeys(each.word for each in self.deeds))


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenRow:
    """A list that a person was shown: of which row and variant, how many pieces, and which of them led to something."""

    placement: str
    title: str
    variant: str
    made_at: datetime
    count: int
    opened: Sequence[str]


async def user(visit: PageVisit) -> DeskPage:
    """Show a person, or ask for whom."""
    if not visit.text("id"):
        status, people = await asyncio.gather(
            visit.client.send(flows.get_source(visit.source)), suggested_people(visit)
        )
        notice = _ERASED if visit.text("said") == "erased" else None
        asked = {"source": status.source, "people": people.value, "faults": people.faults, "notice": notice}
        return DeskPage(template="user_search.html", values=asked)
    user_id, source, numbers = visit.id(), visit.source, visit.text("view") == "numbers"
    settings = await visit.client.send(operations.get_settings(source))
    (taste, preferences, stored), listed, done, like, titles = await asyncio.gather(
        asyncio.gather(
            section(_taste(visit, user_id)),
            section(_preferences(visit, settings, user_id)),
            _stored(visit, settings, user_id, numbers=numbers),
        ),
        _recommended(visit, settings, user_id, numbers=numbers),
        done_notice(visit, settings),
        what_a_like_is(visit),
        offered_titles(visit),
    )
    values: dict[str, Any] = {
        "source": source,
        "id": user_id,
        "notice": _SAID.get(visit.text("said")),
        "done": done,
        "taste": taste,
        "sentence": taste_sentence(user_id, taste.value),
        "like": like,
        "preferences": preferences,
        "may_edit": visit.may_edit("lists"),
        "may_change": visit.session.scopes.issuperset(OF_PEOPLE),
        "numbers": numbers,
        "titles": titles,
    }
    return DeskPage(template="user.html", values={**values, **stored, **listed})


async def _recommended(visit: PageVisit, settings: Settings, user_id: str, *, numbers: bool) -> Mapping[str, Any]:
    asked = ReasonedList(
        request=lambda options: request_of(
            "GET", "/{source}/users/{userID}/recommendation", JSON, visit.source, user_id, options=options
        ),
        why=lambda other, options: request_of(
            "GET", "/{source}/users/{userID}/why/{contentID}", JSON, visit.source, user_id, other, options=options
        ),
        relative=True,
    )
    return await list_values(visit, settings, asked, shown=MAX_TAKE if numbers else SHELF)


async def change_user(visit: PageVisit) -> Redirect:
    """Take back what a form names, switch personal lists off or on, or erase all that is stored of a person.

    Raises:
        PageProblem: the form names no interaction, or erasing was not confirmed.
    """
    # Whatever the form asks for: first whether there is such a source.
    source = (await visit.client.send(flows.get_source(visit.source))).source
    user_id, do = visit.id(), visit.form.text("do")
    if do == "erase":
        if not visit.form.text("sure"):
            raise invalid("Say that you are sure: nothing brings it back.")
        await visit.client.send(operations.erase_user(source, user_id))
        return Redirect(path=visit.link("user", source=source, said="erased"))
    if do in {"off", "on"}:
        path = "/{source}/users/{userID}/preferences"
        stated = await visit.client.send(request_of("GET", path, JSON, source, user_id))
        body = encode({**stated, "personal": do == "on"})
        await visit.client.send(request_of("PUT", path, JSON, source, user_id, body=body))
        return Redirect(path=visit.link("user", source=source, id=user_id, said=do))
    return await _take_back(visit, user_id)


async def _take_back(visit: PageVisit, user_id: str) -> Redirect:
    """Take back the interaction that a form names by its type, piece and moment, and by its event id if it has one."""
    form = visit.form
    kind, moment = form.text("type"), form.text("moment")
    if kind not in _DEEDS or not moment.isdecimal() or len(moment) > 14:
        raise invalid("The form names no interaction; open the page anew.")
    request = flows.take_back(
        visit.source,
        user_id,
        kind,
        form.text("piece"),
        timestamp=datetime.fromtimestamp(int(moment) / 1000, UTC),
        event_id=form.text("event") or None,
    )
    removed = (await visit.client.send(request)).removed
    return Redirect(path=visit.link("user", source=visit.source, id=user_id, said="taken" if removed else "gone"))


async def _taste(visit: PageVisit, user_id: str) -> PersonTaste:
    profiles = await visit.client.send(operations.get_profile(visit.source, user_id))
    return taste_of(profiles[0].categories) if profiles else PersonTaste()


def taste_of(categories: Mapping[str, Mapping[str, int]]) -> PersonTaste:
    """Return the strongest keywords of a profile, whatever their category."""
    scores = [(keyword, score) for found in categories.values() for keyword, score in found.items() if score]
    scores.sort(key=lambda each: (-abs(each[1]), each[0]))
    greatest = max((abs(score) for _, score in scores), default=1)
    sized = [
        SizedKeyword(
            text=keyword, score=score, size=1 + sum(abs(score) >= share * greatest for share in (0.25, 0.5, 0.8))
        )
        for keyword, score in scores
    ]
    liked = [each for each in sized if each.score > 0]
    against = [each for each in sized if each.score < 0]
    more = max(0, len(liked) - MAX_TASTE) + max(0, len(against) - MAX_AGAINST)
    return PersonTaste(liked=liked[:MAX_TASTE], against=against[:MAX_AGAINST], more=more)


def taste_sentence(user_id: str, taste: PersonTaste | None) -> str:
    """Return in a sentence what a person likes; nobody's gender is guessed."""
    if taste is None:
        return user_id
    if not taste.liked:
        return f"Nothing is known yet of what {user_id} likes."
    return f"{user_id} likes {listed_words(each.text for each in taste.liked[:NAMED])}."


def listed_words(words: Iterable[str]) -> str:
    """Return words as a list in a sentence."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


async def _stored(visit: PageVisit, settings: Settings, user_id: str, *, numbers: bool) -> Mapping[str, Section]:
    """Return what a person did, unless the page is of numbers, and was shown."""
    missing = missing_feature(visit, "interactionsListing")
    if missing is not None:
        return {"acts": Section() if numbers else missing, "shown": missing}
    export = await visit.client.send(
        request_of(
            *("GET", "/{source}/users/{userID}/export", UserExport, visit.source, user_id),
            options={"limit": max(INTERACTIONS, MAX_LISTS * MAX_ROWS)},
        )
    )
    acts = () if numbers else export.interactions[:INTERACTIONS]
    done, shown = await asyncio.gather(
        _deeds(visit, settings, acts), section(_shown(visit, settings, export.impressions))
    )
    return {"acts": Section() if numbers else Section(done), "shown": shown}


async def _deeds(visit: PageVisit, settings: Settings, interactions: Sequence[ExportedInteraction]) -> list[PieceDeeds]:
    """Return what a person did, by piece, the piece of the newest interaction first."""
    by_piece: dict[str, list[PersonDeed]] = {}
    for each in interactions:
        deed = PersonDeed(interaction=each, word=_DEEDS[each.type], portion=_portion(each))
        by_piece.setdefault(each.content_id, []).append(deed)
    chosen = dict(list(by_piece.items())[:MAX_DONE])
    tiles = await piece_tiles(visit, settings, chosen)
    return [PieceDeeds(piece=tiles[piece_id], deeds=deeds) for piece_id, deeds in chosen.items()]


async def _shown(visit: PageVisit, settings: Settings, impressions: Sequence[ExportedImpression]) -> list[SeenRow]:
    """Return the lists that a person was shown, the newest first."""
    found = []
    # The lists that a placement gives in rows stand here as one.
    for (placement, variant, made_at), group in groupby(
        impressions, key=lambda each: (each.placement, each.variant, each.made_at)
    ):
        pieces = list(group)
        opened = [each.content_id for each in pieces if each.led_to]
        found.append((placement, variant, made_at, len(pieces), opened))
        if len(found) == MAX_LISTS:
            break
    titles, tiles = await asyncio.gather(
        titles_of_rows(visit), piece_tiles(visit, settings, [piece_id for *_, opened in found for piece_id in opened])
    )
    return [
        SeenRow(
            placement=placement,
            title=titles.get(placement, placement),
            variant=variant,
            made_at=made_at,
            count=count,
            opened=[tiles[each].title for each in opened],
        )
        for placement, variant, made_at, count, opened in found
    ]


async def _preferences(
    visit: PageVisit, settings: Settings, user_id: str
) -> tuple[PersonPreferences, Mapping[str, PieceTile]]:
    """Return what a person has said, with the pieces that are hidden by that."""
    stated = await visit.client.send(operations.get_preferences(visit.source, user_id))
    return stated, await piece_tiles(visit, settings, stated.hidden[:MAX_DONE])


def _portion(interaction: ExportedInteraction) -> str:
    """Return in words what part of the piece an interaction was of, empty where that is not told or says nothing."""
    if interaction.value is None or interaction.type in _RATINGS:
        return ""
    percent = round(interaction.value * 100)
    if not percent:
        return "nothing of it: counts for nothing"
    return f"{percent} % {'watched' if interaction.type in {'Watch', 'Play'} else 'of it'}"
