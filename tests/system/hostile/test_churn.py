"""A service in which everything comes and goes stays as large as it was; scripts/churn has the long form."""

import time
from pathlib import Path

import pytest

from hostile.churn import WARMING_ROUNDS, Churn, churned_server, growth_of

ROUNDS = 4
PATIENCE_S = 10.0
"""Further rounds are made within this time: a machine that runs tests may be busy."""
NO_KERNELS = Path("/dev/null/kernels")
"""Compiled kernels take memory whenever they are ready, which may be in the midst of a short test: numpy searches."""


@pytest.mark.stress
def test_what_is_made_and_deleted_leaves_nothing_behind(tmp_path: Path) -> None:
    with churned_server(tmp_path, NO_KERNELS) as server:
        churn = Churn(server)
        began = time.monotonic()
        samples = [churn.run() for _ in range(WARMING_ROUNDS + 2)]
        while len(samples) < WARMING_ROUNDS + ROUNDS and time.monotonic() - began < PATIENCE_S:
            samples.append(churn.run())
        assert "Traceback" not in server.log()

    assert growth_of(samples) == []
