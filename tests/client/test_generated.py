"""What of the client is generated is what the script makes of its sources."""

import runpy
from pathlib import Path

import pytest

from penchant.model import Scope
from penchant.web.openapi import openapi
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable
from penchant.web.parameters import AT, MIN_VERSION

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "generate_client.py"))


@pytest.mark.parametrize("name", SCRIPT["GENERATED"])
def test_what_is_generated_is_current(name: str) -> None:
    assert (SCRIPT["FOLDER"] / name).read_text() == SCRIPT["GENERATED"][name](), "run python scripts/generate_client.py"


def test_document_and_client_follow_from_a_row_above_its_handler() -> None:
    table = OperationTable(Operation, "content")

    @table.operation(
        "GET",
        "/{source}/endings/{contentID}",
        about=NOBODY,
        scope=Scope.READ,
        parameters=(AT, MIN_VERSION),
        answer="Piece",
        errors=("unknown-piece",),
    )
    async def get_ending(call: Call) -> Answer:
        """How a piece ends."""
        raise NotImplementedError

    (operation,) = table
    written = SCRIPT["operations"](tuple(table))

    assert operation.handler is get_ending
    described = openapi(tuple(table), "")["paths"]["/{source}/endings/{contentID}"]["get"]
    assert (described["operationId"], described["summary"]) == ("getEnding", "How a piece ends.")
    assert "`unknown-piece`" in described["responses"]["404"]["description"]
    assert (
        "def get_ending(source: str, content_id: str, **options: Unpack[GetEndingOptions]) -> Request[Piece]" in written
    )
    assert "class GetEndingOptions(TypedDict, total=False):" in written
    assert "    get_ending = RequestMethod(get_ending)" in written
