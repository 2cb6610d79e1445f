"""What of the client is generated is what the script makes of its sources."""

import enum
import inspect
import runpy
import sys
from pathlib import Path
from typing import Any, get_origin

import msgspec
import pytest

from penchant.hooks import packages
from penchant.model import Scope
from penchant.web.openapi import openapi
from penchant.web.operations import NOBODY, Answer, Call, Operation, OperationTable
from penchant.web.parameters import AT, MIN_VERSION
from penchant.wire.answers import UserExport
from penchant.wire.settings import Settings, brought_settings
from penchant_client import records
from penchant_client.tables import Record

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "generate_client.py"))
RECORDS = [each for _, each in inspect.getmembers(records, inspect.isclass) if each.__module__ == records.__name__]

HOMES = ("penchant.wire", "penchant_rows.wire", "penchant_words")
OF_SERVICE = {
    each.__name__: each
    for name, module in list(sys.modules.items())
    if name in {"penchant.model", "penchant_rows.model"}
    or name.startswith(("penchant.wire", "penchant_rows.wire", "penchant_words"))
    for each in vars(module).values()
    if isinstance(each, type)
}


def members(record: type[Any]) -> dict[str, Any]:
    """Return what is written of a record: its members in their order, with their types by name and their defaults."""
    if issubclass(record, enum.Enum):
        return {each.name: each.value for each in record}
    fields = {}
    for field in msgspec.structs.fields(record):
        is_made = field.default_factory is not msgspec.NODEFAULT
        default = field.default_factory() if is_made else field.default
        plain = default if default in (msgspec.NODEFAULT, msgspec.UNSET) else msgspec.json.encode(default)
        fields[field.encode_name] = (field.name, field.required, plain, SCRIPT["_spelt"](field.type))
    return fields


@pytest.mark.parametrize("name", SCRIPT["GENERATED"])
def test_what_is_generated_is_current(name: str) -> None:
    assert (SCRIPT["FOLDER"] / name).read_text() == SCRIPT["GENERATED"][name](), "run python scripts/generate_client.py"


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_written_as_that_of_the_service(record: type[Any]) -> None:
    of_service: Any = OF_SERVICE[record.__name__]

    exported = [get_origin(each.members) or each.members for each in packages().exports()]
    brought = {Settings: brought_settings(), UserExport: exported}.get(of_service, ())
    named = [each.encode_name for part in brought for each in msgspec.structs.fields(part)]
    own = {name: each for name, each in members(record).items() if name not in named}

    assert list(own.items()) == list(members(of_service).items())
    assert own.keys() | set(named) == members(record).keys()
    if issubclass(record, Record):
        for name in ("omit_defaults", "forbid_unknown_fields", "frozen", "gc", "tag"):
            assert getattr(record.__struct_config__, name) == getattr(of_service.__struct_config__, name)


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
