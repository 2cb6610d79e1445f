"""The blocking client is what the script makes of the other one."""

import runpy
from pathlib import Path

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "generate_client.py"))


def test_the_generated_client_is_current() -> None:
    assert SCRIPT["GENERATED"].read_text() == SCRIPT["translate"](SCRIPT["SOURCE"].read_text()), (
        "run python scripts/generate_client.py"
    )
