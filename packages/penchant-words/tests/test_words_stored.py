"""Words of a source: in force all at once, worked out on from where a process ended, whoever submits meanwhile."""

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from penchant.enrichment import decode_keywords, encode_keywords, keys_of
from penchant.live import keyword_writer
from penchant.live.following import apply_feed
from penchant.live.keyword_writer import KeywordCursor, KeywordWriter, replace_settings
from penchant.model import EncodedPiece, SourceSettings
from penchant.storage import KeywordRules, KeywordRulesChanged, ReplaceSettings, SourceHead, Storage, SubmitPieces
from penchant.wire import encode_settings
from penchant_engine.index import Snapshot
from penchant_words.settings import encode_word_rule, settings_by
from penchant_words.texts import WordRule
from storage.commands import cursor, done, head

RULE = WordRule(members=("label",), language="none")
FEWER = replace(RULE, keep=1)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyword_writer, "BATCH_PIECES", 2)


def labelled(account: int, *labels: str) -> SubmitPieces:
    """Return the submission of pieces whose ids are the first words of their labels."""
    bodies = [json.dumps({"id": label.split()[0], "label": label, "categories": {}}).encode() for label in labels]
    pieces = [EncodedPiece(id=label.split()[0], body=body) for label, body in zip(labels, bodies, strict=True)]
    return SubmitPieces(account_id=account, source="s", pieces=pieces)


def setting(account: int, rule: WordRule | None) -> ReplaceSettings:
    return replace_settings(
        account_id=account, source="s", actor="test", settings=SourceSettings() if rule is None else settings_by(rule)
    )


def snapshot(storage: Storage, account: int, after: SourceHead | None = None, of: Snapshot | None = None) -> Snapshot:
    where = None if after is None else cursor(after)
    with storage.sources.follow_content(account, "s", where) as feed:
        return apply_feed(of or Snapshot.empty(), feed)


def words(found: Snapshot) -> dict[str, set[str]]:
    segment = found.merged()
    return {piece_id: {term.keyword for term in found.terms_of(piece_id) or {}} for piece_id in segment.ids}


ALL = ("ann shark", "bob boat", "cid gull", "dan shark boat", "eve sand")
NONE: dict[str, set[str]] = {label.split()[0]: set() for label in ALL}
EXPECTED = {label.split()[0]: set(label.split()) for label in ALL}


def test_a_new_rule_is_in_force_for_all_pieces_at_one_version(storage: Storage, account: int) -> None:
    keeper = KeywordWriter(storage)
    keeper.submit(labelled(account, *ALL))
    outcome = done(storage, setting(account, RULE))
    before = head(storage, account)

    assert outcome.pending
    assert words(snapshot(storage, account)) == NONE
    keeper.work_out(account, "s")
    assert words(snapshot(storage, account)) == EXPECTED
    assert head(storage, account).version == before.version + 1


def test_a_follower_of_before_reads_all_pieces_anew(storage: Storage, account: int) -> None:
    keeper = KeywordWriter(storage)
    keeper.submit(labelled(account, *ALL))
    known, before = snapshot(storage, account), head(storage, account)
    done(storage, setting(account, RULE))
    keeper.work_out(account, "s")

    assert words(snapshot(storage, account, before, known)) == EXPECTED


def test_what_a_process_began_another_goes_on_with(storage: Storage, account: int) -> None:
    KeywordWriter(storage).submit(labelled(account, *ALL))
    done(storage, setting(account, RULE))
    begun = KeywordWriter(storage).next_keywords(account, "s", KeywordCursor())
    assert begun is not None
    done(storage, begun)

    another = KeywordWriter(storage)
    assert another.renew() == [(account, "s")]
    again = another.next_keywords(account, "s", KeywordCursor())
    assert again is not None
    assert again.words == []
    another.work_out(account, "s")
    assert words(snapshot(storage, account)) == EXPECTED
    assert another.renew() == []


def test_pieces_that_come_meanwhile_have_words_by_both_rules(storage: Storage, account: int) -> None:
    keeper = KeywordWriter(storage)
    keeper.submit(labelled(account, *ALL))
    done(storage, setting(account, RULE))
    keeper.work_out(account, "s")
    done(storage, setting(account, FEWER))
    cursor_of_task = KeywordCursor()
    first = keeper.next_keywords(account, "s", cursor_of_task)
    assert first is not None
    done(storage, first)
    # Behind the cursor and before it, by a process that knows of neither rule.
    KeywordWriter(storage).submit(labelled(account, "abe shark", "dan whale"))

    assert words(snapshot(storage, account)) == EXPECTED | {"abe": {"abe", "shark"}, "dan": {"dan", "whale"}}
    keeper.work_out(account, "s")
    assert words(snapshot(storage, account)) == {name: {name} for name in (*EXPECTED, "abe")}


