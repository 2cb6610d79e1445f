"""Requests with values that no proper client sends are answered, cheaply; scripts/fuzz has the long form."""

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from hostile.fuzzing import Fuzzer, fuzzed_server

FUZZING_S = 10.0
SEED = 14
LEAST_REQUESTS = 50
PLANTED = str(Path(__file__).parent / "planted")
PATIENCE_S = 1_000.0
A_LITTLE_S = 1.0


@pytest.mark.stress
def test_no_request_fails_the_service_or_costs_a_second(tmp_path: Path) -> None:
    until = time.monotonic() + PATIENCE_S

    with fuzzed_server(tmp_path) as server, warnings.catch_warnings():
        # What the document's words cannot be made to is for those who make requests from it.
        warnings.simplefilter("ignore")
        fuzzer = Fuzzer(server, SEED)
        found = fuzzer.run(FUZZING_S)
        while found.statuses.total() <= LEAST_REQUESTS and time.monotonic() < until:
            found = fuzzer.run(A_LITTLE_S)
        log = server.log()

    assert found.faults == []
    assert "Traceback" not in log
    assert found.statuses.total() > LEAST_REQUESTS


PLANTED_FAULTS: dict[str, Callable[[str], bool]] = {
    "a great number": lambda fault: fault.startswith("500") and "PUT" in fault and "1e30" in fault,
    "time": lambda fault: fault.startswith("4") and "DELETE" in fault and "{" in fault,
    "a form": lambda fault: fault.startswith("500") and "POST" in fault,
}


@pytest.mark.stress
def test_what_is_planted_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (PLANTED, os.environ.get("PYTHONPATH")))))
    missing = set(PLANTED_FAULTS)
    until = time.monotonic() + PATIENCE_S

    with fuzzed_server(tmp_path) as server, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fuzzer = Fuzzer(server, SEED, operations={"putSettings", "deleteContent"}, pages=("settings",))
        while missing and time.monotonic() < until:
            faults = fuzzer.run(A_LITTLE_S).faults
            missing = {name for name in missing if not any(map(PLANTED_FAULTS[name], faults))}

    assert missing == set()
