"""What the dashboard shows under plans with limits of their own."""

import pytest

from penchant.settings import NodeSettings, PlanSettings
from serving import Service
from visitors import HOME, Visitor, found_neighbours, text_of


@pytest.fixture
def settings(settings: NodeSettings) -> NodeSettings:
    plans = {
        "slow": PlanSettings(requests_per_second=1),
        "metered": PlanSettings(features=("personalized",), recommendations_per_month=1),  # type: ignore[arg-type]
    }
    return NodeSettings(data=settings.data, plans=plans, min_version_timeout_s=settings.min_version_timeout_s)


@pytest.mark.slow
def test_requests_count_by_the_route_and_against_the_rate(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(plan="slow"))

    answers = [visitor.get() for _ in range(4)]

    limited = [answer for answer in answers if answer.status_code == 429]
    assert limited
    assert "retry-after" in limited[0].headers
    told = filled.client.get("/-/metrics").text
    assert f'penchant_requests_total{{method="GET",route="{HOME}",status="429"}}' in told
    assert 'penchant_problems_total{code="rate-exceeded"}' in told


@pytest.mark.slow
def test_lists_count_against_the_month_as_in_the_interface(filled: Service) -> None:
    visitor = Visitor(filled, filled.new_key(plan="metered"))

    first, second = (visitor.get("piece", source="s", id="a") for _ in range(2))

    assert found_neighbours(first.text) == ["b"]
    assert second.status_code == 200
    assert "allows 1 recommendation requests a month" in text_of(second.text)


def test_signing_in_counts_against_the_rate(filled: Service) -> None:
    key = filled.new_key(plan="slow")

    answers = [Visitor(filled).sign_in(key).status_code for _ in range(4)]

    assert set(answers) == {303, 429}
