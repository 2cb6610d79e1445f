"""Everybody: all people of a source as of one moment, and what they make of any of its pieces.

all interactions --`Everybody.read`--> table of people --`TargetUsers`--> s of everybody, by one kernel
preferences, and what is done later: these people one by one, as their own lists are made
"""

import msgspec
import numpy as np

from penchant.errors import IndexNotReady, TooManyPeople
from penchant.live.views import View
from penchant.service.people import oldest_kept
from penchant.storage import InteractionQuery, Storage, user_key
from penchant.wire import decode_preferences
from penchant_batch.people_columns import events_of, read_columns
from penchant_engine.index import InteractionArrays, Snapshot, Strings, UserFeatures
from penchant_engine.index.people.person import user_features
from penchant_engine.index.people.table import people_table
from penchant_engine.index.people.target_users import TargetPiece, TargetUsers
from penchant_engine.model import DAY_MS, MAX_PROFILE_INTERACTIONS

MAX_PEOPLE = 100_000
MAX_INTERACTIONS = 2_000_000
"""People of a source, and what they did, up to which all of them are looked at: some seconds and 300 MB at first."""
MAX_SINGLY = 10_000
"""People who are looked at one by one, each a third of a millisecond at first."""
MAX_CHANGED = 1_000
"""People who did something since all were read; after more, all are read anew."""


Prospect = tuple[str, int]
"""A person with s of a piece, in its unit."""


