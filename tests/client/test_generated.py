"""What of the client is generated is what the script makes of its sources."""

import runpy
from pathlib import Path

import pytest

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "generate_client.py"))


@pytest.mark.parametrize("name", SCRIPT["GENERATED"])
def test_what_is_generated_is_current(name: str) -> None:
    assert (SCRIPT["FOLDER"] / name).read_text() == SCRIPT["GENERATED"][name](), "run python scripts/generate_client.py"
