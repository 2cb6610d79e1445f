"""Drafts as both databases keep them: written, moved, published by one transaction, taken back, forgotten."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import pytest

from penchant.errors import InvalidInput, PenchantError, TooManyEntries, TooManyPieces, UnknownSource
from penchant.model import MAX_LIST_LENGTH, EncodedPiece, ListChange, ListKind
from penchant.storage import Command, DeleteSource, EditList, ReplaceList, ReplaceSettings, Storage
from penchant.storage.transaction import SourceCommand
from penchant_rows.errors import (
    DraftChanged,
    FourEyes,
    OutdatedDraft,
    TooManyDrafts,
    TooManyPlacements,
    UnknownDraft,
    WrongDraftState,
)
from penchant_rows.service.drafts import Drafts
from penchant_rows.storage.drafts import (
    DeleteDraft,
    DraftBasis,
    DraftStore,
    MoveDraft,
    PublishDraft,
    SaveDraft,
    open_drafts,
)
from penchant_rows.storage.placements import DeletePlacement, PlacementEdit, PlacementStore, PutPlacement
from storage.commands import done, head, putting, submit, submitting

WAITING = frozenset({"draft", "proposed"})


def saving(account: int, *subjects: str, name: str = "d", actor: str = "ann", **others: Any) -> SaveDraft:
    said: dict[str, Any] = {"title": "T", "body": b"{}", "max_drafts": 2} | others
    return SaveDraft(account_id=account, source="s", actor=actor, name=name, subjects=subjects, **said)


def basis_of(storage: Storage, account: int, name: str = "d") -> DraftBasis:
    basis = storage.store(DraftStore).read_basis(head(storage, account).source_id, name)
    assert basis is not None
    return basis


def publishing(storage: Storage, account: int, **others: Any) -> PublishDraft:
    """Return the command that publishes the draft as it is now, by what is in force now."""
    basis = basis_of(storage, account)
    said: dict[str, Any] = {
        "actor": "bob",
        "step": "publish",
        "states": WAITING,
        "revision": basis.draft.revision,
        "settings_seen": basis.settings,
        "placements_seen": {row.name: row.version for row in basis.placements},
        "max_versions": 2,
        "max_placements": 2,
    }
    return PublishDraft(account_id=account, source="s", name="d", **said | others)


def moving(account: int, **others: Any) -> MoveDraft:
    said: dict[str, Any] = {"actor": "ann", "step": "propose", "states": WAITING, "state": "proposed"} | others
    return MoveDraft(account_id=account, source="s", name="d", **said)


def blacklist(storage: Storage, account: int) -> tuple[str, ...]:
    return storage.sources.read_curation(account, "s")[1].blacklist


def test_a_draft_is_kept_and_raises_no_version(storage: Storage, account: int) -> None:
    with pytest.raises(UnknownSource):
        done(storage, saving(account))
    done(storage, submitting(account, "a"))
    version = head(storage, account).version

    done(storage, saving(account, "blacklist", body=b'{"blacklist":[]}'))

    number = head(storage, account).source_id
    row = storage.store(DraftStore).read(number, "d")
    assert row is not None
    assert (row.state, row.actor, row.writers, row.body) == ("draft", "ann", ("ann",), b'{"blacklist":[]}')
    assert [(each.name, each.body) for each in storage.store(DraftStore).list_of(number)] == [("d", b"")]
    assert head(storage, account).version == version


def test_a_publication_is_in_force_as_one_version(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a", "b"))
    done(storage, putting(account, "old", b"1"))
    done(
        storage, saving(account, "settings", "blacklist", "placements/new", "placements/old", "content/b", "content/c")
    )

    pieces = [EncodedPiece(id=each, body=b'{"id":"%s","x":1}' % each.encode()) for each in ("b", "c")]
    outcome = done(
        storage,
        publishing(
            storage,
            account,
            settings=b'{"halfLifeDays":7}',
            lists={ListKind.BLACKLIST: ["a"]},
            placements=[PlacementEdit("new", b"n", b"[]"), PlacementEdit("old", None)],
            pieces=pieces,
        ),
    )

    now, curation = storage.sources.read_curation(account, "s")
    assert (curation.blacklist, curation.settings) == (("a",), b'{"halfLifeDays":7}')
    assert curation.parts["rows"] == {"new": outcome.version}
    assert (now.version, now.piece_count) == (outcome.version, 3)
    assert storage.pieces.read_some(account, "s", ["b", "c"]) == {each.id: each.body for each in pieces}
    (row,) = storage.store(PlacementStore).list_versions(now.source_id, "new")
    assert (row.actor, row.draft) == ("bob", "d")


def test_what_a_publication_replaced_is_kept_and_put_back(storage: Storage, account: int) -> None:
    submit(storage, account, {"a": b'{"id":"a"}'})
    done(storage, putting(account, "old", b"1"))
    done(storage, saving(account, "blacklist", "placements/old", "content/a", "content/n"))
    pieces = [EncodedPiece(id=each, body=b'{"id":"%s","x":1}' % each.encode()) for each in ("a", "n")]
    edits = [PlacementEdit("old", b"2", b"[]")]
    done(storage, publishing(storage, account, lists={ListKind.BLACKLIST: ["a"]}, placements=edits, pieces=pieces))

    replaced = basis_of(storage, account).replaced
    assert replaced is not None
    assert replaced.lists == {"blacklist": []}
    assert replaced.placements == {"old": (b"1", b"[]")}
    assert replaced.pieces == {"a": b'{"id":"a"}', "n": None}
    undoing = publishing(
        storage,
        account,
        step="undo",
        states=frozenset({"published"}),
        undoes=True,
        lists={ListKind.BLACKLIST: []},
        placements=[PlacementEdit("old", b"1", b"[]")],
        pieces=[EncodedPiece(id="a", body=b'{"id":"a"}')],
        removed=["n"],
    )
    version = done(storage, undoing).version

    assert storage.pieces.read_some(account, "s", ["a", "n"]) == {"a": b'{"id":"a"}'}
    assert (head(storage, account).version, head(storage, account).piece_count) == (version, 1)
    assert basis_of(storage, account).draft.state == "undone"


def refused(storage: Storage, command: Any, error: type[PenchantError]) -> None:
    with pytest.raises(error):
        done(storage, command)


def test_nothing_is_stored_of_what_is_refused(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, saving(account, "blacklist", "content/n"))
    n = [EncodedPiece(id="n", body=b'{"id":"n"}')]
    edits: dict[str, Any] = {"lists": {ListKind.BLACKLIST: ["x"]}, "pieces": n}
    before = head(storage, account)
    places = [PlacementEdit(name, b"1", b"[]") for name in ("p", "q", "r")]

    refused(storage, publishing(storage, account, **edits, max_pieces=1), TooManyPieces)
    refused(storage, publishing(storage, account, **edits, placements=places), TooManyPlacements)
    refused(storage, publishing(storage, account, **edits, revision=1), DraftChanged)
    refused(storage, publishing(storage, account, **edits, settings_seen=b"{}"), DraftChanged)
    refused(storage, publishing(storage, account, **edits, placements_seen={"p": 1}), DraftChanged)
    steps = basis_of(storage, account).draft.steps
    refused(storage, publishing(storage, account, **edits, last_step=steps[0]._replace(note="x")), DraftChanged)
    refused(storage, publishing(storage, account, **edits, states=frozenset({"published"})), WrongDraftState)
    done(storage, ReplaceList(account_id=account, source="s", kind=ListKind.BLACKLIST, ids=["y"]))
    refused(storage, publishing(storage, account, **edits), OutdatedDraft)

    assert blacklist(storage, account) == ("y",)
    assert storage.pieces.read_some(account, "s", ["n"]) == {}
    assert head(storage, account).version == before.version + 1
    done(storage, publishing(storage, account, **edits, force=True))
    assert blacklist(storage, account) == ("x",)


FOUR_EYES = b'{"halfLifeDays":90,"fourEyes":true}'


def steering(account: int, **others: Any) -> list[Command[Any]]:
    """Return a command of each kind that changes what steers a source, the last of which removes it."""
    whose: dict[str, Any] = {"account_id": account, "source": "s", "actor": "ann"} | others
    put = putting(account, "home", b"2")
    return [
        ReplaceList(**whose, kind=ListKind.BLACKLIST, ids=["x"]),
        EditList(**whose, kind=ListKind.WHITELIST, piece_ids=["a"], is_listed=True),
        PutPlacement(**asdict(put) | whose),
        DeletePlacement(**whose, name="home"),
        ReplaceSettings(**whose, settings=b""),
        ReplaceSettings(**whose, settings=b'{"halfLifeDays":9,"fourEyes":true}'),
        DeleteSource(**whose),
    ]


def steering_names(command: type[SourceCommand[Any]]) -> set[str]:
    """Return the names of all commands of a class that say that they steer a source."""
    kinds = command.__subclasses__()
    return {each.__name__ for each in kinds if each.steers}.union(*map(steering_names, kinds))


def test_no_command_changes_alone_what_steers_a_source_that_asks_for_two(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    on = ReplaceSettings(account_id=account, source="s", settings=FOUR_EYES)
    done(storage, on)
    before = storage.sources.read_curation(account, "s")
    assert {type(each).__name__ for each in steering(account)} == steering_names(SourceCommand)

    for command in steering(account):
        refused(storage, command, FourEyes)

    assert storage.sources.read_curation(account, "s") == before
    # What is in force can be put back, and what steers nothing is stored as ever.
    done(storage, on)
    done(storage, submitting(account, "b"))
    for command in steering(account, bypasses_review=True)[:4]:
        done(storage, command)


def test_of_a_source_that_does_not_ask_for_two_everything_is_changed(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    for settings in (b"", b"{}", b'{"fourEyes":false}'):
        done(storage, ReplaceSettings(account_id=account, source="s", settings=settings))
        for command in steering(account)[:4]:
            done(storage, command)


def test_a_draft_of_a_source_that_asks_for_two_is_for_who_has_seen_it_and_wrote_none_of_it(
    storage: Storage, account: int
) -> None:
    done(storage, submitting(account, "a"))
    done(storage, ReplaceSettings(account_id=account, source="s", settings=FOUR_EYES))
    done(storage, saving(account, "blacklist"))
    scheduling = {"step": "schedule", "state": "scheduled", "due_at": 2**52}

    refused(storage, publishing(storage, account, actor="ann", names_revision=True), FourEyes)
    refused(storage, moving(account, **scheduling, names_revision=True), FourEyes)
    refused(storage, publishing(storage, account), InvalidInput)
    refused(storage, moving(account, **scheduling, actor="bob"), InvalidInput)
    done(storage, moving(account))
    done(storage, publishing(storage, account, names_revision=True))
    undoing: dict[str, Any] = {"step": "undo", "states": frozenset({"published"}), "undoes": True}
    refused(storage, publishing(storage, account, **undoing, actor="ann", names_revision=True), FourEyes)
    refused(storage, publishing(storage, account, **undoing), InvalidInput)
    done(storage, publishing(storage, account, **undoing, names_revision=True))


def test_what_was_published_anew_meanwhile_is_not_undone_by_what_the_first_time_replaced(
    storage: Storage, account: int
) -> None:
    done(storage, submitting(account, "a"))
    done(storage, saving(account, "blacklist"))
    lists, undone = {ListKind.BLACKLIST: ["x"]}, {"step": "undo", "states": frozenset({"published"}), "undoes": True}
    done(storage, publishing(storage, account, lists=lists))
    basis = basis_of(storage, account).draft
    slow = publishing(storage, account, **undone, lists={ListKind.BLACKLIST: []}, last_step=basis.steps[-1])
    done(storage, slow)
    done(storage, ReplaceList(account_id=account, source="s", kind=ListKind.BLACKLIST, ids=["y"]))
    done(storage, publishing(storage, account, states=WAITING | {"undone"}, lists=lists, force=True))
    assert basis_of(storage, account).draft.revision == basis.revision

    refused(storage, slow, DraftChanged)
    assert blacklist(storage, account) == ("x",)


def test_a_draft_that_was_stored_before_it_told_what_a_list_adds_goes_by_the_whole_list(
    storage: Storage, account: int
) -> None:
    done(storage, submitting(account))
    done(storage, saving(account, "blacklist", body=b'{"blacklist":["p"]}'))
    assert Drafts.edits_of(basis_of(storage, account).draft).listed(ListKind.BLACKLIST, ["q"]) == ("p",)
    done(storage, ReplaceList(account_id=account, source="s", actor="x", kind=ListKind.BLACKLIST, ids=("q",)))

    refused(storage, publishing(storage, account, lists={ListKind.BLACKLIST: ("p",)}), OutdatedDraft)
    change = ListChange(added={"p": None}, removed=())
    done(storage, publishing(storage, account, changes={ListKind.BLACKLIST: change}))

    assert blacklist(storage, account) == ("q", "p")


def test_a_list_never_grows_past_its_bound_by_two_drafts(storage: Storage, account: int) -> None:
    done(storage, submitting(account))
    done(storage, saving(account, "blacklist"))
    ids = tuple(f"p{number}" for number in range(MAX_LIST_LENGTH))
    done(storage, ReplaceList(account_id=account, source="s", actor="x", kind=ListKind.BLACKLIST, ids=ids))

    change = ListChange(added={"new": None}, removed=())
    refused(storage, publishing(storage, account, changes={ListKind.BLACKLIST: change}), TooManyEntries)


def test_of_many_publications_at_once_one_is_carried_out(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, saving(account, "blacklist"))
    commands = [publishing(storage, account, lists={ListKind.BLACKLIST: [str(number)]}) for number in range(8)]

    def carry_out(command: PublishDraft) -> str:
        try:
            done(storage, command)
        except (DraftChanged, WrongDraftState):
            return "refused"
        return "done"

    with ThreadPoolExecutor(8) as threads:
        outcomes = list(threads.map(carry_out, commands))

    assert sorted(outcomes) == ["done", *["refused"] * 7]
    assert blacklist(storage, account) == (str(outcomes.index("done")),)


def test_whoever_wrote_a_draft_is_its_writer_until_it_is_published(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    for actor in ("ann", "cleo", "ann"):
        done(storage, saving(account, actor=actor))
    assert basis_of(storage, account).draft.writers == ("ann", "cleo")

    done(storage, publishing(storage, account))
    done(storage, saving(account, actor="cleo"))

    assert basis_of(storage, account).draft.writers == ("cleo",)


def test_steps_are_noted_and_a_schedule_is_found_when_it_is_due(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    refused(storage, moving(account), UnknownDraft)
    done(storage, saving(account))
    done(storage, moving(account, note="look"))
    done(storage, moving(account, step="schedule", state="scheduled", due_at=1_000, actor="bob"))

    def due() -> list[tuple[str, str]]:
        found = storage.store(DraftStore).list_due(100)
        return [(each.name, each.schedule.actor) for each in found if each.account_id == account]

    assert due() == [("d", "bob")]
    steps = basis_of(storage, account).draft.steps
    assert [(each.step, each.note, each.due_at) for each in steps] == [
        ("save", "", None),
        ("propose", "look", None),
        ("schedule", "", 1_000),
    ]
    done(storage, saving(account))
    assert due() == []
    done(storage, moving(account, step="schedule", state="scheduled", due_at=2**52, actor="bob"))
    assert due() == []


def test_open_drafts_are_bounded_and_published_ones_make_room(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, saving(account))
    done(storage, saving(account, name="e"))

    refused(storage, saving(account, name="f"), TooManyDrafts)
    done(storage, publishing(storage, account))
    done(storage, saving(account, name="f"))
    refused(storage, saving(account), TooManyDrafts)
    done(storage, DeleteDraft(account_id=account, source="s", name="e"))
    done(storage, DeleteDraft(account_id=account, source="s", name="e"))
    done(storage, saving(account))


def test_an_export_has_the_drafts_that_wait(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, saving(account, body=b'{"title":"T"}', name="e"))
    done(storage, saving(account))
    done(storage, publishing(storage, account))

    with storage.sources.open_export(account, "s") as export:
        assert export.read(open_drafts) == [("e", b'{"title":"T"}')]
