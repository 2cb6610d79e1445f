"""Vocabularies: one added to another, and how they are read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant.errors import InvalidInput
from penchant.vocabulary import Vocabulary
from penchant.wire.vocabulary import read_vocabulary

NAMES = st.sampled_from([f"c/{letter}" for letter in "abcdef"])


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    """Return any vocabulary that the interface accepts."""
    targets = draw(st.sets(NAMES, max_size=3))
    others = NAMES.filter(lambda name: name not in targets)
    aliases = draw(st.dictionaries(others, st.sampled_from(sorted(targets)), max_size=4)) if targets else {}
    return Vocabulary(aliases, frozenset(draw(st.sets(NAMES, max_size=3))) - aliases.keys())


def counted(vocabulary: Vocabulary, name: str) -> str | None:
    """Return the name of what a keyword counts as."""
    found = vocabulary.read(*name.split("/"))
    return None if found is None else "/".join(found)


@given(vocabularies(), vocabularies())
def test_what_is_added_holds_and_can_be_put_in_force(before: Vocabulary, other: Vocabulary) -> None:
    joined = before.joined(other)

    aliases = [{"from": [name], "to": target} for name, target in joined.aliases.items()]
    assert read_vocabulary({"aliases": aliases, "ignore": sorted(joined.ignored)}) == joined
    for name, target in other.aliases.items():
        assert counted(joined, name) == counted(joined, target)
    assert other.ignored <= joined.ignored
    assert joined.joined(other) == joined


@given(vocabularies(), vocabularies())
def test_what_is_not_contradicted_stays(before: Vocabulary, other: Vocabulary) -> None:
    joined = before.joined(other)

    for name in before.aliases.keys() - other.aliases.keys() - other.ignored - set(other.aliases.values()):
        assert counted(joined, name) == counted(joined, before.aliases[name])
    assert before.ignored <= joined.ignored | other.aliases.keys()


def test_what_stood_for_an_alias_goes_along_with_it() -> None:
    before = Vocabulary({"c/a": "c/b"})

    assert before.joined(Vocabulary({"c/b": "c/d"})).aliases == {"c/a": "c/d", "c/b": "c/d"}
    assert before.joined(Vocabulary({"c/e": "c/a"})).aliases == {"c/a": "c/b", "c/e": "c/b"}


def test_the_later_word_counts_where_two_would_go_round_in_a_circle() -> None:
    before = Vocabulary({"c/a": "c/b"})

    assert before.joined(Vocabulary({"c/b": "c/a"})).aliases == {"c/b": "c/a"}
    assert before.joined(Vocabulary({"c/b": "c/d", "c/e": "c/a"})).aliases == {"c/b": "c/d", "c/e": "c/a"}


def test_a_chain_is_told_where_it_begins() -> None:
    chain = {"aliases": [{"from": ["c/a"], "to": "c/b"}, {"from": ["c/x", "c/b"], "to": "c/d"}]}

    with pytest.raises(InvalidInput) as refused:
        read_vocabulary(chain)

    assert [fault.pointer for fault in refused.value.faults] == ["/aliases/0/from/0"]
