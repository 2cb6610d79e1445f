"""A member of a body is described once: its reader, schema, sample and form field follow from its annotation."""

import dataclasses
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import UNSET, UnsetType

from penchant.model import SourceSettings
from penchant.wire.fields import (
    BOOLEAN,
    Body,
    Example,
    Label,
    Number,
    Record,
    Shape,
    by_category,
    integer,
    number,
    weight,
)
from penchant.wire.preferences import LIKINGS, PREFERENCES
from penchant.wire.settings import BLEND, PREVIEW, SETTINGS
from penchant.wire.syntax import Faults
from penchant_engine.model import Blend
from penchant_rows.wire.placements import PLACEMENT, ListRules
from penchant_rows.wire.recording import SeenPiece


def faults_of(shape: Shape, value: Any) -> list[tuple[str | None, str]]:
    faults = Faults()
    shape.read(value, "/x", faults)
    return [(fault.pointer, fault.detail) for fault in faults.found]


SERIES_LENGTH = Annotated[int | UnsetType, integer(1, 9), Example(3), Label("Length of a series")]
"""A member as a change would add it."""


@pytest.mark.parametrize(
    "body", (SETTINGS, BLEND, PLACEMENT, LIKINGS, PREFERENCES, PREVIEW), ids=lambda body: body.record.__name__
)
def test_a_member_that_is_added_to_a_record_is_read_described_shown_and_labelled(body: Body[Any]) -> None:
    longer = Body(
        msgspec.defstruct(
            "Longer",
            [("series_length", SERIES_LENGTH, UNSET)],
            bases=(body.record,),
            rename="camel",
            kw_only=True,
            frozen=True,
        ),
        required=body.required,
        takes_null=False,
    )
    faults = Faults()

    assert longer.read_members({"seriesLength": 4}, longer.members, "", faults) == {"series_length": 4}
    assert longer.schema()["properties"]["seriesLength"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert longer.sample() == body.sample() | {"seriesLength": 3}
    assert longer.members["seriesLength"].label == "Length of a series"
    longer.read(body.sample() | {"seriesLength": 10, "other": 1}, "/at", faults)
    assert [fault.pointer for fault in faults.found] == ["/at/other", "/at/seriesLength"]
    assert "seriesLength." in faults.found[0].detail


@pytest.mark.parametrize(
    ("shape", "value", "pointer", "detail"),
    (
        (number(0, 5), True, "/x", "Found a boolean; a number from 0 to 5 is accepted."),
        (number(0, 5), 10**12, "/x", "Found a large number; a number from 0 to 5 is accepted."),
        (weight(0, 5), 0.125, "/x", "Found 0.125; at most two decimals are accepted."),
        (integer(1, 5), 2.0, "/x", "Found 2; an integer from 1 to 5 is accepted."),
        (BOOLEAN, 1, "/x", "Found a number; true or false is accepted."),
        (by_category(BOOLEAN), [], "/x", "Found an array; an object is accepted."),
        (by_category(BOOLEAN), {"a/b": None}, "/x/a~1b", "Found null; true or false is accepted."),
    ),
)
def test_what_a_shape_refuses_is_told_with_its_place(shape: Shape, value: Any, pointer: str, detail: str) -> None:
    assert faults_of(shape, value) == [(pointer, detail)]


def test_plain_defaults_and_required_members_are_in_the_schema() -> None:
    class Range(Record, frozen=True, kw_only=True):
        least: Annotated[Number, number(0, 1)]
        most: Annotated[Number, number(0, 1)] = 1

    schema = Body(Range, takes_null=False).schema()

    assert schema["required"] == ["least"]
    assert schema["properties"]["most"] == {"type": "number", "minimum": 0, "maximum": 1, "default": 1}


def test_an_open_body_passes_over_members_that_it_does_not_know() -> None:
    assert Body(SeenPiece, is_closed=False).read({"id": "a", "position": 3, "more": 1}, "", Faults()) == {
        "id": "a",
        "position": 3,
    }


@pytest.mark.parametrize(
    ("body", "record", "others"),
    (
        (SETTINGS, SourceSettings, {"brought", "unread"}),
        (BLEND, Blend, set()),
        (PLACEMENT, ListRules, {"blacklisted", "title", "purpose", "experiment", "auto_stop", "variants"}),
    ),
)
def test_what_is_read_is_what_the_service_goes_by(body: Body[Any], record: type[Any], others: set[str]) -> None:
    names = {member.name for member in body.members.values()}

    assert names ^ {field.name for field in dataclasses.fields(record)} == others
