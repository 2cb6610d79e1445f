"""Requests with values that no proper client sends are answered, cheaply; scripts/fuzz has the long form."""

import warnings
from pathlib import Path

import pytest

from hostile.fuzzing import Fuzzer, fuzzed_server

FUZZING_S = 20.0
SEED = 14
LEAST_REQUESTS = 50


@pytest.mark.slow
def test_no_request_fails_the_service_or_costs_a_second(tmp_path: Path) -> None:
    with fuzzed_server(tmp_path) as server, warnings.catch_warnings():
        # What the document's words cannot be made to is for those who make requests from it.
        warnings.simplefilter("ignore")
        found = Fuzzer(server, SEED).run(FUZZING_S)
        log = server.log()

    assert found.faults == []
    assert "Traceback" not in log
    assert found.statuses.total() > LEAST_REQUESTS
