"""Broadcasts: television guides in XMLTV, whose programmes become a piece a title, or a piece an episode.

A title is shown on several days and channels, so that files are read twice: first for when each piece is shown, and
where, which takes some 700 bytes of memory a piece and 10 a showing; then for what describes it, of which its first
programme counts.
"""

import re
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element  # what the safe parser gives

from penchant_engine.moments import format_timestamp, parse_timestamp
from penchant_import.drafts import Draft, DraftKind, RowProblem, problem_draft
from penchant_import.files import Files, UnreadableFile
from penchant_import.markup import child_text, local_name, read_items, text_of
from penchant_import.moments import excerpt, read_moment, zone_offset
from penchant_import.options import ImportOptions
from penchant_import.pieces import PieceBuilder
from penchant_import.report import Notes
from penchant_import.rules import id_problem

TITLE, EPISODE = "title", "episode-num"
"""What ``--id-column`` can say: a piece a title, or a piece an episode."""
SUBTITLE = "sub-title"
_WORLDWIDE = "dd_progid"
"""The system of numbers that name an episode by themselves; others count within a title."""
_KEYWORDS = {"category": "category", "keyword": "keyword", "country": "country", "language": "language"}
_CREDITS = {"director": "director", "actor": "actor", "writer": "writer", "presenter": "presenter"}
_ACTORS = 5
"""Actors that are taken: the others hardly tell what a programme is like."""
_TIME = re.compile(
    r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)?(?P<hour>\d\d)?(?P<minute>\d\d)?(?P<second>\d\d)?"
    r"\s*(?P<zone>[+-]\d\d:?\d\d|[A-Za-z]{1,9})?\Z",
    re.ASCII,
)
_READ = frozenset({TITLE, EPISODE, SUBTITLE, "desc", "icon", "image", "url", "date"})
"""Elements that are read by themselves, since there may be several, or another one."""


DEFAULT_HOURS = 4
"""How long a programme lasts of which neither an end nor another one behind it is known."""
_MAX_GAP_MS = 24 * 3_600_000
"""How long a programme without an end may last: what begins later on its channel says nothing of it."""
_FURTHER = "a further showing: its time and channel count, and the first one describes the piece"


class _Showings(NamedTuple):
    """When a piece begins first and ends last, as RFC 3339, and the channels that show it."""

    start: str
    stop: str
    channels: frozenset[str]

    def plus(self, other: "_Showings") -> "_Showings":
        """Return these and others; texts of this form are ordered as the times are."""
        return _Showings(min(self.start, other.start), max(self.stop, other.stop), self.channels | other.channels)


def read_xmltv(files: Files, options: ImportOptions, notes: Notes) -> Iterator[Draft]:
    """Yield the titles or episodes, which are available until their last showing ends."""
    unit = options.id_column or TITLE
    if unit not in (TITLE, EPISODE):
        raise UnreadableFile(f"Found --id-column {unit}; {TITLE} or {EPISODE} is accepted.")
    guide = _Guide(unit, options, notes)
    chosen = files.select("xml", "xmltv")
    for file in chosen:
        for line, element in read_items(files, file, ("channel", "programme")):
            problem = guide.gather(element)
            if problem is not None:
                yield problem_draft(DraftKind.PIECE, (file.name, line), *problem)
    guide.end_open_showings()
    for file in chosen:
        for line, programme in read_items(files, file, ("programme",)):
            draft = guide.piece(programme, (file.name, line))
            if draft is not None:
                yield draft


