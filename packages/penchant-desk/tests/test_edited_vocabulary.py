"""Vocabularies as pages change them: what was joined, and what takes that back."""

from hypothesis import given
from hypothesis import strategies as st

from penchant.vocabulary import Vocabulary
from penchant_desk.vocabulary import EditedVocabulary

NAMES = st.sampled_from([f"c/{letter}" for letter in "abcdef"])


@given(st.dictionaries(NAMES, st.just("c/z"), max_size=3), st.sets(NAMES, min_size=1, max_size=3), NAMES)
def test_keywords_are_joined_as_the_service_joins_vocabularies(
    aliases: dict[str, str], names: set[str], target: str
) -> None:
    given_names = sorted(names - {target})
    added = Vocabulary(dict.fromkeys(given_names, target))

    joined = EditedVocabulary(aliases).joined(given_names, target)

    assert joined.aliases == Vocabulary(aliases).joined(added).aliases


def test_what_an_addition_changed_can_be_taken_back_while_it_holds() -> None:
    before = EditedVocabulary({"c/a": "c/b", "c/x": "c/y"}, frozenset({"c/o"}))

    joined = before.joined(["c/b", "c/e"], "c/d")
    changes = joined.changes_since(before)

    assert changes == [("c/a", "c/d", "c/b"), ("c/b", "c/d", None), ("c/e", "c/d", None)]
    assert joined.without(changes) == before
    later = joined.joined(["c/v"], "c/w")
    assert later.without(changes) == before.joined(["c/v"], "c/w")
    assert later.joined(["c/e"], "c/w").without(changes) is None


def test_a_vocabulary_is_read_from_settings_and_written_into_them() -> None:
    member = {"aliases": [{"from": ["c/a", "c/b"], "to": "c/d"}], "ignore": ["c/o"]}

    assert EditedVocabulary.of({"vocabulary": member}).member == member
    assert EditedVocabulary.of({}).digest == ""