def test_settings_that_change_again_meanwhile_win(storage: Storage, account: int) -> None:
    keeper = KeywordWriter(storage)
    keeper.submit(labelled(account, *ALL))
    done(storage, setting(account, RULE))
    task = KeywordCursor()
    late = keeper.next_keywords(account, "s", task)
    done(storage, setting(account, FEWER))
    assert late is not None
    done(storage, dataclasses.replace(late, adopts=True))
    while (command := keeper.next_keywords(account, "s", task)) is not None:
        done(storage, command)

    assert words(snapshot(storage, account)) == {name: {name} for name in EXPECTED}


def test_words_go_at_once_and_come_back_with_what_changed_meanwhile(storage: Storage, account: int) -> None:
    keeper = KeywordWriter(storage)
    keeper.submit(made(labelled(account, *ALL)))
    assert words(snapshot(storage, account)) == EXPECTED
    assert not done(storage, setting(account, None)).pending
    assert words(snapshot(storage, account)) == NONE
    keeper.submit(labelled(account, "ann whale"))
    done(storage, setting(account, RULE))
    keeper.work_out(account, "s")

    assert words(snapshot(storage, account)) == EXPECTED | {"ann": {"ann", "whale"}}


def made(command: SubmitPieces) -> SubmitPieces:
    """Return a submission whose source is made with words."""
    settings = encode_settings(settings_by(RULE))
    return dataclasses.replace(command, settings=settings, words=encode_word_rule(RULE))


def test_a_submission_without_the_words_of_its_source_is_refused(storage: Storage, account: int) -> None:
    KeywordWriter(storage).submit(made(labelled(account, "ann shark")))

    with pytest.raises(KeywordRulesChanged) as refused:
        done(storage, labelled(account, "bob boat"))

    stored = encode_word_rule(RULE)
    assert refused.value.rules == KeywordRules(stored, stored)
    assert head(storage, account).piece_count == 1


def test_words_of_an_older_rule_are_worked_out_anew(storage: Storage, account: int) -> None:
    keeper = KeywordWriter(storage)
    old = replace(RULE, number=1)
    command = dataclasses.replace(setting(account, RULE), words=encode_word_rule(old))
    keeper.submit(labelled(account, *ALL))
    done(storage, command)
    keeper.work_out(account, "s")
    assert keeper.renew() == [(account, "s")]
    keeper.work_out(account, "s")

    key = keys_of(encode_word_rule(RULE))["words"]
    with storage.sources.follow_content(account, "s", None) as feed:
        found = {row.id: decode_keywords(row.words or b"", key) for batch in feed.batches for row in batch}
    assert {name: set(kept or ()) for name, kept in found.items()} == EXPECTED
    assert keeper.renew() == []


def test_what_a_node_of_rule_1_stores_beside_this_one_has_words_by_the_rule_in_force(
    storage: Storage, account: int
) -> None:
    KeywordWriter(storage).submit(made(labelled(account, "ann shark")))
    stored = encode_word_rule(RULE)
    rules, digest = KeywordRules(stored, stored), hashlib.blake2b(stored, digest_size=6).hexdigest()
    command = labelled(account, "bob boat")
    theirs = [replace(each, words=f"{digest} of rule one".encode()) for each in command.pieces]
    done(storage, dataclasses.replace(command, pieces=theirs, rules=rules))

    assert words(snapshot(storage, account)) == {"ann": {"ann", "shark"}, "bob": {"bob", "boat"}}


def test_a_node_of_rule_1_reads_words_of_this_rule() -> None:
    stored = encode_word_rule(RULE)
    digest = hashlib.blake2b(stored, digest_size=6).hexdigest().encode()
    (line,) = encode_keywords(b'{"id":"ann","label":"ann shark"}', [stored]).split(b"\n")

    assert line.startswith(digest)
    assert line.split()[1:] == [b"ann", b"shark"]


@pytest.mark.slow
def test_submissions_and_changes_of_the_rule_at_once_end_with_words_by_the_last(storage: Storage, account: int) -> None:
    KeywordWriter(storage).submit(labelled(account, *ALL))
    rules = [RULE, FEWER, replace(RULE, keep=2), None, RULE]

    def submitting() -> None:
        own = KeywordWriter(storage)
        for number in range(20):
            own.submit(labelled(account, f"n{number} boat sand"))

    def working() -> None:
        own = KeywordWriter(storage)
        for rule in rules:
            done(storage, setting(account, rule))
            own.work_out(account, "s")

    run_together(submitting, working, submitting)
    KeywordWriter(storage).work_out(account, "s")

    expected = EXPECTED | {f"n{number}": {f"n{number}", "boat", "sand"} for number in range(20)}
    assert words(snapshot(storage, account)) == expected


def run_together(*works: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def guarded(work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  # told below, from the thread of the test
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_terms_of_words_are_named_by_their_category(storage: Storage, account: int) -> None:
    KeywordWriter(storage).submit(made(labelled(account, "ann shark")))

    assert set(snapshot(storage, account).merged().categories) == {"words"}
