"""Ids of lists come back as they were made, are short, and nobody else makes one."""

import re
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from penchant.clock import Clock
from penchant.storage import SourceHead
from penchant_engine.model import MAX_TAKE, PIN, QUOTA
from penchant_rows.service.impressions import ListIds
from penchant_rows.wire.list_ids import MAX_LIST_NAMES_BYTES, NO_RULES, decode_list_id, encode_list_id, position_in_list

SECRET = b"s" * 32
SOURCE = b"source 1"
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=14)


def list_id(
    placement: str = "home",
    variant: str = "b",
    person: bytes = b"",
    made_at: int = 1_700_000_000_123,
    pieces: Sequence[str] = ("a", "b"),
    rules: Mapping[str, str] = NO_RULES,
) -> str:
    names, chance = (placement, variant), b"1234"
    return encode_list_id(
        SECRET, SOURCE, names, person=person, made_at=made_at, chance=chance, pieces=pieces, rules=rules
    )


@given(NAMES, NAMES, st.sampled_from([b"", b"p" * 16]), st.integers(0, 2**42))
def test_an_id_says_what_it_was_made_of(placement: str, variant: str, person: bytes, made_at: int) -> None:
    found = decode_list_id(SECRET, SOURCE, list_id(placement, variant, person, made_at))

    assert (found.placement, found.variant, found.person) == (placement, variant, person)
    assert found.made_at == made_at // 1000 * 1000
    assert len(found.key) == 16


@given(st.lists(st.text(min_size=1, max_size=20), max_size=MAX_TAKE, unique=True), st.data())
def test_an_id_proves_its_pieces_where_they_were_and_by_which_rule(pieces: list[str], data: st.DataObject) -> None:
    rules = {each: rule for each in pieces if (rule := data.draw(st.sampled_from(["", PIN, QUOTA])))}
    found = decode_list_id(SECRET, SOURCE, list_id(pieces=pieces, rules=rules))

    places = [position_in_list(SECRET, found, each, at) for at, each in enumerate(pieces, 1)]
    assert places == [(at, rules.get(each, "")) for at, each in enumerate(pieces, 1)]


def test_of_1_000_pieces_that_were_not_in_a_list_none_is() -> None:
    found = decode_list_id(SECRET, SOURCE, list_id())

    # By chance one in 8,000,000 would be; this secret and these pieces are always the same.
    assert {position_in_list(SECRET, found, f"other {number}", 1) for number in range(1_000)} == {None}
    assert position_in_list(b"t" * 32, found, "a", 1) is None


def test_a_position_is_the_true_one_whatever_is_reported() -> None:
    found = decode_list_id(SECRET, SOURCE, list_id(pieces=("a", "b")))

    assert [position_in_list(SECRET, found, "b", reported) for reported in (0, 1, 2, 7)] == [(2, "")] * 4
    assert position_in_list(SECRET, replace(found, proof=None), "b", 7) == (7, "")


def test_the_longest_id_has_320_characters_that_need_no_escape() -> None:
    every = [f"piece {number}" for number in range(MAX_TAKE)]
    longest = list_id("p" * (MAX_LIST_NAMES_BYTES - 1), "v", b"p" * 16, pieces=every)

    assert re.fullmatch(r"[A-Za-z0-9_-]{320}", longest)
    assert decode_list_id(SECRET, SOURCE, longest).variant == "v"
    with pytest.raises(ValueError, match="bytes"):
        list_id("p" * MAX_LIST_NAMES_BYTES, "v")
    with pytest.raises(ValueError, match="30 pieces"):
        list_id(pieces=[*every, "one more"])


def test_what_was_changed_by_a_character_is_no_id() -> None:
    made = list_id(person=b"p" * 16)
    others = {made[:at] + chr(ord(made[at]) ^ 1) + made[at + 1 :] for at in range(len(made))}

    for text in (*others, made + "A", made[:-1], "", "kim", "é" * 40, made + "="):
        with pytest.raises(ValueError, match="no list id"):
            decode_list_id(SECRET, SOURCE, text)


def test_an_id_of_another_source_or_database_is_none() -> None:
    for secret, source in ((SECRET, b"source 2"), (b"t" * 32, SOURCE)):
        with pytest.raises(ValueError, match="no list id"):
            decode_list_id(secret, source, list_id())


def test_keys_of_lists_sort_by_time() -> None:
    keys = [decode_list_id(SECRET, SOURCE, list_id(made_at=second * 1000)).key for second in (0, 1, 255, 256, 70_000)]

    assert keys == sorted(keys)


def test_a_list_for_one_person_is_nobody_else_s() -> None:
    ids = ListIds(SECRET, clock=Clock(seconds=lambda: 1_700_000_000.5))
    head = SourceHead(4711, 1, "s", 1, 1, 0, 0, 0, 0, 0)
    for_kim = ids.make(head, placement="home", variant="a", user_id="kim", pieces=())
    for_all = ids.make(head, placement="home", variant="a", user_id=None, pieces=())

    assert ids.make(head, placement="home", variant="a", user_id=None, pieces=()) != for_all
    assert ids.read(head, for_kim, user_id="kim").person == ids.person(4711, "kim")
    assert ids.read(head, for_all, user_id="lee").person == b""
    with pytest.raises(ValueError, match="another person"):
        ids.read(head, for_kim, user_id="lee")
    with pytest.raises(ValueError, match="no list id"):
        ids.read(head._replace(incarnation=2), for_kim)