class _Guide:
    """What all files say of channels and showings, and the pieces that programmes become by that."""

    def __init__(self, unit: str, options: ImportOptions, notes: Notes) -> None:
        self._unit = unit
        self._options = options
        self._notes = notes
        self._channels: dict[str, str] = {}
        self._showings: dict[str, _Showings | None] = {}
        self._starts: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        self._open: list[tuple[str, str, int]] = []
        self._read = _READ if unit == EPISODE else _READ - {SUBTITLE, EPISODE}

    def gather(self, element: Element) -> RowProblem | None:
        """Note the name of a channel, or a showing; return the problem of a programme."""
        if local_name(element.tag) == "channel":
            self._channels.setdefault(element.get("id", ""), child_text(element, "display-name"))
            return None
        if not child_text(element, TITLE):
            return RowProblem(TITLE, "Found a programme without a title.")
        channel = element.get("channel", "")
        try:
            start = _moment(element.get("start", ""))
            stop = _moment(element.get("stop", "") or element.get("start", ""))
        except ValueError as error:
            return RowProblem("start", str(error))
        if not start:
            return RowProblem("start", f"Found {excerpt(element.get('start'))}, which stands for no time.")
        key = _id(element, self._unit)
        # Told here, since ids of any length would be kept until the pieces are read.
        if problem := id_problem(key):
            return RowProblem(self._unit, problem)
        begun_at = parse_timestamp(start)
        self._starts[channel].append(begun_at)
        # An end is optional; in the night of a change of clocks some have one before the start.
        if stop <= start:
            self._open.append((key, channel, begun_at))
        self._add(key, _Showings(start, max(start, stop), frozenset({channel})))
        return None

    def _add(self, key: str, showing: _Showings) -> None:
        known = self._showings.get(key)
        self._showings[key] = known.plus(showing) if known else showing

    def end_open_showings(self) -> None:
        """Give showings without an end that of the next start on their channel, or of some hours."""
        starts = {channel: sorted(moments) for channel, moments in self._starts.items()}
        for key, channel, begun_at in self._open:
            moments = starts[channel]
            place = bisect_right(moments, begun_at)
            end = moments[place] if place < len(moments) else begun_at + _MAX_GAP_MS
            if end >= begun_at + _MAX_GAP_MS:
                end = begun_at + DEFAULT_HOURS * 3_600_000
            start = format_timestamp(begun_at)
            self._add(key, _Showings(start, format_timestamp(end), frozenset()))
        self._starts.clear()
        self._open.clear()

    def piece(self, programme: Element, where: tuple[str, int]) -> Draft | None:
        """Return the piece of the first programme of a title or episode, ``None`` for all others."""
        key = _id(programme, self._unit)
        showings = self._showings.get(key)
        if showings is None:
            # One with a fault is told already, and has no entry here.
            if key in self._showings:
                self._notes.left_out(where[0], "programme", _FURTHER, where[1])
            return None
        self._showings[key] = None
        builder = PieceBuilder(self._notes, *where, key, id_field=self._unit, options=self._options)
        title, subtitle = child_text(programme, TITLE), child_text(programme, SUBTITLE)
        builder.label(TITLE, f"{title}: {subtitle}" if self._unit == EPISODE and subtitle else title)
        builder.description("desc", child_text(programme, "desc"))
        channels = {self._channels.get(item) or item for item in showings.channels} - {""}
        builder.keywords("channel", "channel", sorted(channels))
        builder.keep("start", "start", showings.start)
        builder.moment("stop", "availableUntil", showings.stop)
        builder.keep("icon", "image", _picture(programme))
        builder.keep("url", "link", child_text(programme, "url"))
        date = child_text(programme, "date")[:4]
        builder.keep("date", "year", int(date) if re.fullmatch(r"\d{4}", date, re.ASCII) else None)
        for element in programme:
            name = local_name(element.tag)
            if name not in self._read:
                _take(builder, element, name)
        return builder.draft()


def _id(programme: Element, unit: str) -> str:
    """Return what names a programme: its title, or a number; where there is none its title and subtitle."""
    title = child_text(programme, TITLE)
    if unit == TITLE:
        return title
    numbers = {item.get("system", ""): text_of(item) for item in programme if local_name(item.tag) == EPISODE}
    if numbers.get(_WORLDWIDE):
        return numbers[_WORLDWIDE]
    number = next((number for number in numbers.values() if number), child_text(programme, SUBTITLE))
    return f"{title}: {number}" if number else title


def _moment(text: str) -> str:
    """Return a time of XMLTV (``20261101201500 +0100``) as RFC 3339; "" for one that stands for none.

    Without an offset or zone it is UTC.

    Raises:
        ValueError: it is no such time.
    """
    match = _TIME.match(text.strip())
    if match is None:
        raise ValueError(f"Found {excerpt(text)}; a time like '20261101201500 +0100' is accepted.")
    zone = match["zone"] or "Z"
    if zone[0] not in "+-" and (zone := zone_offset(zone) or "") == "":
        raise ValueError(f"Found {excerpt(text)}, a zone without an offset; write it as in '20261101201500 +0100'.")
    clock = ":".join(match[part] or "00" for part in ("hour", "minute", "second"))
    return read_moment(f"{match['year']}-{match['month']}-{match['day'] or '01'}T{clock}{zone}") or ""


def _picture(programme: Element) -> str | None:
    """Return the address of a poster, or of the first icon."""
    images = (item for item in programme if local_name(item.tag) == "image" and item.get("type") in (None, "poster"))
    icons = (item.get("src") for item in programme if local_name(item.tag) == "icon")
    return next((text_of(item) for item in images), next(icons, None))


def _take(builder: PieceBuilder, element: Element, name: str) -> None:
    """Take an element of a programme where it belongs; elements that have no place are noted."""
    value = text_of(element)
    if name == "credits":
        _take_credits(builder, element)
    elif name not in _KEYWORDS:
        builder.omit(name)
    elif value:
        builder.keywords(name, _KEYWORDS[name], [value])


def _take_credits(builder: PieceBuilder, credits_: Element) -> None:
    """Take the people of a programme, of actors the first ones; those who were guests are left out."""
    people: dict[str, list[str]] = {}
    for person in credits_:
        role = local_name(person.tag)
        if role not in _CREDITS or person.get("guest") == "yes":
            builder.omit(f"credits/{role}")
        # A person may have pictures and addresses inside, which are no part of the name.
        elif name := (person.text or "").strip():
            people.setdefault(role, []).append(name)
    for role, names in people.items():
        builder.keywords(f"credits/{role}", _CREDITS[role], names[:_ACTORS])
