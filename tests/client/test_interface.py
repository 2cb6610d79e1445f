"""The tests of the interface hold through the client as well, whichever of the two kinds."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from penchant.web.routes import interface_operations

OPERATIONS = interface_operations()

WEB = Path(__file__).parents[1] / "web"
NAMES = (
    "access",
    "administration",
    "content",
    "drafts",
    "explanations",
    "people",
    "placements",
    "plain_lists",
    "preferences",
    "previews",
    "reading",
    "refusals",
    "revisits",
    "similar",
    "source_settings",
    "why",
)
SUITES = [str(WEB / f"test_{name}.py") for name in NAMES]
LEAST_REQUESTS = 1_000


@pytest.mark.stress
@pytest.mark.parametrize("kind", ("client", "async-client"))
def test_the_interface_is_the_same_through_the_client(kind: str) -> None:
    words = ["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "quick", "--through", kind, *SUITES]
    ran = subprocess.run([sys.executable, "-m", "pytest", *words], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout[-5_000:]
    asked = json.loads(re.findall(r"^through the client: (.*)$", ran.stdout, re.MULTILINE)[0])
    asked_in_plain = asked.pop("(plain)")
    assert sum(asked.values()) > LEAST_REQUESTS > asked_in_plain
    names = {re.sub("[A-Z]", lambda letter: "_" + letter[0].lower(), operation.name) for operation in OPERATIONS}
    assert len(names - set(asked)) < 0.2 * len(names)
