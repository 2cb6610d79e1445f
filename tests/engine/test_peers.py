"""What the models of other tools share: items with keywords become pieces with these."""

from penchant_engine.peers import catalogue_of


def test_keywords_with_and_without_weights_are_those_of_the_pieces() -> None:
    genres = [{"genre": {"space": None, "crime": None}}, {"genre": {"space": None}}]
    tags = [{"tag": {"x": 3}}, {}]

    made = catalogue_of(["a", "b"], [genres, tags])

    assert made.categories("a") == {"genre": {"space": 3, "crime": 3}, "tag": {"x": 3}}
    assert made.categories("b") == {"genre": {"space": 1}}
