"""A program with types is checked strictly with the client, and one that uses it wrongly does not pass."""

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

RIGHT = """
import asyncio
from collections.abc import Iterator
from datetime import date

from penchant_client import AsyncClient, Client, Interaction, Piece, Retries, Settings, UnknownPiece


def pieces() -> Iterator[Piece]:
    yield Piece(id="a", categories={"genre": ["noir", {"key": "heist", "weight": 80}]})


def main() -> list[str]:
    with Client("http://127.0.0.1:8080", "pk_x", retries=Retries(attempts=3), wait=True) as client:
        created: int = client.submit_content("films", pieces()).created
        client.submit_content("films", [{"id": "b", "categories": {}}], wait=True)
        client.put_settings("films", Settings(half_life_days=created))
        client.record_interactions("films", [Interaction(user_id="u", type="Play", content_id="a")])
        try:
            scores: list[float] = [
                entry.score for entry in client.similar_content("films", "a", limit=3, at=date.today()).content
            ]
        except UnknownPiece as error:
            return [error.code, *(fault.detail for fault in error.errors)]
        return [*client.iterate_ids("films"), str(scores)]


async def same() -> list[str]:
    async with AsyncClient("http://127.0.0.1:8080", "pk_x") as client:
        accepted: int = (await client.submit_content("films", pieces())).accepted
        found = [piece.id async for piece in client.iterate_content("films", limit=accepted)]
        return [*found, *(await client.get_blacklist("films"))]


print(main(), asyncio.run(same()))
"""
PRELUDE = """
from penchant_client import AsyncClient, Client, Interaction

client = Client("http://127.0.0.1:8080", "pk_x")
other = AsyncClient("http://127.0.0.1:8080", "pk_x")


async def wrong() -> None:
    """
WRONG = (
    ('client.similar_content("films", "a", limt=3)', "limt"),
    ('client.similar_content("films", "a", limit="3")', '"limit" has incompatible type'),
    ('client.similar_content("films")', "Too few arguments"),
    ('client.similar_content("films", "a", algo="euclid")', '"algo" has incompatible type'),
    ('client.record_interaction("films", "u", 5, "a")', "Argument 3"),
    ('Interaction(user_id="u", type=5, content_id="a")', '"type"'),
    ('client.submit_content("films", "a")', "Argument 2"),
    ('client.get_source("films").piece', 'no attribute "piece"'),
    ('print(other.get_source("films").pieces)', "await"),
    ('await client.get_source("films")', "await"),
    ('[piece for piece in other.iterate_content("films")]', "__iter__"),
    ('client.delete_source("films")', "Missing named argument|Too few arguments"),
)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy says of two programs that somebody else wrote."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "right.py").write_text(RIGHT)
    (folder / "wrong.py").write_text(PRELUDE + "\n    ".join(line for line, _ in WRONG))
    words = ["--strict", "--cache-dir", str(folder / "cache"), "right.py", "wrong.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *words], cwd=folder, capture_output=True, text=True, timeout=1_000, check=False
    )
    assert ran.returncode == 1, ran.stderr
    return ran.stdout


def test_a_right_program_passes(said: str) -> None:
    assert {line.partition(":")[0] for line in said.splitlines()[:-1]} == {"wrong.py"}
    assert said.splitlines()[-1].endswith("in 1 file (checked 2 source files)")


def test_each_wrong_use_is_found(said: str) -> None:
    first = PRELUDE.count("\n") + 1
    for number, (line, pattern) in enumerate(WRONG, first):
        found = re.findall(rf"^wrong\.py:{number}: (?:error|note): (.*)$", said, re.MULTILINE)
        assert any(re.search(pattern, each) for each in found), (line, said)