class Everybody(msgspec.Struct, kw_only=True, eq=False):
    """The people of a source at a moment, as of a version of its content; for one thread at a time.

    ``version`` is that of the interactions up to which they are followed. ``said`` are stored preferences by person;
    ``changed`` are those who did something since all were read, and ``figures`` those of people looked at singly.
    """

    view: View
    tastes: TargetUsers
    today: int
    version: int
    said: dict[str, bytes]
    changed: set[str] = msgspec.field(default_factory=set)
    figures: dict[str, UserFeatures] = msgspec.field(default_factory=dict)

    @classmethod
    def read(cls, storage: Storage, view: View, now: int, until: int | None) -> "Everybody":
        """Return everybody by what counts now, or did at the end of a day.

        Raises:
            TooManyPeople: there are more people or interactions than are looked at.
            UnknownSource: the source was deleted meanwhile.
        """
        columns = read_columns(storage, view, oldest_kept(view, now), _check)
        snapshot = _in_one_segment(view.snapshot)
        (part,) = snapshot.parts
        ids, today = columns.ids(until), (now if until is None else until) // DAY_MS
        events = events_of(columns, part.segment.ids, ids)
        if until is not None:
            events = events.take(events.moments <= until)
        table = people_table(Strings.of(ids), events, part.segment, view.settings, today)
        return cls(
            view=view,
            tastes=TargetUsers(table, snapshot, view.settings),
            today=today,
            version=columns.head.interactions_version,
            said=columns.said,
        )

    @property
    def nbytes(self) -> int:
        """How much memory they take."""
        figures = sum(each.nbytes for each in self.figures.values())
        return self.tastes.nbytes + sum(map(len, self.said.values())) + figures

    def is_for(self, view: View, today: int) -> bool:
        """Return whether they are those of a view on a UTC day, but for what they did since."""
        return self.view.is_of(view.head) and (self.view.head.version, self.today) == (view.head.version, today)

    def follow(self, storage: Storage, view: View) -> bool:
        """Bring them up to the version of a view's head; return whether that can be done without reading all anew."""
        after, until = self.version, view.head.interactions_version
        if after >= until:
            return True
        if view.head.erased_at > after or until - after > MAX_CHANGED:
            return False
        changes = storage.people.list_recorded(view.head.source_id, after=after, until=until)
        changed = set(changes.user_ids)
        if changes.stated:
            # Who has said something is told by a key alone.
            keys = {user_key(view.head.source_id, each): each for each in (*self.tastes.people.ids, *self.changed)}
            if not keys.keys() >= set(changes.stated):
                return False
            changed |= {keys[each] for each in changes.stated}
        self.changed |= changed
        for each in changed:
            self.figures.pop(each, None)
        self.version = until
        return changes.is_whole and len(self.changed) <= MAX_CHANGED

    def best(
        self, storage: Storage, piece: TargetPiece, take: int, *, with_seen: bool, above: int | None
    ) -> list[Prospect]:
        """Return those whom a piece suits best, with an s ``above`` this one if it is given; ties by ascending id.

        Left out are those who have hidden the piece and, without ``with_seen``, those who have seen it.

        Raises:
            TooManyPeople: too many people have to be looked at one by one.
            IndexNotReady: so have they, since the kernel is not there yet.
        """
        people = self.tastes.people
        found = self.tastes.units_of(piece)
        kept = np.ones(len(people), dtype=np.bool_) if with_seen else ~found.seen
        singly = {people.ids[number] for number in np.flatnonzero(found.inexact).tolist()}
        if len(singly) > MAX_SINGLY:
            raise IndexNotReady("The kernels for so many people are not compiled yet.", retry_after_s=1)
        singly |= self.said.keys() | self.changed
        if len(singly) > MAX_SINGLY:
            raise TooManyPeople(
                f"{len(singly)} people have preferences; up to {MAX_SINGLY} of them are looked at for a list of people."
            )
        numbers = people.ids.find_all(Strings.of(sorted(singly)))
        kept[numbers[numbers >= 0]] = False
        # People ascend by id, and a stable sort leaves those of one s in this order.
        rows = np.flatnonzero(kept)
        rows = rows[np.argsort(-found.units[rows], kind="stable")[:take]]
        listed = list(zip(people.ids.take(rows), found.units[rows].tolist(), strict=True))
        for user_id in singly:
            figures = self._figures(storage, user_id)
            left_out = () if figures is None else figures.left_out(with_seen=with_seen)
            if figures is not None and not any(piece.row in rows for rows in left_out):
                listed.append((user_id, self.tastes.units_for(figures, piece)))
        listed.sort(key=lambda each: (-each[1], each[0]))
        return [each for each in listed[:take] if above is None or each[1] > above]

    def _figures(self, storage: Storage, user_id: str) -> UserFeatures | None:
        """Return what lists take of a person; ``None`` of one of whom nothing counts, or who is switched off."""
        figures = self.figures.get(user_id)
        if figures is not None:
            return figures
        catalogue, settings = self.tastes.catalogue, self.view.settings
        if user_id in self.changed:
            figures = self._read_figures(storage, user_id)
        else:
            number = self.tastes.people.ids.find(user_id)
            said = decode_preferences(self.said.get(user_id, b""))
            if number is not None and said.personal:
                figures = self.tastes.people.figures(number, catalogue, settings, said)
        if figures is not None:
            self.figures[user_id] = figures
        return figures

    def _read_figures(self, storage: Storage, user_id: str) -> UserFeatures | None:
        settings = self.view.settings
        since = settings.oldest_day(self.today) * DAY_MS
        query = InteractionQuery(user_id=user_id, since=since, limit=MAX_PROFILE_INTERACTIONS, counted=True)
        person = storage.people.read(self.view.head.source_id, query)
        if not person.interactions and not person.preferences:
            return None
        said, events = decode_preferences(person.preferences), InteractionArrays.of(person.interactions)
        if not said.personal:
            return None
        return user_features(events, self.tastes.catalogue, settings, self.today, said)


def _check(people: int, interactions: int) -> None:
    if people > MAX_PEOPLE:
        raise TooManyPeople(f"The source has more than {MAX_PEOPLE} people; a list of people looks at all of them.")
    if interactions > MAX_INTERACTIONS:
        raise TooManyPeople(f"People of the source did more than {MAX_INTERACTIONS} things, which are all looked at.")


def _in_one_segment(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot of the same pieces in one segment: itself where it is one."""
    if len(snapshot.parts) == 1 and snapshot.parts[0].live_count == len(snapshot.parts[0].segment):
        return snapshot
    return Snapshot.of_segment(snapshot.merged())
