"""A member of a body is described once: its reader, schema, sample and form field follow from its annotation."""

from typing import Annotated, Any

import pytest
from msgspec import UNSET, UnsetType

from penchant.wire.fields import BOOLEAN, Body, Example, Label, Number, Shape, by_category, integer, number, weight
from penchant.wire.frames import Record
from penchant.wire.settings import SETTINGS, Settings
from penchant.wire.syntax import Faults


class LongerSettings(Settings, frozen=True, kw_only=True, rename="camel"):
    """Settings with one more, as a change would add it."""

    series_length: Annotated[int | UnsetType, integer(1, 9), Example(3), Label("Length of a series")] = UNSET


LONGER = Body(LongerSettings, takes_null=False)


def faults_of(shape: Shape, value: Any) -> list[tuple[str | None, str]]:
    faults = Faults()
    shape.read(value, "/x", faults)
    return [(fault.pointer, fault.detail) for fault in faults.found]


def test_a_new_setting_is_read_described_shown_and_labelled() -> None:
    faults = Faults()

    assert LONGER.read({"seriesLength": 4}, "", faults) == {"series_length": 4}
    assert LONGER.schema()["properties"]["seriesLength"] == {"type": "integer", "minimum": 1, "maximum": 9}
    assert LONGER.sample() == SETTINGS.sample() | {"seriesLength": 3}
    assert LONGER.members["seriesLength"].label == "Length of a series"
    LONGER.read({"seriesLength": 10, "other": 1}, "/settings", faults)
    assert [fault.pointer for fault in faults.found] == ["/settings/other", "/settings/seriesLength"]
    assert "publicExtras, seriesLength." in faults.found[0].detail


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
