"""Scheduled drafts: what is published when it is due is judged by what who scheduled it may do then."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import pytest
from sqlalchemy import create_engine, delete, update

from databases import prepare_file
from factories import piece
from penchant.bootstrap import HOUSEKEEPING_LOCK, open_services
from penchant.cli.keys import make_key
from penchant.clock import SYSTEM_CLOCK
from penchant.live.election import Election
from penchant.model import ListKind, Role
from penchant.service import Services
from penchant.service.access import KEY_LIFE_S, Access
from penchant.service.curation import Curation
from penchant.service.grants import grants_of, person_session
from penchant.settings import CurrentSettings, GroupSettings, NodeSettings, PlanSettings
from penchant.storage.schema import keys
from penchant.wire import decode_submission, encode
from penchant_rows.service.wiring import row_services
from penchant_rows.storage.drafts import DraftRow
from penchant_rows.storage.tables import drafts
from penchant_rows.wire.edits import DraftEdits
from penchant_rows.wire.settings import RowSettings

NEWSROOM = GroupSettings(group="newsroom", account="a", role=Role.EDITOR)
LATER_MS = 60_000


@dataclass(frozen=True)
class House:
    """A service with a source ``s`` of the account ``a``, and the settings by which it goes."""

    services: Services
    current: CurrentSettings
    editor: Access

    def person(self, *groups: str) -> Access:
        """Return what a person whom a proxy names may do."""
        now = self.current.now
        return person_session("kim", grants_of(groups, now), "", now, secret=b"x", today=0).access

    async def schedule(self, who: Access, edits: DraftEdits) -> DraftRow:
        """Have somebody schedule what another wrote, and let its moment come."""
        view = await self.services.views.view(who.account_id, "s")
        written = await row_services(self).drafts.save(self.editor, view, "d", edits)
        at = SYSTEM_CLOCK.now_ms() + LATER_MS
        scheduled = await row_services(self).drafts.schedule(who, "s", "d", at, revision=f"{written.revision:x}")
        self.change(update(drafts).values(due_at=1))
        return scheduled

    def change(self, statement: Any) -> None:
        """Change what is stored as nobody does who asks."""
        engine = create_engine(f"sqlite:///{self.current.now.data}/penchant.db")
        with engine.begin() as connection:
            connection.execute(statement)
        engine.dispose()

    async def outcome(self) -> tuple[str, str, Sequence[str]]:
        """Publish what is due; return the state of the draft, what is said with it, and the blacklist."""
        await row_services(self).drafts.publish_due()
        view = await self.services.views.view(self.editor.account_id, "s")
        row = await row_services(self).drafts.get(self.editor, "s", "d")
        failures = self.services.metrics.counts("penchant_drafts_due", "outcome").get(("failed",), 0)
        assert failures == [each.step for each in row.steps].count("fail")
        return (
            row.state,
            row.steps[-1].note.partition(":")[0],
            self.services.of(Curation).listed(view, ListKind.BLACKLIST),
        )


HIDE = DraftEdits(lists={ListKind.BLACKLIST: ("p",)})
PUBLISHED = ("published", "", ["p"])


@pytest.fixture
async def house(tmp_path: Any) -> AsyncIterator[House]:
    prepare_file(tmp_path)
    current = CurrentSettings(
        NodeSettings(
            data=str(tmp_path),
            trusted_proxies=("127.0.0.1",),
            dashboard_proxy_header="Remote-User",
            dashboard_proxy_groups_header="Remote-Groups",
            dashboard_groups=(NEWSROOM,),
            plans={"small": PlanSettings(pieces_per_source=1, features=())},
        )
    )
    # Nobody else publishes what is due.
    assert Election(tmp_path / HOUSEKEEPING_LOCK).try_win()
    async with open_services(current) as services:
        record, _ = make_key(services.database.storage, account="a", plan="full", admin=False)
        editor = await services.access.of_key(record.key_id)
        await services.content.submit_pieces(editor, "s", decode_submission(encode([piece("p", "x")])))
        yield House(services, current, editor)


async def key(house: House, **limits: Any) -> Access:
    record, _ = make_key(house.services.database.storage, account="a", plan="full", admin=False, **limits)
    return await house.services.access.of_key(record.key_id)


async def test_what_was_scheduled_by_a_key_and_by_a_person_is_published(house: House) -> None:
    for who in (await key(house), await key(house, scopes=["write"]), house.person("newsroom")):
        scheduled = await house.schedule(who, HIDE)
        granted = scheduled.steps[-1].grant
        assert granted == (None if who.grant is None else ("a", "editor", "full", "newsroom"))

        assert await house.outcome() == PUBLISHED
        await row_services(house).drafts.undo(house.editor, "s", "d")


async def test_a_key_that_is_gone_publishes_nothing_as_one_that_is_revoked(house: House) -> None:
    for end in (delete(keys), update(keys).values(revoked_at=1), update(keys).values(expires_at=1)):
        who = await key(house, scopes=["write"])
        await house.schedule(who, HIDE)
        house.change(end.where(keys.c.key_id == who.key_id))
        # What was looked up is believed for so long.
        await asyncio.sleep(KEY_LIFE_S)

        assert await house.outcome() == ("draft", "unauthenticated", [])


@pytest.mark.parametrize(
    ("groups", "code"),
    (
        ((), "outside-scope"),
        ((GroupSettings(group="newsroom", account="a", role=Role.VIEWER),), "outside-scope"),
        ((GroupSettings(group="newsroom", account="b", role=Role.EDITOR),), "outside-scope"),
        ((GroupSettings(group="others", account="a", role=Role.EDITOR),), "outside-scope"),
        ((GroupSettings(group="newsroom", account="a", role=Role.EDITOR, plan="gone"),), "feature-not-in-plan"),
        ((GroupSettings(group="newsroom", account="a", role=Role.EDITOR, plan="small"),), "feature-not-in-plan"),
    ),
)
async def test_a_person_whose_group_edits_no_more_publishes_nothing(
    house: House, groups: tuple[GroupSettings, ...], code: str
) -> None:
    await house.schedule(house.person("newsroom"), HIDE)
    house.current.change(msgspec.structs.replace(house.current.now, dashboard_groups=groups))

    assert await house.outcome() == ("draft", code, [])


async def test_a_person_s_plan_bounds_what_they_scheduled(house: House) -> None:
    group = msgspec.structs.replace(NEWSROOM, plan="small")
    pieces = decode_submission(encode([piece("more", "x"), piece("again", "y")])).pieces
    await house.schedule(house.person("newsroom"), DraftEdits(lists={}, content=pieces))
    house.current.change(msgspec.structs.replace(house.current.now, dashboard_groups=(group,)))

    assert await house.outcome() == ("draft", "too-many-pieces", [])


async def test_a_writer_whose_draft_is_due_publishes_it_not_where_two_are_asked_for_by_then(house: House) -> None:
    await house.schedule(house.editor, HIDE)
    asks_for_two = replace(await settings_of(house), brought={RowSettings: RowSettings(four_eyes=True)})
    await house.services.of(Curation).replace_settings(house.editor, "s", asks_for_two)

    assert await house.outcome() == ("draft", "four-eyes", [])


async def settings_of(house: House) -> Any:
    return (await house.services.views.view(house.editor.account_id, "s")).source_settings


def as_before(house: House, row: DraftRow) -> None:
    """Have the steps of a draft stored as the revision before did, which noted no group with a schedule."""
    steps = [each[:6] for each in row.steps]
    house.change(update(drafts).values(steps=msgspec.msgpack.encode(steps)))


async def test_a_schedule_of_before_goes_by_any_group_that_edits_the_account(house: House) -> None:
    more = GroupSettings(group="more", account="a", role=Role.VIEWER)
    house.current.change(msgspec.structs.replace(house.current.now, dashboard_groups=(more, NEWSROOM)))
    for who in (house.editor, house.person("newsroom")):
        as_before(house, await house.schedule(who, HIDE))
        assert await house.outcome() == PUBLISHED
        await row_services(house).drafts.undo(house.editor, "s", "d")

    as_before(house, await house.schedule(house.person("newsroom"), HIDE))
    house.current.change(msgspec.structs.replace(house.current.now, dashboard_groups=(more,)))
    assert await house.outcome() == ("draft", "outside-scope", [])


async def test_a_key_of_before_that_is_gone_is_no_person(house: House) -> None:
    who = await key(house)
    as_before(house, await house.schedule(who, HIDE))
    house.change(delete(keys).where(keys.c.key_id == who.key_id))
    await asyncio.sleep(KEY_LIFE_S)

    assert await house.outcome() == ("draft", "unauthenticated", [])
