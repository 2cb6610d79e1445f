"""While one tenant attacks in every way at once, another one is answered; scripts/attack has the long form."""

from pathlib import Path

import pytest

from acceptance.servers import Server
from hostile.neighbour import ALL, Neighbour

SECONDS = 4.0


@pytest.mark.stress
def test_all_attacks_at_once_have_no_neighbour_refused(tmp_path: Path) -> None:
    with Server(tmp_path / "data") as server:
        ((_, attacked),) = Neighbour(server).compare(ALL, rounds=1, seconds=SECONDS).rounds
        log = server.log()

    assert attacked.refused == 0
    assert "Traceback" not in log
