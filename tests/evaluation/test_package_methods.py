"""Methods of other packages, where these are installed: they find who shares likes, and the same at each time."""

import pytest

from evaluation.conftest import evaluate
from penchant_lab.histories import SourceHistory
from penchant_lab.package_methods import PACKAGE_METHODS
from penchant_lab.splits import KnowledgeLimits, SplitRule
from penchant_lab.trials import EvaluationRequest


@pytest.mark.slow
@pytest.mark.parametrize("name", PACKAGE_METHODS)
@pytest.mark.parametrize("limits", (None, KnowledgeLimits(likes=5)), ids=("all", "newcomers"))
def test_who_shares_likes_is_found_the_same_each_time(
    alike: SourceHistory, name: str, limits: KnowledgeLimits | None
) -> None:
    pytest.importorskip(PACKAGE_METHODS[name].package)
    request = EvaluationRequest(split=SplitRule(), limits=limits, methods=("popular", name))

    first, again = (evaluate(alike, request).method(name) for _ in range(2))

    popular = evaluate(alike, request).methods[0].warm_people.ndcg10
    assert first is not None
    assert again is not None
    assert first.warm_people == again.warm_people
    assert first.warm_people.ndcg10 is not None
    assert popular is not None
    assert first.warm_people.ndcg10.value > 2 * popular.value
    assert PACKAGE_METHODS[name].package in first.parameters
